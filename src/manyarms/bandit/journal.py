"""A journal: everything that is done to a bandit, appended to a file before it is done.

The first line is a snapshot, every other one an event: a JSON array behind its checksum. Lines are written in one go,
past all buffers of this process: what was written before ``kill -9`` is there. What a power failure takes is up to
``fsync``.
"""

import fcntl
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import at_once, check_plain
from ..snapshots import SnapshotError

FORMAT = "manyarms.journal"
VERSION = 1


class Found(NamedTuple):
    """What a journal holds."""

    snapshot: dict[str, Any]
    events: list[list[Any]]


class Journal:
    """A file that is appended to, by one bandit at a time."""

    def __init__(self, path: Path, fsync: bool) -> None:
        self.path = path
        self.fsync = fsync
        self.is_left = False  # to the process that this one was forked from
        check_plain(path)
        self.handle: int | None = os.open(path, os.O_WRONLY | os.O_APPEND)
        if not self._is_mine():
            self.close()
            raise BlockingIOError(
                f"the journal {path} is in use by another bandit; give each its own, or close that one first"
            )

    def _is_mine(self) -> bool:
        """Whether the file is locked for this object, and was not replaced by another meanwhile."""
        assert self.handle is not None
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return os.path.samestat(os.fstat(self.handle), os.stat(self.path))

    @classmethod
    def new(cls, path: str | os.PathLike[str], snapshot: dict[str, Any], fsync: bool) -> "Journal":
        """A journal that begins with this snapshot, where there is none yet."""
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"Bandit: the folder of the journal {target} does not exist; make it first")
        if target.exists():
            raise FileExistsError(
                f"Bandit: {target} is a folder; give the path of a file in it"
                if target.is_dir()
                else f"Bandit: there is a journal {target} already; go on with it: Bandit.recover({str(path)!r}); or "
                "choose another path"
            )
        return cls.anew(target, snapshot, fsync)

    @classmethod
    def anew(cls, path: str | os.PathLike[str], snapshot: dict[str, Any], fsync: bool) -> "Journal":
        """A journal that begins with this snapshot, in place of what there is."""
        target = Path(path)
        with at_once(target) as temporary:
            temporary.write_bytes(line_of({"format": FORMAT, "version": VERSION, "snapshot": snapshot}))
        return cls(target, fsync)

    def write(self, event: Sequence[Any]) -> None:
        """Append an event; it is in the file when this returns, whole or not at all."""
        if self.handle is None:
            raise ValueError(
                f"the journal {self.path} is that of the process which this one was forked from; give each process a "
                "bandit of its own, after the fork"
                if self.is_left
                else f"the journal {self.path} is closed; Bandit.recover goes on with it"
            )
        line = line_of(event)
        end = os.lseek(self.handle, 0, os.SEEK_END)
        try:
            if os.write(self.handle, line) < len(line):
                raise OSError(f"the journal {self.path} could not be written: no space left")
        except OSError:
            os.ftruncate(self.handle, end)  # no half lines between others
            raise
        if self.fsync:
            os.fsync(self.handle)

    def leave(self) -> None:
        """Write nothing more: this process was forked from that which has the journal, and which keeps it."""
        if self.handle is not None:
            handle, self.handle, self.is_left = self.handle, None, True
            os.close(handle)  # the lock stays that of the other process

    def close(self) -> None:
        """Let others have it."""
        if self.handle is not None:
            handle, self.handle = self.handle, None
            os.close(handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.close()

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Found:
        """All that was written; but for a last line that is not finished."""
        lines = Path(path).read_bytes().split(b"\n")
        rest = lines.pop()  # empty, or a line that is not finished
        if is_line(rest[:-1]):  # or one whose end of line is another byte
            lines.append(rest)
        if not is_line(lines[0] if lines else b""):
            raise SnapshotError(f"{path} is not the journal of a bandit, or its first line is damaged; {IF_SNAPSHOT}")
        read = [json_of(line, f"{path}, line {place + 1}") for place, line in enumerate(lines)]
        if not read or not isinstance(read[0], dict) or read[0].get("format") != FORMAT:
            raise SnapshotError(f"{path} is not the journal of a bandit")
        if read[0].get("version") != VERSION:
            raise SnapshotError(
                f"{path} is a journal of version {read[0].get('version')!r}, this package reads {VERSION}"
            )
        return Found(read[0].get("snapshot"), read[1:])  # type: ignore[arg-type]


IF_SNAPSHOT = "if it is a snapshot, Bandit.load reads it"


def is_line(line: bytes) -> bool:
    """Whether a line has the checksum of what it says."""
    checksum, _, text = line.partition(b" ")
    return checksum == b"%08x" % zlib.crc32(text)


def line_of(values: Any) -> bytes:
    """JSON values in one line, with a checksum."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def json_of(line: bytes, where: str) -> Any:
    """The values of a line, or an error that says which one is damaged."""
    if not is_line(line):
        raise SnapshotError(f"{where}: damaged; what comes before it can be recovered if the file is cut there")
    try:
        return json.loads(line.partition(b" ")[2])
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{where} cannot be read: {type(error).__name__}") from None
