"""Reservoir: how common good arms are, estimated from arms that were tried.

Policies want to know the tail exponent beta: the probability that a fresh arm's gap to the top is below x is about
kappa x^beta for small x. It is estimated from the means of a sample of arms, or, as one has it in practice, from how
often each of them succeeded. The two differ: noise spreads the best arms out, so that a line through the log-log plot
of observed means has the wrong slope, and more arms do not make it better.

*Means.* Given that a gap is below a depth d, log(d / gap) is exponential with rate beta (Hill 1975): the likelihood is
k log beta - beta S for k such arms, S the sum of these logarithms. A gap of 0 has no logarithm: what is known of it is
that it is at most the least gap above 0. It enters S with that one, and does not count in k. Such an arm may also be no
part of the power law, so that the upper end of the interval is the one without it, which is larger.

*Counts and noisy means.* An arm's gap is not seen, so none can be left out for being too large. The distribution of
means is taken to be the power law within the depth, and below it anything: a histogram with bins 1.5 standard
deviations of the noise wide, so that it holds what the data can tell. What is observed has the binomial (or normal)
distribution around the mean. For each beta the weights of the histogram are those of maximum likelihood: a concave
problem.

*Top unknown.* The likelihood is maximised over the top too. For means it is unbounded in the top if beta < 1, so that
the product of spacings is used in its place (Cheng & Amin 1983).

The interval holds all beta whose log-likelihood, maximised over all the rest, is within 1.92 of the best: half the 95 %
quantile of chi-squared with one degree of freedom. ``verification/reservoir.py`` shows how often it holds the truth.

Source: the method for counts is ours. Symbols: Suk & Kim, Assumption 1: beta; kappa_1 and kappa_2 -> kappa, one number.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arithmetic import power
from ..bases import UCB
from ..policies.blackbox import Blackbox
from ..policies.blocks import last_block_rank, rounded_up
from ..policies.elimination import Elimination
from ..specs import count, fraction, positive
from .inputs import finite_numbers, numbers_above, numbers_from

Floats = NDArray[np.float64]

UPPER_SHARE = 0.25
"""Unless told otherwise, the depth is such that about this share of the arms is within it."""

BETA_RANGE = (0.05, 20.0)
"""Where beta is looked for. Beyond it an arm is nearly always at the top, or nearly never near it."""

LOSS = 1.9207294103470677
"""By how much the log-likelihood may fall short within a 95 % interval."""

SHAPE_LOSS = 5.414
"""By how much it falls short of that of a tail broken in two, once in a thousand cases, if there is no break."""

FEWEST_ARMS = 20
"""With fewer arms near the top the interval is wide whatever the plays."""

WIDEST = 3.0
"""An interval whose ends differ by more than this factor does not tell the policies much."""

STEPS = 4.0
"""The depth must be at least this many standard deviations of the noise there."""

BIN = 1.5
"""How wide a bin of the histogram is, in standard deviations. At 3, large beta come out too small; at 0.8 no better."""

CELL = 0.5
"""How wide a step of the numerical integrals is, in standard deviations of the least noise."""

CLOSE = 1e-5
"""How near the log-likelihood is to its largest value when the search for it stops."""

MOST_BINS = 12
MOST_PLAYS = 2**18
"""More plays of an arm count as so many: what noise is left does not matter, and integrals stay short."""

LEAST_DEVIATION = 1.0 / 2000.0
"""Less noise than this counts as so much, for the same reason."""

ROUNDING = 2.0**-50
"""Means are floats: a gap of at most this share of the top cannot be told from 0."""

LEAST_ROOM = 1e-6
"""An unknown top is looked for from this share of the depth above the best mean on; if that is above 1, it is 1."""

MOST_DEVIATIONS = 6.0
"""Normal noise puts a mean as far outside once in a thousand million cases."""


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
    """How many fresh arms to draw for a horizon, as Suk & Kim's subsample sizes have it; constants are theirs.

    Attributes
    ----------
    estimate
        What it rests on.
    horizon
        How many rounds will be played.
    """

    estimate: ReservoirEstimate
    horizon: int

    def over_interval(self, size: Callable[[float], int]) -> tuple[int, int, int]:
        """A size at the estimated beta and at the ends of its interval."""
        return size(self.estimate.beta), size(self.estimate.low), size(self.estimate.high)

    @property
    def fresh_arms(self) -> tuple[int, int, int]:
        """T^(beta / (beta + 1)), which balances the best arm's gap against the price of finding it (Section 4.1).

        At the estimate and at the ends of its interval, as for the sizes of blocks.
        """

        def size(beta: float) -> int:
            return min(rounded_up(power(float(self.horizon), beta / (beta + 1.0))), self.horizon)

        return self.over_interval(size)

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
        return "\n".join(lines + [f"but {warning}" for warning in found.warnings])


def spelt(sizes: tuple[int, int, int], what: str = "") -> str:
    """A size with those at the ends of the interval, to two digits: more would be a pretence."""
    size, low, high = (f"{float(f'{size:.2g}'):,.0f}" for size in sizes)
    return f"{size} {what}".rstrip() + f" ({low} to {high})"


# ---------------------------------------------------------------- from means


def estimate_from_means(means: ArrayLike, *, top: float | None = 1.0, depth: float | None = None) -> ReservoirEstimate:
    """The tail of a reservoir from the means of a sample of its arms, known without noise.

    Parameters
    ----------
    means
        One for each arm, in [0, 1]. For rates of success, which are noisy, use ``estimate_from_counts``.
    top
        The best mean an arm can have; None to estimate it. Do not give the best of the means: a mean that is the top
        itself has no gap to learn from; it counts as at least as good as the next one, with a warning.
    depth
        Gaps up to here follow the power law. None: so that a quarter of the arms is within it.

    Returns
    -------
    ReservoirEstimate
        With its interval, and warnings where the data cannot tell.

    Examples
    --------
    >>> import numpy as np
    >>> from manyarms.measures import estimate_from_means
    >>> gaps = np.random.default_rng(7).random(2000) ** (1 / 2.0)
    >>> found = estimate_from_means(1.0 - gaps)
    >>> found.low < 2.0 < found.high
    True
    """
    owner = "estimate_from_means"
    top = checked_top(owner, top)
    mean = np.sort(checked_means(owner, means))[::-1]
    most = 1.0 if top is None else top
    bad = mean[(mean < 0.0) | (mean > most)]
    if bad.size:
        raise ValueError(
            f"{owner}: means must lie between 0 and the top, {most:g}, not {bad[0]:g}; "
            "scale rewards to [0, 1], or give a larger top, or None to estimate it"
        )
    depth = checked_depth(owner, depth, top)
    if depth is None:
        within = max(min(int(UPPER_SHARE * mean.size), mean.size - 1), 1)
        threshold = float(mean[within])  # given this one, the better ones are a sample of the tail
    elif top is None:
        threshold = float(mean[0]) - depth
    else:
        threshold = top - depth
    tail = mean[mean > threshold]
    if tail.size < 2:
        remedy = (
            "a quarter of the arms has the best mean; for rates of success use estimate_from_counts, else give a depth"
            if depth is None
            else f"give more arms or a larger depth than {depth:g}"
        )
        raise ValueError(f"{owner}: {tail.size} of {mean.size:,} means lie within the depth, too few to tell; {remedy}")
    warnings = []
    if np.unique(tail).size < 0.9 * tail.size:
        warnings.append("many means are equal, as rates of few plays are: use estimate_from_counts")
    if top is None and 1.0 - tail[0] > LEAST_ROOM * (tail[0] - threshold):
        fit = spacings_fit(tail, threshold)
    else:
        known = 1.0 if top is None else top
        gaps = known - tail
        seen = gaps[gaps > ROUNDING * known]
        if not seen.size:
            raise ValueError(
                f"{owner}: all {gaps.size:,} means within the depth are the top itself, {known:g}, and have no gaps; "
                "give a larger depth; for rates of success use estimate_from_counts"
            )
        if seen.size < gaps.size:
            warnings.append(AT_TOP.format(number=gaps.size - seen.size, top=known, least=seen.min()))
            if top is not None:
                warnings[-1] += "; if the top was read off the means, give top=None"
        fit = hill_fit(seen, gaps.size - seen.size, known - threshold, known)
        if is_broken(gaps / (known - threshold), fit.beta):
            warnings.append(BROKEN.format(depth=known - threshold))
    return estimate(fit, threshold, mean.size, tail.size / mean.size, warnings)


AT_TOP = "gaps of 0 (means that are the top itself, {top:g}: {number:,}) count as at most the next gap, {least:.2g}"
BROKEN = "the tail within {depth:.3g} of the top is not a power law: try a smaller depth"


class Fit(NamedTuple):
    """The most likely tail."""

    beta: float
    low: float
    high: float
    top: float
    top_low: float
    top_high: float


def hill_fit(gaps: Floats, smaller: int, depth: float, top: float) -> Fit:
    """Hill's estimate, with the interval of its likelihood; so many gaps are only known to be at most the least."""
    total = float(np.log(depth / gaps).sum())

    def log_likelihood(beta: float, total: float) -> float:
        return gaps.size * math.log(beta) - beta * total

    counted = total + smaller * math.log(depth / float(gaps.min()))
    beta, low, high = profiled(functools.partial(log_likelihood, total=counted))
    if smaller:  # the interval also holds what is likely if those arms are left out, as no part of the power law
        high = profiled(functools.partial(log_likelihood, total=total))[2]
    return Fit(beta, low, high, top, top, top)


