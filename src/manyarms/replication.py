"""One replication: the loop over rounds, the same for every policy and every world.

``play_round`` is what one round is, ``play_replication`` the loop. ``play_replications`` plays one replication
after another on a processor; `manyarms.cuda` gives each its own thread of a GPU.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel, loop
from .contract import ask, begin, counts, observe, pull, record, tell
from .policies.base import Policy
from .streams import POLICY_STREAM, replication_key, stream_key
from .trace import COLUMNS, Log, NoLog, new_log
from .world import World

ROUNDS_BETWEEN_LOOKS = 1 << 20
"""How many rounds are played at most before a replication looks whether it should stop: some 0.1 s."""


@kernel
def play_round(policy: Any, world: Any, log: Any, round: int) -> tuple[Any, Any, float, float]:
    """Play one round and record it: the policy and the world after it, the played arm's mean, and the reward."""
    choice = ask(policy, round, 0)
    episode = counts(policy).restarts + 1
    world, mean, next_mean, reward = pull(world, choice.slot, choice.arm, round)
    policy = tell(policy, choice, reward)
    policy = observe(policy, world, choice)
    record(log, round, choice, mean, next_mean, reward, episode, counts(policy).arms)
    return policy, world, mean, reward


@kernel
def write_checkpoint(
    out: NDArray[np.float64], row: int, checkpoint: int, regret: float, total: float, policy: Any, world: Any
) -> None:
    """Write one row of COLUMNS."""
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


@kernel
def play_replication(
    policy: Any,
    world: Any,
    log: Any,
    key: int,
    label: int,
    top: float,
    checkpoints: NDArray[np.int64],
    out: NDArray[np.float64],
    row: int,
    stop: NDArray[np.int64],
) -> bool:
    """Play one replication into ``out[row]``, one row of COLUMNS for each checkpoint.

    ``stop`` is looked at now and then: once it is not 0, the replication is left; False then.
    """
    policy = begin(policy, stream_key(key, POLICY_STREAM, label))
    world = begin(world, key)
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
                policy, world, mean, reward = play_round(policy, world, log, round)
                regret += top - mean
                total += reward
        write_checkpoint(out, row, checkpoint, regret, total, policy, world)
    return True


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
    """Play replications first, first + 1, … into the rows of ``out``; return how many were finished."""
    for row in range(out.shape[0]):
        key = replication_key(seed, first + row)
        if not play_replication(policy, world, log, key, label, top, checkpoints, out, row, stop):
            return row
    return int(out.shape[0])


@dataclasses.dataclass(frozen=True)
class Job:
    """What is to be played, whichever policy plays."""

    world: World
    horizon: int
    replications: int
    seed: int
    checkpoints: NDArray[np.int64]
    log: bool  # whether every round is kept
    first: int = 0  # the number of the first replication

    def new_log(self) -> Log | NoLog:
        """Room for one replication's log, if one is kept."""
        return new_log(self.horizon) if self.log else NoLog(unused=0.0)


class Run:
    """One policy's part of a job: its spec as played, and what its replications left behind."""

    def __init__(self, spec: Policy, job: Job) -> None:
        self.spec = spec.with_horizon(job.horizon)
        self.label = np.uint64(self.spec.digest())
        self.out = np.zeros((job.replications, job.checkpoints.size, len(COLUMNS)))
        self.finished = np.zeros(job.replications, dtype=bool)
        self.logs: dict[int, Log] = {}
