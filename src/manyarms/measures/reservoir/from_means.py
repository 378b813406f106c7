"""From means: the tail of a reservoir from means that are known without noise."""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import Floats, finite_numbers
from .estimate import BROKEN, UPPER_SHARE, ReservoirEstimate, checked_options, checked_sample, estimate_of
from .profiles import Fit, profiled, profiled_with_top

ROUNDING = 2.0**-50
"""Means are floats: a gap of at most this share of the top cannot be told from 0."""

LEAST_ROOM = 1e-6
"""An unknown top is looked for from this share of the depth above the best mean on; if that is above 1, it is 1."""

AT_TOP = "gaps of 0 (means that are the top itself, {top:g}: {number:,}) count as at most the next gap, {least:.2g}"


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
    top, depth = checked_options(owner, top, depth)
    mean = np.sort(checked_sample(owner, "means", finite_numbers(owner, "means", means)))[::-1]
    most = 1.0 if top is None else top
    bad = mean[(mean < 0.0) | (mean > most)]
    if bad.size:
        raise ValueError(
            f"{owner}: means must lie between 0 and the top, {most:g}, not {bad[0]:g}; "
            "scale rewards to [0, 1], or give a larger top, or None to estimate it"
        )
    if depth is None:
        # Given the mean at the threshold, the better ones are a sample of the tail.
        threshold = float(mean[max(min(int(UPPER_SHARE * mean.size), mean.size - 1), 1)])
    else:
        threshold = (float(mean[0]) if top is None else top) - depth
    tail = mean[mean > threshold]
    check_tail(owner, tail.size, mean.size, depth)
    warnings = []
    if np.unique(tail).size < 0.9 * tail.size:
        warnings.append("many means are equal, as rates of few plays are: use estimate_from_counts")
    if top is None and 1.0 - tail[0] > LEAST_ROOM * (tail[0] - threshold):
        fit = spacings_fit(tail, threshold)
    else:
        fit = gaps_fit(owner, tail, threshold, top, warnings)
    return estimate_of(fit, threshold, mean.size, tail.size / mean.size, warnings)


def check_tail(owner: str, tail_arms: int, arms: int, depth: float | None) -> None:
    """An error for a tail that says nothing."""
    if tail_arms >= 2:
        return
    remedy = (
        "a quarter of the arms has the best mean; for rates of success use estimate_from_counts, else give a depth"
        if depth is None
        else f"give more arms or a larger depth than {depth:g}"
    )
    raise ValueError(f"{owner}: {tail_arms} of {arms:,} means lie within the depth, too few to tell; {remedy}")


def gaps_fit(owner: str, tail: Floats, threshold: float, top: float | None, warnings: list[str]) -> Fit:
    """Hill's estimate of a tail, whose top is the given one or 1; what the gaps cannot tell becomes a warning."""
    known = 1.0 if top is None else top
    gaps = known - tail
    seen = gaps[gaps > ROUNDING * known]
    if not seen.size:
        raise ValueError(
            f"{owner}: all {gaps.size:,} means within the depth are the top itself, {known:g}, and have no gaps; "
            "give a larger depth; for rates of success use estimate_from_counts"
        )
    if seen.size < gaps.size:
        warning = AT_TOP.format(number=gaps.size - seen.size, top=known, least=seen.min())
        warnings.append(warning + ("" if top is None else "; if the top was read off the means, give top=None"))
    fit = hill_fit(seen, gaps.size - seen.size, known - threshold, known)
    if is_broken(gaps / (known - threshold), fit.beta):
        warnings.append(BROKEN.format(depth=known - threshold))
    return fit


def hill_fit(gaps: Floats, smaller: int, depth: float, top: float) -> Fit:
    """Hill's estimate, with the interval of its likelihood; so many gaps are only known to be at most the least."""
    total = float(np.log(depth / gaps).sum())

    def log_likelihood(beta: float, total: float) -> float:
        return gaps.size * math.log(beta) - beta * total

    counted = total + smaller * math.log(depth / float(gaps.min()))
    fit = profiled(functools.partial(log_likelihood, total=counted), top)
    if smaller:  # the interval also holds what is likely if those arms are left out, as no part of the power law
        fit = fit._replace(high=profiled(functools.partial(log_likelihood, total=total), top).high)
    return fit


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
