"""One replication: the loop over rounds, the same for every policy and every world.

``play_round`` is what a round is, ``play_replication`` the loop. ``play_replications`` plays one replication after
another on a processor; `manyarms.cuda` gives each its own thread of a GPU. A ``Job`` says what is to be played, a
``Run`` is one policy's part of it, and ``replicate`` plays one as a whole.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import compile_errors, kernel, loop
from .contract import Counts, ask, begin, counts, deliver, is_cramped, keep_simple_regret, observe, pull, record
from .policies.base import Policy, check_feedback, checked_slots
from .post import NoPost, Post, Queue, new_post
from .specs import own_errors
from .streams import policy_key, replication_key
from .trace import Log, NoLog, Recommending, columns_kept, log_in, new_log
from .world import World

ROUNDS_BETWEEN_LOOKS = 1 << 20
"""How many rounds are played at most before a replication looks whether it should stop: some 0.1 s."""


@kernel
def play_round(policy: Any, world: Any, post: Any, log: Any, round: int) -> tuple[Any, Any, Any, float, float]:
    """Play one round and record it: policy, world and post after it, the played arm's mean, and the reward."""
    choice = ask(policy, round)
    episode = counts(policy).restarts + 1
    world, mean, next_mean, reward = pull(world, choice.slot, choice.arm, round)
    post, policy = deliver(post, policy, world, choice, round, reward)
    policy = observe(policy, world, choice)
    record(log, round, choice, mean, next_mean, reward, episode, counts(policy).arms)
    return policy, world, post, mean, reward


@kernel
def play_replication(
    policy: Any,
    world: Any,
    post: Any,
    log: Any,
    key: int,
    label: int,
    top: float,
    checkpoints: NDArray[np.int64],
    out: NDArray[np.float64],
    row: int,
    stop: NDArray[np.int64],
) -> bool:
    """Play one replication into ``out[row]``, one row of numbers for each checkpoint.

    ``stop`` is looked at now and then: once it is not 0, the replication is left; False then, or if the policy's
    arrays were too small.
    """
    policy = begin(policy, policy_key(key, label))
    world = begin(world, key)
    post = begin(post, key)
    regret = 0.0
    total = 0.0
    round = 0
    for checkpoint in range(checkpoints.size):
        while round < checkpoints[checkpoint]:
            if stop[0] != 0:
                return False
            last = min(checkpoints[checkpoint], round + ROUNDS_BETWEEN_LOOKS)
            while round < last:
                round += 1
                policy, world, post, mean, reward = play_round(policy, world, post, log, round)
                regret += top - mean
                total += reward
        write_checkpoint(out, row, checkpoint, regret, total, counts(policy), world)
        keep_simple_regret(log, policy, world, round, top, out, row, checkpoint)
    return not is_cramped(policy)


@kernel
def write_checkpoint(
    out: NDArray[np.float64], row: int, checkpoint: int, regret: float, total: float, tally: Counts, world: Any
) -> None:
    """Keep what COLUMNS names."""
    out[row, checkpoint, 0] = regret
    out[row, checkpoint, 1] = total
    out[row, checkpoint, 2] = tally.restarts
    out[row, checkpoint, 3] = tally.blocks
    out[row, checkpoint, 4] = tally.arms
    out[row, checkpoint, 5] = world.variation
    out[row, checkpoint, 6] = world.rotting_variation
    out[row, checkpoint, 7] = world.changes
    out[row, checkpoint, 8] = world.rotting_changes


@loop
def play_replications(
    policy: Any,
    world: Any,
    post: Any,
    log: Any,
    seed: int,
    label: int,
    top: float,
    first: int,
    checkpoints: NDArray[np.int64],
    out: NDArray[np.float64],
    stop: NDArray[np.int64],
) -> int:
    """Play replications first, first + 1, … into the rows of ``out``; return how many were finished."""
    for row in range(out.shape[0]):
        key = replication_key(seed, first + row)
        if not play_replication(policy, world, post, log, key, label, top, checkpoints, out, row, stop):
            return row
    return int(out.shape[0])


def begun_policy(spec: Policy, rounds: int, seed: int, replication: int) -> Any:
    """A policy's state as the loop begins it, with arrays for ``rounds`` rounds; for Python, step by step."""
    key = policy_key(replication_key(seed, replication), spec.digest())
    return begin(started(spec, rounds), np.uint64(key))


