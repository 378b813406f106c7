"""The tail: a power law near the top, anything below it, and how likely noisy observations are."""

import itertools
import math

import numpy as np

from ..inputs import Floats
from .observations import Observations

BIN = 1.5
"""How wide a bin of the histogram is, in standard deviations. At 3, large beta come out too small; at 0.8 no better."""

CELL = 0.5
"""How wide a step of the numerical integrals is, in standard deviations of the least noise."""

MOST_BINS = 12

CLOSE = 1e-5
"""How near the log-likelihood is to its largest value when the search for it stops."""


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
