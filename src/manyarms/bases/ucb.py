"""UCB, horizon form: play the arm with the largest upper confidence bound; and Greedy, for which it is the mean.

Source: Suk & Kim, "Tracking Most Significant Shifts in Infinite-Armed Bandits", Algorithm 3
(a variant of UCB1; Lattimore & Szepesvári, "Bandit Algorithms", Section 7.1).
Greedy: Bayati, Hamidi, Johari & Khosravi, "Unreasonable Effectiveness of Greedy Algorithms in Multi-Armed Bandit with
Many Arms" (NeurIPS 2020): with many arms, a good one is always among those whose first rewards were good, and nothing
is spent on the others.

Symbols: T -> horizon; N(a) -> plays; UCB_a -> ucb_index; the 2 under the root -> width.

Deviations: none; of equal indices, that of the lower slot counts.

The horizon is fixed, so only the played arm's index moves (`manyarms.bases.indexed`).
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

from ..about import About
from ..compiled import replaced
from ..contract import register
from ..specs import Positive
from .indexed import Indexed


class UCBFormula(NamedTuple):
    """What the bounds of all arms have in common; with width 0 they are the mean rewards."""

    width: float
    log_horizon: float = 0.0


@dataclasses.dataclass(frozen=True)
class UCB(Indexed):
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

    about: ClassVar = About(
        told=("T",),
        rate="log(T) / gap for each arm",
        made_for=("still",),
        cost="O(log arms)",
    )
    formula_type: ClassVar = UCBFormula

    width: Positive = 2.0


@dataclasses.dataclass(frozen=True)
class Greedy(Indexed):
    """The best mean reward so far, after one play of each arm: UCB with a confidence interval of width 0.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Greedy(), beta=1.0).base
    Greedy()
    """

    about: ClassVar = About(
        told=(),
        rate="T on few arms; on many a good one nearly always stays",
        made_for=("still",),
        cost="O(log arms)",
    )
    formula_type: ClassVar = UCBFormula
    is_scattered: ClassVar[bool] = False  # it mostly stays with one arm
    width: ClassVar[float] = 0.0  # the mean alone


def renew(formula: UCBFormula, arms: int, horizon: float, log_horizon: float) -> UCBFormula:
    """The horizon of this subsample."""
    return replaced(formula, log_horizon=log_horizon)


def ucb_index(formula: UCBFormula, plays: int, total: float) -> float:
    """Mean reward plus the width of its confidence interval."""
    return total / plays + math.sqrt(formula.width * formula.log_horizon / plays)


register(UCBFormula, renew=renew, index_of=ucb_index)
