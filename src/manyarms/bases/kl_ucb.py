"""KL-UCB, horizon form: play the arm whose mean could be the largest, by the confidence interval of coins.

Close to 1, and to 0, a coin's mean is known much better than in the middle. The Kullback-Leibler
divergence between two coins measures just that, where UCB's root takes all means for the worst one, 1/2.

Source: Garivier & Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (COLT 2011,
arXiv:1102.2490), Algorithm 1.

Symbols: N[a] -> plays; S[a] -> sums; d(p, q) -> divergence; K -> arms; q -> 1 - kl_gap; n -> horizon.

Deviations: the exploration function is width · log(horizon), where the paper has log t + c log log t for
round t: as in the package's UCB, all rounds of a run get the confidence of its last one. Only the played arm's index
then moves, and a tournament tree finds the argmax in O(log arms); ties go to the lower slot. The
logarithm is natural, whatever base a policy's own logarithms have: the divergence is in natural units.
A mean outside [0, 1], which noise beyond that range can make, counts as the end it is beyond. For
rewards in [0, 1] that are no coins the index is valid, and wider than it need be.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exponential, natural_log
from ..compiled import kernel, load_both, replaced, store_both
from ..contract import Choice, register
from ..specs import positive
from .base import Base, next_untried
from .tournament import new_tournament, open_tournament, rank, slot_of

MOST_STEPS = 12
"""Of Newton's method; tests/test_bases_more.py has what is needed at most: 8."""

NEAR_ENOUGH = 1e-12
"""A relative step this small is the last one: steps shrink quadratically, so what is left is rounding."""

LEAST_MEAN = 1e-300
"""Has a logarithm; less counts as 0."""

LEAST_GAP = 1e-300
"""Less counts as 0: the index is 1."""


class KLUCBState(NamedTuple):
    """A run over one subsample."""

    width: float
    level: float  # width · log(horizon)
    arms: int
    tried: int  # how many arms have been played
    leaves: int
    leader: int  # the slot with the largest index, which is the least gap
    plays: NDArray[np.int64]  # slot -> plays
    sums: NDArray[np.float64]  # slot -> rewards
    keys: NDArray[np.int64]  # tournament of the gaps, with a minus


@dataclasses.dataclass(frozen=True)
class KLUCB(Base):
    """The largest q with plays · kl(mean, q) <= width · log(horizon) (Garivier & Cappé 2011).

    Parameters
    ----------
    width
        The factor before log(horizon): 1 by default, which is the usual choice in practice.
        By Pinsker's inequality the index is never above that of ``UCB`` with half the width.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.KLUCB(), beta=1.0).base
    KLUCB(width=1.0)
    """

    is_scattered: ClassVar[bool] = True  # every round walks up a tree, mostly from another arm

    width: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", positive("KLUCB", "width", self.width))

    def start(self, slots: int) -> KLUCBState:
        """A state with arrays for ``slots`` arms."""
        return KLUCBState(
            width=self.width,
            level=0.0,
            arms=0,
            tried=0,
            leaves=1,
            leader=0,
            plays=np.zeros(slots, dtype=np.int64),
            sums=np.zeros(slots, dtype=np.float64),
            keys=new_tournament(slots),
        )


@kernel
def divergence(mean: float, gap: float) -> float:
    """The Kullback-Leibler divergence of a coin with mean 1 - ``gap`` from one with ``mean``, both in (0, 1)."""
    return mean * natural_log(mean / (1.0 - gap)) + (1.0 - mean) * natural_log((1.0 - mean) / gap)


@kernel
def kl_gap(mean: float, bound: float) -> float:
    """The index as its gap: the least y in [0, 1 - mean] such that the divergence of mean 1 - y is at most ``bound``.

    Of y the divergence is a convex and falling function: from below the solution, Newton's steps rise towards it
    and never pass it. Two starts are below it, the greater is taken. The divergence is at least
    (q - mean)^2 / (2 v), with v the largest variance of a coin between mean and q = 1 - y; and it is at least
    what it is without its term mean · log(1 / q) >= 0.
    """
    if mean >= 1.0:
        return 0.0
    if mean <= LEAST_MEAN:
        return exponential(-bound)
    own = 1.0 - mean
    gap = own * exponential(-(bound - mean * natural_log(mean)) / own)
    reach = mean if mean >= 0.5 else min(mean + math.sqrt(0.5 * bound), 0.5)  # Pinsker's inequality: v <= 1/4
    gap = max(gap, own - math.sqrt(2.0 * bound * reach * (1.0 - reach)))
    if gap < LEAST_GAP:
        return 0.0
    for _ in range(MOST_STEPS):
        if gap >= own:  # by rounding only: the solution is the mean itself
            break
        step = (divergence(mean, gap) - bound) * gap * (1.0 - gap) / (own - gap)
        gap += step
        if step <= NEAR_ENOUGH * gap:
            break
    return min(gap, own)


def renew(base: KLUCBState, arms: int, horizon: float, log_horizon: float) -> KLUCBState:
    """No arm has been played: every index is infinite."""
    for slot in range(arms):
        store_both(base.plays, base.sums, slot, 0, 0.0)
    return replaced(
        base,
        level=base.width * natural_log(max(horizon, 2.0)),
        arms=arms,
        tried=0,
        leaves=open_tournament(base.keys, arms, math.inf),
        leader=0,
    )


def pick(base: KLUCBState, key: int, round: int, waiting: int) -> tuple[int, float]:
    """The argmax of the index; untried arms have an infinite one."""
    slot = next_untried(base.plays, base.arms, base.tried, waiting)
    if slot < 0:
        slot = base.leader
    return slot, 1.0


def learn(base: KLUCBState, choice: Choice, reward: float) -> KLUCBState:
    """Only the played arm's index moves."""
    slot = choice.slot
    plays, total = load_both(base.plays, base.sums, slot)
    plays += 1
    total += reward
    store_both(base.plays, base.sums, slot, plays, total)
    # By their gaps, because indices crowd at 1, where floats are too coarse to tell them apart.
    leader = rank(base.keys, base.leaves, slot, -kl_gap(total / plays, base.level / plays))
    return replaced(base, tried=base.tried + (1 if plays == 1 else 0), leader=slot_of(leader, base.leaves))


register(KLUCBState, renew=renew, pick=pick, learn=learn)
