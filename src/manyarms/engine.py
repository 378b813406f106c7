"""``simulate``: many replications of many policies in one world.

Replications are independent and every random number has an address, so chunks of
replications go to threads, or to a GPU, in any order and the result is the same to the bit.
"""

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gpu import GPU, chosen_device
from .players import Player
from .policies.base import Policy
from .replication import Job, Run
from .reservoirs import Reservoir
from .results import Result
from .specs import checked_seed, count, flag
from .trace import COLUMNS, columns_kept
from .world import World, why_negative

LONGEST_RUN = 2**31 - 1
MOST_ARMS = 2**31 - 1
"""Rounds and arms are addressed with 31 bits. Only uncapped subsamples can draw more arms than rounds."""

DEFAULT_CHECKPOINTS = 64

MOST_CHECKPOINTS = 10_000_000
"""Every round of a run of ten million, 0.7 GB a replication; more take minutes to look at."""

BYTES_A_ROUND = 64
"""What a log takes."""


def simulate(
    policies: Policy | Iterable[Policy] | Mapping[str, Policy],
    world: World,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] | None = None,
    threads: int | None = None,
    device: str = "cpu",
    log: bool = False,
    recommend: bool = False,
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
        How many threads of the processor; all cores if left out. The result does not depend on it.
    device
        ``"cpu"``, ``"gpu"`` (one thread of an NVIDIA GPU for each replication; needs the extra
        ``manyarms[gpu]``) or ``"auto"``: the GPU if there is one. The result does not depend on it.
    log
        Whether to keep every round of every replication (64 bytes each).
    recommend
        Whether to ask at every checkpoint which arm the policy would recommend, and to keep its gap then: the column
        ``"simple regret"``.
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
    job = checked_job(world, horizon, replications, seed, checkpoints, log, len(named), recommend)
    warn_of_low_top([("", world)])
    threads = usable_cores() if threads is None else count("simulate", "threads", threads)
    device = chosen_device(device)
    if progress is not None and not callable(progress):
        raise TypeError(f"simulate: progress must be a function of two numbers, not {progress!r}")
    for name, spec in named.items():
        warn_of_other_top(name, spec, world)
    runs = {name: Run(spec, job) for name, spec in named.items()}
    player = GPU(job, list(runs.values())) if device == "gpu" else Player(job, threads)
    complete = player.play_all(list(runs.values()), progress)
    for name, run in runs.items():
        if run.out[:, -1, COLUMNS.index("arms")].max() > MOST_ARMS:
            raise OverflowError(
                f"{name} drew more than {MOST_ARMS:,} arms, beyond which random numbers repeat; cap its subsamples "
                "(cap=True) or choose a shorter horizon"
            )
    return Result(
        policies={name: run.spec for name, run in runs.items()},
        world=world,
        horizon=job.horizon,
        seed=job.seed,
        checkpoints=job.checkpoints,
        values={name: run.out if complete else run.out[run.finished] for name, run in runs.items()},
        replications={name: np.flatnonzero(run.finished) for name, run in runs.items()},
        logs={name: run.logs for name, run in runs.items()},
        is_complete=complete,
    )


def memory() -> float:
    """The bytes of memory that there are for this process; infinite where nobody says.

    That is what the machine has, or what a container or a batch system allows, if it is less.
    """
    try:
        of_machine = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        of_machine = math.inf
    return min([of_machine, *memory_limits()])


