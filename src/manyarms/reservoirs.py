"""Reservoirs: how good a fresh arm is.

A reservoir turns the random bits of an arm into its first mean. It knows, where they exist,
its ``top`` (the supremum of the means), its tail exponent ``tail`` and the constants of the
paper's Assumption 1 (Suk & Kim): kappa_1 x^tail <= P(mean > top - x) <= kappa_2 x^tail for
small x.
"""

import abc
import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic import power
from .compiled import kernel
from .contract import fresh_mean_in, register
from .nesting import check_nesting
from .specs import Count, Fraction, Part, Positive, exported, two_or_more
from .streams import beta_draw, follow, index_below, uniform


class Reservoir(Part, abstract=True):
    """Abstract: where the first means of fresh arms come from."""

    kind: ClassVar[str] = "reservoir"

    @property
    @abc.abstractmethod
    def top(self) -> float:
        """The best mean an arm can begin with."""

    @property
    def tail(self) -> float | None:
        """The exponent beta of P(mean > top - x) ~ x^beta, or None where there is none."""
        return None

    @property
    def tail_constants(self) -> tuple[float, float] | None:
        """Assumption 1's (kappa_1, kappa_2), measured from ``top``, or None.

        kappa_1 holds for all x up to ``top``; so does kappa_2.
        """
        return None


class PowerLawState(NamedTuple):
    """How a power law is carried through the loop."""

    exponent: float  # 1 / beta
    top: float


@dataclasses.dataclass(frozen=True)
class PowerLaw(Reservoir):
    """Means with P(mean > top - x) = (x / top)^beta: the paper's reservoir, exactly.

    Parameters
    ----------
    beta
        The tail exponent: small when good arms are common. 1 is the uniform distribution.
    top
        The best possible mean.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.PowerLaw(beta=2.0).tail
    2.0
    """

    tried_with: ClassVar = ({"beta": 2.0},)

    beta: Positive
    top: Fraction = 1.0

    def start(self) -> PowerLawState:
        """The state that the compiled loop carries."""
        return PowerLawState(exponent=1.0 / self.beta, top=self.top)

    @property
    def tail(self) -> float | None:
        """The exponent ``beta``."""
        return self.beta

    @property
    def tail_constants(self) -> tuple[float, float] | None:
        """Both constants are top^-beta: the law is exact."""
        if self.top == 0.0:
            return None
        constant = _exp(-self.beta * math.log(self.top))
        return constant, constant


def power_law_mean(reservoir: PowerLawState, bits: int) -> float:
    """Inverse of the distribution function; the gap to the top is top * U^(1/beta)."""
    return reservoir.top * (1.0 - power(uniform(bits), reservoir.exponent))


register(PowerLawState, fresh_mean=power_law_mean)


@dataclasses.dataclass(frozen=True)
class Uniform(Reservoir):
    """Means spread evenly over [low, high].

    Parameters
    ----------
    low, high
        The ends of the interval, within [0, 1].

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Uniform(0.2, 0.7).top
    0.7
    """

    tail: ClassVar[float] = 1.0  # the density is flat up to the top
    tried_with: ClassVar = ({"low": 0.1, "high": 0.8},)

    low: Fraction = 0.0
    high: Fraction = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low >= self.high:
            raise ValueError(f"Uniform: low must be below high, not {self.low!r} and {self.high!r}")

    @property
    def top(self) -> float:
        """The upper end."""
        return self.high

    @property
    def tail_constants(self) -> tuple[float, float] | None:
        """1 / width above; below, 1 / high, since P(mean > high - x) is 1 for all x beyond the width."""
        return 1.0 / self.high, 1.0 / (self.high - self.low)


def uniform_mean(reservoir: Uniform, bits: int) -> float:
    """Counted down from the top, so that Uniform(0, 1) is PowerLaw(1) arm for arm."""
    return reservoir.low + (reservoir.high - reservoir.low) * (1.0 - uniform(bits))


register(Uniform.state_type, fresh_mean=uniform_mean)


