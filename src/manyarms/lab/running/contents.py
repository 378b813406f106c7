"""What a result file holds, byte by byte: its columns, what it says of itself, and whether it is what was written.

Nothing is concluded from a file before that is certain, for anything may stand in its place.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...atomic import check_plain
from ...trace import SIMPLE_REGRET, columns_kept

FORMAT = 3
"""Earlier ones are still read. Their digest is of the values, and in format 2 also of what is said of them; files of
format 1 say all of their study."""

KEY = b"manyarms"
UNSIGNED = "0" * 32
"""Stands in the place of a file's digest while that is computed."""


def written(columns: Iterable[str]) -> dict[str, Any]:
    """The columns of a file with these numbers, and their types."""
    return {"replication": pa.int64(), "round": pa.int64()} | dict.fromkeys(columns, pa.float64())


class BadFile(ValueError):
    """A file that is damaged, or not one of ours; the message names it."""


def digest_of(*parts: bytes | memoryview) -> str:
    """Thirty-two hex digits that change with any bit."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:32]


def signature(digest: str) -> bytes:
    """How the digest of a file stands in it."""
    return json.dumps({"digest": digest}).encode()[1:-1]


class Contents(NamedTuple):
    """What an undamaged file holds; the arrays have an entry or a row for each replication and checkpoint."""

    said: dict[str, Any]  # of itself
    replications: NDArray[np.int64]
    rounds: NDArray[np.int64]
    rows: NDArray[np.float64]


def contents_of(path: Path) -> Contents:
    """What a file holds, if nothing is damaged."""
    try:
        data = plain_bytes(path)
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            said = parsed((file.metadata.metadata or {})[KEY])
            if not isinstance(said, dict) or said.get("format") not in range(1, FORMAT + 1):
                raise BadFile(f"{path} has another format than 1 to {FORMAT}, which this version of manyarms reads")
            if said["format"] == FORMAT and said.get("digest") != _signed(data, said):
                raise BadFile(f"{path} is damaged: it is not what was written")
            found = _columns(path, file, said)
    except (FileNotFoundError, BadFile):
        raise
    except KeyError:
        raise BadFile(f"{path} is no result of manyarms") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(f"{path} is damaged: {error}") from None
    if said["format"] != FORMAT and said.get("digest") != _digest_of_values(said, found.rows):
        raise BadFile(f"{path} is damaged: it is not what was written")
    return found


def _columns(path: Path, file: Any, said: dict[str, Any]) -> Contents:
    """The columns of a file, which must be those that are written."""
    there = list(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
    columns = columns_kept(SIMPLE_REGRET in file.schema_arrow.names)
    if there != list(written(columns).items()):
        unlike = [name for name, _ in {*written(columns).items()} ^ {*there}]
        raise BadFile(
            f"{path} is damaged: its columns are not those that are written{f': {min(unlike)}' * bool(unlike)}"
        )
    replications, rounds = _column(file, "replication"), _column(file, "round")
    rows = np.empty((len(rounds), len(columns)))  # now that it is certain how many there are
    for place, name in enumerate(columns):  # one by one: there may be much of them
        column = _column(file, name)
        if len(column) != len(rows):
            raise BadFile(f"{path} is damaged: its columns are not of one length")
        rows[:, place] = column
    return Contents(said, replications, rounds, rows)


def _column(file: Any, name: str) -> NDArray[Any]:
    """One column; its pages' checksums are looked at."""
    column = file.read([name], use_threads=False)[name]
    if column.null_count:
        raise ValueError(f"its column {name} has gaps")
    # Not by to_numpy, which imports pandas: that takes longer than to look at a thousand files.
    return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks])


def _signed(data: bytes, said: Mapping[str, Any]) -> str:
    """The digest that a file should have; empty if it has none to compare with."""
    before, own, after = data.rpartition(signature(str(said.get("digest"))))
    return digest_of(before, signature(UNSIGNED), after) if own else ""


def _digest_of_values(said: Mapping[str, Any], rows: NDArray[np.float64]) -> str:
    """The digest that a file of an earlier format should have."""
    described = {name: said[name] for name in said if name != "digest"}
    values = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
    return digest_of(json.dumps(described, sort_keys=True).encode() if said["format"] == 2 else b"", values)


def plain_bytes(path: Path) -> bytes:
    """What a file holds; an error for a pipe, a folder or a device."""
    check_plain(path)
    return path.read_bytes()


def parsed(text: bytes) -> Any:
    """What a JSON text says; a ValueError if it is none, however it is not."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
