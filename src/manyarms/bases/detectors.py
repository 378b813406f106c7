"""Detectors of change: has the mean of an arm's rewards changed since its last restart?

Each looks at the rewards of one arm, in the order they came, and keeps something of them for every slot.

- CUSUM (Page 1954), two-sided: how far rewards have run away from the mean of the first ones. O(1) time and memory.
- Halves: the newest rewards against those before, in a ring. O(1) time, and memory for one window.
- GLR, the generalized likelihood ratio: how much better two coins explain the rewards than one. It has to try where
  the first ends and the second begins. Here it tries what sums over dyadic blocks can tell (`manyarms.bases.recent`):
  O(log rewards) splits, and for every n one that is at most n and more than n / 2 rewards ago. So time and memory are
  O(log rewards). The price: of the rewards after a change, up to half are taken for earlier ones, and it is seen later
  than by a test that tries all splits (1.4 times as late on average in tests/bases/test_detectors.py).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import natural_log
from ..compiled import kernel
from .kl_ucb import LEAST_MEAN, divergence
from .recent import LEVELS, Recent

# ---------------------------------------------------------------- CUSUM


class Cusum(NamedTuple):
    """For every slot, the mean to compare with and how far rewards have run away from it."""

    references: NDArray[np.float64]
    rises: NDArray[np.float64]
    falls: NDArray[np.float64]


def new_cusum(slots: int) -> Cusum:
    """Arrays for ``slots`` arms; `compare_with` comes before they are read."""
    return Cusum(references=np.zeros(slots), rises=np.zeros(slots), falls=np.zeros(slots))


@kernel
def compare_with(cusum: Cusum, slot: int, mean: float) -> None:
    """From now on, rewards of a slot are compared with this mean."""
    cusum.references[slot] = mean
    cusum.rises[slot] = 0.0
    cusum.falls[slot] = 0.0


@kernel
def cusum_after(cusum: Cusum, slot: int, reward: float, tolerance: float) -> float:
    """How far rewards have run away, up or down, with one more; up to ``tolerance`` of each is forgiven."""
    excess = reward - cusum.references[slot]
    rise = max(0.0, cusum.rises[slot] + excess - tolerance)
    fall = max(0.0, cusum.falls[slot] - excess - tolerance)
    cusum.rises[slot] = rise
    cusum.falls[slot] = fall
    return float(max(rise, fall))


# ---------------------------------------------------------------- two halves of a window


class Halves(NamedTuple):
    """The last ``window`` rewards of every slot, in a ring: reward n at ``slot · window + n % window``."""

    rewards: NDArray[np.float64]
    newer: NDArray[np.float64]  # slot -> the sum of the newer half
    older: NDArray[np.float64]


def new_halves(slots: int, window: int) -> Halves:
    """Arrays for ``slots`` arms; what is in them counts from an arm's first reward on."""
    return Halves(rewards=np.zeros(slots * window), newer=np.zeros(slots), older=np.zeros(slots))


@kernel
def halves_after(halves: Halves, window: int, slot: int, taken: int, reward: float) -> float:
    """How far apart the sums of the two halves are with one more reward after ``taken``; 0 before there are two.

    Rewards come in grains, so that what leaves a half is what entered it.
    """
    ring, first = halves.rewards, slot * window
    newer = halves.newer[slot] if taken > 0 else 0.0
    older = halves.older[slot] if taken > 0 else 0.0
    if taken >= window // 2:
        middle = ring[first + (taken - window // 2) % window]
        newer -= middle
        older += middle
    if taken >= window:
        older -= ring[first + taken % window]
    ring[first + taken % window] = reward
    halves.newer[slot] = newer + reward
    halves.older[slot] = older
    return abs(newer + reward - older) if taken + 1 >= window else 0.0


# ---------------------------------------------------------------- generalized likelihood ratio


@kernel
def divergence_from(mean: float, gap: float) -> float:
    """The divergence of a coin with mean 1 - ``gap``, in (0, 1), from one with any mean: 0 log 0 is 0."""
    if mean <= LEAST_MEAN:
        return -natural_log(gap)
    if mean >= 1.0:
        return -natural_log(1.0 - gap)
    return divergence(mean, gap)


@kernel
def split_statistic(plays: int, total: float, later: int, later_total: float) -> float:
    """The log-likelihood that rewards gain if the last ``later`` of them may have a mean of their own."""
    gap = (plays - total) / plays
    if gap <= 0.0 or gap >= 1.0:
        return 0.0
    earlier = plays - later
    return earlier * divergence_from((total - later_total) / earlier, gap) + later * divergence_from(
        later_total / later, gap
    )


@kernel
def glr_statistic(recent: Recent, slot: int, total: float) -> float:
    """The largest of an arm's rewards, with sum ``total``, over all splits that its blocks can tell.

    Of each length the last two whole blocks are known. The rewards behind the newest one are ``later``: the newest
    shorter blocks that do not fill one of this length. If the newest has no partner yet, the one before it ends a
    block of twice the length, and splits are at both ends; else the next length has the same.
    """
    plays = recent.taken[slot]
    most = 0.0
    later = 0
    later_total = 0.0
    for level in range(LEVELS):
        length = 1 << level
        if later + length >= plays:
            break
        newer = recent.newer[slot * LEVELS + level]
        most = max(most, split_statistic(plays, total, later + length, later_total + newer))
        if (plays >> level) & 1:
            if later + 2 * length < plays:
                both = newer + recent.older[slot * LEVELS + level]
                most = max(most, split_statistic(plays, total, later + 2 * length, later_total + both))
            later += length
            later_total += newer
    return most
