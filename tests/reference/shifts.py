"""Significant shifts, straight from the definitions: every interval of every arm is looked at.

Suk & Kim for infinitely many arms, Suk & Kpotufe (2022) for finitely many. Rounds count from 1. An interval's sum is
compared with its allowance by ``exceeds(total, length)``: in floats, or exactly, in fractions.
"""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from .sizes import ceiling, exact, floor

TOLERANCE = 1e-9


def in_floats(beta, constant, ties=False):
    """More than constant · n^(beta / (beta+1)), or as much, where ties count; ties are within 1e-9."""
    rate = beta / (beta + 1)
    margin = -TOLERANCE if ties else TOLERANCE
    return lambda total, length: total - constant * length**rate > margin


def in_fractions(beta, constant, ties=False):
    """The same for a fraction beta = a / b and fractional sums: total^(a+b) against constant^(a+b) · n^a."""
    beta, constant = Fraction(beta), Fraction(constant)
    whole = beta.numerator + beta.denominator

    allowance = constant**whole

    def exceeds(total, length):
        if total < 0:
            return False
        left, right = total**whole, allowance * length**beta.numerator
        return left >= right if ties else left > right

    return exceeds


def budget(length, beta, scale, rounding):
    """How many candidates a window of that length has."""
    with localcontext(prec=60):
        size = exact(scale) * Decimal(length) ** (exact(beta) / (exact(beta) + 1))
        return max(floor(size) if rounding == "down" else ceiling(size), 1)


def gap_paths(arms, means, next_means, past, top):
    """For each arm, its gap in every round: an entry for round 0, which nobody looks at, and one for each round."""
    paths = {}
    for arm in set(arms):
        plays = {t for t, played in enumerate(arms, start=1) if played == arm}
        gap = top - means[min(plays) - 1] if past == "first" else 0 * top
        path = [0 * top]
        for t in range(1, len(arms) + 1):
            if t in plays:
                gap = top - means[t - 1]
            path.append(gap)
            if t in plays:
                gap = top - next_means[t - 1]
        paths[arm] = path
    return paths


def first_unsafe_rounds(path, exceeds):
    """For each round tau, the first round t such that some interval in [tau, t] exceeds; beyond the end if none."""
    last = len(path) - 1
    sums = [0 * path[0], *itertools.accumulate(path[1:])]
    end = [last + 1] * (last + 2)  # for each s1, the first s2 such that [s1, s2] exceeds
    for s1 in range(1, last + 1):
        for s2 in range(s1, last + 1):
            if exceeds(sums[s2] - sums[s1 - 1], s2 - s1 + 1):
                end[s1] = s2
                break
    return [last + 1] + [min(end[tau:]) for tau in range(1, last + 1)]


def first_unsafe_round_of_floats(path, tau, rate, constant):
    """The same for one tau, with an array for each end of an interval: for long paths."""
    sums = np.concatenate([[0.0], np.cumsum(path[tau:])])
    allowances = constant * np.arange(len(sums), dtype=float) ** rate
    for t in range(1, len(sums)):
        if ((sums[t] - sums[:t]) - allowances[t:0:-1] > TOLERANCE).any():
            return tau + t - 1
    return None


def candidates(arms, tau, t, order, blocks):
    """The arms sampled by round t, the first one first."""
    played = list(enumerate(arms[:t], start=1))
    if order == "window":
        sampled = [arm for s, arm in played if s >= tau]
    elif order == "run":
        sampled = [arm for s, arm in played]
    elif order == "new":
        old = {arm for s, arm in played if s < tau}
        sampled = [arm for s, arm in played if s >= tau and arm not in old]
    elif order == "block":
        first = t
        while first > tau and blocks[first - 2] == blocks[t - 1]:
            first -= 1
        sampled = [arm for s, arm in played if s >= first]
    return list(dict.fromkeys(sampled))


def significant_shifts(arms, means, next_means, exceeds, size, order="window", past="first", top=1.0, blocks=None):
    """All shifts: (round, opened, [(arm, the first round at which it is unsafe), …]). ``size(n)`` is the budget."""
    paths = gap_paths(arms, means, next_means, past, top)
    unsafe = {arm: first_unsafe_rounds(path, exceeds) for arm, path in paths.items()}
    found, tau = [], 1
    for t in range(2, len(arms) + 1):
        chosen = candidates(arms, tau, t, order, blocks)[: size(t - tau + 1)]
        if all(unsafe[arm][tau] <= t for arm in chosen):
            found.append((t, tau, [(arm, unsafe[arm][tau]) for arm in chosen]))
            tau = t
    return found


def finite_shifts(means, exceeds):
    """The same among finitely many arms, from a list of rounds with the mean of each arm."""
    arms = range(len(means[0]))
    paths = [[0 * row[0] for row in means[:1]] + [max(row) - row[arm] for row in means] for arm in arms]
    unsafe = [first_unsafe_rounds(path, exceeds) for path in paths]
    found, tau = [], 1
    for t in range(2, len(means) + 1):
        if all(rounds[tau] <= t for rounds in unsafe):
            found.append((t, tau, [(arm, unsafe[arm][tau]) for arm in arms]))
            tau = t
    return found
