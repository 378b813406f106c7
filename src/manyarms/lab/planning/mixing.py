"""Mixing: what items are like, from how often each was played and what that paid.

The rates of items have some distribution, of which nothing is assumed: masses on a grid of log-odds. Given its rate,
what an item was paid is binomial (rewards between 0 and 1 vary less than that, so for them the estimate is too
careful). The masses that make the counts most likely are found by expectation and maximisation. They would sit on a
few points, with nothing between and beyond, so after each step a little of each mass goes to its neighbours (Silverman,
Jones, Wilson & Nychka 1990). Where counts tell much, they win over that; where they tell little, masses are smooth.

That plays depend on what was paid before does no harm: as a function of an item's rate, the chance of what was seen of
it is the same.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, Floats, History

POINTS = 100
SPREAD = 0.1  # of each mass, to each neighbour after each step
STEPS, FURTHER_STEPS = 300, 60  # from an even spread, and from masses that are nearly right
MOST_ITEMS = 8_000  # of more items, so many at random tell what items are like


class Evidence(NamedTuple):
    """What was seen of items; those of which the same was seen stand together."""

    number: Floats  # of items of which this was seen
    plays: Floats
    reward: Floats
    history: History | None  # places in it are those of the arrays above


def evidence_of(counts: Counts, random: np.random.Generator) -> Evidence:
    """All that is known of items, or of as many as there is time for."""
    plays, reward, history = counts.plays, counts.reward, counts.history
    if plays.size > MOST_ITEMS:
        chosen = np.sort(random.choice(plays.size, MOST_ITEMS, replace=False))
        plays, reward = plays[chosen], reward[chosen]
        history = None if history is None else history_part(history, chosen)
    if history is not None:
        return Evidence(np.ones(plays.size), plays, reward, history)
    pairs, number = np.unique(np.stack([plays, reward]), axis=1, return_counts=True)
    return Evidence(number.astype(np.float64), pairs[0], pairs[1], None)


def history_part(history: History, chosen: NDArray[np.int64]) -> History:
    """The history of some items, given by their places in rising order; their places become 0, 1, …."""
    kept = np.isin(history.item, chosen)
    item = np.searchsorted(chosen, history.item[kept])
    return History(item, history.before[kept], history.plays[kept], history.reward[kept])


def grid_of(evidence: Evidence, points: int = POINTS) -> Floats:
    """Rates, evenly spaced in log-odds, from where nobody can tell a rate from 0 to above the best that was seen."""
    parts = evidence if evidence.history is None else evidence.history
    overall = float(evidence.number @ evidence.reward / (evidence.number @ evidence.plays))
    least = min(overall / 20.0, 0.5 / float(np.median(evidence.plays)))
    most = min(float(((parts.reward + 0.5) / (parts.plays + 1.0)).max()), 0.999)
    low, high = np.log(least / (1.0 - least)), np.log(most / (1.0 - most)) + 0.3
    return np.asarray(1.0 / (1.0 + np.exp(-np.linspace(low, high, points))))


def log_likelihoods(evidence: Evidence, rates: Floats, wear: float = 0.0) -> Floats:
    """For each item and each first rate it may have, the logarithm of how likely it is to see what was seen.

    With wear, a play leaves the share 1 - wear of an item's rate.
    """
    if evidence.history is None or wear == 0.0:
        reward, failures = evidence.reward[:, None], (evidence.plays - evidence.reward)[:, None]
        return np.asarray(reward * np.log(rates) + failures * np.log1p(-rates))
    item, before, plays, reward = evidence.history
    left = np.log1p(-wear)
    worn = np.exp(left * before) * -np.expm1(left * plays) / (plays * wear)  # the average over these plays
    now = np.maximum(worn[:, None] * rates, 1e-300)
    logs = reward[:, None] * np.log(now) + (plays - reward)[:, None] * np.log1p(-now)
    return np.asarray(np.add.reduceat(logs, np.flatnonzero(np.diff(item, prepend=-1)), axis=0))


def likelihoods(logs: Floats) -> Floats:
    """Likelihoods, those of each item divided by its largest."""
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def smooth_masses(likelihood: Floats, number: Floats, start: Floats | None = None, steps: int = STEPS) -> Floats:
    """The masses that make what was seen likely, smooth where that tells little."""
    points = likelihood.shape[1]
    masses = np.full(points, 1.0 / points) if start is None else start
    total = number.sum()
    for _ in range(steps):
        masses = masses * ((number / (likelihood @ masses)) @ likelihood) / total
        moved = SPREAD * masses
        padded = np.concatenate([moved[:1], moved, moved[-1:]])  # the ends keep what would leave the grid
        masses = masses - 2.0 * moved + padded[:-2] + padded[2:]
    return masses


def exceeded(rates: Floats, masses: Floats, shares: Floats) -> Floats:
    """What so large a share of items exceeds; each mass is spread evenly over the log-odds nearest to its point.

    Examples
    --------
    >>> exceeded(np.array([0.1, 0.5, 0.9]), np.array([0.25, 0.5, 0.25]), np.array([0.5])).round(3).tolist()
    [0.5]
    """
    odds = np.log(rates / (1.0 - rates))
    edges = np.concatenate([odds[:1], 0.5 * (odds[1:] + odds[:-1]), odds[-1:]])
    above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    found = np.interp(-np.asarray(shares), -above, edges)
    return np.asarray(1.0 / (1.0 + np.exp(-found)))


def share_above(rates: Floats, masses: Floats, levels: Floats) -> Floats:
    """The share of items above each level; the inverse of `exceeded`."""
    odds = np.log(rates / (1.0 - rates))
    edges = np.concatenate([odds[:1], 0.5 * (odds[1:] + odds[:-1]), odds[-1:]])
    above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    return np.asarray(np.interp(np.log(levels / (1.0 - levels)), edges, above))


def likely_range(likelihood: Floats, number: Floats, masses: Floats, share: float, loss: float) -> tuple[int, int]:
    """The grid's points from which on a share of items may be: those with which the log-likelihood loses no more.

    For each such point, masses from there on are made to sum up to the share, and are else the most likely ones.
    """
    masses = masses + 1e-6 / masses.size
    points, best = masses.size, _log_likelihood(likelihood, number, _constrained(likelihood, number, masses, 0, 1.0))
    middle = int(np.searchsorted(-np.cumsum(masses[::-1])[::-1], -share))
    middle = min(max(middle, 1), points - 1)

    def is_likely(point: int) -> bool:
        found = _constrained(likelihood, number, masses, point, share)
        return _log_likelihood(likelihood, number, found) >= best - loss

    return _last_true(is_likely, middle, 1), _last_true(is_likely, middle, points - 1)


def _last_true(holds: Callable[[int], bool], start: int, end: int) -> int:
    """The place nearest to the end for which something holds, if it holds at the start and changes once."""
    if holds(end):
        return end
    while abs(end - start) > 1:
        middle = (start + end) // 2
        start, end = (middle, end) if holds(middle) else (start, middle)
    return start


def _constrained(likelihood: Floats, number: Floats, masses: Floats, point: int, share: float) -> Floats:
    """The most likely masses of which this share is at this point or above."""
    for _ in range(100):
        masses = masses * ((number / (likelihood @ masses)) @ likelihood)
        upper = masses[point:].sum()
        masses[point:] *= share / upper
        if point:
            masses[:point] *= (1.0 - share) / masses[:point].sum()
    return masses


def _log_likelihood(likelihood: Floats, number: Floats, masses: Floats) -> float:
    return float(number @ np.log(likelihood @ masses))
