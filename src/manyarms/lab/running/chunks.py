"""Chunks: how the replications of a cell are cut up. It depends on the study and the device alone."""

import dataclasses
from collections.abc import Iterator

from ...engine import memory
from ..studies.study import Cell, Study

CHUNK_ROUNDS = {"cpu": 50_000_000, "gpu": 20_000_000_000}
"""A chunk has about this many rounds, some seconds: what a power cut can cost."""

CHUNK_NUMBERS = {"cpu": 2**24, "gpu": 2**27}
"""And at most about this many numbers, 128 MiB or 1 GiB: what each worker holds in memory."""

SIZES_IN_MEMORY = 2.5
"""A result is put together in memory, which takes so many times its size."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some replications of one cell."""

    index: int  # of the cell
    first: int
    last: int

    def rounds(self, study: Study) -> int:
        """How many rounds it has."""
        return (self.last - self.first) * study.cells[self.index].horizon

    def is_whole(self, study: Study) -> bool:
        """Whether it is all of its cell."""
        return (self.first, self.last) == (0, study.replications)


def numbers_of(study: Study, cell: Cell) -> int:
    """How many numbers are kept of one replication of a cell."""
    return study.rounds_kept(cell).size * len(study.columns)


def chunk_size(study: Study, index: int, device: str = "cpu") -> int:
    """How many replications of a cell make a chunk."""
    cell = study.cells[index]
    return max(1, min(CHUNK_ROUNDS[device] // cell.horizon, CHUNK_NUMBERS[device] // numbers_of(study, cell)))


def chunks_of(study: Study, index: int, device: str = "cpu") -> Iterator[Chunk]:
    """How a cell is cut up."""
    size = chunk_size(study, index, device)
    for first in range(0, study.replications, size):
        yield Chunk(index, first, min(first + size, study.replications))


def is_ours(study: Study, chunk: Chunk, device: str) -> bool:
    """Whether a chunk is one of those that its cell is cut into: for another device, borders lie elsewhere."""
    size = chunk_size(study, chunk.index, device)
    return chunk.first % size == 0 and chunk.last == min(chunk.first + size, study.replications)


def why_too_large(study: Study) -> str | None:
    """Why a study's results cannot be put together on this machine, with the remedy; None if they can."""
    cell = max(study.cells, key=lambda cell: cell.horizon)  # which has the most checkpoints
    needed = SIZES_IN_MEMORY * 8.0 * study.replications * numbers_of(study, cell)
    if needed <= memory():
        return None
    return (
        f"study {study.name}: {study.replications:,} replications with {study.rounds_kept(cell).size} checkpoints of "
        f"the cell {cell.label!r} take {needed / 1e9:,.0f} GB of memory at the end, and this process may use "
        f"{memory() / 1e9:,.0f} GB; ask for fewer replications or fewer checkpoints"
    )