def is_broken(shares: Floats, beta: float) -> bool:
    """Whether too many or too few gaps, given as shares of the depth, are in what should be the better half.

    With the true beta each gap is below 2^(-1/beta) of the depth with probability 1/2. The estimated beta has adapted
    to them: it takes away the part of the variance that the count shares with log gaps, (log 2)^2. 3.29 standard
    deviations are exceeded once in a thousand cases.
    """
    better = int((shares < 0.5 ** (1.0 / beta)).sum())
    deviation = math.sqrt(0.25 * shares.size * (1.0 - math.log(2.0) ** 2))
    return abs(better - 0.5 * shares.size) > 3.29 * deviation


def spacings_fit(tail: Floats, threshold: float) -> Fit:
    """The largest product of spacings over beta and the top."""
    best = float(tail[0])
    room = best - threshold
    # From just above the best mean to 1: the top cannot be below the best arm, nor above 1.
    tops = best + np.geomspace(LEAST_ROOM * room, 1.0 - best, 240)

    def log_products(beta: float) -> Floats:
        # The survival function at the means, from 1 at the threshold down to 0 at the top.
        levels = ((tops[:, None] - tail) / (tops[:, None] - threshold)) ** beta
        levels = np.concatenate([np.zeros((tops.size, 1)), levels, np.ones((tops.size, 1))], axis=1)
        return np.asarray(np.log(np.maximum(np.diff(levels, axis=1), 1e-300)).sum(axis=1))

    return profiled_with_top(log_products, tops)


