"""From counts and noisy means: the tail of a reservoir whose arms are seen through noise."""

import functools

import numpy as np
from numpy.typing import ArrayLike

from ..inputs import Floats, bounded_numbers, finite_numbers
from .estimate import BROKEN, UPPER_SHARE, ReservoirEstimate, checked_options, checked_sample, estimate_of
from .observations import Counts, NoisyMeans, Observations
from .profiles import Fit, profiled, profiled_with_top
from .tail import Tail

SHAPE_LOSS = 5.414
"""By how much a tail without a break is less likely than one broken in two, in logarithms, once in a thousand cases."""

STEPS = 4.0
"""The depth must be at least this many standard deviations of the noise there."""

LEAST_DEVIATION = 1.0 / 2000.0
"""Less noise than this counts as so much: what noise is left does not matter, and integrals stay short."""

MOST_DEVIATIONS = 6.0
"""Normal noise puts a mean as far outside once in a thousand million cases."""


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
    return estimate_from(checked_counts(owner, successes, plays), *checked_options(owner, top, depth))


def checked_counts(owner: str, successes: ArrayLike, plays: ArrayLike) -> Counts:
    """The successes and plays of each arm."""
    hits = checked_sample(owner, "successes", bounded_numbers(owner, "successes", successes, 0.0))
    tries = for_each(owner, "plays", bounded_numbers(owner, "plays", plays, 1.0), "successes", hits)
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
    return Counts(hits, tries)


def for_each(owner: str, name: str, values: Floats, sample_name: str, sample: Floats) -> Floats:
    """An entry for each arm of a sample, given so or as one for all."""
    if values.shape not in ((), sample.shape):
        raise ValueError(
            f"{owner}: {sample_name} has {sample.size:,} arms but {name} has shape {values.shape}; give one for each"
        )
    return np.broadcast_to(values, sample.shape)


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
    top, depth = checked_options(owner, top, depth)
    return estimate_from(checked_averages(owner, means, variances, 1.0 if top is None else top), top, depth)


def checked_averages(owner: str, means: ArrayLike, variances: ArrayLike, most: float) -> NoisyMeans:
    """The average reward of each arm with its noise; without noise none could be beyond 0 and ``most``."""
    mean = checked_sample(owner, "means", finite_numbers(owner, "means", means))
    variance = bounded_numbers(owner, "variances", variances, 0.0, is_open=True)
    deviation = np.maximum(np.sqrt(for_each(owner, "variances", variance, "means", mean)), LEAST_DEVIATION)
    outside = np.maximum(-mean, mean - most) / deviation
    if outside.max() > MOST_DEVIATIONS:
        arm = int(outside.argmax())
        raise ValueError(
            f"{owner}: means must lie between 0 and the top, {most:g}, but for noise, not {mean[arm]:g} for arm {arm}, "
            f"{outside[arm]:,.0f} standard deviations outside; scale rewards to [0, 1] and variances with them, "
            "or give a larger top or larger variances"
        )
    return NoisyMeans(mean, deviation)


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
        fit = profiled(Tail(observations, threshold, top).log_likelihood, top)
    tail = Tail(observations, threshold, fit.top)
    if tail.log_likelihood_if_broken(fit.beta) - tail.log_likelihood(fit.beta) > SHAPE_LOSS:
        warnings.append(BROKEN.format(depth=fit.top - threshold))
    return estimate_of(fit, threshold, observed.size, float(tail.weights[-1]), warnings)


def resolved_depth(observations: Observations, top: float) -> float:
    """The least depth that is ``STEPS`` standard deviations of the noise there; the top if there is none."""
    depths = top * np.linspace(0.001, 1.0, 1000)
    is_resolved = depths >= STEPS * observations.noise(top - depths)
    return float(depths[np.argmax(is_resolved)]) if is_resolved.any() else top


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
