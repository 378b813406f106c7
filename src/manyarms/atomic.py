"""Files that are written all at once or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any


class at_once:  # noqa: N801, used as a statement
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

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Cut, so that the name of a temporary file is never too long where that of the file itself is not.
        shown = self.path.name.encode(errors="ignore")[:200].decode(errors="ignore")
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{shown}.", suffix=".tmp")
        os.close(handle)
        self.temporary = Path(name)
        return self.temporary

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if kind is None:
                with open(self.temporary, "rb+") as written:
                    os.fsync(written.fileno())
                os.chmod(self.temporary, 0o666 & ~_umask())  # mkstemp's is for this user alone
                os.replace(self.temporary, self.path)
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        finally:
            self.temporary.unlink(missing_ok=True)


def _umask() -> int:
    """What new files may not be used for."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