# ---------------------------------------------------------------- from counts and noisy means


def estimate_from_counts(
    successes: ArrayLike, plays: ArrayLike, *, top: float | None = 1.0, depth: float | None = None
) -> ReservoirEstimate:
    """The tail of a reservoir from how often each arm of a sample was played and succeeded.

    The arms must be a fair sample: all that were drawn, not those that a policy went on to play more. Plays may
    differ from arm to arm if they do not depend on the outcomes.

    Parameters
    ----------
    successes
        One whole number for each arm.
    plays
        One whole number for each arm, or one for all.
    top
        The best mean an arm can have; None to estimate it.
    depth
        Gaps up to here follow the power law. None: so that a quarter of the arms seems to be within it, and that it
        is at least four standard deviations of the noise.

    Returns
    -------
    ReservoirEstimate
        With its interval, and warnings where the data cannot tell.

    Examples
    --------
    >>> import numpy as np
    >>> from manyarms.measures import estimate_from_counts
    >>> random = np.random.default_rng(7)
    >>> means = 1.0 - random.random(1000) ** (1 / 2.0)
    >>> found = estimate_from_counts(random.binomial(100, means), 100)
    >>> found.low < 2.0 < found.high, found.is_reliable
    (True, True)
    """
    owner = "estimate_from_counts"
    hits = numbers_from(owner, "successes", successes, 0.0)
    tries = numbers_from(owner, "plays", plays, 1.0)
    if hits.ndim != 1 or tries.ndim > 1:
        raise ValueError(f"{owner}: successes must be a list with one entry for each arm, not of shape {hits.shape}")
    if tries.ndim == 1 and tries.size != hits.size:
        raise ValueError(f"{owner}: successes has {hits.size:,} arms but plays has {tries.size:,}; give one for each")
    tries = np.broadcast_to(tries, hits.shape)
    for name, array in (("successes", hits), ("plays", tries)):
        if (array != np.floor(array)).any():
            raise ValueError(
                f"{owner}: {name} must be whole numbers, not {array[array != np.floor(array)][0]:g}; "
                "for other rewards use estimate_from_noisy_means"
            )
    if (hits > tries).any():
        place = int(np.flatnonzero(hits > tries)[0])
        raise ValueError(
            f"{owner}: successes must be at most plays, not {hits[place]:g} of {tries[place]:g} for arm {place}"
        )
    checked_sample(owner, hits.size)
    top = checked_top(owner, top)
    return estimate_from(counts_of(hits, tries), top, checked_depth(owner, depth, top))


