"""Result files: Parquet, written at once or not at all, that know how they were made.

A file holds some replications of one cell of a study: one row for each replication and checkpoint. Its
metadata holds the study, the seed, the version of the package and a digest of its sources, so a result
can be run again from the file alone.
"""

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...atomic import at_once
from ...compiled import source_digest
from ...intervals import mean_and_half_width
from ...trace import COLUMNS
from ...version import __version__
from ..studies.modules import modules_of, source_of
from ..studies.study import Cell, Study, study_digest

FORMAT = 1
KEY = b"manyarms"


class BadFile(ValueError):
    """A file that is damaged, or not one of ours; the message names it."""


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """Some replications of one cell, as a file holds them.

    Attributes
    ----------
    study
        The study, as it was run.
    index
        Which of its cells.
    first
        The number of the first replication.
    values
        Shape (replications, checkpoints, columns); the columns are ``manyarms.trace.COLUMNS``.
    version, sources
        The package that made it.
    """

    study: Study
    index: int
    first: int
    values: NDArray[np.float64]
    version: str = __version__
    sources: str = ""

    def __post_init__(self) -> None:
        if not self.sources:
            object.__setattr__(self, "sources", sources_of(self.study.cells[self.index]))

    @property
    def cell(self) -> Any:
        """The cell."""
        return self.study.cells[self.index]

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The rounds of the checkpoints."""
        return self.study.rounds_kept(self.cell)

    def column(self, name: str) -> NDArray[np.float64]:
        """One column: a row for each replication, an entry for each checkpoint."""
        if name not in COLUMNS:
            raise KeyError(f"no column {name!r}; there are {', '.join(COLUMNS)}")
        return self.values[:, :, COLUMNS.index(name)]

    def metadata(self) -> dict[str, Any]:
        """What a file says of itself."""
        return {
            "format": FORMAT,
            "version": self.version,
            "sources": self.sources,
            "study": self.study.to_json(),
            "cell": self.index,
            "first": self.first,
            "digest": values_digest(self.values),
        }


def values_digest(values: NDArray[np.float64]) -> str:
    """Thirty-two hex digits that change with any bit of the values."""
    return hashlib.sha256(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data).hexdigest()[:32]


def sources_of(cell: Cell) -> str:
    """A digest of the sources that play a cell: the package's, and those of specs from elsewhere."""
    digest = hashlib.sha256(source_digest().encode())
    for module in sorted(modules_of((cell.policy, cell.world))):
        # Typed at a prompt: nobody can say whether it is still the same.
        digest.update(source_of(module) or os.urandom(16))
    return digest.hexdigest()[:16]


def write_result(path: Path, result: CellResult) -> None:
    """Write a file, atomically: whoever looks sees all of it or nothing."""
    replications, checkpoints, _ = result.values.shape
    numbers = np.arange(result.first, result.first + replications, dtype=np.int64)
    table = pa.table(
        {
            "replication": np.repeat(numbers, checkpoints),
            "round": np.tile(result.rounds, replications),
        }
        | {name: np.ascontiguousarray(result.column(name)).ravel() for name in COLUMNS}
    )
    said = json.dumps(result.metadata(), sort_keys=True)
    table = table.replace_schema_metadata({KEY: said.encode()})
    with at_once(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_result(path: Path) -> CellResult:
    """Read a file back, or say what is wrong with it."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            said = json.loads((file.schema_arrow.metadata or {})[KEY])
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
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise BadFile(f"{path} has another format than {FORMAT}, which this version of manyarms reads")
    try:
        study = Study.from_json(said["study"])
        cell = study.cells[said["cell"]]
        checkpoints = study.rounds_kept(cell).size
        values = rows.reshape(len(rows) // checkpoints, checkpoints, len(COLUMNS))
        if values_digest(values) != said["digest"]:
            raise BadFile(f"{path} is damaged: its numbers are not those that were written")
        return CellResult(
            study=study,
            index=said["cell"],
            first=int(said["first"]),
            values=values,
            version=str(said["version"]),
            sources=str(said["sources"]),
        )
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {type(error).__name__} {error}") from None


def study_of(path: Path) -> str | None:
    """The digest of the study that a file says it is of; None if it is damaged or not one of ours."""
    try:
        return study_digest(json.loads((pq.read_schema(path).metadata or {})[KEY])["study"])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None


def summary(results: Iterable[CellResult]) -> list[dict[str, Any]]:
    """One row for each cell: its mean regret at the end, and the spread over replications."""
    rows = []
    for result in results:
        regret = result.column("regret")[:, -1]
        mean, half_width = mean_and_half_width(regret)
        rows.append(
            {
                "policy": result.cell.policy_name,
                "world": result.cell.world_name,
                "horizon": result.cell.horizon,
                "replications": len(regret),
                "mean": mean,
                "half_width": half_width,
                "sd": float(regret.std(ddof=1)) if len(regret) > 1 else math.nan,
                "restarts": float(result.column("restarts")[:, -1].mean()),
                "arms": float(result.column("arms")[:, -1].mean()),
            }
        )
    return rows