@dataclasses.dataclass(frozen=True)
class BetaDistributed(Reservoir):
    """Means with a Beta(a, b) distribution; its tail exponent is b.

    Parameters
    ----------
    a, b
        The shape parameters, above 0.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.BetaDistributed(2.0, 3.0).tail
    3.0
    """

    top: ClassVar[float] = 1.0
    tried_with: ClassVar = ({"a": 2.0, "b": 3.0},)

    a: Positive
    b: Positive

    @property
    def tail(self) -> float | None:
        """P(mean > 1 - x) is x^b / (b B(a, b)) to first order."""
        return self.b

    @property
    def tail_constants(self) -> tuple[float, float] | None:
        """The least and greatest value of P(mean > 1 - x) / x^b over (0, 1].

        The density of the gap over its power is (1 - x)^(a - 1) / B(a, b), which is monotone,
        so the ratio runs between its limit at 0, 1 / (b B(a, b)), and its value 1 at x = 1.
        """
        log_limit = math.lgamma(self.a + self.b) - math.lgamma(self.a) - math.lgamma(self.b) - math.log(self.b)
        limit = _exp(log_limit)
        return min(limit, 1.0), max(limit, 1.0)


def beta_distributed_mean(reservoir: BetaDistributed, bits: int) -> float:
    """One Beta number."""
    return beta_draw(bits, reservoir.a, reservoir.b)


register(BetaDistributed.state_type, fresh_mean=beta_distributed_mean)


class EmpiricalState(NamedTuple):
    """The list of means."""

    means: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Empirical(Reservoir):
    """Means drawn from a list, each with equal probability, again and again.

    Parameters
    ----------
    means
        Numbers in [0, 1], for example the click rates of a past catalogue.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Empirical([0.1, 0.4, 0.2]).top
    0.4
    """

    tried_with: ClassVar = ({"means": (0.1, 0.4, 0.2, 0.9)},)

    means: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.means:
            raise ValueError("Empirical: means is empty; give at least one number in [0, 1]")

    def start(self) -> EmpiricalState:
        """The state that the compiled loop carries."""
        means = np.array(self.means, dtype=np.float64)
        means.flags.writeable = False  # so that replications can share it
        return EmpiricalState(means=means)

    @property
    def top(self) -> float:
        """The largest mean of the list."""
        return max(self.means)


def empirical_mean(reservoir: EmpiricalState, bits: int) -> float:
    """A mean of the list, by its index."""
    return float(reservoir.means[index_below(bits, reservoir.means.size)])


register(EmpiricalState, fresh_mean=empirical_mean)


def check_reservoirs(reservoir: "Mixture | Trending") -> None:
    """Refuse reservoirs in reservoirs that no compiler could bear: it gives up at some 28."""
    check_nesting(reservoir, "reservoirs", _inside, deepest=16, remedy="many values are one Empirical")


def _inside(reservoir: Any) -> tuple[Any, ...]:
    """The reservoirs that one chooses from, or changes."""
    if isinstance(reservoir, Trending):
        return (reservoir.reservoir,)
    return reservoir.reservoirs if isinstance(reservoir, Mixture) else ()


class MixtureState(NamedTuple):
    """Two reservoirs; a mixture of more is nested to the right."""

    share: float  # probability of the first
    first: Any
    rest: Any