def estimate_from_noisy_means(
    means: ArrayLike, variances: ArrayLike, *, top: float | None = 1.0, depth: float | None = None
) -> ReservoirEstimate:
    """The tail of a reservoir from observed means whose noise is known: averages of rewards of any kind.

    Parameters
    ----------
    means
        The average reward of each arm; noise may put it outside [0, 1], by up to six of its standard deviations.
    variances
        The variance of each of these averages (that of a reward divided by the plays), or one for all.
    top, depth
        As for ``estimate_from_counts``.

    Returns
    -------
    ReservoirEstimate
        With its interval, and warnings where the data cannot tell.

    Examples
    --------
    >>> import numpy as np
    >>> from manyarms.measures import estimate_from_noisy_means
    >>> random = np.random.default_rng(7)
    >>> means = random.random(1000) + random.normal(0.0, 0.03, 1000)
    >>> found = estimate_from_noisy_means(means, 0.03**2)
    >>> found.low < 1.0 < found.high
    True
    """
    owner = "estimate_from_noisy_means"
    top = checked_top(owner, top)
    mean = checked_means(owner, means)
    variance = numbers_above(owner, "variances", variances, 0.0)
    if variance.ndim > 1 or (variance.ndim == 1 and variance.size != mean.size):
        raise ValueError(f"{owner}: means has {mean.size:,} arms but variances has shape {variance.shape}")
    deviation = np.maximum(np.sqrt(np.broadcast_to(variance, mean.shape)), LEAST_DEVIATION)
    most = 1.0 if top is None else top
    outside = np.maximum(-mean, mean - most) / deviation
    if outside.max() > MOST_DEVIATIONS:
        arm = int(outside.argmax())
        raise ValueError(
            f"{owner}: means must lie between 0 and the top, {most:g}, but for noise, not {mean[arm]:g} for arm {arm}, "
            f"{outside[arm]:,.0f} standard deviations outside; scale rewards to [0, 1] and variances with them, "
            "or give a larger top or larger variances"
        )
    return estimate_from(NoisyMeans(mean, deviation), top, checked_depth(owner, depth, top))


