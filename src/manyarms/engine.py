"""The loop, and ``simulate``: many replications of many policies in one world.

Replications are independent and every random number has an address, so chunks of
replications go to threads in any order and the result is the same to the bit.
"""

import concurrent.futures
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import loop
from .contract import ask, begin, counts, observe, pull, record, tell
from .policies.base import Policy, checked_slots
from .reservoirs import Reservoir
from .results import Result
from .specs import checked_seed, count, flag
from .streams import POLICY_STREAM, replication_key, stream_key
from .trace import COLUMNS, Log, NoLog, new_log
from .world import World

LONGEST_RUN = 2**31 - 1
MOST_ARMS = 2**31 - 1
"""Rounds and arms are addressed with 31 bits. Only uncapped subsamples can draw more arms than rounds."""

CHUNK_ROUNDS = 2_000_000
"""A chunk has about this many rounds: long enough to hide Python, short enough to stop quickly."""

ROUNDS_BETWEEN_LOOKS = 1 << 20
"""How many rounds are played at most before a loop looks whether it should stop: some 0.1 s."""

DEFAULT_CHECKPOINTS = 64


@loop
def play_replications(
    policy: Any,
    world: Any,
    log: Any,
    seed: int,
    label: int,
    top: float,
    first: int,
    checkpoints: NDArray[np.int64],
    out: NDArray[np.float64],
    stop: NDArray[np.int64],
) -> int:
    """Play replications first, first + 1, … into the rows of ``out``; return how many were finished.

    ``out`` has one row for each replication, and in it one row of COLUMNS for each checkpoint.
    ``stop`` is looked at now and then: once it is not 0, the replication under way is left.
    """
    for row in range(out.shape[0]):
        key = replication_key(seed, first + row)
        policy = begin(policy, stream_key(key, POLICY_STREAM, label))
        world = begin(world, key)
        regret = 0.0
        total = 0.0
        round = 0
        for checkpoint in range(checkpoints.size):
            while round < checkpoints[checkpoint]:
                if stop[0] != 0:
                    return row
                last = min(checkpoints[checkpoint], round + ROUNDS_BETWEEN_LOOKS)
                while round < last:
                    round += 1
                    choice = ask(policy, round, 0)
                    episode = counts(policy).restarts + 1
                    world, mean, next_mean, reward = pull(world, choice.slot, choice.arm, round)
                    regret += top - mean
                    total += reward
                    policy = tell(policy, choice, reward)
                    policy = observe(policy, world, choice)
                    record(log, round, choice, mean, next_mean, reward, episode)
            tally = counts(policy)
            out[row, checkpoint, 0] = regret
            out[row, checkpoint, 1] = total
            out[row, checkpoint, 2] = tally.restarts
            out[row, checkpoint, 3] = tally.blocks
            out[row, checkpoint, 4] = tally.arms
            out[row, checkpoint, 5] = world.variation
            out[row, checkpoint, 6] = world.rotting_variation
            out[row, checkpoint, 7] = world.changes
            out[row, checkpoint, 8] = world.rotting_changes
    return int(out.shape[0])


