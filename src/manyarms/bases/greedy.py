"""Greedy: try every arm once, then always play the one with the best mean reward.

Source: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in
Multi-Armed Bandit with Many Arms" (NeurIPS 2020): with many arms, a good one is always among
those whose first rewards were good, and nothing is spent on the others.

Only the played arm's mean moves: a tournament tree finds the argmax in O(log arms), and ties
go to the lower slot.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Choice, register
from .base import Base, next_untried
from .tournament import new_tournament, open_tournament, set_value


class GreedyState(NamedTuple):
    """A run over one subsample."""

    arms: int
    tried: int  # how many arms have been played
    leaves: int
    sums: NDArray[np.float64]  # slot -> rewards
    plays: NDArray[np.int64]  # slot -> plays
    values: NDArray[np.float64]  # tournament of the means
    winners: NDArray[np.uint32]


@dataclasses.dataclass(frozen=True)
class Greedy(Base):
    """The best mean reward so far, after one play of each arm.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Greedy(), beta=1.0).base
    Greedy()
    """

    def start(self, slots: int) -> GreedyState:
        """A state with arrays for ``slots`` arms."""
        values, winners = new_tournament(slots)
        return GreedyState(
            arms=0,
            tried=0,
            leaves=1,
            sums=np.zeros(slots, dtype=np.float64),
            plays=np.zeros(slots, dtype=np.int64),
            values=values,
            winners=winners,
        )


def renew(base: GreedyState, arms: int, horizon: float, log_horizon: float) -> GreedyState:
    """No arm has been played: all are tried before any is played twice."""
    for slot in range(arms):
        base.sums[slot] = 0.0
        base.plays[slot] = 0
    return GreedyState(
        arms=arms,
        tried=0,
        leaves=open_tournament(base.values, base.winners, arms, math.inf),
        sums=base.sums,
        plays=base.plays,
        values=base.values,
        winners=base.winners,
    )


def pick(base: GreedyState, key: int, round: int, waiting: int) -> tuple[int, float]:
    """The argmax of the mean reward; untried arms come first."""
    slot = next_untried(base.plays, base.arms, base.tried, waiting)
    if slot < 0:
        slot = int(base.winners[1])
    return slot, 1.0


def learn(base: GreedyState, choice: Choice, reward: float) -> GreedyState:
    """Only the played arm's mean moves."""
    slot = choice.slot
    total = base.sums[slot] + reward
    plays = base.plays[slot] + 1
    base.sums[slot] = total
    base.plays[slot] = plays
    set_value(base.values, base.winners, base.leaves, slot, total / plays)
    return GreedyState(
        arms=base.arms,
        tried=base.tried + (1 if plays == 1 else 0),
        leaves=base.leaves,
        sums=base.sums,
        plays=base.plays,
        values=base.values,
        winners=base.winners,
    )


register(GreedyState, renew=renew, pick=pick, learn=learn)
