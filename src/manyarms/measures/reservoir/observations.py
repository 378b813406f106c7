"""Observations: what was seen of arms through noise, and how likely it is for a mean.

Both kinds have rows of equal arms: ``number`` says how many arms each row stands for, ``observed`` is the observed mean
of each arm, within [0, 1], and ``deviations`` are the least and the median standard deviation of the noise, on a scale
on which noise is the same everywhere.
"""

import math

import numpy as np

from ..inputs import Floats

MOST_PLAYS = 2**18
"""More plays of an arm count as so many: what noise is left does not matter, and integrals stay short."""


class Counts:
    """Successes and failures; each row is another pair."""

    def __init__(self, successes: Floats, plays: Floats) -> None:
        share = np.minimum(1.0, MOST_PLAYS / plays)
        rows, number = np.unique(np.stack([successes * share, plays * share], axis=1), axis=0, return_counts=True)
        self.successes, self.failures = rows[:, 0], rows[:, 1] - rows[:, 0]
        self.number = number.astype(np.float64)
        self.observed = successes / plays
        self.deviations = 0.5 / math.sqrt(rows[:, 1].max()), 0.5 / math.sqrt(float(np.median(plays * share)))

    def scale(self, mean: Floats) -> Floats:
        """The mean on that scale, the arcsine of the root: there the deviation of the noise is 1 / (2 plays^(1/2))."""
        return np.asarray(np.arcsin(np.sqrt(mean)))

    def mean(self, scale: Floats) -> Floats:
        """The inverse of ``scale``."""
        return np.asarray(np.sin(scale) ** 2)

    def noise(self, mean: Floats) -> Floats:
        """The median arm's standard deviation at that mean, (mean (1 - mean) / plays)^(1/2)."""
        return np.asarray(2.0 * self.deviations[1] * np.sqrt(mean * (1.0 - mean)))

    def likelihood(self, mean: Floats) -> Floats:
        """For each row and mean, the binomial likelihood over the largest that any mean gives."""
        plays = self.successes + self.failures
        largest = np.zeros_like(plays)
        for number in (self.successes, self.failures):
            largest += number * np.log(np.where(number > 0.0, number / plays, 1.0))
        logs = self.successes[:, None] * np.log(mean) + self.failures[:, None] * np.log1p(-mean)
        return np.asarray(np.exp(logs - largest[:, None]))


class NoisyMeans:
    """Averages with normal noise, which is the same everywhere as it is; each row is an arm."""

    def __init__(self, means: Floats, deviation: Floats) -> None:
        self.means, self.deviation = means, deviation
        self.observed = np.clip(means, 0.0, 1.0)
        self.number = np.ones(means.size)
        self.deviations = (float(deviation.min()), float(np.median(deviation)))

    def scale(self, mean: Floats) -> Floats:
        """As it is."""
        return mean

    mean = scale

    def noise(self, mean: Floats) -> Floats:
        """As for ``Counts``."""
        return np.full_like(mean, self.deviations[1])

    def likelihood(self, mean: Floats) -> Floats:
        """As for ``Counts``, but normal."""
        return np.asarray(np.exp(-0.5 * ((self.means[:, None] - mean) / self.deviation[:, None]) ** 2))


Observations = Counts | NoisyMeans