def started(spec: Any, room: int, method: str = "start") -> Any:
    """The state of a policy or a world with arrays for so many rounds or slots; what its own code raises is its own."""
    with own_errors(spec, f"{method}({room})"):
        return getattr(spec, method)(room)


class States(NamedTuple):
    """What one replication is played with."""

    policy: Any
    world: Any
    post: NoPost | Queue | Post
    log: Log | NoLog | Recommending


@dataclasses.dataclass(frozen=True)
class Job:
    """What is to be played, whichever policy plays."""

    world: World
    horizon: int
    replications: int
    seed: int
    checkpoints: NDArray[np.int64]
    log: bool = False  # whether every round is kept
    first: int = 0  # the number of the first replication
    recommend: bool = False  # whether the policy is asked at checkpoints what it would recommend


class Run:
    """One policy's part of a job: its spec as played, and what its replications left behind."""

    def __init__(self, spec: Policy, job: Job) -> None:
        self.job = job
        self.spec = spec.with_horizon(job.horizon)
        self.slots = checked_slots(self.spec, job.horizon)
        check_feedback(self.spec, job.world.feedback)
        self.label = np.uint64(self.spec.digest())
        self.logs: dict[int, Log] = {}
        try:
            self.out = np.zeros((job.replications, job.checkpoints.size, len(columns_kept(job.recommend))))
            self.finished = np.zeros(job.replications, dtype=bool)
        except (MemoryError, ValueError):  # NumPy's words for an array that is too big
            raise MemoryError(
                f"simulate: {job.replications:,} replications of {self.spec.label()} with {job.checkpoints.size} "
                "checkpoints are too many to keep; ask for fewer replications at a time or fewer checkpoints"
            ) from None

    @property
    def name(self) -> str:
        """Which policy in which world."""
        return f"{self.spec.label()} in {self.job.world.label()}"

    def states(self, likely: bool = False) -> States:
        """States for one replication after another, unbegun; on request with room for most of them only."""
        horizon = self.job.horizon
        log: Any = new_log(horizon) if self.job.log else NoLog(unused=0.0)
        log = Recommending(log) if self.job.recommend else log
        policy, slots = (
            started(self.spec, horizon, "likely_start") if likely else (started(self.spec, horizon), self.slots)
        )
        return States(policy, started(self.job.world, slots), new_post(self.job.world.feedback), log)

    def numbers(self, first: int = 0) -> tuple[Any, ...]:
        """What the loop is told besides states: seed, label, top and first replication."""
        job = self.job
        return np.uint64(job.seed), self.label, job.world.top, job.first + first

    def play(
        self,
        first: int,
        last: int,
        states: States | None = None,
        stop: NDArray[np.int64] | None = None,
        loop: Callable[..., int] | None = None,
    ) -> int:
        """Play replications first … last - 1 of the job on this core; return how many were finished.

        A log is of the last one. Once ``stop[0]`` is not 0, the rest is left. ``loop`` is ``play_replications``,
        compiled, or its ``function``, the same as plain Python.
        """
        states = states or self.states()
        with compile_errors(self.name):
            finished = (loop or play_replications)(
                *states,
                *self.numbers(first),
                self.job.checkpoints,
                self.out[first:last],
                np.zeros(1, dtype=np.int64) if stop is None else stop,
            )
        self.finished[first : first + finished] = True
        if self.job.log and finished == last - first:
            self.logs[last - 1] = log_in(states.log)
        return int(finished)


def replicate(
    policy: Policy,
    world: World,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    *,
    first: int = 0,
    checkpoints: Sequence[int] | NDArray[np.int64] | None = None,
    log: bool = False,
    recommend: bool = False,
    loop: Callable[..., int] | None = None,
) -> Run:
    """Play replications ``first``, first + 1, … of one policy on this core; ``loop`` is as for ``Run.play``.

    Numbers are kept at the checkpoints, or after the last round only, and a log of the last replication on request;
    with ``recommend`` simple regret, too.

    Examples
    --------
    >>> import manyarms as ma
    >>> run = replicate(ma.UniformPlay(), ma.World(ma.PowerLaw(1.0)), 100, 3, seed=7)
    >>> run.out.shape, run.finished.tolist()
    ((3, 1, 9), [True, True, True])
    """
    rounds = np.array([horizon] if checkpoints is None else checkpoints, dtype=np.int64)
    run = Run(policy, Job(world, horizon, replications, seed, rounds, log, first, recommend))
    run.play(0, replications, loop=loop)
    return run
