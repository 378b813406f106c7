"""Trace: what a run keeps.

At every checkpoint, the numbers of ``COLUMNS``; on request, a full log with one entry for
each round. The loop calls ``record`` in every round, and the type of the log decides while
compiling whether that does anything.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contract import Choice, register

COLUMNS = ("regret", "reward", "restarts", "blocks", "arms", "V", "V_R", "L", "L_R")
"""What is kept at every checkpoint, in this order. Episodes are restarts + 1."""


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


register(NoLog, record=record_nothing)
register(Log, record=record_round)
