"""Result files: Parquet, written at once or not at all, that know how they were made.

A file holds some replications of one cell of a study: one row for each replication and checkpoint. Its
metadata holds what the study says of this cell, the version of the package and a digest of its sources, so a result
can be run again from the file alone. The whole study stands once beside its results, in ``study.json``; they hold its
digest.
"""

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ... import sources
from ...atomic import at_once
from ...compiled import LOADED_SOURCES
from ...intervals import mean_and_half_width
from ...results import PER_ROUND, column_of, regret_and_reward
from ...trace import COLUMNS
from ...version import __version__
from ..studies.modules import modules_of
from ..studies.study import Cell, Study, study_digest

FORMAT = 3
"""Earlier ones are still read. Their digest is of the values, and in format 2 also of what is said of them; files of
format 1 say all of their study."""

KEY = b"manyarms"
UNSIGNED = "0" * 32
"""Stands in the place of a file's digest while that is computed."""
STUDY = "study.json"


class BadFile(ValueError):
    """A file that is damaged, or not one of ours; the message names it."""


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """Some replications of one cell, as a file holds them."""

    study: Study  # as it was run; of a file that stands alone, a study of its one cell
    index: int  # which of its cells
    first: int  # the number of the first replication
    values: NDArray[np.float64]  # (replications, checkpoints, columns); the columns are ``manyarms.trace.COLUMNS``
    version: str = __version__  # of the package that made it …
    sources: str = ""  # … and the digest of its sources

    def __post_init__(self) -> None:
        if not self.sources:
            object.__setattr__(self, "sources", sources_of(self.cell))

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.study.cells[self.index]

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The rounds of the checkpoints."""
        return self.study.rounds_kept(self.cell)

    def column(self, name: str) -> NDArray[np.float64]:
        """One column: a row for each replication, an entry for each checkpoint."""
        return column_of(self.values, name, self.rounds)

    def final(self, name: str = "regret") -> NDArray[np.float64]:
        """One number for each replication, after the last round."""
        return self.column(name)[:, -1]

    def metadata(self) -> dict[str, Any]:
        """What a file says of itself: of its study only what concerns its cell."""
        return {
            "format": FORMAT,
            "version": self.version,
            "sources": self.sources,
            "study": self.study.to_json([self.cell]),
            "cell": 0,
            "of": self.study.digest(),
            "index": self.index,
            "first": self.first,
            "digest": UNSIGNED,
        }


def digest_of(*parts: bytes | memoryview) -> str:
    """Thirty-two hex digits that change with any bit."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:32]


def sources_of(cell: Cell) -> str:
    """A digest of the sources that play a cell: the package's, and those of specs from elsewhere."""
    digest = hashlib.sha256(LOADED_SOURCES.encode())
    for module in sorted(modules_of((cell.policy, cell.world))):
        # Typed at a prompt: nobody can say whether it is still the same.
        digest.update(sources.behind(module) or os.urandom(16))
    return digest.hexdigest()[:16]


# ---------------------------------------------------------------- writing


def write_result(path: Path, result: CellResult) -> None:
    """Write a file, atomically: whoever looks sees all of it or nothing."""
    replications, checkpoints, _ = result.values.shape
    numbers = np.arange(result.first, result.first + replications, dtype=np.int64)
    columns = {"replication": np.repeat(numbers, checkpoints), "round": np.tile(result.rounds, replications)}
    columns |= {name: np.ascontiguousarray(result.column(name)).ravel() for name in COLUMNS}
    table = pa.table(columns)
    with at_once(path) as temporary:
        with pq.ParquetWriter(temporary, table.schema, compression="zstd", write_page_checksum=True) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({KEY: json.dumps(result.metadata(), sort_keys=True).encode()})
        sign(temporary)


def signature(digest: str) -> bytes:
    """How the digest of a file stands in it."""
    return json.dumps({"digest": digest}).encode()[1:-1]


def sign(path: Path) -> None:
    """Put the digest of a file, which stands at its end, in its place."""
    with open(path, "r+b") as file:
        unsigned = file.read()
        file.seek(unsigned.rindex(signature(UNSIGNED)))
        file.write(signature(digest_of(unsigned)))


def write_study(folder: Path, study: Study) -> None:
    """Put a study beside its results, unless it is there."""
    said = study.to_json() | ({"file": study.file} if study.file else {})
    if said != read_json(folder / STUDY):
        with at_once(folder / STUDY) as temporary:
            temporary.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- reading


