"""UCBAIR: UCB-V over arms that become more with the rounds, by the arms-increasing rule.

In round t a fresh arm is played if there are fewer than t^(beta/(beta+1)) arms, else the one with the largest UCB-V
index. It is told beta but no horizon, and cuts nothing into blocks.

Source: Wang, Audibert & Munos, "Algorithms for Infinitely Many-Armed Bandits" (NIPS 2008): UCB-AIR.

Symbols: K_t -> counts.arms; E_t -> exploration_at; B_k -> index; mu* -> 1, or less if ``below_one``.

Deviations: E_t = 2 log(10 log t), the least that the source allows; logarithms are natural, and t counts from 2 in it.
The constants are as remembered and as public code has them; the full text was not at hand.
"""

import dataclasses
import math
from typing import Any, ClassVar

from ..about import About
from ..bases.ucb_v import Exploration, exploration_at, variance
from ..contract import register
from ..specs import Flag, Positive
from .growing import Growing, Growth


@dataclasses.dataclass(frozen=True)
class UCBAIR(Growing):
    """UCB-V over t^(beta / (beta + 1)) arms in round t (Wang, Audibert & Munos 2008).

    Parameters
    ----------
    beta
        The tail exponent of the reservoir.
    below_one
        Whether the best mean there is, mu*, is below 1. For beta < 1 there are only t^(beta / 2) arms then.
    width
        A factor before the exploration sequence 2 log(10 log t).

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.UCBAIR(beta=1.0), world, horizon=1000, replications=4, seed=1)
    >>> result.final("UCBAIR", "arms").tolist()  # ceil(sqrt(1001))
    [32.0, 32.0, 32.0, 32.0]
    """

    about: ClassVar = About(
        told=("beta",),
        rate="T^(beta/(beta+1)); sqrt(T) for beta < 1 and a top below 1",
        made_for=("still", "late answers"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"beta": 1.0, "width": 0.1},)

    beta: Positive
    below_one: Flag = False
    width: Positive = 1.0

    def formula(self) -> Exploration:
        """UCB-V with 2 log(10 log t)."""
        return Exploration(width=self.width, is_loglog=True)

    def growing(self) -> Growth:
        """The arms-increasing rule."""
        is_slow = self.beta < 1.0 and self.below_one
        return Growth(exponent=self.beta / 2.0 if is_slow else self.beta / (self.beta + 1.0))


def traits_of(formula: Exploration, plays: int, total: float, squares: float) -> tuple[float, float, float]:
    """The mean, and what sqrt(E) and E are multiplied by."""
    return total / plays, math.sqrt(2.0 * variance(plays, total, squares) / plays), 3.0 / plays


def moment_of(formula: Exploration, round: int, arms: int) -> tuple[float, float]:
    """The root of E, and E."""
    level = exploration_at(formula, float(round))
    return math.sqrt(level), level


def index_at(formula: Exploration, moment: Any, mean: float, spread: float, price: float) -> float:
    """Mean + sqrt(2 V E / n) + 3 E / n."""
    return mean + spread * moment[0] + price * moment[1]  # type: ignore[no-any-return]


register(Exploration, traits_of=traits_of, moment_of=moment_of, index_at=index_at)