@dataclasses.dataclass(frozen=True)
class Mixture(Reservoir):
    """Fresh arms come from one of several reservoirs, chosen at random by weight.

    Parameters
    ----------
    reservoirs
        Two to 17 reservoirs.
    weights
        Their weights, above 0; they are scaled to sum to 1. Equal weights if left out.

    Examples
    --------
    One arm in ten comes from a good shelf:

    >>> import manyarms as ma
    >>> mix = ma.Mixture([ma.Uniform(0.0, 0.5), ma.PowerLaw(beta=2.0)], weights=[9, 1])
    >>> mix.tail
    2.0
    """

    tried_with: ClassVar = ({"reservoirs": (Uniform(0.0, 0.5), PowerLaw(beta=2.0)), "weights": (9.0, 1.0)},)

    reservoirs: Annotated[tuple[Reservoir, ...], two_or_more(Reservoir)]
    weights: tuple[Positive, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_reservoirs(self)
        weights = (1.0,) * len(self.reservoirs) if self.weights is None else self.weights
        if len(weights) != len(self.reservoirs):
            raise ValueError(
                f"Mixture: {len(self.reservoirs)} reservoirs but {len(weights)} weights; give one for each"
            )
        total = math.fsum(weights) if max(weights) < 1e300 else math.inf
        if abs(total - 1.0) > 1e-12:  # else they are scaled already, and a spec read back must not change
            if max(weights) > 1e12 * min(weights) or math.isinf(total):
                raise ValueError(f"Mixture: weights must be within a factor of 1e12, not {weights!r}")
            weights = tuple(weight / total for weight in weights)
        self._keep(weights=weights)

    def start(self) -> Any:
        """The state that the compiled loop carries."""
        assert self.weights is not None
        state, left = self.reservoirs[-1].start(), self.weights[-1]
        for part, weight in zip(self.reservoirs[-2::-1], self.weights[-2::-1], strict=True):
            left += weight
            state = MixtureState(share=weight / left, first=part.start(), rest=state)
        return state

    @property
    def top(self) -> float:
        """The best of the tops."""
        return max(part.top for part in self.reservoirs)

    @property
    def tail(self) -> float | None:
        """The least exponent among the reservoirs that reach the top: they dominate there."""
        tails = [part.tail for part in self.reservoirs if part.top == self.top]
        known = [tail for tail in tails if tail is not None]
        return min(known) if len(known) == len(tails) else None


@kernel
def mixture_mean_in(mixture: MixtureState, bits: int, round: int) -> float:
    """Pass on fresh bits, so that the choice of the reservoir says nothing about the mean."""
    if uniform(bits) < mixture.share:
        return float(fresh_mean_in(mixture.first, follow(bits, 1), round))
    return float(fresh_mean_in(mixture.rest, follow(bits, 2), round))


register(
    MixtureState, fresh_mean=lambda mixture, bits: mixture_mean_in(mixture, bits, 1), fresh_mean_in=mixture_mean_in
)


class TrendingState(NamedTuple):
    """How a reservoir that changes is carried through the loop."""

    reservoir: Any
    factor: float
    over: int


@dataclasses.dataclass(frozen=True)
class Trending(Reservoir):
    """Fresh arms get better or worse as time goes by; those that were drawn keep what they have.

    The first mean of an arm is what another reservoir gives it, times a factor that moves evenly from 1 in the first
    round to ``factor``, and stays there.

    Parameters
    ----------
    reservoir
        Where arms come from in the first round.
    factor
        By what their means are multiplied in the end; means stop at 1.
    over
        In how many rounds it gets there.

    Examples
    --------
    A catalogue whose new items are half as good after 100,000 rounds:

    >>> import manyarms as ma
    >>> fading = ma.Trending(ma.PowerLaw(beta=2.0, top=0.3), factor=0.5, over=100_000)
    >>> fading.top, fading.tail
    (0.3, 2.0)
    """

    tried_with: ClassVar = ({"reservoir": PowerLaw(beta=2.0, top=0.6), "factor": 0.25, "over": 400},)

    reservoir: Reservoir
    factor: Positive
    over: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        check_reservoirs(self)

    def start(self) -> TrendingState:
        """The state that the compiled loop carries."""
        return TrendingState(reservoir=self.reservoir.start(), factor=self.factor, over=self.over)

    @property
    def top(self) -> float:
        """The best mean an arm can begin with, whenever that is."""
        return min(self.reservoir.top * max(self.factor, 1.0), 1.0)

    @property
    def tail(self) -> float | None:
        """That of the reservoir, unless means stop at 1."""
        return self.reservoir.tail if self.reservoir.top * self.factor <= 1.0 else None


@kernel
def factor_in(trend: TrendingState, round: int) -> float:
    """By what first means are multiplied in a round."""
    return 1.0 + (trend.factor - 1.0) * min((round - 1) / trend.over, 1.0)


@kernel
def trending_mean_in(trend: TrendingState, bits: int, round: int) -> float:
    """The first mean, times the factor of the round."""
    return min(factor_in(trend, round) * float(fresh_mean_in(trend.reservoir, bits, round)), 1.0)


register(TrendingState, fresh_mean=lambda trend, bits: trending_mean_in(trend, bits, 1), fresh_mean_in=trending_mean_in)


def _exp(exponent: float) -> float:
    """The exponential; infinite where it is too large for a float."""
    return math.exp(exponent) if exponent < 709.0 else math.inf


__all__ = exported(globals())
