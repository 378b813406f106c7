"""The command line: ``manyarms COMMAND``. Each command is a function that says what options it takes."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from ..version import __version__
from . import arena, bench, check, explain, lists, plan, report, reproduce, run  # noqa: F401, which makes them commands
from .options import COMMANDS

ORDER = ("reproduce", "studies", "run", "report", "arena", "explain", "plan", "policies", "worlds", "check", "bench")
"""The commands as the help lists them."""

GOES_ON = ("run", "reproduce", "arena")
"""Commands that keep what they have finished."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"manyarms {options.command}: {message}", file=sys.stderr)
            return COMMANDS[options.command].act(options) or 0
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, LookupError, ImportError, MemoryError, OSError, RuntimeError) as error:
        print(f"manyarms {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        goes_on = "; the same command goes on where it stopped" if options.command in GOES_ON else ""
        print(f"manyarms {options.command}: stopped by Ctrl-C{goes_on}", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manyarms",
        description="Bandits with more arms than anyone can try, whose arms change while you play them.",
    )
    parser.add_argument("--version", action="version", version=f"manyarms {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in ORDER:
        COMMANDS[name].add_options(commands.add_parser(name, help=COMMANDS[name].help))
    return parser
