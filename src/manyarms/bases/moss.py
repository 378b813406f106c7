"""MOSS: UCB that is as sure of an arm as its share of the horizon asks for.

UCB is as careful with every arm as if it were to decide the whole run. An arm that has had its share of the plays,
horizon / arms, needs no more care: from there on its index is its mean reward. That takes the logarithm out of the
regret in the worst case, sqrt(arms · horizon).

Source: Audibert & Bubeck, "Minimax Policies for Adversarial and Stochastic Bandits" (COLT 2009), MOSS.

Symbols: n -> horizon; K -> arms; n / K -> share; T_i -> plays; the factor 1 under the root -> width.

Deviations: none. The logarithm is natural, whatever base a policy's own logarithms have. (Some public code has the
present round in place of the horizon, which is another algorithm.)
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import register
from ..specs import Positive
from .indexed import Indexed


class MOSSFormula(NamedTuple):
    """What the bounds of all arms have in common."""

    width: float
    share: float = 1.0  # horizon / arms


@dataclasses.dataclass(frozen=True)
class MOSS(Indexed):
    """Mean plus sqrt(width · max(0, log(horizon / (arms · plays))) / plays) (Audibert & Bubeck 2009).

    Parameters
    ----------
    width
        The factor under the root: 1 in the source, for rewards in [0, 1].

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.MOSS(), beta=1.0).base
    MOSS(width=1.0)
    """

    about: ClassVar = About(
        told=("T",),
        rate="sqrt(K T)",
        made_for=("still",),
        cost="O(log arms)",
    )
    formula_type: ClassVar = MOSSFormula

    width: Positive = 1.0


@kernel
def log_plus(value: float) -> float:
    """The logarithm, or 0 where that is negative."""
    return natural_log(value) if value > 1.0 else 0.0


def renew(formula: MOSSFormula, arms: int, horizon: float, log_horizon: float) -> MOSSFormula:
    """The horizon and the arms of this subsample."""
    return replaced(formula, share=horizon / arms)


def moss_index(formula: MOSSFormula, plays: int, total: float) -> float:
    """Mean reward plus a width that is 0 once the arm has had its share."""
    return total / plays + math.sqrt(formula.width * log_plus(formula.share / plays) / plays)


register(MOSSFormula, renew=renew, index_of=moss_index)
