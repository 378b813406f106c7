"""Result files: Parquet, written at once or not at all, that know how they were made.

A file holds some replications of one cell of a study: one row for each replication and checkpoint. Its
metadata holds what the study says of this cell, the version of the package and a digest of its sources, so a result
can be run again from the file alone. The whole study stands once beside its results, in ``study.json``; they hold its
digest.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
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
from ...specs import modules_of, whole
from ...version import __version__
from ..studies.study import Cell, Study, checked_text, study_digest
from .contents import (
    FORMAT,
    KEY,
    UNSIGNED,
    BadFile,
    Contents,
    contents_of,
    digest_of,
    parsed,
    plain_bytes,
    signature,
)

STUDY = "study.json"


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """Some replications of one cell, as a file holds them."""

    study: Study  # as it was run; of a file that stands alone, a study of its one cell
    index: int  # which of its cells
    first: int  # the number of the first replication
    values: NDArray[np.float64]  # (replications, checkpoints, columns); the columns are those of the study
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


def sources_of(cell: Cell) -> str:
    """A digest of the sources that play a cell: the package's, and those of specs from elsewhere."""
    digest = hashlib.sha256(LOADED_SOURCES.encode())
    for module in sorted(modules_of((cell.policy, cell.world))):
        # Typed at a prompt, or edited since: nobody can say whether it is still the same.
        digest.update((sources.digest_behind(module) or os.urandom(16).hex()).encode())
    return digest.hexdigest()[:16]


# ---------------------------------------------------------------- writing


def write_result(path: Path, result: CellResult) -> None:
    """Write a file, atomically: whoever looks sees all of it or nothing."""
    replications, checkpoints, _ = result.values.shape
    numbers = np.arange(result.first, result.first + replications, dtype=np.int64)
    columns = {"replication": np.repeat(numbers, checkpoints), "round": np.tile(result.rounds, replications)}
    columns |= {name: np.ascontiguousarray(result.column(name)).ravel() for name in result.study.columns}
    table = pa.table(columns)
    with at_once(path, tidies=False) as temporary:  # who runs a study has removed what others left, in all its folders
        with pq.ParquetWriter(temporary, table.schema, compression="zstd", write_page_checksum=True) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({KEY: json.dumps(result.metadata(), sort_keys=True).encode()})
        sign(temporary)


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
    contents = contents_of(path)
    said = contents.said
    with _named(path):
        digest, index = _of(said), said.get("index", said["cell"])
        if study is None or study.digest() != digest:
            beside = json_beside(path, digest)
            index = said["cell"] if beside is None else index
            study = Study.from_json(beside or said["study"])
            if study.digest() != digest and not alone:
                raise BadFile(f"{path}: its study ({digest}) is not beside it, in {STUDY}; run the study again")
        return _result(contents, study, index)


def read_own(path: Path, study: Study) -> CellResult:
    """Read a file that must be of this study. Nothing is made of what it says of another."""
    contents = contents_of(path)
    with _named(path):
        if _of(contents.said) != study.digest():
            raise BadFile(f"{path} is of another study")
        return _result(contents, study, contents.said.get("index", contents.said["cell"]))


def read_all(paths: Iterable[Path], study: Study | None = None) -> list[CellResult]:
    """Read the files of one study, which is made once; if it is not at hand, it must be beside them."""
    results = []
    for path in paths:
        results.append(read_result(path, study, alone=False))
        study = results[-1].study
    return results


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """While this lasts, an error says which file it is about: what stands there may be anything."""
    try:
        yield
    except (BadFile, MemoryError):
        raise
    except Exception as error:
        raise BadFile(f"{path} cannot be read: {type(error).__name__} {error}") from error


def _result(contents: Contents, study: Study, index: Any) -> CellResult:
    """What a file holds as a result, if all that it says agrees."""
    said, rows = contents.said, contents.rows
    index = whole("a result", "its cell", index, 0, len(study.cells) - 1)
    first = whole("a result", "its first replication", said["first"], 0)
    rounds = study.rounds_kept(study.cells[index])
    if "of" in said:
        whole("a result", "its place in a study of its one cell", said["cell"], 0, 0)
    described = study.to_json([study.cells[index]])
    if said.get("of") == study.digest() and digest_said(said["study"]) != study_digest(described):
        raise ValueError("what it says of its cell is not what its study says")
    shape = len(rows) // rounds.size, rounds.size
    if not rows.size or len(rows) != shape[0] * shape[1]:
        raise ValueError(f"{len(rows)} rows are not those of {rounds.size} checkpoints")
    if first + shape[0] > study.replications:
        raise ValueError(f"it has a replication {first + shape[0] - 1}, and its study {study.replications} of them")
    if rows.shape[1] != len(study.columns):
        raise ValueError(f"it has {rows.shape[1]} columns of numbers, and its study {len(study.columns)}")
    numbers = np.arange(first, first + shape[0])[:, None]
    if (contents.replications.reshape(shape) != numbers).any() or (contents.rounds.reshape(shape) != rounds).any():
        raise ValueError("its rows are of other replications or rounds than it says")
    made_by = [checked_text("a result", name, said[name]) for name in ("version", "sources")]
    if not all(made_by):
        raise ValueError("it does not say what made it")
    return CellResult(study, index, first, rows.reshape(*shape, len(study.columns)), *made_by)


def _of(said: Mapping[str, Any]) -> str:
    """The digest of the study that a file is of; an error if what stands there cannot be one."""
    digest = said["of"] if "of" in said else digest_said(said["study"])
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{16}", digest):
        raise ValueError(f"its study is given as {digest!r}, which is no digest")
    return digest


def study_digest_of(path: Path) -> str | None:
    """The digest of the study that a file says it is of; None if it is damaged or not one of ours."""
    try:
        if path.is_file():  # a pipe would be waited for
            return _of(parsed((pq.read_metadata(path).metadata or {})[KEY]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def read_json(path: Path) -> Any:
    """What a JSON file holds; None if there is none, or nothing that can be read."""
    try:
        return parsed(plain_bytes(path))
    except (OSError, ValueError):
        return None


def digest_said(said: Any) -> str | None:
    """The digest of the study that these JSON values describe; None if they cannot describe one."""
    try:
        return study_digest(said) if isinstance(said, dict) else None
    except RecursionError:
        return None


def aside(digest: str) -> str:
    """What the file of a study is called while another study of the same name stands in its place."""
    return f"study-{digest}.json"


def json_beside(path: Path, digest: str) -> Any:
    """The study with this digest as JSON, from the folder above a result file or from its own; None if not there."""
    for folder in (path.parent.parent, path.parent):
        for name in (STUDY, aside(digest)):
            said = read_json(folder / name)
            if digest_said(said) == digest and isinstance(said.get("file", ""), str):
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
