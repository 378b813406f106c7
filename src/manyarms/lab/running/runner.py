"""The runner: plays the cells of a study in chunks, keeps every chunk as it is finished, and goes on where it stopped.

Chunks of replications go to threads of this process, or to any ``concurrent.futures.Executor``, such as a Dask
cluster's. Each finished chunk is a file; when a cell has all of its chunks they become its result file.
Where the borders between chunks lie depends on the study alone, and so do the bytes of the result.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...engine import play_range, usable_cores, warn_of_low_top
from ...gpu import chosen_device
from ...specs import count
from ..studies.modules import import_same, needed_modules
from ..studies.study import Study
from .chunks import Chunk, chunks_of, why_too_large
from .cluster import KEPT, LOOK_EVERY, WAIT, ClusterExecutor, cluster_executor, deaths, local_processes
from .files import CellResult, read_result, write_result, write_study
from .folder import Folder, Missing

AHEAD = 1_000
"""At most this many chunks are handed out at a time: the others are not even listed yet."""

ATTEMPTS = 5
"""When so many workers that had a chunk were lost, or failed, it is given up."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run has got."""

    rounds: int  # played in this run
    rounds_left: int
    cells_left: int


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
    >>> from manyarms.lab import Study, read_result, regret_figure, run
    >>> worlds = {"still": ma.World(ma.PowerLaw(beta=1.0))}
    >>> study = Study.of("small", {"uniform": ma.UniformPlay()}, worlds, horizons=[500], replications=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = [read_result(path) for path in run(study, folder)]
    >>> results[0].column("regret").shape
    (4, 64)
    >>> figure = regret_figure(results, width="column")
    """
    device = chosen_device(device)
    jobs = usable_cores() if jobs is None else count("run", "jobs", jobs)
    reason = why_too_large(study)
    if reason:
        raise MemoryError(reason)
    warn_of_low_top(study.worlds())
    home = Folder(study, Path(folder), device)
    with home.for_this_run_alone():
        home.remove_leftovers()
        home.set_others_aside()  # first: starting from nothing is meant for this study, not for another of its name
        if not resume:
            home.remove_all()
        write_study(home.path, study)
        missing = home.missing()
        home.warn_of_unusable()
        with workers(study, executor, jobs, device) as players:
            _play(home, missing, play_on(players, study, missing.chunks()), progress)
        home.remove_parts()  # what a run that was stopped between two steps has left
    return home.results()


def _play(
    home: Folder, missing: Missing, finished: "Finished", progress: Callable[[Progress], None] | None = None
) -> None:
    """Keep every chunk as it is finished, and complete the cells that have all of theirs."""
    waiting = missing.chunks_left()
    played, left = 0, missing.rounds()
    for index in [index for index, chunks in waiting.items() if chunks == 0]:
        del waiting[index]
        complete(home, index)
    with contextlib.closing(finished):
        for chunk, values in finished:
            keep(home, chunk, values)
            waiting[chunk.index] -= 1
            if waiting[chunk.index] == 0:
                del waiting[chunk.index]
                if not chunk.is_whole(home.study):
                    complete(home, chunk.index)
            rounds = chunk.rounds(home.study)
            played, left = played + rounds, left - rounds
            if progress is not None:
                progress(Progress(played, left, len(waiting)))


def keep(home: Folder, chunk: Chunk, values: NDArray[np.float64]) -> None:
    """Write what was played: a chunk that is all of its cell is the result, any other waits for the rest."""
    path = home.result(chunk.index) if chunk.is_whole(home.study) else home.part(chunk)
    write_result(path, CellResult(home.study, chunk.index, chunk.first, values))


def complete(home: Folder, index: int) -> None:
    """Make the result file of a cell from its chunks, which are then no longer needed."""
    study = home.study
    values = np.empty((study.replications, study.rounds_kept(study.cells[index]).size, len(study.columns)))
    for chunk in chunks_of(study, index, home.device):
        values[chunk.first : chunk.last] = read_result(home.part(chunk), study).values
    keep(home, Chunk(index, 0, study.replications), values)
    for chunk in chunks_of(study, index, home.device):
        home.part(chunk).unlink()


def plan_of_study(
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
    warn_of_low_top(study.worlds())
    missing = Folder(study, Path(folder), device).missing(resume)
    guessed = device == "cpu" and workers > 0
    return {
        "study": study.name,
        "device": device,
        "start": "where it stopped" if resume else "from nothing",
        "cells": len(study.cells),
        "cells left": len(missing.kept),
        "rounds": study.rounds(),
        "rounds left": missing.rounds(),
        "seconds, roughly": missing.seconds() / workers if guessed else math.nan,
    }


def run_with_bar(
    study: Study, folder: str | Path = "results", cluster: str | None = None, wait: float = WAIT, **how: Any
) -> list[Path]:
    """Run a study on this machine or on a cluster, and show how far it has got; ``how`` as for `run`.

    A cluster may be without a worker for ``wait`` seconds.
    """
    with contextlib.ExitStack() as stack:
        executor = None
        if cluster is not None:
            executor = stack.enter_context(cluster_executor(cluster, needed_modules(study.cells), wait))
        progress = stack.enter_context(progress_bar(study.name)) if sys.stderr.isatty() else None
        return run(study, folder, executor=executor, progress=progress, **how)


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """A bar with the rounds a second, the cells left and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None, pace="")

        def show(progress: Progress) -> None:
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed or 0.0
            bar.update(
                task,
                total=progress.rounds + progress.rounds_left,
                completed=progress.rounds,
                pace=f"{speed / 1e6:,.0f} million rounds/s, {progress.cells_left} cells left",
            )

        yield show


