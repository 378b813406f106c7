"""The GPU behind ``simulate(..., device="gpu")``: is there one, and how replications are spread over it.

One thread plays one replication. A request that needs more memory than the GPU has is played in
waves. `manyarms.cuda` has the kernel and is imported only when it is needed.
"""

import contextlib
import importlib
import importlib.util
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import IS_COMPILING, IS_SIMULATED, compile_errors
from .players import Player
from .replication import Job, Run, States
from .trace import Log, log_in

DEVICES = ("cpu", "gpu", "auto")

SHARE_OF_MEMORY = 0.9
"""Of the GPU's free memory, how much may be used."""

WORKERS = 2
"""How many waves are under way at a time: while one copies its results, another computes."""

RESIDENT = 512
"""Replications at a time for each multiprocessor: as many threads as it has registers for; 67,584 on an H200."""

RESIDENT_SCATTERED = 192
"""The same for policies whose rounds touch places all over their arrays: what 192 of them touch stays in the cache.
Measured on an H200 with Blackbox(UCB): half as fast with 512."""


def chosen_device(device: object) -> str:
    """``"cpu"`` or ``"gpu"``; an error if a GPU is asked for and cannot be used."""
    if device not in DEVICES:
        raise ValueError(f"simulate: device must be one of {', '.join(map(repr, DEVICES))}, not {device!r}")
    if device == "cpu":
        return "cpu"
    reason = why_no_gpu()
    if reason is None:
        return "gpu"
    if device == "auto":
        return "cpu"
    raise RuntimeError(f"simulate: device='gpu' cannot be used: {reason}; or use device='cpu'")


def why_not_compiled() -> str | None:
    """Why nothing can be compiled for a GPU, with the remedy; None if it can. That needs no GPU."""
    if not IS_COMPILING:
        return "the compiler is switched off; unset NUMBA_DISABLE_JIT"
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed; run pip install 'manyarms[gpu]'"
    try:
        cuda_module()
    except Exception as error:
        return f"numba-cuda cannot be imported ({error}); run pip install --upgrade 'manyarms[gpu]'"
    return None


def why_no_gpu() -> str | None:
    """Why no GPU can be used, with the remedy; None if one can.

    Examples
    --------
    >>> from manyarms.gpu import why_no_gpu
    >>> reason = why_no_gpu()  # here None or, for example: no NVIDIA GPU or driver was found
    """
    reason = None if IS_SIMULATED else why_not_compiled()
    if reason is not None:
        return reason
    cuda = cuda_module()
    if not cuda.cuda.is_available():
        detail = " ".join(str(cuda.cuda.cuda_error() or "").split()).rstrip(".")
        return f"no NVIDIA GPU or driver was found{': ' if detail else ''}{detail}"
    return None


def cuda_module() -> Any:
    """The module `manyarms.cuda`, imported as late as possible: it takes half a second and needs the extra."""
    return importlib.import_module(".cuda", __package__)


