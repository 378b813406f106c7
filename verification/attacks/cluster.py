"""Studies on a Dask cluster under attack, python -m verification.attacks.cluster.

Real schedulers and workers, as processes of this machine. Workers are killed (SIGKILL) at random moments of a run, and
others started in their place; one chunk kills all that have it; the scheduler is killed, for good or started again at
its address; workers of other sources join: a copy of the package with one bit changed, so that every number it plays
is another.

It has held if the result files are the same, byte for byte, as those of a run that nobody disturbed: at once, or after
a message that says that what was finished is kept, by the same run once more. Never another number, never a traceback.

``--size 1`` is 50 kills of workers and 5 of the scheduler; ``--seed`` says when.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import distributed

import manyarms as ma
from manyarms.lab import Progress, Study, cluster_executor, needed_modules, run
from manyarms.lab.running import chunks, cluster, runner
from tests.dask_processes import SOURCES, DaskProcesses, environment, other_sources, until

from .rows import Row, main, scaled

STUDY = Study.of(
    "attacked",
    {"elimination": ma.Elimination(beta=1.0)},
    {"still": ma.World(ma.PowerLaw(beta=1.0))},
    horizons=[2_000_000, 4_000_000],
    replications=24,
    seed=3,
    checkpoints=4,
)
CHUNK_ROUNDS = 8_000_000
"""About a tenth of a second: 18 chunks, so that many moments of a run can be hit."""

SECONDS_TO_REACH = 4.0
"""How long a lost scheduler is waited for here, instead of 20 seconds."""

KILLS_A_RUN = 5

Disturb = Callable[[Progress, distributed.Client], None]


def attacks(seed: int, size: float) -> Iterator[dict[str, object]]:
    """Attack, and say for each kind how often it was tried and how often it held."""
    dice = random.Random(seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(chunks.CHUNK_ROUNDS, cpu=CHUNK_ROUNDS))
        stack.enter_context(mock.patch.object(cluster, "SECONDS_TO_REACH", SECONDS_TO_REACH))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of workers that are left out
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wanted = bytes_of(run(STUDY, folder / "undisturbed"))
        other = other_sources(folder / "other")
        check_that_it_plays_otherwise(other)
        laboratory = Laboratory(folder, wanted, dice, other)
        for name, attack, tries in (
            ("a worker is killed (SIGKILL)", laboratory.kill_workers, 50),
            ("a chunk kills each worker that has it", laboratory.deadly_chunk, 2),
            ("the scheduler is killed for good", laboratory.kill_scheduler, 5),
            ("the scheduler is killed and started again", laboratory.restart_scheduler, 5),
            ("a worker of other sources joins late", laboratory.join_late, 4),
            ("a worker of other sources comes first", laboratory.come_first, 4),
            ("a worker of other sources joins where Dask chooses who plays", laboratory.join_unguarded, 4),
        ):
            row = Row(f"on a cluster, {name}")
            for many, wrong in attack(scaled(tries, size)):
                for _ in range(many):
                    row.note(wrong)
            yield row.values()


def bytes_of(paths: list[Path]) -> list[bytes]:
    """The bytes of result files."""
    return [path.read_bytes() for path in paths]


def check_that_it_plays_otherwise(other: Path) -> None:
    """An error if the changed copy of the package plays the same numbers: then there would be nothing to find."""
    program = (
        "import manyarms as ma; w = ma.World(ma.PowerLaw(beta=1.0)); "
        "print(ma.simulate(ma.UniformPlay(), w, 50, 2, 1).final_regret('UniformPlay').tolist())"
    )
    here, there = (
        subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout
        for env in (environment(NUMBA_DISABLE_JIT="1"), environment(other, NUMBA_DISABLE_JIT="1"))
    )
    if here == there:
        raise RuntimeError("the copy with a bit changed plays the same numbers; change another one")


class Laboratory:
    """Where a study is run and disturbed."""

    def __init__(self, folder: Path, wanted: list[bytes], dice: random.Random, other: Path) -> None:
        self.folder, self.wanted, self.dice, self.other = folder, wanted, dice, other
        self.runs = 0

    def new_folder(self) -> Path:
        """For one run."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir()
        return folder

    def disturbed(self, address: str, folder: Path, disturb: Disturb, is_guarded: bool = True) -> str:
        """Run the study; what is wrong with how it ended: nothing, or what was said instead of a result."""
        with contextlib.ExitStack() as stack:
            modules = needed_modules(STUDY.cells)
            try:
                executor: Any = stack.enter_context(cluster_executor(address, modules, wait=90.0))
                client = executor.client
                if not is_guarded:
                    executor = client.get_executor()
                paths = run(STUDY, folder, executor=executor, progress=lambda progress: disturb(progress, client))
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return "" if bytes_of(paths) == self.wanted else OTHER_BYTES

    def after_a_message(self, said: str, folder: Path) -> str:
        """What is wrong with a run that ended with a message, or did not: it must go on, to the same bytes."""
        if said == OTHER_BYTES or (said and not is_clear(said)):
            return said
        return "" if bytes_of(run(STUDY, folder)) == self.wanted else f"after running again, {OTHER_BYTES}"

    def kill_workers(self, tries: int) -> Iterator[tuple[int, str]]:
        """Several in each run, at random moments; each is followed by a new one."""
        left = tries
        while left:
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:
                workers = [processes.start_worker() for _ in range(2)]
                killed = Killed(self.dice, processes, min(left, KILLS_A_RUN), workers)
                said = self.disturbed(processes.address, folder, killed.now_and_then)
                killed.join()
            left -= killed.number
            yield killed.number, self.after_a_message(said, folder)

    def deadly_chunk(self, tries: int) -> Iterator[tuple[int, str]]:
        """A nanny starts each worker again, until the chunk is given up and named."""
        play = runner.play_described
        for _ in range(tries):
            folder = self.new_folder()
            deadly = self.dice.choice([2, 6, 10, 14])  # no chunk of the other cell begins there

            def play_or_die(study: Any, first: int, *rest: Any, deadly: int = deadly) -> Any:
                return os._exit(1) if first == deadly else play(study, first, *rest)

            with DaskProcesses(folder) as processes, mock.patch.object(runner, "play_described", play_or_die):
                processes.start_worker(SOURCES, "--nanny")
                said = self.disturbed(processes.address, folder, lambda *_: None)
            is_named = f"replications {deadly} to" in said and "5 workers that had them were lost" in said
            yield 1, self.after_a_message(said, folder) if is_named else f"said: {said or 'nothing'}"

    def kill_scheduler(self, tries: int) -> Iterator[tuple[int, str]]:
        """Once in each run; then there is a message, and another cluster."""
        for _ in range(tries):
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:
                processes.start_worker()
                said = self.disturbed(processes.address, folder, self.once(processes.scheduler.kill))
            wrong = "" if "lost its scheduler" in said else f"said: {said or 'nothing'}"
            yield 1, wrong or self.after_a_message(said, folder)

    def restart_scheduler(self, tries: int) -> Iterator[tuple[int, str]]:
        """Once in each run, with a new worker; the run goes on by itself."""
        for _ in range(tries):
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:
                processes.start_worker()

                def kill_and_start(processes: DaskProcesses = processes) -> None:
                    processes.scheduler.kill()
                    processes.scheduler.wait()
                    processes.start_scheduler()
                    processes.start_worker()

                yield 1, self.disturbed(processes.address, folder, self.once(kill_and_start))

    def join_late(self, tries: int) -> Iterator[tuple[int, str]]:
        """While one of our sources is at work."""
        for _ in range(tries):
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:
                processes.start_worker()
                yield 1, self.disturbed(processes.address, folder, self.once(self.other_joins(processes)))

    def join_unguarded(self, tries: int) -> Iterator[tuple[int, str]]:
        """Where Dask chooses the worker, the chunk itself must find out."""
        for _ in range(tries):
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:
                processes.start_worker()
                disturb = self.once(self.other_joins(processes))
                said = self.disturbed(processes.address, folder, disturb, is_guarded=False)
                yield 1, self.after_a_message("" if "other sources of 'manyarms'" in said else said, folder)

    def come_first(self, tries: int) -> Iterator[tuple[int, str]]:
        """The run begins without a worker; one of other sources comes, and then one of ours."""
        for _ in range(tries):
            folder = self.new_folder()
            with DaskProcesses(folder) as processes:

                def one_and_then_the_other(processes: DaskProcesses = processes) -> None:
                    time.sleep(1.0)  # the run has begun
                    self.other_joins(processes)()
                    processes.start_worker()

                thread = threading.Thread(target=one_and_then_the_other)
                thread.start()
                said = self.disturbed(processes.address, folder, lambda *_: None)
                thread.join()
                yield 1, said

    def other_joins(self, processes: DaskProcesses) -> Callable[[], None]:
        """Start a worker of other sources, and wait until the scheduler knows it."""

        def join() -> None:
            with distributed.Client(processes.address, set_as_default=False) as client:
                before = len(client.nthreads())
                processes.start_worker(self.other)
                until(lambda: len(client.nthreads()) > before)

        return join

    def once(self, act: Callable[[], None]) -> Disturb:
        """Do something after a random chunk of a run."""
        moments = {self.dice.randrange(1, 9)}
        seen = iter(range(1, 1_000))

        def disturb(_progress: Progress, _client: distributed.Client) -> None:
            if next(seen) in moments:
                act()

        return disturb


