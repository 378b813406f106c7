"""Options that several commands take, and commands written out from their options."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..gpu import DEVICES

SHARED: dict[str, dict[str, Any]] = {
    "--import": {
        "dest": "imports",
        "action": "append",
        "default": [],
        "metavar": "MODULE",
        "help": "a module of your own that defines policies, parts of worlds or studies; may be given several times",
    },
    "--folder": {"type": Path, "default": Path("results"), "help": "where results go"},
    "--replications": {"type": int},
    "--seed": {"type": int},
    "--jobs": {"type": int, "help": "threads; all cores if left out"},
    "--device": {"choices": DEVICES, "default": "cpu", "help": "where to play; the numbers are the same"},
    "--resume": {"action": argparse.BooleanOptionalAction, "default": True, "help": "keep what is there"},
    "--dry-run": {"action": "store_true", "help": "say what there is to do, and do nothing"},
    "--json": {"action": "store_true", "help": "for machines"},
}


def add_shared(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """Add some of the shared options, with another help or default if the command wants it."""
    for name in names:
        parser.add_argument(name, **(SHARED[name] | changes))


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Of these options, those that were given or have a default."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def command(name: str, *words: object, imports: Sequence[str] = (), **options: Any) -> str:
    """A command as one types it.

    Examples
    --------
    >>> command("arena", quick=True, half=None, seed=0)
    'manyarms arena --quick --seed 0'
    >>> command("run", "my study.toml", imports=["mine"], threshold_scale=0.5)
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
