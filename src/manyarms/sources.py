"""The sources of modules: of the package as it was loaded, and of one's own as they were when they were loaded.

A file may be edited while a process goes on. What is loaded stays as it was, and so must what is said of it. So each
source of one's own is read just before its module is loaded (``_Watch``). Of a module that was loaded unseen, before
this package for one, the file counts if nobody has changed it since the process began; else nobody can say what was
loaded, and that is what is said.
"""

import ast
import functools
import hashlib
import importlib.machinery
import os
import re
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = __name__.partition(".")[0]

# ---------------------------------------------------------------- the package


def files_below(root: Path) -> dict[str, bytes]:
    """A digest of each source file below a folder, by its place there."""
    paths = ((path.relative_to(root).as_posix(), path) for path in root.rglob("*.py"))
    return {name: hashlib.sha256(path.read_bytes()).digest() for name, path in sorted(paths)}


_ROOT = Path(__file__).parent

LOADED = files_below(_ROOT)
"""Those of the package as it is loaded."""


def _check_package(name: str, path: Path) -> None:
    """Warn if a module of the package is no more what it was when the rest was loaded."""
    place = path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else ""
    if place in LOADED and hashlib.sha256(path.read_bytes()).digest() != LOADED[place]:
        warnings.warn(
            f"{name} was changed after {PACKAGE} had been loaded, so what is loaded now is not of the sources that "
            "results will name; start Python again",
            RuntimeWarning,
            stacklevel=2,
        )


# ---------------------------------------------------------------- one's own


def behind(module: str) -> Mapping[str, bytes | None]:
    """The sources of a module and of all of one's own that it imports, by name; none if it was typed at a prompt.

    None in place of a source: its file was changed after it had been loaded, or may have been. One's own is what is
    neither of the standard library nor installed, or lies in the same package. What is imported by a name that stands
    in the source as a text counts, too; where a name is computed, all of one's own that is loaded does.
    """
    return _behind(module, (_WATCH.loads, len(sys.modules)))


def digest_behind(module: str) -> str | None:
    """Sixteen hex digits that change with any of these sources; None if nobody can say what they are."""
    found = behind(module)
    digest = hashlib.sha256()
    for name in sorted(found):
        source = found[name]
        if source is None:
            return None
        digest.update(name.encode() + b"\0" + hashlib.sha256(source).digest())
    return digest.hexdigest()[:16] if found else None


def note(module: str) -> None:
    """Read what is behind a module in which a spec is being defined, as far as that is not known yet."""
    if getattr(sys.modules.get(module), "__spec__", None) is None:  # a script: it may be run again in one process
        _READ.pop(module, None)
        _behind.cache_clear()
    behind(module)


