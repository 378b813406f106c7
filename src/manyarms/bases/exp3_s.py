"""Exp3.S: exponential weights of which a little is shared out in every round.

No arm's weight falls far behind, so that one which becomes the best is found again: the regret is to a sequence of arms
that changes a few times, whoever decides the rewards.

Source: Auer, Cesa-Bianchi, Freund & Schapire, "The Nonstochastic Multiarmed Bandit Problem" (SIAM Journal on Computing
32, 2002), Section 8, Exp3.S, with gamma and alpha of its corollaries.

Symbols: gamma -> mixing; alpha -> share; S, the hardness -> changes + 1; K -> arms; T -> horizon.

Deviations: none but those of `manyarms.bases.exponential_weights`. The full text was not at hand: the algorithm is as
public code has it, the constants of the corollaries as public code has them and as remembered.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import natural_log
from ..contract import register
from ..specs import Fraction, count, filled
from .exponential_weights import ExponentialWeights, Pace, mixing_for


class Exp3STuning(NamedTuple):
    """The spec in numbers; below 0: not told."""

    changes: int = -1
    mixing: float = -1.0
    share: float = -1.0


def checked_changes(owner: str, name: str, changes: Any) -> int:
    """A whole number; there may be none."""
    return count(owner, name, changes, least=0)


@dataclasses.dataclass(frozen=True)
class Exp3S(ExponentialWeights):
    """Exponential weights that forget, for a best arm that changes (Auer, Cesa-Bianchi, Freund & Schapire 2002).

    Parameters
    ----------
    changes
        How often another arm is expected to become the best. None: unknown.
    mixing
        gamma: the part of all plays that goes to any arm. None: sqrt(K log(K T) / T), or, if ``changes`` is told,
        sqrt(K ((changes + 1) log(K T) + e) / ((e - 1) T)); at most 1.
    share
        alpha: e times this part of all weights is added to them in every round, to each arm's as much. None: 1 / T.
        With 0 it is EXP3.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Exp3S(changes=5), beta=1.0, arms=20).base.label()
    'Exp3S(changes=5)'
    """

    about: ClassVar = About(
        told=("T", "changes"),
        rate="sqrt(K T): T^(3/4) on sqrt(T) arms",
        made_for=("crashes", "adversaries"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"changes": 2}, {"mixing": 0.1, "share": 0.01})

    changes: Annotated[int, checked_changes] | None = None
    mixing: Fraction | None = None
    share: Fraction | None = None

    def tuning(self) -> Exp3STuning:
        """The spec in numbers."""
        found: Exp3STuning = filled(Exp3STuning, self)
        return found


def exp3_s_pace(tuning: Exp3STuning, arms: int, horizon: float) -> Pace:
    """Alpha = 1 / T; gamma is the one for that many changes, or for an unknown number."""
    log_term = natural_log(arms * horizon)
    squared = arms * log_term / horizon
    if tuning.changes >= 0:
        squared = arms * ((tuning.changes + 1) * log_term + math.e) / ((math.e - 1.0) * horizon)
    return Pace(
        mixing=tuning.mixing if tuning.mixing >= 0.0 else mixing_for(squared),
        share=math.e * (tuning.share if tuning.share >= 0.0 else 1.0 / horizon),
        batch=0,
    )


register(Exp3STuning, pace_for=exp3_s_pace)