class Observations(Protocol):
    """What was seen of the arms: rows of equal arms, and how likely each is for a mean."""

    @property
    def number(self) -> Floats:
        """How many arms each row stands for."""

    @property
    def observed(self) -> Floats:
        """The observed mean of each arm, within [0, 1]."""

    @property
    def deviations(self) -> tuple[float, float]:
        """The least and the median standard deviation of the noise, on the scale below."""

    def scale(self, mean: Floats) -> Floats:
        """The mean on a scale on which noise is the same everywhere."""

    def mean(self, scale: Floats) -> Floats:
        """The inverse of ``scale``."""

    def noise(self, mean: Floats) -> Floats:
        """The median arm's standard deviation at that mean."""

    def likelihood(self, mean: Floats) -> Floats:
        """For each row and mean, the likelihood over the largest that any mean gives."""


class Counts(NamedTuple):
    """Successes and failures; each row is another pair."""

    successes: Floats
    failures: Floats
    number: Floats
    observed: Floats
    deviations: tuple[float, float]

    def scale(self, mean: Floats) -> Floats:
        """The arcsine of the root: on it the deviation of binomial noise is 1 / (2 plays^(1/2))."""
        return np.asarray(np.arcsin(np.sqrt(mean)))

    def mean(self, scale: Floats) -> Floats:
        """The squared sine."""
        return np.asarray(np.sin(scale) ** 2)

    def noise(self, mean: Floats) -> Floats:
        """(mean (1 - mean) / plays)^(1/2)."""
        return np.asarray(2.0 * self.deviations[1] * np.sqrt(mean * (1.0 - mean)))

    def likelihood(self, mean: Floats) -> Floats:
        """Binomial."""
        plays = self.successes + self.failures
        largest = times_log(self.successes, self.successes / plays) + times_log(self.failures, self.failures / plays)
        logs = self.successes[:, None] * np.log(mean) + self.failures[:, None] * np.log1p(-mean)
        return np.asarray(np.exp(logs - largest[:, None]))


def times_log(factor: Floats, value: Floats) -> Floats:
    """The product of a factor and log(value), 0 where the factor is."""
    return np.asarray(factor * np.log(np.where(factor > 0.0, value, 1.0)))


def counts_of(successes: Floats, plays: Floats) -> Counts:
    """Counts with equal arms put together."""
    share = np.minimum(1.0, MOST_PLAYS / plays)
    rows, number = np.unique(np.stack([successes * share, plays * share], axis=1), axis=0, return_counts=True)
    return Counts(
        successes=rows[:, 0],
        failures=rows[:, 1] - rows[:, 0],
        number=number.astype(np.float64),
        observed=successes / plays,
        deviations=(0.5 / math.sqrt(rows[:, 1].max()), 0.5 / math.sqrt(float(np.median(plays * share)))),
    )


class NoisyMeans:
    """Averages with normal noise; each row is an arm."""

    def __init__(self, means: Floats, deviation: Floats) -> None:
        self.means, self.deviation = means, deviation
        self.observed = np.clip(means, 0.0, 1.0)
        self.number = np.ones(means.size)
        self.deviations = (float(deviation.min()), float(np.median(deviation)))

    def scale(self, mean: Floats) -> Floats:
        """As it is."""
        return mean

    def mean(self, scale: Floats) -> Floats:
        """As it is."""
        return scale

    def noise(self, mean: Floats) -> Floats:
        """The same everywhere."""
        return np.full_like(mean, self.deviations[1])

    def likelihood(self, mean: Floats) -> Floats:
        """Normal."""
        return np.asarray(np.exp(-0.5 * ((self.means[:, None] - mean) / self.deviation[:, None]) ** 2))


