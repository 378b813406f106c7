"""The command line: ``manyarms COMMAND``. Each command is a file of its own, with its options and what it does."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Protocol

from ..version import __version__
from . import arena, bench, check, explain, policies, report, reproduce, run, studies, worlds


class Command(Protocol):
    """What the file of a command has."""

    HELP: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Say what the command takes."""

    def act(self, options: argparse.Namespace) -> int:
        """Do it; return the exit code."""


COMMANDS: dict[str, Command] = {
    "reproduce": reproduce,
    "studies": studies,
    "run": run,
    "report": report,
    "arena": arena,
    "explain": explain,
    "policies": policies,
    "worlds": worlds,
    "check": check,
    "bench": bench,
}

GOES_ON = ("run", "reproduce", "arena")
"""Commands that keep what they have finished."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"manyarms {options.command}: {message}", file=sys.stderr)
            return COMMANDS[options.command].act(options)
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
    for name, command in COMMANDS.items():
        command.add_options(commands.add_parser(name, help=command.HELP))
    return parser
