"""The estimate: what a sample of arms tells of its reservoir, and what it cannot tell."""

import dataclasses

from numpy.typing import ArrayLike

from ...specs import count, fraction, positive
from ..inputs import Floats, finite_numbers
from .advice import Advice
from .profiles import BETA_RANGE, Fit

UPPER_SHARE = 0.25
"""Unless told otherwise, the depth is such that about this share of the arms is within it."""

FEWEST_ARMS = 20
"""With fewer arms near the top the interval is wide whatever the plays."""

WIDEST = 3.0
"""An interval whose ends differ by more than this factor does not tell the policies much."""


BROKEN = "the tail within {depth:.3g} of the top is not a power law: try a smaller depth"


@dataclasses.dataclass(frozen=True)
class ReservoirEstimate:
    """What a sample of arms tells of its reservoir.

    Attributes
    ----------
    beta
        The tail exponent: the most likely one.
    low, high
        A 95 % interval for it.
    kappa
        The probability of a gap below x is about kappa x^beta, for x up to ``depth``; it goes with ``beta``.
    top
        The best mean an arm can have: as given, or the most likely one.
    top_low, top_high
        A 95 % interval for it; the top itself if it was given.
    depth
        Gaps up to here were taken to follow the power law.
    arms
        How many arms there were.
    tail_arms
        How many of them are within the depth; with noise, the most likely number.
    warnings
        What the data cannot tell, in words; empty if all is well.
    """

    beta: float
    low: float
    high: float
    kappa: float
    top: float
    top_low: float
    top_high: float
    depth: float
    arms: int
    tail_arms: float
    warnings: tuple[str, ...]

    @property
    def is_reliable(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    def __str__(self) -> str:
        top = f"top {self.top:.4g}"
        if self.top_low < self.top_high:
            top += f" ({self.top_low:.4g} to {self.top_high:.4g})"
        lines = [
            f"beta {self.beta:.3g}, 95 % interval {self.low:.3g} to {self.high:.3g}; kappa {self.kappa:.3g}; {top}",
            f"from {self.arms:,} arms, some {self.tail_arms:.0f} of them within {self.depth:.3g} of the top",
        ]
        return "\n".join(lines + [f"but {warning}" for warning in self.warnings])

    def advice(self, horizon: int) -> Advice:
        """How many fresh arms to draw, and how large a block to play them in, for that many rounds.

        Parameters
        ----------
        horizon
            How many rounds will be played.

        Examples
        --------
        >>> import numpy as np
        >>> from manyarms.measures import estimate_from_means
        >>> means = np.random.default_rng(1).random(400)
        >>> print(estimate_from_means(means).advice(horizon=10_000))
        For 10,000 rounds and beta 1.07 (0.874 to 1.29):
        - if nothing changes, 120 fresh arms (74 to 180), the best of them some 0.01 below the top 1
        - if things change, blocks that double; in the largest, of 8,192 rounds,
          Elimination draws 2,000 fresh arms (1,200 to 3,200), Blackbox 110 (52 to 160)
        """
        return Advice(estimate=self, horizon=count("advice", "horizon", horizon))


def estimate_of(fit: Fit, threshold: float, arms: int, share: float, warnings: list[str]) -> ReservoirEstimate:
    """The estimate with its warnings."""
    depth = fit.top - threshold
    least, most = BETA_RANGE
    if share * arms < FEWEST_ARMS:
        warnings.append(f"only some {share * arms:.0f} arms are within {depth:.3g} of the top: draw more arms")
    if fit.low <= least or fit.high >= most:
        end = f"anything up to {most:g}" if fit.high >= most else f"as small as {least:g}"
        warnings.append(f"the interval is open: beta may be {end}")
    elif fit.high > WIDEST * fit.low:
        warnings.append(f"the interval spans a factor of {fit.high / fit.low:.2g}: draw more arms")
    return ReservoirEstimate(
        beta=fit.beta,
        low=fit.low,
        high=fit.high,
        kappa=share / depth**fit.beta,
        top=fit.top,
        top_low=fit.top_low,
        top_high=fit.top_high,
        depth=depth,
        arms=arms,
        tail_arms=share * arms,
        warnings=tuple(warnings),
    )


def check_sample(owner: str, arms: int) -> None:
    """An error for a sample that says nothing."""
    if arms < 5:
        raise ValueError(f"{owner}: {arms} arms are too few for any estimate; give at least 5, better hundreds")


def checked_top(owner: str, top: float | None) -> float | None:
    """A top in (0, 1], or None."""
    return None if top is None else positive(owner, "top", fraction(owner, "top", top))


def checked_depth(owner: str, depth: float | None, top: float | None) -> float | None:
    """A depth that is above 0 and reaches no further down than to 0, or None."""
    if depth is None:
        return None
    most = 1.0 if top is None else top
    value = positive(owner, "depth", depth)
    if value > most:
        raise ValueError(f"{owner}: depth must be at most the top, {most:g}, not {depth!r}")
    return value


def checked_means(owner: str, means: ArrayLike) -> Floats:
    """One mean for each arm."""
    mean = finite_numbers(owner, "means", means)
    if mean.ndim != 1:
        raise ValueError(f"{owner}: means must be a list with one entry for each arm, not of shape {mean.shape}")
    check_sample(owner, mean.size)
    return mean