OTHER_BYTES = "other bytes"


def is_clear(said: str) -> bool:
    """Whether a message tells what becomes of the work."""
    return cluster.KEPT in said


class Killed:
    """Kills workers in the course of a run: up to so many, at random moments."""

    def __init__(self, dice: random.Random, processes: DaskProcesses, most: int, workers: list[Any]) -> None:
        self.dice, self.processes, self.most = dice, processes, most
        self.workers = {worker.pid: worker for worker in workers}
        self.number = 0
        self.timers: list[threading.Timer] = []

    def now_and_then(self, progress: Progress, client: distributed.Client) -> None:
        """After one chunk of two: kill one of those that are at work, some time into its next chunk."""
        if self.number == self.most or not progress.rounds_left or self.dice.random() < 0.5:
            return
        at_work = sorted(set(client.run(os.getpid, on_error="ignore").values()) & set(self.workers))
        if not at_work:
            return
        victim = self.workers.pop(self.dice.choice(at_work))
        self.number += 1
        self.timers.append(threading.Timer(self.dice.uniform(0.0, 0.2), victim.send_signal, [signal.SIGKILL]))
        self.timers[-1].start()
        successor = self.processes.start_worker()
        self.workers[successor.pid] = successor

    def join(self) -> None:
        """Wait until all are dead."""
        for timer in self.timers:
            timer.join()


if __name__ == "__main__":
    sys.exit(main(attacks, __doc__))
