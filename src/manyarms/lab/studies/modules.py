"""Specs from outside the package: which modules define them, and how a worker comes by the same ones."""

import dataclasses
import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ...specs import Spec
from .study import Cell


def modules_of(part: Any) -> set[str]:
    """The modules outside the package that define a spec or one of its parts."""
    if isinstance(part, tuple):
        return set().union(*map(modules_of, part))
    if not isinstance(part, Spec):
        return set()
    module = type(part).__module__
    own = set() if module.partition(".")[0] == __package__.partition(".")[0] else {module}
    return own.union(*(modules_of(getattr(part, field.name)) for field in dataclasses.fields(part)))  # type: ignore[arg-type]


def source_of(module: str) -> bytes | None:
    """The source of a module as it is now; None if it was typed at a prompt."""
    try:
        return inspect.getsource(sys.modules[module]).encode()
    except (KeyError, OSError, TypeError):
        return None


def needed_modules(cells: Iterable[Cell]) -> dict[str, str]:
    """The modules of one's own that play these cells, with a digest of each source.

    What a script itself defines is left out: a worker cannot import a script by its name.
    """
    names = set().union(*(modules_of((cell.policy, cell.world)) for cell in cells))
    sources = {name: source_of(name) for name in sorted(names - {"__main__"})}
    return {name: _digest(source) for name, source in sources.items() if source is not None}


def import_same(modules: Mapping[str, str]) -> None:
    """What a worker does first: import the modules a study needs, and make sure that they are the same there."""
    for name, digest in modules.items():
        try:
            importlib.import_module(name)
        except Exception as error:
            raise ImportError(
                f"a worker cannot import the module {name!r} ({error}); install it there, or put its folder on the "
                "worker's PYTHONPATH"
            ) from None
        if _digest(source_of(name) or b"") != digest:
            raise ImportError(f"a worker has another version of the module {name!r}; install the same there")


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:16]
