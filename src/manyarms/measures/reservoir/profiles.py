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
