"""KL-UCB, horizon form: play the arm whose mean could be the largest, by the confidence interval of coins.

Close to 1, and to 0, a coin's mean is known much better than in the middle. The Kullback-Leibler
divergence between two coins measures just that, where UCB's root takes all means for the worst one, 1/2.

Source: Garivier & Cappé, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond" (COLT 2011,
arXiv:1102.2490), Algorithm 1.

Symbols: N[a] -> plays; S[a] -> sums; d(p, q) -> divergence; K -> arms; q -> 1 - kl_gap; n -> horizon.

Deviations: the exploration function is width · log(horizon), where the paper has log t + c log log t for
round t: as in the package's UCB, all rounds of a run get the confidence of its last one, and only the played arm's
index moves (`manyarms.bases.indexed`). The logarithm is natural, whatever base a policy's own logarithms have: the
divergence is in natural units. A mean outside [0, 1], which noise beyond that range can make, counts as the end it is
beyond. For rewards in [0, 1] that are no coins the index is valid, and wider than it need be.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

from ..about import About
from ..arithmetic import exponential, natural_log
from ..compiled import kernel, replaced
from ..contract import register
from ..specs import Positive
from .indexed import Indexed

MOST_STEPS = 12
"""Of Newton's method; tests/bases/test_kl_ucb.py has what is needed at most: 8."""

NEAR_ENOUGH = 1e-12
"""A relative step this small is the last one: steps shrink quadratically, so what is left is rounding."""

LEAST_MEAN = 1e-300
"""Has a logarithm; less counts as 0."""

LEAST_GAP = 1e-300
"""Less counts as 0: the index is 1."""


class KLFormula(NamedTuple):
    """What the bounds of all arms have in common."""

    width: float
    level: float = 0.0  # width · log(horizon)


@dataclasses.dataclass(frozen=True)
class KLUCB(Indexed):
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

    about: ClassVar = About(
        told=("T",),
        rate="log(T) / gap for each arm; for coins the least factor",
        made_for=("still",),
        cost="O(log arms)",
    )
    formula_type: ClassVar = KLFormula

    width: Positive = 1.0


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


def renew(formula: KLFormula, arms: int, horizon: float, log_horizon: float) -> KLFormula:
    """The horizon of this subsample."""
    return replaced(formula, level=formula.width * natural_log(max(horizon, 2.0)))


def kl_index(formula: KLFormula, plays: int, total: float) -> float:
    """The gap, with a minus: indices crowd at 1, where floats are too coarse to tell them apart."""
    return -kl_gap(total / plays, formula.level / plays)


register(KLFormula, renew=renew, index_of=kl_index)
