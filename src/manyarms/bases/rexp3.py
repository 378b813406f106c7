"""Rexp3: EXP3 that begins anew in every batch of rounds.

What was learned of means that have changed since is worth nothing, and the best length of a batch follows from how much
they change in all: the less, the longer.

Source: Besbes, Gur & Zeevi, "Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards" (NIPS 2014;
arXiv:1405.3316), Rexp3, with the batch of its Theorem 2; EXP3 is that of Auer, Cesa-Bianchi, Freund & Schapire (SIAM
Journal on Computing 32, 2002).

Symbols: Delta_T -> batch; V_T -> variation; gamma -> pace.mixing; K -> arms; T -> horizon.

Deviations: none but those of `manyarms.bases.exponential_weights`. A batch is so many answers: one that comes late
counts in the batch in which it comes. The full text was not at hand: batch and gamma are as public code has them.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

from ..about import About
from ..arithmetic import ceiling, natural_log, power
from ..compiled import kernel
from ..contract import register
from ..specs import Count, Positive, filled
from .exponential_weights import ExponentialWeights, Pace, mixing_for


class Rexp3Tuning(NamedTuple):
    """The spec in numbers."""

    variation: float
    batch: int = 0  # 0: from the horizon


@dataclasses.dataclass(frozen=True)
class Rexp3(ExponentialWeights):
    """EXP3 that begins anew in every batch of rounds (Besbes, Gur & Zeevi 2014).

    Parameters
    ----------
    variation
        V: by how much means are expected to change in the run. In each round that is the most any arm changes by, and V
        is the sum.
    batch
        How many rounds a batch has. None: ceil((K log K)^(1/3) (T / V)^(2/3)).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Rexp3(variation=3.0), beta=1.0, arms=20).base.label()
    'Rexp3(variation=3.0)'
    """

    about: ClassVar = About(
        told=("T", "V"),
        rate="K^(1/3) T^(2/3): T^(5/6) on sqrt(T) arms",
        made_for=("wear", "crashes"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"variation": 30.0},)

    variation: Positive = 1.0
    batch: Count | None = None

    def tuning(self) -> Rexp3Tuning:
        """The spec in numbers."""
        found: Rexp3Tuning = filled(Rexp3Tuning, self)
        return found


@kernel
def batch_for(arms: int, horizon: float, variation: float) -> int:
    """Delta = ceil((K log K)^(1/3) (T / V)^(2/3)), at least 1."""
    spread = power(arms * natural_log(float(arms)), 1.0 / 3.0)
    return max(ceiling(spread * power(horizon / variation, 2.0 / 3.0)), 1)


def rexp3_pace(tuning: Rexp3Tuning, arms: int, horizon: float) -> Pace:
    """Gamma = sqrt(K log K / ((e - 1) Delta)), at most 1."""
    batch = tuning.batch if tuning.batch > 0 else batch_for(arms, horizon, tuning.variation)
    squared = arms * natural_log(float(arms)) / ((math.e - 1.0) * batch)
    return Pace(mixing=mixing_for(squared), share=0.0, batch=batch)


register(Rexp3Tuning, pace_for=rexp3_pace)
