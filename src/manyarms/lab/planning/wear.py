"""Wear: whether items lose a share of their rate with every play, and how much.

Each share is given the distribution of first rates that makes the histories of items most likely with it, so that
items which were played on because they began well are not taken for worn. The interval holds all shares whose
log-likelihood is within 1.92 of the best: half the 95 % quantile of chi-squared with one degree of freedom.
"""

import math
from typing import NamedTuple

import numpy as np

from ...measures.reservoir.profiles import LOSS
from ...measures.reservoir.tail import fitted_weights
from .mixing import Evidence, grid_of, history_part, log_likelihoods

POINTS = 40  # of the grid of first rates
TRIED = 18  # shares, evenly spaced in their logarithms, before the best one is looked for between them
MOST_WEAR = 0.5  # more than half a rate with a play is no wear but another item
MOST_ITEMS = 2_000  # of more, every so many


class Wear(NamedTuple):
    """The share of its rate that an item loses with a play."""

    value: float
    low: float
    high: float
    chance_of_none: float  # how likely it is that there is no wear, if before the counts nobody could tell

    @property
    def is_seen(self) -> bool:
        """Whether no wear at all is unlikely."""
        return self.low > 0.0


class WearProfile:
    """How likely histories are with some wear, with the most likely first rates for it."""

    def __init__(self, evidence: Evidence) -> None:
        assert evidence.history is not None
        self.evidence = _some_items(evidence)
        self.rates = grid_of(self.evidence, POINTS)
        self.weights = np.full(POINTS, 1.0 / POINTS)
        self.known: dict[float, float] = {}

    def log_likelihood(self, wear: float) -> float:
        """The largest that any distribution of first rates gives."""
        if wear not in self.known:
            logs = log_likelihoods(self.evidence, self.rates, wear)
            largest = logs.max(axis=1)
            number = self.evidence.number
            with np.errstate(invalid="ignore"):  # first rates that are all but impossible leave 0 / 0, which is skipped
                value, self.weights = fitted_weights(np.exp(logs - largest[:, None]), number, self.weights)
            self.known[wear] = value + float(number @ largest)
        return self.known[wear]


def estimated_wear(evidence: Evidence) -> Wear:
    """The most likely wear, and its 95 % interval; it begins at 0 if no wear is likely enough."""
    profile = WearProfile(evidence)
    longest = float(evidence.plays.max())
    tried = [0.0, *np.geomspace(min(0.02 / longest, MOST_WEAR / 2.0), MOST_WEAR, TRIED).tolist()]
    values = [profile.log_likelihood(wear) for wear in tried]
    peak = int(np.argmax(values))
    best = _highest(profile, tried[max(peak - 1, 0)], tried[min(peak + 1, len(tried) - 1)])
    if values[0] >= profile.log_likelihood(best):
        best = 0.0
    floor = profile.log_likelihood(best) - LOSS
    below = [wear for wear in tried if wear < best and profile.log_likelihood(wear) < floor]
    above = [wear for wear in tried if wear > best and profile.log_likelihood(wear) < floor]
    low = _crossing(profile, floor, best, max(below)) if below else 0.0
    high = _crossing(profile, floor, best, min(above)) if above else MOST_WEAR
    # By Schwarz's criterion: a number that has to be estimated must pay for itself by half the logarithm of the items.
    gain = profile.log_likelihood(best) - values[0] - 0.5 * math.log(evidence.plays.size)
    return Wear(best, low, high, 1.0 / (1.0 + math.exp(min(gain, 700.0))))


def _highest(profile: WearProfile, low: float, high: float) -> float:
    """The most likely wear between two, by golden sections."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(12):
        inner, outer = high - golden * (high - low), low + golden * (high - low)
        if profile.log_likelihood(inner) >= profile.log_likelihood(outer):
            high = outer
        else:
            low = inner
    return max(profile.known, key=lambda wear: profile.known[wear] if low <= wear <= high else -np.inf)


def _crossing(profile: WearProfile, floor: float, inside: float, outside: float) -> float:
    """Where the log-likelihood falls below the floor."""
    for _ in range(9):
        middle = 0.5 * (inside + outside)
        if profile.log_likelihood(middle) < floor:
            outside = middle
        else:
            inside = middle
    return outside  # so that the interval is rather too wide


def _some_items(evidence: Evidence) -> Evidence:
    """The evidence of as many items as there is time for."""
    items = evidence.plays.size
    if items <= MOST_ITEMS or evidence.history is None:
        return evidence
    chosen = np.unique(np.linspace(0, items - 1, MOST_ITEMS).astype(np.int64))
    history = history_part(evidence.history, chosen)
    return Evidence(evidence.number[chosen], evidence.plays[chosen], evidence.reward[chosen], history)
