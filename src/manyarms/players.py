"""Players: what plays the runs of a job, chunk by chunk, and hands chunks to its workers."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

import numpy as np

from .replication import Job, Run

CHUNK_ROUNDS = 2_000_000
"""A chunk has about this many rounds: long enough to hide Python, short enough to stop quickly."""

Progress = Callable[[int, int], None]
"""Told the number of rounds played and the number in all."""


class Player:
    """Plays chunks of replications on the cores of this machine; `manyarms.gpu` has another, which plays on a GPU."""

    def __init__(self, job: Job, threads: int) -> None:
        self.job = job
        self.workers = threads  # how many chunks are under way at a time
        self.stop: Any = np.zeros(1, dtype=np.int64)  # once it is not 0, chunks are left
        # Small enough that every thread has a share, and one replication at a time when logging.
        share = -(-job.replications // threads)
        self.size = 1 if job.log else max(1, min(CHUNK_ROUNDS // job.horizon, share))

    def chunk_size(self, run: Run) -> int:
        """How many replications to play at a time."""
        return self.size

    def play(self, run: Run, first: int, last: int) -> int:
        """Play replications first … last - 1; return how many were finished."""
        return run.play(first, last, stop=self.stop)

    def play_all(self, runs: list[Run], progress: Progress | None = None) -> bool:
        """Hand all replications of these runs to the workers; True unless interrupted by Ctrl-C."""
        job = self.job
        rounds_in_all = job.horizon * job.replications * len(runs)
        rounds_played = 0
        with concurrent.futures.ThreadPoolExecutor(max_workers=self.workers) as pool:
            try:
                tasks = [pool.submit(self.play, *chunk) for chunk in self._chunks(runs)]
                for task in concurrent.futures.as_completed(tasks):
                    rounds_played += task.result() * job.horizon
                    if progress is not None:
                        progress(rounds_played, rounds_in_all)
            except BaseException as error:
                self.stop[0] = 1
                pool.shutdown(wait=True, cancel_futures=True)
                if isinstance(error, KeyboardInterrupt):
                    return False
                raise
        return True

    def _chunks(self, runs: list[Run]) -> list[tuple[Run, int, int]]:
        """Policies take turns, so that what an interrupted run leaves behind can be compared."""
        replications = self.job.replications
        chunks = sorted(
            (first, place, min(first + size, replications))
            for place, size in enumerate(map(self.chunk_size, runs))
            for first in range(0, replications, size)
        )
        return [(runs[place], first, last) for first, place, last in chunks]
