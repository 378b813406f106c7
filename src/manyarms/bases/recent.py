"""The last 1, 2, 4, … rewards of every arm, in bounded memory: what the rotting and rising bases look at.

The rewards of an arm, in the order they came, are cut into blocks of 1, 2, 4, … rewards that begin at multiples of
their length. Of each length the sums of the last two whole blocks are kept. Two such neighbours are a window of twice
the length, and become one block of the next length when the second of them ends there: one more reward takes O(1) time
on average, and an arm O(log plays) memory.

So the window of 2^k rewards, k >= 1, moves on with every 2^(k-1)-th reward, and lags behind the latest by fewer. That
is the efficient version of Seznec, Locatelli, Carpentier, Lazaric & Valko, "Rotting bandits are no harder than
stochastic ones" (AISTATS 2019, arXiv:1811.11043), as the authors' own code has it for the ratio m = 2.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import floor
from ..compiled import kernel
from .base import Rewards, add_to

LEVELS = 20
"""Lengths of blocks: 1, 2, 4, … 2^19. No window is longer than 2^20 rewards."""

FINE_GRAIN = 2.0**-30
MOST_NEWS = 4096
"""Of plays that were seen elsewhere no more count at a time."""


class Recent(NamedTuple):
    """The last two whole blocks of every length, for every slot: that of length 2^k at ``slot · LEVELS + k``."""

    taken: NDArray[np.int64]  # slot -> rewards so far
    newer: NDArray[np.float64]
    older: NDArray[np.float64]


def new_recent(slots: int) -> Recent:
    """Arrays for ``slots`` arms."""
    return Recent(
        taken=np.zeros(slots, dtype=np.int64),
        newer=np.zeros(slots * LEVELS, dtype=np.float64),
        older=np.zeros(slots * LEVELS, dtype=np.float64),
    )


@kernel
def in_grains(reward: float) -> float:
    """A reward, rounded down to a multiple of 2^-30: sums of such are exact, in whatever order they are made."""
    return floor(reward / FINE_GRAIN) * FINE_GRAIN


def counted_in_grains(base: Any, reward: float) -> float:
    """For ``counted``."""
    return in_grains(reward)


@kernel
def forget_recent(recent: Recent, arms: int) -> None:
    """None of the first ``arms`` slots has had a reward."""
    for slot in range(arms):
        recent.taken[slot] = 0


@kernel
def remember(recent: Recent, slot: int, reward: float) -> None:
    """One more reward: a block of its own, and with the one before a block of 2, if that ends here, and so on."""
    taken = recent.taken[slot] + 1
    recent.taken[slot] = taken
    block = reward
    for level in range(LEVELS):
        place = slot * LEVELS + level
        recent.older[place] = recent.newer[place]
        recent.newer[place] = block
        if (taken >> level) & 1:
            break
        block = recent.older[place] + block


@kernel
def amend(recent: Recent, slot: int, change: float) -> None:
    """The latest reward was so much more: a change of all blocks that end with it."""
    taken = recent.taken[slot]
    for level in range(LEVELS):
        recent.newer[slot * LEVELS + level] += change
        if (taken >> level) & 1:
            break


@kernel
def windows_of(recent: Recent, slot: int) -> int:
    """How many windows, of 1, 2, 4, … rewards, an arm has filled."""
    number = 0
    while number <= LEVELS and recent.taken[slot] >> number:
        number += 1
    return number


@kernel
def window_mean(recent: Recent, slot: int, number: int) -> float:
    """The mean of the window of 2^number rewards, which must have been filled."""
    if number == 0:
        return recent.newer[slot * LEVELS]  # type: ignore[no-any-return]
    place = slot * LEVELS + number - 1
    return (recent.newer[place] + recent.older[place]) / (1 << number)  # type: ignore[no-any-return]


@kernel
def revise_recent(rewards: Rewards, recent: Recent, slot: int, plays: int, total: float) -> None:
    """For ``revise``, of bases with both.

    An answer changes the arm's latest reward. A lost one stays what was presumed, unless the arm has no other play:
    then it is untried. Plays that were seen elsewhere come one after the other, each with their mean.
    """
    left, _ = add_to(rewards, slot, plays, total)
    if left <= 0:
        recent.taken[slot] = 0
    elif plays > 0:
        for _ in range(min(plays, MOST_NEWS)):
            remember(recent, slot, in_grains(total / plays))
    elif plays == 0:
        amend(recent, slot, total)