def estimate_from(observations: Observations, top: float | None, depth: float | None) -> ReservoirEstimate:
    """The tail of a reservoir from noisy observations."""
    observed = observations.observed
    likely_top = float(observed.max()) if top is None else top
    resolved = resolved_depth(observations, likely_top)
    remedy = "play arms more"
    if depth is None:
        depth = max(likely_top - float(np.quantile(observed, 1.0 - UPPER_SHARE)), resolved)
    elif depth < resolved <= likely_top / 2.0:
        remedy = f"give a depth of {resolved:.2g} or more, or play arms more"
    threshold = max(likely_top - depth, 0.0)
    warnings = []
    if resolved > min(depth * (1.0 + 1e-9), likely_top / 2.0):
        warnings.append(
            f"plays are too few: noise blurs gaps of less than {resolved:.2g}, "
            f"and the estimate rests on arms as far as {likely_top - threshold:.2g} from the top: {remedy}"
        )
    if top is None:
        fit = fit_with_top(observations, threshold, likely_top)
    else:
        beta, low, high = profiled(Tail(observations, threshold, top).log_likelihood)
        fit = Fit(beta, low, high, top, top, top)
    tail = Tail(observations, threshold, fit.top)
    if tail.log_likelihood_if_broken(fit.beta) - tail.log_likelihood(fit.beta) > SHAPE_LOSS:
        warnings.append(BROKEN.format(depth=fit.top - threshold))
    return estimate(fit, threshold, observed.size, float(tail.weights[-1]), warnings)


def resolved_depth(observations: Observations, top: float) -> float:
    """The least depth that is ``STEPS`` standard deviations of the noise there; the top if there is none."""
    depths = top * np.linspace(0.001, 1.0, 1000)
    is_resolved = depths >= STEPS * observations.noise(top - depths)
    return float(depths[np.argmax(is_resolved)]) if is_resolved.any() else top


class Tail:
    """A power law within a depth of the top and a histogram below it, and how likely the observations are."""

    def __init__(self, observations: Observations, threshold: float, top: float) -> None:
        least, median = observations.deviations
        low, middle, high = observations.scale(np.array([0.0, threshold, top])).tolist()
        bins = min(max(round((middle - low) / (BIN * median)), 1), MOST_BINS) if threshold > 0.0 else 0
        fine = [
            fine_edges(a, b, CELL * least) for a, b in itertools.pairwise(np.linspace(low, middle, bins + 1).tolist())
        ]
        fine.append(fine_edges(middle, high, CELL * least))
        self.number = observations.number
        columns = []
        for edges in fine:
            means = observations.mean(edges)
            likelihood = observations.likelihood(observations.mean((edges[1:] + edges[:-1]) / 2.0))
            widths = np.diff(means)
            columns.append(likelihood @ (widths / widths.sum()))
        self.bins = np.stack(columns[:-1], axis=1) if bins else np.zeros((self.number.size, 0))
        self.likelihood = likelihood  # of the last part, the tail
        # Of the depth, how much lies above each edge.
        self.shares = np.append(np.maximum(1.0 - (means[:-1] - means[0]) / (top - means[0]), 0.0), 0.0)
        self.weights = np.full(bins + 1, 1.0 / (bins + 1))

    def log_likelihood(self, beta: float) -> float:
        """The largest that any weights of the histogram give; they are kept, as a start for the next."""
        masses = -np.diff(self.shares**beta)
        columns = np.column_stack([self.bins, self.likelihood @ masses])
        value, self.weights = fitted_weights(columns, self.number, self.weights)
        return value

    def log_likelihood_if_broken(self, beta: float) -> float:
        """The same if the two halves of the tail may have any weights."""
        masses = -np.diff(self.shares**beta)
        half = int(np.searchsorted(-self.shares, -(0.5 ** (1.0 / beta))))  # where half of the tail's arms are better
        half = min(max(half, 1), masses.size - 1)
        worse, better = self.likelihood[:, :half] @ masses[:half], self.likelihood[:, half:] @ masses[half:]
        columns = np.column_stack([self.bins, worse / masses[:half].sum(), better / masses[half:].sum()])
        start = np.append(self.weights[:-1], [self.weights[-1] / 2.0, self.weights[-1] / 2.0])
        return fitted_weights(columns, self.number, start)[0]


