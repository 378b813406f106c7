"""The runner: plays the cells of a study in chunks, keeps every chunk as it is finished, and goes on where it stopped.

Chunks of replications go to any ``concurrent.futures.Executor``: threads of this process, or a Dask
cluster. Each finished chunk is a file; when a cell has all of its chunks they become its result file.
Where the borders between chunks lie depends on the study alone, and so do the bytes of the result.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from ...atomic import at_once
from ...engine import play_range, usable_cores
from ...gpu import chosen_device
from ...specs import count
from ...trace import COLUMNS
from ..studies.modules import import_same, needed_modules
from ..studies.study import Cell, Study
from .cluster import local_processes
from .files import BadFile, CellResult, read_result, sources_of, study_of, write_result

CHUNK_ROUNDS = {"cpu": 50_000_000, "gpu": 20_000_000_000}
"""A chunk has about this many rounds, some seconds: what a power cut can cost."""

CHUNK_NUMBERS = {"cpu": 2**24, "gpu": 2**27}
"""And at most about this many numbers, 128 MiB or 1 GiB: what each worker holds in memory."""

AHEAD = 1_000
"""At most this many chunks are handed out at a time: the others are not even listed yet."""

SIZES_IN_MEMORY = 2.5
"""A result is put together in memory, which takes so many times its size."""

NANOSECONDS_A_ROUND = 30.0
"""For the estimate of ``plan``: between the cheapest and the dearest policies of ``manyarms bench``."""

ATTEMPTS = 5
"""How often a chunk is handed out again when the worker that had it is lost."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some replications of one cell."""

    index: int  # of the cell
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run has got."""

    rounds: int  # played in this run
    rounds_left: int
    cells_left: int


def numbers_of(study: Study, cell: Cell) -> int:
    """How many numbers are kept of one replication of a cell."""
    return study.rounds_kept(cell).size * len(COLUMNS)


def chunk_size(study: Study, index: int, device: str = "cpu") -> int:
    """How many replications of a cell make a chunk."""
    cell = study.cells[index]
    return max(1, min(CHUNK_ROUNDS[device] // cell.horizon, CHUNK_NUMBERS[device] // numbers_of(study, cell)))


def chunks_of(study: Study, index: int, device: str = "cpu") -> Iterator[Chunk]:
    """How a cell is cut up."""
    size = chunk_size(study, index, device)
    for first in range(0, study.replications, size):
        yield Chunk(index, first, min(first + size, study.replications))


def why_too_large(study: Study) -> str | None:
    """Why a study's results cannot be put together on this machine, with the remedy; None if they can."""
    cell = max(study.cells, key=lambda cell: numbers_of(study, cell))
    needed = SIZES_IN_MEMORY * 8.0 * study.replications * numbers_of(study, cell)
    if needed <= memory():
        return None
    return (
        f"study {study.name}: {study.replications:,} replications with {study.rounds_kept(cell).size} checkpoints of "
        f"the cell {cell.label!r} take {needed / 1e9:,.0f} GB of memory at the end, and this machine has "
        f"{memory() / 1e9:,.0f} GB; ask for fewer replications or fewer checkpoints"
    )


def memory() -> float:
    """The bytes of this machine's memory; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return math.inf


def play_chunk(
    cell: dict[str, Any],
    seed: int,
    checkpoints: list[int],
    first: int,
    last: int,
    stop: Any = None,
    device: str = "cpu",
    modules: dict[str, str] | None = None,
) -> NDArray[np.float64]:
    """What a worker does: plain values in, an array out."""
    import_same(modules or {})
    played = Cell.from_json(cell)
    rounds = np.array(checkpoints, dtype=np.int64)
    return play_range(played.policy, played.world, played.horizon, seed, rounds, first, last, stop, device)


def slug(text: str) -> str:
    """A text as part of a file's name: its first 80 characters that can be.

    Examples
    --------
    >>> slug("beta 0.5, rotting")
    'beta-0.5-rotting'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[:80] or "x"


