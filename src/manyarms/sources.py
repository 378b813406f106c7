"""The sources of modules of one's own, as they were when they were imported.

A file may be edited while a long run goes on. What is loaded stays as it was, and so must what is said of it: each
source is read once, when a spec is first defined in its module or in one that imports it.
"""

import ast
import functools
import importlib.machinery
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PACKAGE = __name__.partition(".")[0]

_READ: dict[str, tuple[Any, bytes]] = {}
"""Module -> what it was loaded as, and its source then."""


def behind(module: str) -> bytes | None:
    """The source of a module and of all of one's own that it imports; None if it was typed at a prompt.

    One's own is what is neither of the standard library nor installed, or lies in the same package. What is imported by
    a name that is only computed cannot be seen.
    """
    if _path_of(module) is None:
        return None
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and _is_own(name, module) and (source := _source_of(name)) is not None:
            found[name] = source
            waiting.extend(_imported(name, source, _path_of(name)))
    return b"".join(name.encode() + b"\0" + found[name] + b"\0" for name in sorted(found))


def _source_of(name: str) -> bytes | None:
    """The source of a module, as it was when this was first asked for after it was loaded."""
    loaded_as = getattr(sys.modules.get(name), "__spec__", None)  # another one after importlib.reload
    known = _READ.get(name)
    if known is not None and known[0] is loaded_as:
        return known[1]
    path = _path_of(name)
    try:
        source = None if path is None else path.read_bytes()
    except OSError:
        source = None
    if source is not None:
        _READ[name] = loaded_as, source
    return source


def _path_of(name: str) -> Path | None:
    """The file of a module; None if it has none, or is not written in Python. Nothing is imported to find it."""
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None) if module is not None else _found(name)
    return Path(origin) if isinstance(origin, str) and origin.endswith(".py") else None


def _found(name: str) -> str | None:
    """Where a module that is not loaded lies."""
    folders: Sequence[str] | None = None
    spec = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:end]), folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations
    return None if spec is None else spec.origin


_INSTALLED = [Path(path).resolve() for path in set(sysconfig.get_paths().values())]


def _is_own(name: str, module: str) -> bool:
    """Whether a module is one's own."""
    top = name.partition(".")[0]
    path = _path_of(name)
    if path is None or top == PACKAGE:
        return False
    folders = path.resolve().parents
    return top == module.partition(".")[0] or not any(folder in folders for folder in _INSTALLED)


@functools.cache  # each cell of a study asks again
def _imported(name: str, source: bytes, path: Path | None) -> tuple[str, ...]:
    """The names of modules that a source imports, and of the packages that they are in."""
    try:
        return tuple(_imports(name, ast.parse(source), path))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _imports(name: str, tree: ast.AST, path: Path | None) -> Iterator[str]:
    """The same, of what was parsed."""
    package = name if path is not None and path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".") if node.level else []
            parents = parents[: len(parents) - node.level + 1]
            target = ".".join([*filter(None, parents), *filter(None, [node.module])])
            yield from _with_packages(target)
            yield from (f"{target}.{alias.name}" for alias in node.names if target)  # those of them that are modules


def _with_packages(name: str) -> Iterator[str]:
    """A name and those of the packages around it."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1) if name)