class GPU(Player):
    """Plays waves of replications on a GPU."""

    def __init__(self, job: Job, runs: list[Run]) -> None:
        self.cuda = cuda_module()
        self.job = job
        self.multiprocessors = getattr(self.cuda.cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1)
        self.workers = 1 if IS_SIMULATED else min(WORKERS, sum(-(-job.replications // self.wave(run)) for run in runs))
        self.alone = threading.Lock()  # held by a wave that another one would drive out of the cache
        self.stop = self.cuda.cuda.mapped_array(1, dtype=np.int64)  # the GPU sees what the host writes here
        self.stop[0] = 0
        free = self.cuda.cuda.current_context().get_memory_info().free
        self.room = free * SHARE_OF_MEMORY / self.workers
        for run in runs:
            self.chunk_size(run)  # what cannot be played is known before anything is

    def wave(self, run: Run) -> int:
        """How many replications are played at a time if memory allows."""
        return int(self.multiprocessors * (RESIDENT_SCATTERED if self.way(run) == self.cuda.SCATTERED else RESIDENT))

    def way(self, run: Run) -> str:
        """How it is played. The simulator's threads take turns: no two of them can play one replication."""
        if run.spec.is_wide and not IS_SIMULATED:
            return str(self.cuda.WIDE)
        return str(self.cuda.SCATTERED if run.spec.is_scattered else self.cuda.ALONE)

    def bytes_of(self, run: Run, states: States) -> int:
        """What one replication takes."""
        laid_out = self.cuda.Layout((states.world, states.policy)).bytes
        laid_out += self.cuda.Layout(states.post).bytes + self.cuda.Layout(states.log).bytes
        return int(laid_out + run.out[0].nbytes + 1)

    def chunk_size(self, run: Run) -> int:
        """How many replications fit: waves of equal size, as few as possible."""
        whole = self.bytes_of(run, run.states())  # at least as much as is likely
        if whole > self.room:
            raise MemoryError(
                f"simulate: one replication of {run.spec.label()} takes {whole:,} bytes, more than the GPU has free "
                "for it; ask for a shorter horizon, no log, or device='cpu'"
            )
        most = int(min(self.wave(run), self.room // self.bytes_of(run, run.states(likely=True))))
        waves = -(-self.job.replications // most)
        return -(-self.job.replications // waves)

    def play(self, run: Run, first: int, last: int) -> int:
        """Play replications first … last - 1; return how many were finished.

        Those that found too little room are played again with as much as can be needed.
        """
        rows = np.arange(first, last)
        self.play_wave(run, rows, run.states(likely=True))
        left = rows[~run.finished[rows]]
        if left.size:
            states = run.states()
            most = int(min(left.size, self.room / self.bytes_of(run, states)))
            for begin in range(0, left.size, most):
                self.play_wave(run, left[begin : begin + most], states)
        return int(run.finished[rows].sum())

    def play_wave(self, run: Run, rows: NDArray[np.int64], states: States) -> None:
        """Play these replications, all at a time."""
        if self.stop[0] != 0:
            return
        cuda, way = self.cuda, self.way(run)
        stream = cuda.cuda.stream()
        worlds, policies = cuda.batched((states.world, states.policy), len(rows))  # world first: see WorldState
        posts, logs = cuda.batched(states.post, len(rows)), cuda.batched(states.log, len(rows))
        out = cuda.cuda.device_array((len(rows), *run.out.shape[1:]), dtype=run.out.dtype)
        finished = cuda.cuda.device_array(len(rows), dtype=np.bool_)
        numbers = (cuda.cuda.to_device(rows), cuda.cuda.to_device(run.job.checkpoints))
        arguments = (policies, worlds, posts, logs, *run.numbers(), *numbers, out, finished, self.stop)
        with self.alone if way == cuda.SCATTERED else contextlib.nullcontext():
            with compile_errors(run.name, "for a GPU; use device='cpu'"):
                cuda.launch(arguments, len(rows), self.lanes(len(rows), way), stream, way)
            if not run.finished[rows[0] : rows[-1] + 1].any():
                run.out[rows[0] : rows[-1] + 1] = 0.0  # now its pages are there when the numbers come
            if way == cuda.SCATTERED:
                stream.synchronize()
        done = finished.copy_to_host(stream=stream)
        self.fetch(run, rows, out, stream)
        run.finished[rows] = done
        if self.job.log:
            columns = [cuda.unpacked(column) for column in log_in(logs)]
            for place in np.flatnonzero(done):
                run.logs[int(rows[place])] = Log(*(np.ascontiguousarray(column[place]) for column in columns))

    def fetch(self, run: Run, rows: NDArray[np.int64], out: Any, stream: Any) -> None:
        """Copy the numbers to where they belong; in one go where they lie together."""
        if len(rows) == rows[-1] - rows[0] + 1:
            out.copy_to_host(run.out[rows[0] : rows[-1] + 1], stream=stream)
            stream.synchronize()
        else:
            found = out.copy_to_host(stream=stream)
            stream.synchronize()
            run.out[rows] = found

    def lanes(self, replications: int, way: str) -> int:
        """How many threads of each warp play: few, where that suffices to keep the GPU busy.

        Threads of a warp that go different ways wait for each other, and more warps hide more of the wait for memory.
        """
        if way == self.cuda.WIDE:
            return 1
        warps = self.multiprocessors * self.cuda.warps_for(way)
        return int(max(min(-(-replications // warps), self.cuda.WARP), 1))