# ---------------------------------------------------------------- who plays

Finished = Generator[tuple[Chunk, NDArray[np.float64]]]


class Players(NamedTuple):
    """How chunks are handed to those who play."""

    submit: Callable[[Chunk], "concurrent.futures.Future[NDArray[np.float64]]"]
    ahead: Callable[[], int]  # at most so many at a time, as things are
    watch: Callable[[], None] | None = None  # done every second while nothing is finished


@contextlib.contextmanager
def workers(study: Study, executor: concurrent.futures.Executor | None, jobs: int, device: str) -> Iterator[Players]:
    """Those who play: an executor, or threads, which stop on the way out."""
    if executor is not None:  # it may be of other processes, which have not imported what we have
        modules = needed_modules(study.cells)
        numbers = itertools.count()

        def submit_elsewhere(chunk: Chunk) -> "concurrent.futures.Future[NDArray[np.float64]]":
            described = study.to_json([study.cells[chunk.index]])
            number = next(numbers)
            return executor.submit(play_described, described, chunk.first, chunk.last, device, modules, number)

        if isinstance(executor, ClusterExecutor):
            yield Players(submit_elsewhere, executor.ahead, executor.watch)
        else:
            yield Players(submit_elsewhere, lambda: AHEAD)
        return
    stop = np.zeros(1, dtype=np.int64)
    many = 1 if device == "gpu" else jobs
    with concurrent.futures.ThreadPoolExecutor(max_workers=many) as threads:
        try:
            yield Players(
                lambda chunk: threads.submit(play_chunk, study, chunk, stop, device), lambda: min(2 * many, AHEAD)
            )
        finally:  # after an error or Ctrl-C, chunks under way are left
            stop[0] = 1
            threads.shutdown(wait=True, cancel_futures=True)


def play_chunk(study: Study, chunk: Chunk, stop: Any = None, device: str = "cpu") -> NDArray[np.float64]:
    """What a thread of this process does."""
    cell = study.cells[chunk.index]
    rounds = study.rounds_kept(cell)
    part = (chunk.first, chunk.last, stop, device, study.recommend)
    return play_range(cell.policy, cell.world, cell.horizon, study.seed, rounds, *part)


def play_described(
    study: dict[str, Any], first: int, last: int, device: str, modules: dict[str, str], _number: int
) -> NDArray[np.float64]:
    """What a worker elsewhere does: plain JSON values of a study with one cell in, an array out.

    Each call has a number of its own: Dask takes two that are alike for one, and gives back the failure of the first.
    """
    import_same(modules)
    return play_chunk(Study.from_json(study), Chunk(0, first, last), None, device)


def play_on(players: Players, study: Study, chunks: Iterator[Chunk]) -> Finished:
    """Hand out chunks, so many at a time, and the values of each as it is finished.

    A chunk whose worker was lost is handed out again.
    """
    lost: collections.Counter[Chunk] = collections.Counter()
    again: list[Chunk] = []
    futures: dict[concurrent.futures.Future[NDArray[np.float64]], Chunk] = {}

    def hand_out() -> None:
        while len(futures) < players.ahead() and (chunk := again.pop() if again else next(chunks, None)):
            futures[players.submit(chunk)] = chunk

    try:
        hand_out()
        while futures:
            done, _ = concurrent.futures.wait(
                futures, timeout=players.watch and LOOK_EVERY, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                chunk = futures.pop(future)
                try:
                    values = future.result()
                except Exception as error:
                    lost[chunk] += times_lost(error)
                    if lost[chunk] >= ATTEMPTS:
                        raise RuntimeError(why_given_up(study, chunk, error, lost[chunk])) from error
                    again.append(chunk)
                    continue
                hand_out()  # first: what is done with the values may take a while
                yield chunk, checked(values, study, chunk)
            if players.watch:
                players.watch()
            hand_out()
    finally:
        for future in futures:
            future.cancel()


def checked(values: NDArray[np.float64], study: Study, chunk: Chunk) -> NDArray[np.float64]:
    """The values of a chunk, if they can be that."""
    shape = (chunk.last - chunk.first, study.rounds_kept(study.cells[chunk.index]).size, len(study.columns))
    if values.shape != shape:
        raise RuntimeError(f"a worker gave back values of shape {values.shape} instead of {shape}")
    return values


def times_lost(error: Exception) -> int:
    """How many workers were lost, as this error says; it is raised again if it says something else."""
    if not deaths(error) and not isinstance(error, OSError | RuntimeError | concurrent.futures.CancelledError):
        raise error
    return max(1, deaths(error))


def why_given_up(study: Study, chunk: Chunk, error: Exception, times: int) -> str:
    """What to say of a chunk that was tried often enough."""
    what = f"replications {chunk.first} to {chunk.last - 1} of the cell {study.cells[chunk.index].label!r} are given up"
    if deaths(error) or isinstance(error, concurrent.futures.CancelledError):
        return (
            f"{what}: {times} workers that had them were lost, for want of memory perhaps (their logs may tell); {KEPT}"
        )
    return f"{what} after {times} attempts: {error}; {KEPT}"