def memory_limits(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[float]:
    """The limits of the control groups that this process is in, and of all around them; of both versions of Linux's."""
    try:
        lines = proc.read_text().splitlines()
    except OSError:  # another system
        return
    for line in lines:
        _, kinds, group = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        top, name = (root / "memory", "memory.limit_in_bytes") if kinds else (root, "memory.max")
        inside = PurePosixPath(group.lstrip("/"))
        for folder in (inside, *inside.parents):  # in a container, the last one is its own
            with contextlib.suppress(OSError, ValueError):  # there is none, or it is "max"
                yield float(int((top / folder / name).read_text()))


def check_memory(policies: int, replications: int, horizon: int, kept: int, log: bool, recommend: bool = False) -> None:
    """Refuse what would not fit, given the number of checkpoints, before anything is played."""
    needed = 8.0 * policies * replications * kept * len(columns_kept(recommend))
    needed += BYTES_A_ROUND * policies * replications * horizon if log else 0.0
    if needed > memory():
        what = "a log of every round" if log else f"{kept:,} checkpoints"
        raise MemoryError(
            f"simulate: {replications:,} replications with {what}, for each of {policies} policies, take "
            f"{needed / 1e9:,.0f} GB, and this process may use {memory() / 1e9:,.0f} GB; ask for fewer replications, "
            "or keep less of them"
        )


def checked_job(
    world: object,
    horizon: object,
    replications: object,
    seed: object,
    checkpoints: Any,
    log: object,
    policies: int = 1,
    recommend: object = False,
) -> Job:
    """What ``simulate`` is asked to play, or an error that says what is wrong with it."""
    if not isinstance(world, World):
        hint = f"; write ma.World({world.label()}, …)" if isinstance(world, Reservoir) else ""
        raise TypeError(f"simulate: world must be a World such as ma.World(ma.PowerLaw(1.0)), not {world!r}{hint}")
    rounds = count("simulate", "horizon", horizon)
    if rounds > LONGEST_RUN:
        raise ValueError(f"simulate: horizon must be at most {LONGEST_RUN} (2^31 - 1), not {rounds}")
    times = count("simulate", "replications", replications)
    is_logged = flag("simulate", "log", log)
    recommends = flag("simulate", "recommend", recommend)
    kept = checkpoint_rounds(checkpoints, rounds)
    check_memory(policies, times, rounds, kept.size, is_logged, recommends)
    return Job(
        world=world,
        horizon=rounds,
        replications=times,
        seed=checked_seed(seed),
        checkpoints=kept,
        log=is_logged,
        recommend=recommends,
    )


def play_range(
    policy: Policy,
    world: World,
    horizon: int,
    seed: int,
    checkpoints: NDArray[np.int64],
    first: int,
    last: int,
    stop: NDArray[np.int64] | None = None,
    device: str = "cpu",
    recommend: bool = False,
) -> NDArray[np.float64]:
    """Replications first … last - 1 of one policy, on one core or a GPU: the numbers that ``simulate`` would give them.

    Once ``stop[0]`` is not 0, only those that are finished are returned.
    """
    job = Job(world, horizon, last - first, seed, checkpoints, first=first, recommend=recommend)
    run = Run(policy, job)
    if device == "gpu":
        GPU(job, [run]).play_all([run])
    else:
        run.play(0, job.replications, stop=stop)
    return run.out[run.finished]


def usable_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def warn_of_low_top(worlds: Iterable[tuple[str, World]]) -> None:
    """Worlds by name, in some of which regret may be negative."""
    words = why_negative(worlds)
    if words:
        warnings.warn(words, stacklevel=3)


def warn_of_other_top(name: str, spec: Policy, world: World) -> None:
    """A policy that counts losses from another top than the world rarely does what was meant."""
    top = getattr(spec, "top", world.top)
    if not isinstance(top, str) and top != world.top:
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
    names = [spec.label() if kinds.count(kind) > 1 else kind for spec, kind in zip(specs, kinds, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"simulate: the policy {name} is given twice; name them: {{'a': …, 'b': …}}")
    return dict(zip(names, specs, strict=True))


def check_checkpoints(number: int) -> None:
    """Refuse more checkpoints than anybody can look at, before they are listed."""
    if number > MOST_CHECKPOINTS:
        raise ValueError(f"simulate: checkpoints must be at most {MOST_CHECKPOINTS:,}, not {number:,}")


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
        check_checkpoints(number)
        return np.unique(np.ceil(np.arange(1, number + 1) * (horizon / number)).astype(np.int64).clip(1, horizon))
    if not isinstance(checkpoints, (Sequence, np.ndarray)):
        raise TypeError(f"simulate: checkpoints must be a number of them or a list of rounds, not {checkpoints!r}")
    check_checkpoints(len(checkpoints))
    rounds = sorted({count("simulate", "each of the checkpoints", value) for value in checkpoints} | {horizon})
    if rounds[-1] > horizon:
        raise ValueError(f"simulate: checkpoint {rounds[-1]} lies beyond the horizon {horizon}")
    return np.array(rounds, dtype=np.int64)
