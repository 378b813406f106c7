"""The runner: plays the cells of a study in chunks, keeps every chunk as it is finished, and goes on where it stopped.

Chunks of replications go to any ``concurrent.futures.Executor``: threads of this process, or a Dask
cluster. Each finished chunk is a file; when a cell has all of its chunks they become its result file.
Where the borders between chunks lie depends on the study alone, and so do the bytes of the result.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from ..engine import play_range, usable_cores
from ..gpu import chosen_device
from ..specs import count
from ..trace import COLUMNS
from .files import BadFile, CellResult, at_once, read_result, sources_of, write_result
from .study import Cell, Study

CHUNK_ROUNDS = {"cpu": 50_000_000, "gpu": 20_000_000_000}
"""A chunk has about this many rounds, some seconds: what a power cut can cost."""

NANOSECONDS_A_ROUND = 30.0
"""For the estimate of ``dry_run``: between the cheapest and the dearest policies of ``manyarms bench``."""

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


def chunks_of(study: Study, index: int, device: str = "cpu") -> list[Chunk]:
    """How a cell is cut up."""
    size = max(1, CHUNK_ROUNDS[device] // study.cells[index].horizon)
    return [Chunk(index, first, min(first + size, study.replications)) for first in range(0, study.replications, size)]


def play_chunk(
    cell: dict[str, Any],
    seed: int,
    checkpoints: list[int],
    first: int,
    last: int,
    stop: Any = None,
    device: str = "cpu",
) -> NDArray[np.float64]:
    """What a worker does: plain values in, an array out."""
    played = Cell.from_json(cell)
    rounds = np.array(checkpoints, dtype=np.int64)
    return play_range(played.policy, played.world, played.horizon, seed, rounds, first, last, stop, device)


def slug(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-") or "x"


class Folder:
    """Where the files of one study lie."""

    def __init__(self, study: Study, root: Path, device: str = "cpu") -> None:
        self.study = study
        self.device = device  # chunks for a GPU are larger
        self.path = root / study.name
        self.unusable: dict[str, list[Path]] = {}  # by reason, files that are there but cannot be kept

    def result(self, index: int) -> Path:
        """The result file of a cell."""
        cell = self.study.cells[index]
        name = f"{index:04d}-{slug(cell.policy_name)}-{slug(cell.world_name)}-T{cell.horizon}.parquet"
        return self.path / "cells" / name

    def part(self, chunk: Chunk) -> Path:
        """The file of a chunk, until its cell is complete."""
        return self.path / f"parts-{self.study.digest()}" / f"{chunk.index:04d}-{chunk.first}-{chunk.last}.parquet"

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

    def set_others_aside(self) -> None:
        """Results of another study of this name go to a folder of their own; those of this one come back from there."""
        ours = self.path / "cells"
        for path in sorted(ours.glob("*.parquet")):
            with contextlib.suppress(BadFile):
                other = read_result(path).study
                if other.digest() != self.study.digest():
                    aside = self.path / f"cells-{other.digest()}"
                    aside.mkdir(exist_ok=True)
                    path.replace(aside / path.name)
                    self.unusable.setdefault(f"of another study; set aside in {aside}", []).append(path)
        for path in (self.path / f"cells-{self.study.digest()}").glob("*.parquet"):
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
    home.set_others_aside()  # first: starting from nothing is meant for this study, not for another of its name
    if not resume:
        shutil.rmtree(home.path / f"parts-{study.digest()}", ignore_errors=True)
        for index in range(len(study.cells)):
            home.result(index).unlink(missing_ok=True)
    with at_once(home.path / "study.json") as path:
        path.write_text(json.dumps(study.to_json(), indent=1) + "\n", encoding="utf-8")
    missing, unmade = what_is_missing(study, home)
    home.warn_of_unusable()
    left = sum((chunk.last - chunk.first) * study.cells[chunk.index].horizon for chunk in missing)
    played = 0
    waiting: dict[int, int] = {}  # cell -> chunks without a file
    for chunk in missing:
        waiting[chunk.index] = waiting.get(chunk.index, 0) + 1
    for index in unmade - set(waiting):  # all of its chunks are there
        complete(home, index)
    with player(executor, jobs, home.device) as play:
        for chunk, values in play(study, missing):
            write_result(home.part(chunk), CellResult(study, chunk.index, chunk.first, values))
            waiting[chunk.index] -= 1
            if waiting[chunk.index] == 0:
                del waiting[chunk.index]
                complete(home, chunk.index)
            rounds = len(values) * study.cells[chunk.index].horizon
            played, left = played + rounds, left - rounds
            if progress is not None:
                progress(Progress(played, left, len(waiting)))
    parts = home.path / f"parts-{study.digest()}"
    if parts.is_dir():  # what a run that was stopped between two steps has left
        shutil.rmtree(parts)
    return [home.result(index) for index in range(len(study.cells))]


def plan(study: Study, folder: str | Path = "results", jobs: int | None = None) -> dict[str, Any]:
    """What there is to do, and a guess how long it takes."""
    cores = usable_cores() if jobs is None else count("run", "jobs", jobs)
    missing, unmade = what_is_missing(study, Folder(study, Path(folder)))
    left = sum((chunk.last - chunk.first) * study.cells[chunk.index].horizon for chunk in missing)
    return {
        "study": study.name,
        "cells": len(study.cells),
        "cells left": len(unmade),
        "rounds": study.rounds(),
        "rounds left": left,
        "seconds, roughly": left * NANOSECONDS_A_ROUND * 1e-9 / cores,
    }


def what_is_missing(study: Study, home: Folder) -> tuple[list[Chunk], set[int]]:
    """The chunks that no file holds, and the cells without a result file."""
    chunks: list[Chunk] = []
    cells = set()
    for index in range(len(study.cells)):
        if home.kept(home.result(index), index, 0, study.replications) is None:
            cells.add(index)
            chunks += [
                chunk
                for chunk in chunks_of(study, index, home.device)
                if home.kept(home.part(chunk), index, chunk.first, chunk.last) is None
            ]
    return chunks, cells


def complete(home: Folder, index: int) -> None:
    """Make the result file of a cell from its chunks, which are then no longer needed."""
    parts = [home.part(chunk) for chunk in chunks_of(home.study, index, home.device)]
    values = np.concatenate([read_result(part).values for part in parts])
    write_result(home.result(index), CellResult(home.study, index, 0, values))
    for part in parts:
        part.unlink()


Finished = Iterator[tuple[Chunk, NDArray[np.float64]]]


@contextlib.contextmanager
def player(
    executor: concurrent.futures.Executor | None, jobs: int, device: str
) -> Iterator[Callable[[Study, list[Chunk]], Finished]]:
    """Somebody who plays chunks and hands out what is finished; stops on the way out."""
    if executor is not None:
        yield lambda study, chunks: play_on(executor, study, chunks, {"device": device})
        return
    stop = np.zeros(1, dtype=np.int64)
    with concurrent.futures.ThreadPoolExecutor(max_workers=1 if device == "gpu" else jobs) as threads:
        try:
            yield lambda study, chunks: play_on(threads, study, chunks, {"stop": stop, "device": device})
        finally:  # after an error or Ctrl-C, chunks under way are left
            stop[0] = 1
            threads.shutdown(wait=True, cancel_futures=True)


def play_on(
    executor: concurrent.futures.Executor, study: Study, chunks: list[Chunk], extra: dict[str, Any]
) -> Finished:
    """Hand out chunks, and the values of each as it is finished. A chunk whose worker was lost is handed out again."""

    def submit(chunk: Chunk) -> concurrent.futures.Future[Any]:
        cell = study.cells[chunk.index]
        rounds = study.rounds_kept(cell).tolist()
        return executor.submit(play_chunk, cell.to_json(), study.seed, rounds, chunk.first, chunk.last, **extra)

    attempts = dict.fromkeys(chunks, 1)
    futures = {submit(chunk): chunk for chunk in chunks}
    while futures:
        done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            chunk = futures.pop(future)
            try:
                values = future.result()
            except (OSError, RuntimeError, concurrent.futures.CancelledError):
                if attempts[chunk] >= ATTEMPTS:
                    raise
                attempts[chunk] += 1
                futures[submit(chunk)] = chunk
                continue
            shape = (chunk.last - chunk.first, study.rounds_kept(study.cells[chunk.index]).size, len(COLUMNS))
            if values.shape != shape:
                raise RuntimeError(f"a worker gave back values of shape {values.shape} instead of {shape}")
            yield chunk, values