class Folder:
    """Where the files of one study lie."""

    def __init__(self, study: Study, root: Path, device: str = "cpu") -> None:
        self.study = study
        self.device = device  # chunks for a GPU are larger
        self.path = root / study.name
        self.parts = self.path / f"parts-{study.digest()}"
        self.unusable: dict[str, list[Path]] = {}  # by reason, files that are there but cannot be kept

    def result(self, index: int) -> Path:
        """The result file of a cell. The number alone makes its name unlike the others; the rest is for people."""
        cell = self.study.cells[index]
        name = f"{index:04d}-{slug(cell.policy_name)}-{slug(cell.world_name)}-T{cell.horizon}.parquet"
        return self.path / "cells" / name

    def part(self, chunk: Chunk) -> Path:
        """The file of a chunk, until its cell is complete."""
        return self.parts / f"{chunk.index:04d}-{chunk.first}-{chunk.last}.parquet"

    def chunks_there(self) -> Iterator[Chunk]:
        """The chunks that have a file, whatever it holds. Asking for each chunk of a study could take for ever."""
        for path in sorted(self.parts.glob("*.parquet")):
            named = re.fullmatch(r"(\d+)-(\d+)-(\d+)\.parquet", path.name)
            if named:
                yield Chunk(*map(int, named.groups()))

    def kept(self, path: Path, index: int, first: int, last: int) -> CellResult | None:
        """What a file holds, if it is what this study and these sources would make; else a note why not."""
        try:
            found = read_result(path)
        except FileNotFoundError:
            return None
        except BadFile as error:
            self.unusable.setdefault(str(error), []).append(path)
            return None
        reason = ""
        if found.sources != sources_of(self.study.cells[index]):
            reason = f"other sources (manyarms {found.version})"
        elif found.study.digest() != self.study.digest():
            reason = "another study"
        elif (found.index, found.first, found.first + len(found.values)) != (index, first, last):
            reason = "other replications"
        if reason:
            self.unusable.setdefault(f"of {reason}", []).append(path)
            return None
        return found

    @contextlib.contextmanager
    def for_this_run_alone(self) -> Iterator[None]:
        """Refuse if another run is at work in this folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        with open(self.path / ".lock", "w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given back when the process ends, however
                except BlockingIOError:
                    raise RuntimeError(
                        f"another run is at work in {self.path}; wait for it or choose another folder"
                    ) from None
            yield

    def remove_leftovers(self) -> None:
        """Drop what runs that were killed have left half written. Only for who holds the lock: nobody else writes."""
        for pattern in ("cells/.*.parquet.*.tmp", "parts-*/.*.parquet.*.tmp", ".study.json.*.tmp"):
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)

    def set_others_aside(self) -> None:
        """Results of another study of this name go to a folder of their own; those of this one come back from there."""
        ours = self.path / "cells"
        digest = self.study.digest()
        for path in sorted(ours.glob("*.parquet")):
            other = study_of(path)
            if other not in (digest, None):
                aside = self.path / f"cells-{other}"
                aside.mkdir(exist_ok=True)
                path.replace(aside / path.name)
                self.unusable.setdefault(f"of another study; set aside in {aside}", []).append(path)
        for path in (self.path / f"cells-{digest}").glob("*.parquet"):
            ours.mkdir(exist_ok=True)
            path.replace(ours / path.name)

    def warn_of_unusable(self) -> None:
        """One warning for each reason, that names a file."""
        for reason, paths in self.unusable.items():
            if reason.startswith("of "):
                more = f" and {len(paths) - 1} more files are" if len(paths) > 1 else " is"
                reason = f"{paths[0]}{more} {reason}"
            warnings.warn(f"{reason}; made anew", stacklevel=3)
        self.unusable.clear()


def run(
    study: Study,
    folder: str | Path = "results",
    *,
    jobs: int | None = None,
    executor: concurrent.futures.Executor | None = None,
    device: str = "cpu",
    resume: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> list[Path]:
    """Run a study, or what is left of it; return its result files, in the order of its cells.

    Parameters
    ----------
    study
        What is to be found out.
    folder
        Where results go, in a folder named like the study.
    jobs
        How many threads of this machine; all cores if left out.
    executor
        Who plays instead: anything with ``submit``, such as a Dask client's ``get_executor()``.
    device
        ``"cpu"``, ``"gpu"`` or ``"auto"``, as for `simulate`; the bytes are the same.
    resume
        Whether to keep what an earlier run has left. False: start from nothing.
    progress
        Called whenever a chunk is finished.

    Examples
    --------
    >>> import tempfile
    >>> import manyarms as ma
    >>> from manyarms.lab import Study, read_result, run
    >>> worlds = {"still": ma.World(ma.PowerLaw(beta=1.0))}
    >>> study = Study.of("small", {"uniform": ma.UniformPlay()}, worlds, horizons=[500], replications=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path] = run(study, folder)
    ...     read_result(path).column("regret").shape
    (4, 64)
    """
    device = chosen_device(device)
    jobs = usable_cores() if jobs is None else count("run", "jobs", jobs)
    reason = why_too_large(study)
    if reason:
        raise MemoryError(reason)
    home = Folder(study, Path(folder), device)
    with home.for_this_run_alone():
        return _run(study, home, jobs, executor, resume, progress)


def _run(
    study: Study,
    home: "Folder",
    jobs: int,
    executor: concurrent.futures.Executor | None,
    resume: bool,
    progress: Callable[[Progress], None] | None,
) -> list[Path]:
    home.remove_leftovers()
    home.set_others_aside()  # first: starting from nothing is meant for this study, not for another of its name
    if not resume:
        shutil.rmtree(home.parts, ignore_errors=True)
        for index in range(len(study.cells)):
            home.result(index).unlink(missing_ok=True)
    with at_once(home.path / "study.json") as path:
        said = study.to_json() | ({"file": study.file} if study.file else {})
        path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    missing = what_is_missing(study, home)
    home.warn_of_unusable()
    left = missing.rounds()
    played = 0
    waiting = missing.chunks_left()
    for index in [index for index, chunks in waiting.items() if chunks == 0]:  # all of its chunks are there
        del waiting[index]
        complete(home, index)
    with player(executor, jobs, home.device) as play, contextlib.closing(play(study, missing.chunks())) as finished:
        for chunk, values in finished:
            write_result(home.part(chunk), CellResult(study, chunk.index, chunk.first, values))
            waiting[chunk.index] -= 1
            if waiting[chunk.index] == 0:
                del waiting[chunk.index]
                complete(home, chunk.index)
            rounds = len(values) * study.cells[chunk.index].horizon
            played, left = played + rounds, left - rounds
            if progress is not None:
                progress(Progress(played, left, len(waiting)))
    if home.parts.is_dir():  # what a run that was stopped between two steps has left
        shutil.rmtree(home.parts)
    return [home.result(index) for index in range(len(study.cells))]


def plan(
    study: Study,
    folder: str | Path = "results",
    jobs: int | None = None,
    *,
    cluster: str | None = None,
    device: str = "cpu",
    resume: bool = True,
) -> dict[str, Any]:
    """What `run` would do, and a guess how long it takes: none (NaN) for a GPU or a cluster of unknown size."""
    device = chosen_device(device)
    workers = usable_cores() if jobs is None else count("run", "jobs", jobs)
    if cluster is not None:
        workers = local_processes(cluster) or 0
    reason = why_too_large(study)
    if reason:
        warnings.warn(reason, stacklevel=2)
    missing = what_is_missing(study, Folder(study, Path(folder), device), resume)
    guessed = device == "cpu" and workers > 0
    return {
        "study": study.name,
        "device": device,
        "start": "where it stopped" if resume else "from nothing",
        "cells": len(study.cells),
        "cells left": len(missing.kept),
        "rounds": study.rounds(),
        "rounds left": missing.rounds(),
        "seconds, roughly": missing.rounds() * NANOSECONDS_A_ROUND * 1e-9 / workers if guessed else math.nan,
    }


@dataclasses.dataclass(frozen=True)
class Missing:
    """What no file holds. Its chunks are never listed: there may be more of them than fit in memory."""

    study: Study
    device: str
    kept: dict[int, set[Chunk]]  # by cell without a result file, the chunks that are there

    def chunks(self) -> Iterator[Chunk]:
        """What is to be played, in the order of the cells."""
        for index, kept in self.kept.items():
            yield from (chunk for chunk in chunks_of(self.study, index, self.device) if chunk not in kept)

    def chunks_left(self) -> dict[int, int]:
        """How many chunks each cell without a result file lacks."""
        return {
            index: -(-self.study.replications // chunk_size(self.study, index, self.device)) - len(kept)
            for index, kept in self.kept.items()
        }

    def rounds(self) -> int:
        """How many rounds there are to play."""
        return sum(
            self.study.cells[index].horizon
            * (self.study.replications - sum(chunk.last - chunk.first for chunk in kept))
            for index, kept in self.kept.items()
        )


def what_is_missing(study: Study, home: Folder, resume: bool = True) -> Missing:
    """What there is to do, given what the files hold; or all there is, if it is to be done from nothing."""
    cells = range(len(study.cells))
    if not resume:
        return Missing(study, home.device, {index: set() for index in cells})
    kept: dict[int, set[Chunk]] = {
        index: set() for index in cells if home.kept(home.result(index), index, 0, study.replications) is None
    }
    for chunk in home.chunks_there():
        if chunk.index not in kept or not is_ours(study, chunk, home.device):
            continue
        if home.kept(home.part(chunk), chunk.index, chunk.first, chunk.last) is not None:
            kept[chunk.index].add(chunk)
    return Missing(study, home.device, kept)


def is_ours(study: Study, chunk: Chunk, device: str) -> bool:
    """Whether a chunk is one of those that its cell is cut into: for another device, borders lie elsewhere."""
    size = chunk_size(study, chunk.index, device)
    return chunk.first % size == 0 and chunk.last == min(chunk.first + size, study.replications)


def complete(home: Folder, index: int) -> None:
    """Make the result file of a cell from its chunks, which are then no longer needed."""
    study, cell = home.study, home.study.cells[index]
    values = np.empty((study.replications, study.rounds_kept(cell).size, len(COLUMNS)))
    for chunk in chunks_of(study, index, home.device):
        values[chunk.first : chunk.last] = read_result(home.part(chunk)).values
    write_result(home.result(index), CellResult(study, index, 0, values))
    for chunk in chunks_of(study, index, home.device):
        home.part(chunk).unlink()


Finished = Generator[tuple[Chunk, NDArray[np.float64]]]


@contextlib.contextmanager
def player(
    executor: concurrent.futures.Executor | None, jobs: int, device: str
) -> Iterator[Callable[[Study, Iterator[Chunk]], Finished]]:
    """Somebody who plays chunks and hands out what is finished; stops on the way out."""
    if executor is not None:  # it may be of other processes, which have not imported what we have

        def play_elsewhere(study: Study, chunks: Iterator[Chunk]) -> Finished:
            return play_on(executor, study, chunks, AHEAD, {"device": device, "modules": needed_modules(study.cells)})

        yield play_elsewhere
        return
    stop = np.zeros(1, dtype=np.int64)
    workers = 1 if device == "gpu" else jobs
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as threads:
        extra = {"stop": stop, "device": device}
        try:
            yield lambda study, chunks: play_on(threads, study, chunks, min(2 * workers, AHEAD), extra)
        finally:  # after an error or Ctrl-C, chunks under way are left
            stop[0] = 1
            threads.shutdown(wait=True, cancel_futures=True)


def play_on(
    executor: concurrent.futures.Executor, study: Study, chunks: Iterator[Chunk], ahead: int, extra: dict[str, Any]
) -> Finished:
    """Hand out chunks, so many at a time, and the values of each as it is finished.

    A chunk whose worker was lost is handed out again.
    """

    def submit(chunk: Chunk) -> concurrent.futures.Future[Any]:
        cell = study.cells[chunk.index]
        rounds = study.rounds_kept(cell).tolist()
        return executor.submit(play_chunk, cell.to_json(), study.seed, rounds, chunk.first, chunk.last, **extra)

    lost: collections.Counter[Chunk] = collections.Counter()
    futures = {submit(chunk): chunk for chunk in itertools.islice(chunks, ahead)}
    try:
        while futures:
            done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                chunk = futures.pop(future)
                try:
                    values = future.result()
                except (OSError, RuntimeError, concurrent.futures.CancelledError):
                    lost[chunk] += 1
                    if lost[chunk] >= ATTEMPTS:
                        raise
                    futures[submit(chunk)] = chunk
                    continue
                futures |= {submit(chunk): chunk for chunk in itertools.islice(chunks, 1)}
                shape = (chunk.last - chunk.first, study.rounds_kept(study.cells[chunk.index]).size, len(COLUMNS))
                if values.shape != shape:
                    raise RuntimeError(f"a worker gave back values of shape {values.shape} instead of {shape}")
                yield chunk, values
    finally:
        for future in futures:
            future.cancel()
