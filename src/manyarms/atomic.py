"""Files that are written all at once or not at all, and read without waiting for anybody."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Opens a pipe without waiting for somebody at its other end; not on Windows."""


def check_plain(path: Path) -> None:
    """Refuse what is no file: a pipe is waited for if it is opened, and a device is no more if it is replaced."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no plain file; move it away, or give another one")


@contextlib.contextmanager
def at_once(path: Path, *, tidies: bool = True) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place at the end, on disk for good; nothing if it fails.

    First all names in its folder are looked through for what killed processes have left of the same file; who writes
    thousands of files there has done so once before, and says ``tidies=False``.

    Examples
    --------
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with at_once(target) as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> target.read_text()
    '1 2 3'
    """
    path = Path(os.path.realpath(path))  # what a link leads to is replaced, not the link
    check_plain(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Cut, so that the name of a temporary file is never too long where that of the file itself is not.
    shown = path.name.encode(errors="ignore")[:200].decode(errors="ignore")
    if tidies:
        _remove_leftovers(path.parent, f".{shown}.")
    handle, temporary = _locked_file(path.parent, f".{shown}.")
    try:
        yield temporary
        _keep(temporary)
        _keep_owner(temporary, path)
        os.chmod(temporary, _mode_for(path))  # mkstemp's is for this user alone
        os.replace(temporary, path)
        _keep(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _locked_file(folder: Path, prefix: str) -> tuple[int, Path]:
    """A new file, locked while it is written, so that nobody takes it for what a killed process has left."""
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=".tmp")
        _is_locked(handle, waits=True)
        with contextlib.suppress(FileNotFoundError):  # somebody took it for that before it was locked
            os.stat(name)
            return handle, Path(name)
        os.close(handle)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Drop temporary files of processes that were killed while they wrote the same file."""
    for entry in os.scandir(folder):
        if entry.name.startswith(prefix) and entry.name.endswith(".tmp"):
            with contextlib.suppress(OSError):
                handle = os.open(entry.path, os.O_RDONLY | _WITHOUT_WAITING)
                try:
                    if _is_locked(handle):
                        os.unlink(entry.path)
                finally:
                    os.close(handle)


def _is_locked(handle: int, waits: bool = False) -> bool:
    """Lock a file, unless another has it and is not waited for, or there are no locks here."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (AttributeError, OSError):
        return False
    return True


def _keep_owner(temporary: Path, path: Path) -> None:
    """Give a file the owner and the group of the one that it is to replace, as far as this user may."""
    with contextlib.suppress(OSError, AttributeError):  # there is none; not on Windows
        there = path.stat()
        with contextlib.suppress(OSError):
            os.chown(temporary, -1, there.st_gid)
        os.chown(temporary, there.st_uid, -1)


def _mode_for(path: Path) -> int:
    """The rights of a file that is there, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o666 & ~_umask()


def _keep(path: Path) -> None:
    """See that a file or folder is on disk for good."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """What new files may not be used for."""
    with contextlib.suppress(OSError, StopIteration):  # to ask for it otherwise sets it, for other threads too
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
