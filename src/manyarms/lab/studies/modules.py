"""Specs from outside the package: which modules define them, and how a worker comes by the same ones."""

import importlib
import os
import socket
from collections.abc import Iterable, Mapping

from ... import sources
from ...compiled import LOADED_SOURCES
from ...specs import RAISED, modules_of, text_of
from .study import Cell


def needed_modules(cells: Iterable[Cell]) -> dict[str, str]:
    """The modules that play these cells, with a digest of each source: the package, and those of one's own.

    What a script itself defines is left out: a worker cannot import a script by its name.
    """
    names = set().union(*(modules_of((cell.policy, cell.world)) for cell in cells))
    own: dict[str, str] = {}
    for name in sorted(names - {"__main__"}):
        edited = [each for each, source in sources.behind(name).items() if source is None]
        if edited:
            raise RuntimeError(
                f"the module {edited[0]!r} was changed after it had been loaded, so no worker can have the same; "
                "start Python again"
            )
        digest = sources.digest_behind(name)
        if digest is not None:
            own[name] = digest
    return {sources.PACKAGE: LOADED_SOURCES} | own


def import_same(modules: Mapping[str, str]) -> None:
    """What a worker does first: import the modules a study needs, and make sure that they are the same there."""
    for name, digest in modules.items():
        try:
            importlib.import_module(name)
        except RAISED as error:
            raise ImportError(
                f"{_this_process()} cannot import the module {name!r} ({text_of(error)}); install it there, or put its "
                "folder on the worker's PYTHONPATH"
            ) from None
        here = LOADED_SOURCES if name == sources.PACKAGE else sources.digest_behind(name)
        if here != digest:
            raise ImportError(
                f"{_this_process()} has other sources of {name!r}, or of what it imports; install the same there"
            )


def _this_process() -> str:
    return f"a worker (process {os.getpid()} on {socket.gethostname()})"
