"""UCB, horizon form: play the arm with the largest upper confidence bound.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 3
(a variant of UCB1; Lattimore & Szepesvári, "Bandit Algorithms", Section 7.1).

Symbols: T -> horizon; N(a) -> plays; UCB_a -> ucb_index; the 2 under the root -> width.

The horizon is fixed, so only the played arm's index moves: a tournament tree finds the
argmax in O(log arms), and ties go to the lower slot.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, load_both, replaced, store_both
from ..contract import Choice, register
from ..specs import positive
from .base import Base, next_untried
from .tournament import new_tournament, open_tournament, rank, slot_of


class UCBState(NamedTuple):
    """A run over one subsample."""

    width: float
    log_horizon: float
    arms: int
    tried: int  # how many arms have been played
    leaves: int
    leader: int  # the slot with the largest index
    plays: NDArray[np.int64]  # slot -> plays
    sums: NDArray[np.float64]  # slot -> rewards
    keys: NDArray[np.int64]  # tournament of the indices


@dataclasses.dataclass(frozen=True)
class UCB(Base):
    """Mean plus sqrt(width · log(horizon) / plays) (Suk & Kim, Algorithm 3).

    Parameters
    ----------
    width
        The factor under the root: 2 in the paper; 1/2 is a common practical choice.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Blackbox(base=ma.UCB(), beta=1.0).base
    UCB(width=2.0)
    """

    is_scattered: ClassVar[bool] = True  # every round walks up a tree, mostly from another arm

    width: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("UCB", "width", self.width))

    def start(self, slots: int) -> UCBState:
        """A state with arrays for ``slots`` arms."""
        return start_ucb(self.width, slots)


def start_ucb(width: float, slots: int) -> UCBState:
    """A state with arrays for ``slots`` arms; width 0 is the greedy policy."""
    return UCBState(
        width=width,
        log_horizon=0.0,
        arms=0,
        tried=0,
        leaves=1,
        leader=0,
        plays=np.zeros(slots, dtype=np.int64),
        sums=np.zeros(slots, dtype=np.float64),
        keys=new_tournament(slots),
    )


@kernel
def ucb_index(total: float, plays: int, width: float, log_horizon: float) -> float:
    """Mean reward plus the width of its confidence interval."""
    return total / plays + math.sqrt(width * log_horizon / plays)


def renew(base: UCBState, arms: int, horizon: float, log_horizon: float) -> UCBState:
    """No arm has been played: every index is infinite."""
    for slot in range(arms):
        store_both(base.plays, base.sums, slot, 0, 0.0)
    return replaced(
        base, log_horizon=log_horizon, arms=arms, tried=0, leaves=open_tournament(base.keys, arms, math.inf), leader=0
    )


def pick(base: UCBState, key: int, round: int, waiting: int) -> tuple[int, float]:
    """The argmax of the index; untried arms have an infinite one."""
    slot = next_untried(base.plays, base.arms, base.tried, waiting)
    if slot < 0:
        slot = base.leader
    return slot, 1.0


def learn(base: UCBState, choice: Choice, reward: float) -> UCBState:
    """Only the played arm's index moves."""
    slot = choice.slot
    plays, total = load_both(base.plays, base.sums, slot)
    plays += 1
    total += reward
    store_both(base.plays, base.sums, slot, plays, total)
    leader = rank(base.keys, base.leaves, slot, ucb_index(total, plays, base.width, base.log_horizon))
    return replaced(base, tried=base.tried + (1 if plays == 1 else 0), leader=slot_of(leader, base.leaves))


register(UCBState, renew=renew, pick=pick, learn=learn)