def read_result(path: Path, study: Study | None = None, *, alone: bool = True) -> CellResult:
    """Read a file back, or say what is wrong with it.

    Parameters
    ----------
    path
        The file.
    study
        The study it is of, if it is at hand: else it is looked for beside the file.
    alone
        Whether a file may stand alone: it is read as of a study that has its cell only.
    """
    said, rows = _contents(path)
    try:
        digest, index = _of(said), said.get("index", said["cell"])
        if study is None or study.digest() != digest:
            whole = json_beside(path, digest)
            index = said["cell"] if whole is None else index
            study = Study.from_json(whole or said["study"])
            if study.digest() != digest and not alone:
                raise BadFile(f"{path}: its study ({digest}) is not beside it, in {STUDY}; run the study again")
        values = rows.reshape(-1, study.rounds_kept(study.cells[index]).size, len(COLUMNS))
        return CellResult(study, index, int(said["first"]), values, str(said["version"]), str(said["sources"]))
    except BadFile:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {type(error).__name__} {error}") from None


def read_all(paths: Iterable[Path], study: Study | None = None) -> list[CellResult]:
    """Read the files of one study, which is made once; if it is not at hand, it must be beside them."""
    results = []
    for path in paths:
        results.append(read_result(path, study, alone=False))
        study = results[-1].study
    return results


def _contents(path: Path) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """What a file says of itself, and a row of values for each replication and checkpoint, if nothing is damaged."""
    try:
        data = path.read_bytes()
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            said = json.loads((file.metadata.metadata or {})[KEY])
            rows = np.empty((0, len(COLUMNS)))
            for name in file.schema_arrow.names:  # one by one: there may be much of them
                column = file.read([name])[name].to_numpy()
                if not rows.size:  # now that it is certain how long it is
                    rows = np.empty((len(column), len(COLUMNS)))
                if name in COLUMNS:  # the others are only looked at for damage
                    rows[:, COLUMNS.index(name)] = column
    except FileNotFoundError:
        raise
    except KeyError:
        raise BadFile(f"{path} is no result of manyarms") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(f"{path} is damaged: {error}") from None
    if not isinstance(said, dict) or said.get("format") not in range(1, FORMAT + 1):
        raise BadFile(f"{path} has another format than 1 to {FORMAT}, which this version of manyarms reads")
    if said.get("digest") != _written(data, said, rows):
        raise BadFile(f"{path} is damaged: it is not what was written")
    return said, rows


def _written(data: bytes, said: Mapping[str, Any], rows: NDArray[np.float64]) -> str:
    """The digest that a file should have; empty if it has none to compare with."""
    if said["format"] == FORMAT:
        before, own, after = data.rpartition(signature(str(said.get("digest"))))
        return digest_of(before, signature(UNSIGNED), after) if own else ""
    described = {name: said[name] for name in said if name != "digest"}
    values = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
    return digest_of(json.dumps(described, sort_keys=True).encode() if said["format"] == 2 else b"", values)


def _of(said: Mapping[str, Any]) -> str:
    """The digest of the study that a file is of."""
    return str(said["of"]) if "of" in said else study_digest(said["study"])


def study_digest_of(path: Path) -> str | None:
    """The digest of the study that a file says it is of; None if it is damaged or not one of ours."""
    try:
        return _of(json.loads((pq.read_metadata(path).metadata or {})[KEY]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def read_json(path: Path) -> Any:
    """What a JSON file holds; None if there is none, or nothing that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def aside(digest: str) -> str:
    """What the file of a study is called while another study of the same name stands in its place."""
    return f"study-{digest}.json"


def json_beside(path: Path, digest: str) -> Any:
    """The study with this digest as JSON, from the folder above a result file or from its own; None if not there."""
    for folder in (path.parent.parent, path.parent):
        for name in (STUDY, aside(digest)):
            said = read_json(folder / name)
            if isinstance(said, dict) and study_digest(said) == digest:
                return said
    return None


def summary(results: Iterable[CellResult]) -> list[dict[str, Any]]:
    """One row for each cell: its mean regret at the end with the spread over replications, and the average reward.

    Rewards come first unless regret is counted from the best mean that a fresh arm can have, in all worlds.
    """
    results, rows = list(results), []
    regret_first = all(result.cell.world.regret_is_from_the_best for result in results)
    for result in results:
        regret = result.final("regret")
        mean, half_width = mean_and_half_width(regret)
        spread = float(regret.std(ddof=1)) if len(regret) > 1 else math.nan
        reward = dict(zip(("reward", "reward_half_width"), mean_and_half_width(result.final(PER_ROUND)), strict=True))
        rows.append(
            {
                "policy": result.cell.policy_name,
                "world": result.cell.world_name,
                "horizon": result.cell.horizon,
                "replications": len(regret),
                **regret_and_reward(regret_first, {"mean": mean, "half_width": half_width, "sd": spread}, reward),
                "restarts": float(result.final("restarts").mean()),
                "arms": float(result.final("arms").mean()),
            }
        )
    return rows
