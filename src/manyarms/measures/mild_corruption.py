"""Mild corruption: how far the arms of a block are from standing still.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Definition 1 (Section 4.2).

Symbols: alpha -> level.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiled import loop
from ..specs import one_of
from ..states import empty
from .inputs import Floats, Ints, Log, checked_log
from .parts import checked_parts
from .shifts import numbered

REFERENCES = ("centre", "initial")
"""From where an arm's changes are measured: the middle of its range, or the mean with which it began the part."""


class Corruption(NamedTuple):
    """How far a block is from one in which nothing changes."""

    label: int  # the number of the block
    start: int  # its first round
    end: int  # its last round
    level: float  # the least alpha for which it is alpha-mildly corrupt
    arm: int  # the arm that moved most


def corruption(
    arms: ArrayLike, means: ArrayLike, next_means: ArrayLike, blocks: ArrayLike, *, reference: str = "centre"
) -> list[Corruption]:
    """The level of mild corruption of each block: how far any of its arms is ever from where it belongs.

    A block is alpha-mildly corrupt if means mu(a) exist with abs(mu_t(a) - mu(a)) <= alpha for all its rounds t and
    arms a (Section 4.2). The least such alpha is half the widest range of an arm's mean in the rounds of the block.

    Parameters
    ----------
    arms, means, next_means
        A run, as for ``significant_shifts``. Arms that were not played in a block do not move in it.
    blocks
        The block of each round.
    reference
        ``"centre"``: mu(a) is the middle of the arm's range, the best choice. ``"initial"``: the mean with
        which it began the block, from which the proof counts gaps; the level is at most twice as high.

    Examples
    --------
    >>> from manyarms.measures import corruption
    >>> corruption([0, 0, 1, 1], [0.75, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.0], [1, 1, 1, 1])
    [Corruption(label=1, start=1, end=4, level=0.125, arm=0)]
    """
    one_of("corruption", "reference", reference, REFERENCES)
    log, arm_of_slot = numbered(checked_log(arms, means, next_means))
    cut = checked_parts("blocks", blocks, log.arms.size)
    ranges = empty(Ranges, arm_of_slot.size)
    levels, worst = np.zeros(cut.number), np.zeros(cut.number, dtype=np.int64)
    corruption_loop(ranges, log, cut.edges, reference == "initial", levels, worst)
    found = zip(cut.spans(), levels.tolist(), arm_of_slot[worst].tolist(), strict=True)
    return [Corruption(*span, level=level, arm=arm) for span, level, arm in found]


class Ranges(NamedTuple):
    """Where the mean of each slot has been in a part."""

    is_met: NDArray[np.bool_]  # whether it was played there yet
    first: Floats  # the mean with which it began the part
    low: Floats  # the least mean …
    high: Floats  # … and the greatest


@loop
def corruption_loop(ranges: Ranges, log: Log, edges: Ints, is_initial: bool, levels: Floats, worst: Ints) -> None:
    """For each part, the level of corruption and the arm it is that of: of equal ones, the first that gets there."""
    is_met, first, low, high = ranges
    slots, means, next_means = log
    for part in range(edges.size - 1):
        start, end = edges[part], edges[part + 1]
        levels[part] = 0.0
        worst[part] = slots[start]
        for entry in range(start, end):
            slot = slots[entry]
            if not is_met[slot]:
                is_met[slot] = True
                first[slot] = low[slot] = high[slot] = means[entry]
            # What a play does is seen in the next round, if the part has one and no play of the same arm says better.
            is_seen = entry + 1 < end and slots[entry + 1] != slot
            for turn in range(2 if is_seen else 1):
                mean = next_means[entry] if turn == 1 else means[entry]
                low[slot] = min(low[slot], mean)
                high[slot] = max(high[slot], mean)
            if is_initial:
                level = max(first[slot] - low[slot], high[slot] - first[slot])
            else:
                level = (high[slot] - low[slot]) / 2.0
            if level > levels[part]:
                levels[part] = level
                worst[part] = slot
        for entry in range(start, end):
            is_met[slots[entry]] = False
