"""IMOSS: anytime MOSS over arms that become more with the rounds.

In round t a fresh arm is played if there are fewer than t^growth arms, else the one with the largest index, which is as
sure of an arm as its share t / K of the rounds so far asks for. It is told nothing of the reservoir and no horizon.

Source: Abraham, Nguyen & Devatine, "Bandits in Prod" (2026): IMOSS, the allocation of IMABO with arms from a
reservoir. The authors' released code has the same index, rule and defaults. The index is that of Degenne & Perchet,
"Anytime optimal algorithms in stochastic multi-armed bandits" (ICML 2016), MOSS-anytime.

Symbols: beta -> growth; alpha -> alpha; N_s -> warmup; |M_t| -> counts.arms.

Deviations: open asks count as plays that paid what was expected, where the source has a rule of its own for them. Its
oracles, which propose arms by what is known of others, have no counterpart here.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import natural_log
from ..contract import register
from ..specs import Count, Positive, number
from .growing import Growing, Growth


class AnytimeMOSS(NamedTuple):
    """The formula of the index."""

    width: float  # (1 + alpha) / 2


def checked_growth(owner: str, name: str, growth: Any) -> float:
    """A number between 0 and 1."""
    result = number(owner, name, growth)
    if not 0.0 < result < 1.0:
        raise ValueError(f"{owner}: {name} must be above 0 and below 1, not {growth!r}; the source has 0.5")
    return result


Growth01 = Annotated[float, checked_growth]


@dataclasses.dataclass(frozen=True)
class IMOSS(Growing):
    """Anytime MOSS over t^growth arms in round t (Abraham, Nguyen & Devatine 2026).

    Parameters
    ----------
    growth
        There are t^growth arms in round t, …
    warmup
        … and no fewer than so many, drawn in the first rounds.
    alpha
        The index is the mean plus sqrt((1 + alpha) / 2 · max(0, log(t / (arms · plays))) / plays).

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.IMOSS(), world, horizon=1000, replications=4, seed=1)
    >>> result.final("IMOSS", "arms").tolist()  # ceil(sqrt(1001))
    [32.0, 32.0, 32.0, 32.0]
    """

    about: ClassVar = About(
        told=(),
        rate="to the best share p of all arms: p^(-1/growth) + T^((1+growth)/2)",
        made_for=("still", "late answers"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"warmup": 5},)

    growth: Growth01 = 0.5
    warmup: Count = 10
    alpha: Positive = 0.1

    def formula(self) -> AnytimeMOSS:
        """MOSS-anytime."""
        return AnytimeMOSS(width=(1.0 + self.alpha) / 2.0)

    def growing(self) -> Growth:
        """A power of the round, after the warm-up."""
        return Growth(exponent=self.growth, first=self.warmup)


def traits_of(formula: AnytimeMOSS, plays: int, total: float, squares: float) -> tuple[float, float, float]:
    """The mean, what the logarithm is multiplied by, and the part of it that is the arm's own."""
    return total / plays, formula.width / plays, natural_log(float(plays))


def moment_of(formula: AnytimeMOSS, round: int, arms: int) -> tuple[float, float]:
    """The logarithm of an arm's share of the rounds; the other number has no use."""
    return natural_log(float(round) / arms), 0.0


def index_at(formula: AnytimeMOSS, moment: Any, mean: float, width: float, log_plays: float) -> float:
    """Mean + sqrt((1 + alpha) / 2 · max(0, log(t / (K n))) / n)."""
    return mean + math.sqrt(width * max(moment[0] - log_plays, 0.0))


register(AnytimeMOSS, traits_of=traits_of, moment_of=moment_of, index_at=index_at)
