"""What a command is: its options, some of which several commands take, and what it does; and commands written out."""

import argparse
import itertools
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..gpu import DEVICES


def whole_number(text: str) -> int:
    """What was typed for a whole number; whether it is one that makes sense is seen where it is used."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number such as 100, not {text!r:.80}") from None


def number(text: str) -> float:
    """What was typed for a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number such as 0.5, not {text!r:.80}") from None


SHARED: dict[str, dict[str, Any]] = {
    "--import": {
        "dest": "imports",
        "action": "append",
        "default": [],
        "metavar": "MODULE",
        "help": "a module of your own that defines policies, parts of worlds or studies; may be given several times",
    },
    "--folder": {"default": "results", "help": "where results go"},
    "--replications": {"type": whole_number},
    "--seed": {"type": whole_number},
    "--jobs": {"type": whole_number, "help": "threads; all cores if left out"},
    "--device": {"choices": DEVICES, "default": "cpu", "help": "where to play; the numbers are the same"},
    "--resume": {"action": argparse.BooleanOptionalAction, "default": True, "help": "keep what is there"},
    "--dry-run": {"action": "store_true", "help": "say what there is to do, and do nothing"},
    "--json": {"action": "store_true", "help": "for machines"},
}


class Option(NamedTuple):
    """An option or an argument of a command, as argparse takes it."""

    name: str
    settings: dict[str, Any]
    group: str = ""  # the heading in the command's help under which it stands


def option(name: str, group: str = "", **settings: Any) -> Option:
    """An option of one command; a shared one with some settings changed."""
    return Option(name, SHARED.get(name, {}) | settings, group)


class Command(NamedTuple):
    """What is typed after ``manyarms``."""

    help: str
    options: list[Option]
    act: Callable[[argparse.Namespace], int | None]  # the exit code, if it may be another than 0

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Say what the command takes."""
        headings = dict.fromkeys(each.group for each in self.options if each.group)
        groups: dict[str, Any] = {"": parser} | {heading: parser.add_argument_group(heading) for heading in headings}
        for each in self.options:
            groups[each.group].add_argument(each.name, **each.settings)


COMMANDS: dict[str, Command] = {}


def command(help: str, *options: str | Option) -> Callable[[Callable[[argparse.Namespace], int | None]], Any]:
    """Make a function the command of its name. Shared options may be given by their names, several in one text."""

    def register(act: Callable[[argparse.Namespace], int | None]) -> Any:
        taken = (map(option, each.split()) if isinstance(each, str) else [each] for each in options)
        COMMANDS[act.__name__] = Command(help, list(itertools.chain(*taken)), act)
        return act

    return register


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Of these options, those that were given or have a default."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def written_out(name: str, *words: object, imports: Sequence[str] = (), **options: Any) -> str:
    """A command as one types it.

    Examples
    --------
    >>> written_out("arena", quick=True, half=None, seed=0)
    'manyarms arena --quick --seed 0'
    >>> written_out("run", "my study.toml", imports=["mine"], threshold_scale=0.5)
    "manyarms run 'my study.toml' --threshold-scale 0.5 --import mine"
    """
    parts = ["manyarms", name, *words]
    for option, value in options.items():
        if value is None or value is False:  # a seed of 0 equals False
            continue
        parts.append(f"--{option.replace('_', '-')}")
        if value is not True:
            parts += value if isinstance(value, list) else [value]
    for module in imports:
        parts += ["--import", module]
    return shlex.join(map(str, parts))