def fine_edges(low: float, high: float, width: float) -> Floats:
    """Edges of cells from low to high, no wider than ``width``."""
    return np.linspace(low, high, max(math.ceil((high - low) / width), 8) + 1)


def fitted_weights(likelihoods: Floats, number: Floats, start: Floats) -> tuple[float, Floats]:
    """The most likely weights of a mixture, and the log-likelihood, to within ``CLOSE``.

    Newton's method for the concave problem max sum number log(likelihoods @ w) - total sum w over w >= 0, whose
    solution sums up to 1; where it does not make things better, a step of expectation and maximisation, which always
    does. By concavity the value is within the largest entry of the gradient of the best one.
    """
    likelihoods = np.maximum(likelihoods, 1e-100)
    if start.size == 1:
        return float(number @ np.log(likelihoods[:, 0])), np.ones(1)
    total = float(number.sum())
    weights = 0.999 * start + 0.001 / start.size  # expectation and maximisation leaves a weight of 0 as it is
    density = likelihoods @ weights
    value = float(number @ np.log(density))
    for _ in range(1000):
        ratio = number / density
        gradient = likelihoods.T @ ratio - total
        if gradient.max() < CLOSE:
            break
        curvature = (likelihoods * (ratio / density)[:, None]).T @ likelihoods
        curvature.flat[:: start.size + 1] *= 1.0 + 1e-10  # parts that look alike must not make it singular
        direction = nonnegative_solution(curvature, gradient + curvature @ weights, weights) - weights
        for halvings in range(6):
            candidate = weights + 0.5**halvings * direction
            candidate /= candidate.sum()
            new_density = likelihoods @ candidate
            new_value = float(number @ np.log(new_density))
            if new_value > value:
                break
        else:
            candidate = weights * (gradient + total) / total
            new_density = likelihoods @ candidate
            new_value = float(number @ np.log(new_density))
        weights, density, value = candidate, new_density, new_value
    return value, weights


def nonnegative_solution(matrix: Floats, target: Floats, start: Floats) -> Floats:
    """The x >= 0 with the least x·matrix·x / 2 - target·x, by Lawson and Hanson's active sets; a small problem."""
    x = start.copy()
    is_free = x > 0.0
    for _ in range(10 * x.size):
        free = np.flatnonzero(is_free)
        solution = np.zeros_like(x)
        solution[free] = np.linalg.solve(matrix[np.ix_(free, free)], target[free])
        falling = free[solution[free] <= 0.0]
        if falling.size:
            # Go as far as no entry becomes negative, and leave that one at 0.
            steps = x[falling] / (x[falling] - solution[falling])
            x = np.maximum(x + steps.min() * (solution - x), 0.0)
            x[falling[np.argmin(steps)]] = 0.0
            is_free = is_free & (x > 0.0)
            continue
        x = solution
        pull = np.where(is_free, -np.inf, target - matrix @ x)
        if pull.max() <= 1e-9 * np.abs(target).max():
            break
        is_free[np.argmax(pull)] = True
    return x


# ---------------------------------------------------------------- profiles


