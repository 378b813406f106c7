"""Specs from outside the package: which modules define them, and how a worker comes by the same ones."""

import hashlib
import importlib
import os
import socket
from collections.abc import Iterable, Mapping

from ... import sources
from ...compiled import LOADED_SOURCES
from ...specs import modules_of
from .study import Cell


def needed_modules(cells: Iterable[Cell]) -> dict[str, str]:
    """The modules that play these cells, with a digest of each source: the package, and those of one's own.

    What a script itself defines is left out: a worker cannot import a script by its name.
    """
    names = set().union(*(modules_of((cell.policy, cell.world)) for cell in cells))
    found = {name: sources.behind(name) for name in sorted(names - {"__main__"})}
    own = {name: _digest(source) for name, source in found.items() if source is not None}
    return {sources.PACKAGE: LOADED_SOURCES} | own


def import_same(modules: Mapping[str, str]) -> None:
    """What a worker does first: import the modules a study needs, and make sure that they are the same there."""
    for name, digest in modules.items():
        try:
            importlib.import_module(name)
        except Exception as error:
            raise ImportError(
                f"{_this_process()} cannot import the module {name!r} ({error}); install it there, or put its folder "
                "on the worker's PYTHONPATH"
            ) from None
        here = LOADED_SOURCES if name == sources.PACKAGE else _digest(sources.behind(name) or b"")
        if here != digest:
            raise ImportError(
                f"{_this_process()} has other sources of {name!r}, or of what it imports; install the same there"
            )


def _this_process() -> str:
    return f"a worker (process {os.getpid()} on {socket.gethostname()})"


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:16]
