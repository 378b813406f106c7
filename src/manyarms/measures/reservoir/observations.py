"""Observations: what was seen of arms through noise, and how likely it is for a mean."""

import math
from typing import NamedTuple, Protocol

import numpy as np

from ..inputs import Floats

MOST_PLAYS = 2**18
"""More plays of an arm count as so many: what noise is left does not matter, and integrals stay short."""


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
