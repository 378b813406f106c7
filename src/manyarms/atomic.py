"""Files that are written all at once or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def at_once(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place at the end, on disk for good; nothing if it fails.

    Examples
    --------
    >>> from pathlib import Path
    >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with at_once(target) as temporary:
    ...     _ = temporary.write_text("1 2 3")
    >>> target.read_text()
    '1 2 3'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Cut, so that the name of a temporary file is never too long where that of the file itself is not.
    shown = path.name.encode(errors="ignore")[:200].decode(errors="ignore")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{shown}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _keep(temporary)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's is for this user alone
        os.replace(temporary, path)
        _keep(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _keep(path: Path) -> None:
    """See that a file or folder is on disk for good."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """What new files may not be used for."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