@functools.lru_cache(maxsize=64)  # each cell of a study asks again
def _behind(module: str, _loaded: tuple[int, int]) -> Mapping[str, bytes | None]:
    """The same, as long as nothing else is loaded."""
    found: dict[str, bytes | None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        is_another_script = name == "__main__" != module  # whoever runs it
        if name in found or is_another_script or not is_own(name, module):
            continue
        source = found[name] = _source_of(name)
        imported = _imported(name, source or b"", _path_of(name))
        waiting.extend(imported.names)
        if imported.is_computed:
            waiting.extend(list(sys.modules))
    return found


# ---------------------------------------------------------------- what was loaded


class _Read(NamedTuple):
    """A source, and what its module was loaded as: something else after it was loaded again."""

    loaded_as: Any
    source: bytes | None


_READ: dict[str, _Read] = {}

_SEEN: dict[str, tuple[Path, bytes]] = {}
"""By module, the file that was about to be loaded, and what it held."""


class _Watch:
    """Stands before those who find modules. It finds none itself, but reads what they are about to load."""

    def __init__(self) -> None:
        self.loads = 0

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> None:
        """Look at a module before it is loaded; ``path`` is where the modules of its package lie."""
        self.loads += 1
        if path is not None and all(map(_is_installed, path)) and name.partition(".")[0] != PACKAGE:
            return
        file = _python(getattr(importlib.machinery.PathFinder.find_spec(name, path), "origin", None))
        try:
            if file is not None and name.partition(".")[0] == PACKAGE:
                _check_package(name, file)
            elif file is not None and not _is_installed(str(file.parent)):
                _SEEN[name] = file, file.read_bytes()
        except OSError:  # who loads it will say so
            _SEEN.pop(name, None)


def _source_of(name: str) -> bytes | None:
    """The source of a module as it was loaded, or as it is now if it is not loaded; None if nobody can say."""
    module = sys.modules.get(name)
    loaded_as = getattr(module, "__spec__", None) or module
    known = _READ.get(name)
    if known is None or known.loaded_as is not loaded_as:
        known = _READ[name] = _Read(loaded_as, _read(name, module is not None))
    return known.source


def _read(name: str, is_loaded: bool) -> bytes | None:
    """The same, when it is asked for first."""
    path = _path_of(name)
    seen, source = _SEEN.pop(name, (None, b""))
    if path is None or (is_loaded and seen == path):
        return source
    try:
        source = path.read_bytes()
        if not is_loaded or max(path.stat().st_ctime, path.lstat().st_ctime) < _BEGAN:
            return source
    except OSError:  # it is gone
        pass
    warnings.warn(
        f"the file of the module {name!r} was changed after it had been loaded, or just before, so nobody can say "
        "what is loaded: results that depend on it will be made anew; start Python again to keep them",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _began() -> float:
    """When this process began; where the system does not say, when this package was loaded."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) + 1  # it counts whole ones
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    return time.time() - age


_BEGAN = _began()

# ---------------------------------------------------------------- where modules lie


def is_own(name: str, beside: str = "") -> bool:
    """Whether a module is one's own: neither of the package nor of the standard library nor installed.

    What lies in the same package as the module ``beside`` is, even if it is installed.
    """
    top = name.partition(".")[0]
    path = _path_of(name)
    if path is None or top == PACKAGE:
        return False
    return top == beside.partition(".")[0] or not _is_installed(str(path.parent))


_INSTALLED = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
_INSTALLED_IN = {"site-packages", "dist-packages"}
"""What folders are called that things are installed in: a user's, and those that are added to Python's path."""


@functools.cache
def _is_installed(folder: str) -> bool:
    """Whether what lies in a folder comes with Python or was installed."""
    path = Path(folder).resolve()
    return any(each in _INSTALLED or each.name in _INSTALLED_IN for each in (path, *path.parents))


def _path_of(name: str) -> Path | None:
    """The file of a module; None if it has none, or is not written in Python. Nothing is imported to find it."""
    if name in sys.modules:
        return _python(getattr(sys.modules[name], "__file__", None))
    return _python(getattr(_found(name), "origin", None))


def _python(file: Any) -> Path | None:
    """The path of a file that is written in Python."""
    return Path(file) if isinstance(file, str) and file.endswith(".py") else None


def _found(name: str) -> importlib.machinery.ModuleSpec | None:
    """What would be loaded as a module that is not."""
    package = name.rpartition(".")[0]
    folders = _folders_of(package) if package else None
    return None if package and folders is None else importlib.machinery.PathFinder.find_spec(name, folders)


def _folders_of(package: str) -> Sequence[str] | None:
    """Where the modules of a package lie; None if it is none."""
    if package in sys.modules:
        return getattr(sys.modules[package], "__path__", None)
    return getattr(_found(package), "submodule_search_locations", None)


# ---------------------------------------------------------------- what a source imports


class _Imported(NamedTuple):
    """The modules that a source imports, and the packages that they are in."""

    names: tuple[str, ...]
    is_computed: bool = False  # whether it imports others by names that cannot be seen


@functools.cache
def _imported(name: str, source: bytes, path: Path | None) -> _Imported:
    """What a source imports."""
    try:
        tree = ast.parse(source)
        return _Imported(tuple(dict.fromkeys(_imports(name, tree, path))), _computes_names(tree))
    except (SyntaxError, ValueError, RecursionError):
        return _Imported(())


_NAME = re.compile(r"(\.*)([^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::.*)?")
"""A text that may be the name of a module, or of something in one."""


def _imports(name: str, tree: ast.AST, path: Path | None) -> Iterator[str]:
    """The names of modules that a source may import."""
    package = name if path is not None and path.name == "__init__.py" else name.rpartition(".")[0]

    def above(level: int) -> list[str]:
        parents = package.split(".") if level and package else []
        return parents[: len(parents) - level + 1]

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            target = ".".join([*above(node.level), *filter(None, [node.module])])
            yield from _with_packages(target)
            yield from (f"{target}.{alias.name}" for alias in node.names if target)  # those of them that are modules
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = _NAME.fullmatch(node.value)
            if text:
                yield from _with_packages(".".join([*above(len(text[1])), text[2]]))
                yield from _with_packages(".".join([*above(1), text[2]]))  # of a list of those beside it, perhaps


def _with_packages(name: str) -> Iterator[str]:
    """A name and those of the packages around it."""
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts) + 1) if name)


_IMPORTERS = {"import_module", "__import__", "exec_module", "load_module", "run_module", "resolve_name"}
"""Functions that load modules by their names."""


def _computes_names(tree: ast.AST) -> bool:
    """Whether a source calls one of them with anything but a text, or hands one on."""
    nodes = list(ast.walk(tree))
    plain = {
        id(node.func)
        for node in nodes
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    }
    return any(
        (isinstance(node, ast.Name) and node.id in _IMPORTERS and id(node) not in plain)
        or (isinstance(node, ast.Attribute) and node.attr in _IMPORTERS and id(node) not in plain)
        or (isinstance(node, ast.alias) and node.name in _IMPORTERS and node.asname is not None)
        for node in nodes
    )


_WATCH = _Watch()
sys.meta_path.insert(0, _WATCH)