class _Run:
    """One policy in one world: its spec as played, and what its replications left behind."""

    def __init__(self, spec: Policy, horizon: int, replications: int, checkpoints: int) -> None:
        self.spec = spec.with_horizon(horizon)
        self.label = np.uint64(self.spec.digest())
        self.out = np.zeros((replications, checkpoints, len(COLUMNS)))
        self.finished = np.zeros(replications, dtype=bool)
        self.logs: dict[int, Log] = {}


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    world: World,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] | None = None,
    threads: int | None = None,
    log: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Play policies against a world, many times.

    Every policy meets the same arms with the same noise: the n-th play of an arm is the same
    event for all of them.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from names to policies.
    world
        What they play against.
    horizon
        How many rounds. Policies whose own horizon is None are told.
    replications
        How many independent replications of the world.
    seed
        A whole number from 0 to 2^64 - 1. The same seed gives the same result, to the bit.
    checkpoints
        The rounds at which regret and counts are kept, or how many of them, evenly spaced; the
        last round is always one. 64 if left out.
    threads
        How many threads; all cores if left out. The result does not depend on it.
    log
        Whether to keep every round of every replication (56 bytes each).
    progress
        Called now and then with the number of rounds played and the number in all.

    Returns
    -------
    Result
        What happened. If interrupted by Ctrl-C: what was finished by then.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate([ma.UniformPlay(), ma.Oracle()], world, 500, replications=3, seed=7)
    >>> result.final_regret("UniformPlay").shape
    (3,)
    """
    named = named_policies(policies)
    if not isinstance(world, World):
        hint = f"; write ma.World({world.label()}, …)" if isinstance(world, Reservoir) else ""
        raise TypeError(f"simulate: world must be a World such as ma.World(ma.PowerLaw(1.0)), not {world!r}{hint}")
    horizon = count("simulate", "horizon", horizon)
    if horizon > LONGEST_RUN:
        raise ValueError(f"simulate: horizon must be at most {LONGEST_RUN} (2^31 - 1), not {horizon}")
    replications = count("simulate", "replications", replications)
    seed = checked_seed(seed)
    rounds = checkpoint_rounds(checkpoints, horizon)
    threads = usable_cores() if threads is None else count("simulate", "threads", threads)
    log = flag("simulate", "log", log)
    if progress is not None and not callable(progress):
        raise TypeError(f"simulate: progress must be a function of two numbers, not {progress!r}")
    for name, spec in named.items():
        checked_slots(spec.with_horizon(horizon), horizon)
        warn_of_other_top(name, spec, world)

    try:
        runs = {name: _Run(spec, horizon, replications, rounds.size) for name, spec in named.items()}
    except (MemoryError, ValueError):  # NumPy's words for an array that is too big
        raise MemoryError(
            f"simulate: {replications:,} replications of {len(named)} policies with {rounds.size} checkpoints are too "
            "many to keep; ask for fewer replications at a time or fewer checkpoints"
        ) from None
    complete = _play_chunks(runs, world, horizon, replications, seed, rounds, threads, log, progress)
    for name, run in runs.items():
        if run.out[:, -1, COLUMNS.index("arms")].max() > MOST_ARMS:
            raise OverflowError(
                f"{name} drew more than {MOST_ARMS:,} arms, beyond which random numbers repeat; cap its subsamples "
                "(cap=True) or choose a shorter horizon"
            )
    return Result(
        policies={name: run.spec for name, run in runs.items()},
        world=world,
        horizon=horizon,
        seed=seed,
        checkpoints=rounds,
        values={name: run.out[run.finished] for name, run in runs.items()},
        replications={name: np.flatnonzero(run.finished) for name, run in runs.items()},
        logs={name: run.logs for name, run in runs.items()},
        is_complete=complete,
    )


def _play_chunks(
    runs: dict[str, _Run],
    world: World,
    horizon: int,
    replications: int,
    seed: int,
    checkpoints: NDArray[np.int64],
    threads: int,
    log: bool,
    progress: Callable[[int, int], None] | None,
) -> bool:
    """Spread chunks of replications over threads; True unless interrupted."""
    stop = np.zeros(1, dtype=np.int64)
    # Small enough that every thread has a share, and one replication at a time when logging.
    size = 1 if log else max(1, min(CHUNK_ROUNDS // horizon, -(-replications // threads)))

    def play(run: _Run, first: int) -> int:
        last = min(first + size, replications)
        kept: Log | NoLog = new_log(horizon) if log else NoLog(unused=0.0)
        finished = play_replications(
            run.spec.start(horizon),
            world.start(run.spec.slots(horizon)),
            kept,
            np.uint64(seed),
            run.label,
            world.top,
            first,
            checkpoints,
            run.out[first:last],
            stop,
        )
        run.finished[first : first + finished] = True
        if isinstance(kept, Log) and finished:
            run.logs[first] = kept
        return int(finished)

    rounds_in_all = horizon * replications * len(runs)
    rounds_played = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            chunks = [pool.submit(play, run, first) for first in range(0, replications, size) for run in runs.values()]
            for chunk in concurrent.futures.as_completed(chunks):
                rounds_played += chunk.result() * horizon
                if progress is not None:
                    progress(rounds_played, rounds_in_all)
        except KeyboardInterrupt:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            return False
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return True


def usable_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def warn_of_other_top(name: str, spec: Policy, world: World) -> None:
    """A policy that counts losses from another top than the world rarely does what was meant."""
    top = getattr(spec, "top", world.top)
    if top != world.top:
        warnings.warn(
            f"{name} counts losses from top={top:g}, but the world counts regret from top={world.top:g}; "
            "give both the same top",
            stacklevel=3,
        )


def named_policies(policies: Policy | Iterable[Policy] | Mapping[str, Policy]) -> dict[str, Policy]:
    """Policies by name: the type's name where it is unique, else the settings with it."""
    if isinstance(policies, Mapping):
        specs = list(policies.values())
    else:
        specs = list(policies) if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
    if not specs:
        raise ValueError("simulate: no policy was given")
    for spec in specs:
        if not isinstance(spec, Policy):
            hint = f"; write ma.{spec.__name__}(…)" if isinstance(spec, type) else ""
            if isinstance(spec, World):
                hint = "; policies come first, then the world"
            raise TypeError(f"simulate: {spec!r} is not a policy{hint}")
    if isinstance(policies, Mapping):
        for name in policies:
            if not isinstance(name, str):
                raise TypeError(f"simulate: the names of policies must be text, not {name!r}")
        return dict(policies)
    kinds = [type(spec).__name__ for spec in specs]
    named: dict[str, Policy] = {}
    for spec, kind in zip(specs, kinds, strict=True):
        name = spec.label() if kinds.count(kind) > 1 else kind
        if name in named:
            raise ValueError(f"simulate: the policy {name} is given twice; name them: {{'a': …, 'b': …}}")
        named[name] = spec
    return named


def checkpoint_rounds(checkpoints: int | Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """The rounds at which numbers are kept, in order, the last round included.

    Examples
    --------
    >>> checkpoint_rounds(4, 1000).tolist()
    [250, 500, 750, 1000]
    """
    if checkpoints is None:
        checkpoints = DEFAULT_CHECKPOINTS
    if isinstance(checkpoints, (int, np.integer)):
        number = min(count("simulate", "checkpoints", checkpoints), horizon)
        return np.unique(np.ceil(np.arange(1, number + 1) * (horizon / number)).astype(np.int64).clip(1, horizon))
    if not isinstance(checkpoints, (Sequence, np.ndarray)):
        raise TypeError(f"simulate: checkpoints must be a number of them or a list of rounds, not {checkpoints!r}")
    rounds = sorted({count("simulate", "each of the checkpoints", value) for value in checkpoints} | {horizon})
    if rounds[-1] > horizon:
        raise ValueError(f"simulate: checkpoint {rounds[-1]} lies beyond the horizon {horizon}")
    return np.array(rounds, dtype=np.int64)
