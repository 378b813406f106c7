"""The estimate: what a sample of arms tells of its reservoir, and what it cannot tell; how many arms to draw."""

import dataclasses
import math
from collections.abc import Callable

from ...arithmetic import power
from ...bases import UCB
from ...policies.blackbox import Blackbox
from ...policies.blocks import last_block_rank, rounded_up
from ...policies.elimination import Elimination
from ...specs import count, fraction, positive
from ..inputs import Floats
from .profiles import BETA_RANGE, Fit

UPPER_SHARE = 0.25
"""Unless told otherwise, the depth is such that about this share of the arms is within it."""

FEWEST_ARMS = 20
"""With fewer arms near the top the interval is wide whatever the plays."""

WIDEST = 3.0
"""An interval whose ends differ by more than this factor does not tell the policies much."""

FAR = 2.0
"""A top of more than this times the best arm is one that arms do not come near to."""

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

    def advice(self, horizon: int) -> "Advice":
        """How many fresh arms to draw, and how large a block to play them in, for that many rounds.

        These are the sizes of the theory, which holds for a top that arms come near to. Where rewards are rare, or
        nobody knows the top, as for clicks of 1 %, they are far too large, and the advice warns of that if the top is
        more than twice the likely best of the arms. Use ``manyarms plan`` (`manyarms.lab.plan`) then: it tries sizes
        on the catalogue as it was observed.

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


@dataclasses.dataclass(frozen=True)
class Advice:
    """How many fresh arms to draw for a horizon, as Suk & Kim's subsample sizes have it; constants are theirs."""

    estimate: ReservoirEstimate  # what it rests on
    horizon: int  # how many rounds will be played

    def over_interval(self, size: Callable[[float], int]) -> tuple[int, int, int]:
        """A size at the estimated beta and at the ends of its interval."""
        return size(self.estimate.beta), size(self.estimate.low), size(self.estimate.high)

    @property
    def fresh_arms(self) -> tuple[int, int, int]:
        """T^(beta / (beta + 1)), which balances the best arm's gap against the price of finding it (Section 4.1).

        At the estimate and at the ends of its interval, as for the sizes of blocks.
        """
        return self.over_interval(
            lambda beta: min(rounded_up(power(float(self.horizon), beta / (beta + 1.0))), self.horizon)
        )

    @property
    def largest_block(self) -> int:
        """The length of the largest block that begins within the horizon: blocks have 2, 4, 8, … rounds."""
        # It begins with the last round or earlier, after at most that many less one.
        return int(2 ** last_block_rank(self.horizon - 1))

    @property
    def elimination_arms(self) -> tuple[int, int, int]:
        """How many arms the paper's Algorithm 2 draws for the largest block."""
        return self.over_interval(
            lambda beta: Elimination(beta=beta, preset="paper", horizon=self.horizon).slots(self.horizon - 1)
        )

    @property
    def blackbox_arms(self) -> tuple[int, int, int]:
        """How many arms the paper's Algorithm 1 draws for the largest block."""
        return self.over_interval(
            lambda beta: Blackbox(base=UCB(), beta=beta, preset="paper", horizon=self.horizon).slots(self.horizon - 1)
        )

    @property
    def best_observed(self) -> float:
        """About the best mean among the arms that were observed, as the estimate has it: within 0 and the top."""
        found = self.estimate
        nearest = math.exp(-math.log(found.arms * found.kappa) / found.beta)
        return min(max(found.top - nearest, 0.0), found.top)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the estimate, and whether the top is so far above all arms that the sizes mislead."""
        found = self.estimate
        if found.top <= FAR * self.best_observed:
            return found.warnings
        far = (
            f"the top, {found.top:.4g}, is far above the best of these arms, some {self.best_observed:.2g}, so that "
            "the sizes are far too large: use manyarms plan (docs/plan.md) instead"
        )
        return (*found.warnings, far)

    @property
    def best_gap(self) -> float:
        """The expected gap of the best of ``fresh_arms[0]`` arms, if the power law holds so far down.

        The least of K gaps with distribution kappa x^beta has the mean kappa^(-1/beta) times
        Gamma(1 + 1/beta) Gamma(K + 1) / Gamma(K + 1 + 1/beta).
        """
        inverse, arms = 1.0 / self.estimate.beta, self.fresh_arms[0]
        log_gap = math.lgamma(1.0 + inverse) + math.lgamma(arms + 1.0) - math.lgamma(arms + 1.0 + inverse)
        return min(math.exp(log_gap - inverse * math.log(self.estimate.kappa)), self.estimate.top)

    def __str__(self) -> str:
        found = self.estimate
        cut = ", cut short by the horizon" if self.largest_block > self.horizon else ""
        lines = [
            f"For {self.horizon:,} rounds and beta {found.beta:.3g} ({found.low:.3g} to {found.high:.3g}):",
            f"- if nothing changes, {spelt(self.fresh_arms, 'fresh arms')}, "
            f"the best of them some {self.best_gap:.2g} below the top {found.top:.4g}",
            f"- if things change, blocks that double; in the largest, of {self.largest_block:,} rounds{cut},",
            f"  Elimination draws {spelt(self.elimination_arms, 'fresh arms')}, Blackbox {spelt(self.blackbox_arms)}",
        ]
        return "\n".join(lines + [f"but {warning}" for warning in self.warnings])


def spelt(sizes: tuple[int, int, int], what: str = "") -> str:
    """A size with those at the ends of the interval, to two digits: more would be a pretence."""
    size, low, high = (f"{float(f'{size:.2g}'):,.0f}" for size in sizes)
    return f"{size} {what}".rstrip() + f" ({low} to {high})"


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
        **fit._asdict(),
        kappa=share / depth**fit.beta,
        depth=depth,
        arms=arms,
        tail_arms=share * arms,
        warnings=tuple(warnings),
    )


def checked_sample(owner: str, name: str, values: Floats) -> Floats:
    """One entry for each arm; an error for a sample that says nothing."""
    if values.ndim != 1:
        raise ValueError(f"{owner}: {name} must be a list with one entry for each arm, not of shape {values.shape}")
    if values.size < 5:
        raise ValueError(f"{owner}: {values.size} arms are too few for any estimate; give at least 5, better hundreds")
    return values


def checked_options(owner: str, top: float | None, depth: float | None) -> tuple[float | None, float | None]:
    """A top in (0, 1] or None; a depth that is above 0 and reaches no further down than to 0, or None."""
    if top is not None:
        top = positive(owner, "top", fraction(owner, "top", top))
    most = 1.0 if top is None else top
    if depth is not None and positive(owner, "depth", depth) > most:
        raise ValueError(f"{owner}: depth must be at most the top, {most:g}, not {depth!r}")
    return top, None if depth is None else float(depth)
