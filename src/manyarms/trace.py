"""Trace: what a run keeps.

At every checkpoint, the numbers of ``COLUMNS``; on request, a full log with one entry for
each round. The loop calls ``record`` in every round and ``keep_simple_regret`` at every checkpoint, and the type of the
log decides while compiling whether that does anything.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contract import Choice, present_mean, recommend, record, register

COLUMNS = ("regret", "reward", "restarts", "blocks", "arms", "V", "V_R", "L", "L_R")
"""What is kept at every checkpoint, in this order. Episodes are restarts + 1."""

SIMPLE_REGRET = "simple regret"
"""Kept after those on request: the top minus the present mean of the arm that the policy would recommend."""


def columns_kept(recommends: bool) -> tuple[str, ...]:
    """What is kept at every checkpoint, if recommendations are asked for or not.

    Examples
    --------
    >>> columns_kept(True)[-2:]
    ('L_R', 'simple regret')
    """
    return (*COLUMNS, SIMPLE_REGRET) if recommends else COLUMNS


def columns_in(values: NDArray[np.float64]) -> tuple[str, ...]:
    """What some values are of, which have a column for each of them as their last dimension."""
    return columns_kept(values.shape[-1] > len(COLUMNS))


class NoLog(NamedTuple):
    """Keep nothing of single rounds."""

    unused: float


class Log(NamedTuple):
    """One entry for each round of one replication."""

    arm: NDArray[np.int64]  # which arm was played
    mean: NDArray[np.float64]  # its mean when played
    next_mean: NDArray[np.float64]  # its mean after the play
    reward: NDArray[np.float64]
    probability: NDArray[np.float64]  # with which it was chosen
    block: NDArray[np.int64]  # the block, counted from 1 over the whole run
    episode: NDArray[np.int64]  # the episode, counted from 1
    drawn: NDArray[np.int64]  # how many arms the policy had drawn after the play


class Recommending(NamedTuple):
    """A log, or none, of a run that asks at every checkpoint what the policy would recommend."""

    log: Any


def log_in(log: Any) -> Any:
    """The log or ``NoLog`` itself, whether or not recommendations are asked for."""
    return log.log if isinstance(log, Recommending) else log


def new_log(rounds: int) -> Log:
    """An empty log of that many rounds."""
    whole = ("arm", "block", "episode", "drawn")
    kinds: list[Any] = [np.int64 if name in whole else np.float64 for name in Log._fields]
    return Log(*(np.zeros(rounds, dtype=kind) for kind in kinds))


def record_nothing(
    log: NoLog, round: int, choice: Choice, mean: float, next_mean: float, reward: float, episode: int, drawn: int
) -> None:
    """No log was asked for."""


def record_round(
    log: Log, round: int, choice: Choice, mean: float, next_mean: float, reward: float, episode: int, drawn: int
) -> None:
    """Write one entry."""
    entry = round - 1
    log.arm[entry] = choice.arm
    log.mean[entry] = mean
    log.next_mean[entry] = next_mean
    log.reward[entry] = reward
    log.probability[entry] = choice.probability
    log.block[entry] = choice.block
    log.episode[entry] = episode
    log.drawn[entry] = drawn


def record_inside(
    log: Recommending,
    round: int,
    choice: Choice,
    mean: float,
    next_mean: float,
    reward: float,
    episode: int,
    drawn: int,
) -> None:
    """Whatever the log does."""
    record(log.log, round, choice, mean, next_mean, reward, episode, drawn)


def keep_gap_of_recommended(
    log: Recommending, policy: Any, world: Any, round: int, top: float, out: Any, row: int, checkpoint: int
) -> None:
    """Write the gap of the arm that the policy would recommend now, before the next ask."""
    choice = recommend(policy, round + 1)
    out[row, checkpoint, len(COLUMNS)] = top - present_mean(world, choice.slot, choice.arm, round + 1)


register(NoLog, record=record_nothing)
register(Log, record=record_round)
register(Recommending, record=record_inside, keep_simple_regret=keep_gap_of_recommended)
