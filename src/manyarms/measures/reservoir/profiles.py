"""Profiles: the most likely beta, and its interval, given a log-likelihood that is maximised over all the rest."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..inputs import Floats

BETA_RANGE = (0.05, 20.0)
"""Where beta is looked for. Beyond it an arm is nearly always at the top, or nearly never near it."""

LOSS = 1.9207294103470677
"""By how much the log-likelihood may fall short within a 95 % interval."""


class Fit(NamedTuple):
    """The most likely tail."""

    beta: float
    low: float
    high: float
    top: float
    top_low: float
    top_high: float


def profiled(log_likelihood: Callable[[float], float], top: float) -> Fit:
    """The most likely beta and its interval, for a top that is known; an end of BETA_RANGE if it goes beyond."""
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
    floor = max(at_inner, at_outer) - LOSS
    tried = list(zip(grid, values, strict=True))
    below = crossing(log_likelihood, best, floor, [pair for pair in reversed(tried) if math.log(pair[0]) < best])
    above = crossing(log_likelihood, best, floor, [pair for pair in tried if math.log(pair[0]) > best])
    return Fit(math.exp(best), below, above, top, top, top)


def crossing(
    log_likelihood: Callable[[float], float], best: float, floor: float, tried: list[tuple[float, float]]
) -> float:
    """Where it falls below the floor, from the best on to one side; the last beta that was tried there if it does not.

    ``tried`` has each beta on that side with its log-likelihood, the nearest first.
    """
    inside = best
    for beta, value in tried:
        outside = math.log(beta)
        if value < floor:
            break
        inside = outside
    else:
        return beta
    for _ in range(13):
        middle = (inside + outside) / 2.0
        if log_likelihood(math.exp(middle)) < floor:
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

    fit = profiled(largest, top=1.0)
    best = np.max(list(known.values()), axis=0)  # of each top
    likely = tops[best >= best.max() - LOSS]
    return fit._replace(top=float(tops[np.argmax(best)]), top_low=float(likely.min()), top_high=float(likely.max()))
