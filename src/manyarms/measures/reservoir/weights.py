"""Weights: the most likely mixture of given distributions, a concave problem."""

import numpy as np

from ..inputs import Floats

CLOSE = 1e-5
"""How near the log-likelihood is to its largest value when the search for it stops."""


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