def profiled(log_likelihood: Callable[[float], float]) -> tuple[float, float, float]:
    """The most likely beta and the ends of its interval; an end of BETA_RANGE if the interval goes beyond."""
    grid = np.geomspace(*BETA_RANGE, 13).tolist()
    values = [log_likelihood(beta) for beta in grid]
    peak = int(np.argmax(values))
    low, high = math.log(grid[max(peak - 1, 0)]), math.log(grid[min(peak + 1, len(grid) - 1)])
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    inner, outer = high - golden * (high - low), low + golden * (high - low)
    at_inner, at_outer = log_likelihood(math.exp(inner)), log_likelihood(math.exp(outer))
    for _ in range(14):
        if at_inner >= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - golden * (high - low)
            at_inner = log_likelihood(math.exp(inner))
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + golden * (high - low)
            at_outer = log_likelihood(math.exp(outer))
    best = inner if at_inner >= at_outer else outer
    most = max(at_inner, at_outer)
    ends = [crossing(log_likelihood, best, most, grid, values, side) for side in (-1, 1)]
    return math.exp(best), ends[0], ends[1]


def crossing(
    log_likelihood: Callable[[float], float],
    best: float,
    most: float,
    grid: list[float],
    values: list[float],
    side: int,
) -> float:
    """Where the log-likelihood has fallen by LOSS, on that side of the best; an end of BETA_RANGE if it has not."""
    inside = best
    for beta, value in list(zip(grid, values, strict=True))[::side]:
        if (math.log(beta) - best) * side <= 0.0:
            continue
        if value < most - LOSS:
            outside = math.log(beta)
            break
        inside = math.log(beta)
    else:
        return BETA_RANGE[0] if side < 0 else BETA_RANGE[1]
    for _ in range(13):
        middle = (inside + outside) / 2.0
        if log_likelihood(math.exp(middle)) < most - LOSS:
            outside = middle
        else:
            inside = middle
    return math.exp((inside + outside) / 2.0)


def profiled_with_top(likelihoods: Callable[[float], Floats], tops: Floats) -> Fit:
    """The most likely beta and top, and their intervals, given the log-likelihoods of a beta with all tops."""
    known: dict[float, Floats] = {}

    def largest(beta: float) -> float:
        known[beta] = likelihoods(beta)
        return float(known[beta].max())

    beta, low, high = profiled(largest)
    table = np.stack([known[tried] for tried in sorted(known)])
    likely = tops[table.max(axis=0) >= table.max() - LOSS]
    top = float(tops[np.argmax(table.max(axis=0))])
    return Fit(beta, low, high, top, float(likely.min()), float(likely.max()))


def log_likelihoods(tails: list[Tail], beta: float) -> Floats:
    """One for each tail."""
    return np.array([tail.log_likelihood(beta) for tail in tails])


def fit_with_top(observations: Observations, threshold: float, likely_top: float) -> Fit:
    """The most likely beta and top of noisy observations: tops far apart first, then close around the likely ones."""
    height = likely_top - threshold
    span = (0.4 * height, 1.0 - threshold)
    for number in (16, 24):
        tops = np.minimum(threshold + np.geomspace(*span, number), 1.0)
        tails = [Tail(observations, threshold, top) for top in tops.tolist()]
        fit = profiled_with_top(functools.partial(log_likelihoods, tails), tops)
        step = (span[1] / span[0]) ** (1.0 / (number - 1))
        span = ((fit.top_low - threshold) / step, min((fit.top_high - threshold) * step, 1.0 - threshold))
    return fit


def estimate(fit: Fit, threshold: float, arms: int, share: float, warnings: list[str]) -> ReservoirEstimate:
    """The estimate with its warnings."""
    depth = fit.top - threshold
    least, most = BETA_RANGE
    if share * arms < FEWEST_ARMS:
        warnings.append(f"only some {share * arms:.0f} arms are within {depth:.3g} of the top: draw more arms")
    if fit.low <= least or fit.high >= most:
        warnings.append(
            f"the interval is open: beta may be anything up to {most:g}" if fit.high >= most else OPEN_BELOW
        )
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


OPEN_BELOW = f"the interval is open: beta may be as small as {BETA_RANGE[0]:g}"


# ---------------------------------------------------------------- checks of what is given


def checked_sample(owner: str, arms: int) -> None:
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
    checked_sample(owner, mean.size)
    return mean
