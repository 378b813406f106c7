"""The command line: ``manyarms COMMAND``. Each command is a function that says what options it takes."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from ..specs import as_raised
from ..tables import seen
from ..version import __version__
from . import arena, bench, check, explain, lists, plan, report, reproduce, run  # noqa: F401, which makes them commands
from .options import COMMANDS
from .output import nothing_lost, say_error

ORDER = ("reproduce", "studies", "run", "report", "arena", "explain", "plan", "policies", "worlds", "check", "bench")
"""The commands as the help lists them."""

GOES_ON = ("run", "reproduce", "arena")
"""Commands that keep what they have finished."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    with nothing_lost():
        return _acted(_parser().parse_args(arguments))


def _acted(options: argparse.Namespace) -> int:
    """Do what was asked for; what is wrong with it is one line on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: say_error(options.command, message)
            code = COMMANDS[options.command].act(options) or 0
            sys.stdout.flush()  # here, where it is said what is wrong with that
            return code
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, LookupError, ImportError, MemoryError, OSError, RuntimeError) as error:
        say_error(options.command, error)
        return 2
    except SystemExit as error:  # of a module of one's own
        say_error(options.command, f"code of your own ends the program, {as_raised(error, ())}; mend it there")
        return 2
    except KeyboardInterrupt:
        goes_on = "; the same command goes on where it stopped" if options.command in GOES_ON else ""
        say_error(options.command, f"stopped by Ctrl-C{goes_on}")
        return 130


class _Parser(argparse.ArgumentParser):
    """One that shows what was typed with everything in it to be seen."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the program, after a message."""
        super().exit(status, None if message is None else seen(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="manyarms",
        description="Bandits with more arms than anyone can try, whose arms change while you play them.",
    )
    parser.add_argument("--version", action="version", version=f"manyarms {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in ORDER:
        COMMANDS[name].add_options(commands.add_parser(name, help=COMMANDS[name].help))
    return parser
