"""KL-UCB++: the confidence interval of KL-UCB, with a level that falls as an arm uses up its share of the horizon.

What MOSS is to UCB, this is to KL-UCB. It was the first algorithm proved to have both the least regret in the worst
case, up to a constant, and the least one in the long run.

Source: Ménard & Garivier, "A minimax and asymptotically optimal algorithm for stochastic bandits" (ALT 2017,
arXiv:1702.07211), kl-UCB++.

Symbols: T -> horizon; K -> arms; T / K -> share; N_a -> plays; g(n) -> plus_plus_level; kl -> divergence
(`bases.kl_ucb`); U_a -> 1 - kl_gap.

Deviations: none for coins. The source treats exponential families; for other rewards in [0, 1] the index of coins is
valid, and wider than it need be. A mean outside [0, 1] counts as the end it is beyond, as in `KLUCB`.
"""

import dataclasses
from typing import ClassVar, NamedTuple

from ..about import About
from ..compiled import kernel, replaced
from ..contract import register
from .indexed import Indexed
from .kl_ucb import kl_gap
from .moss import log_plus


class KLPlusPlusFormula(NamedTuple):
    """What the bounds of all arms have in common."""

    share: float = 1.0  # horizon / arms


@dataclasses.dataclass(frozen=True)
class KLUCBPlusPlus(Indexed):
    """The largest q with plays · kl(mean, q) <= log+(y (1 + log+(y)^2)), y = horizon / (arms · plays).

    With log+ the logarithm, or 0 where that is negative (Ménard & Garivier 2017).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.KLUCBPlusPlus(), beta=1.0).base
    KLUCBPlusPlus()
    """

    about: ClassVar = About(
        told=("T",),
        rate="sqrt(K T); for coins the least in the long run",
        made_for=("still",),
        cost="O(log arms)",
    )
    formula_type: ClassVar = KLPlusPlusFormula


@kernel
def plus_plus_level(share_left: float) -> float:
    """What plays · divergence may be, for an arm that has been played horizon / (arms · share_left) times."""
    log = log_plus(share_left)
    return log_plus(share_left * (1.0 + log * log))


def renew(formula: KLPlusPlusFormula, arms: int, horizon: float, log_horizon: float) -> KLPlusPlusFormula:
    """The horizon and the arms of this subsample."""
    return replaced(formula, share=horizon / arms)


def plus_plus_index(formula: KLPlusPlusFormula, plays: int, total: float) -> float:
    """The gap, with a minus, as `KLUCB` has it."""
    return -kl_gap(total / plays, plus_plus_level(formula.share / plays) / plays)


register(KLPlusPlusFormula, renew=renew, index_of=plus_plus_index)
