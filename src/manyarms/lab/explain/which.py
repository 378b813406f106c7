"""Which run is meant: a replication of a result file, or of a cell of a study; and what is wrong if none is."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...specs import count
from ...trace import COLUMNS
from ..running.files import BadFile, CellResult, read_result
from ..studies.study import SUFFIX, Cell, Study, study_names


def is_result_file(name: str) -> bool:
    """Whether a name on the command line is meant as a result file, not as a study."""
    if name in study_names() or name.endswith(SUFFIX):
        return False
    return name.endswith(".parquet") or Path(name).exists()


def found_result(path: Path) -> CellResult:
    """The result in a file; an error that says what the file is if it has none."""
    if path.is_dir():
        there = sorted(path.glob("**/*.parquet"))
        hint = f"such as {there[0]}" if there else "but there is none"
        raise BadFile(f"{path} is a folder; name one of the result files in it, {hint}")
    if not path.exists():
        raise FileNotFoundError(f"there is no result file {str(path)!r}; manyarms run makes some, in …/cells")
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError, ValueError):
        raise BadFile(f"{path} is not a result file: it is no Parquet; a study's file must end in {SUFFIX}") from None
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise BadFile(f"{path} is not a result of manyarms: it has no column {missing[0]!r}; run its study again")
    return read_result(path)


def chosen_replication(replication: int, where: str, first: int, last: int) -> int:
    """The number of a replication; an error if it is none of those that are there."""
    replication = count("explain", "replication", replication, least=0)
    if not first <= replication <= last:
        raise ValueError(
            f"{where} has no replication {replication}; it has those from {first} to {last}, choose one of them"
        )
    return replication


def check_same_run(path: Path, result: CellResult, replication: int, values: NDArray[np.float64]) -> None:
    """An error unless the replayed run has the numbers of the file, to the bit."""
    saved = result.values[replication - result.first]
    if np.array_equal(saved, values):
        return
    checkpoint, column = np.argwhere(saved != values)[0]
    raise BadFile(
        f"{path}: replayed, replication {replication} is another run: after round "
        f"{result.rounds[checkpoint]:,} its {COLUMNS[column]} is {float(values[checkpoint, column])!r} where the "
        f"file has {float(saved[checkpoint, column])!r}. The file was made by manyarms {result.version}, sources "
        f"{result.sources}; run its study again with this version"
    )


def chosen_cell(study: Study, cell: str | int | None) -> int:
    """The place of the cell that is meant by a number or by words of its label."""
    labels = [one.label for one in study.cells]
    listed = "\n".join(f"  {place}  {label}" for place, label in enumerate(labels))
    if cell is None:
        if len(labels) == 1:
            return 0
        raise ValueError(f"study {study.name} has {len(labels)} cells; choose one by number or words:\n{listed}")
    words = str(cell).strip()
    if words.isdecimal() and words.isascii():
        if int(words) < len(labels):
            return int(words)
        raise ValueError(f"study {study.name} has no cell {words}; choose one of these:\n{listed}")
    wanted = words.lower()
    full = [place for place, one in enumerate(study.cells) if wanted in [name.lower() for name in _names(one)]]
    matches = full or [place for place, label in enumerate(labels) if wanted in label.lower()]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ValueError(f"study {study.name} has no cell {words!r}; choose one of these:\n{listed}")
    meant = "\n".join(f"  {place}  {labels[place]}" for place in matches)
    raise ValueError(f"{words!r} may mean {len(matches)} cells of study {study.name}; choose one by number:\n{meant}")


def _names(cell: Cell) -> tuple[str, ...]:
    """What a cell may be called in full, and what its policy and its world may."""
    return cell.label, f"{cell.policy_name}, {cell.world_name}", cell.policy_name, cell.world_name
