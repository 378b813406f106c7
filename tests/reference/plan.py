"""What a plan estimates, in the slowest and most obvious way: one item, one rate, one play at a time."""

import itertools
import math


def smooth_masses(items, rates, spread, steps):
    """Masses of rates by expectation, maximisation and smoothing; an item is (plays, reward)."""
    masses = [1.0 / len(rates)] * len(rates)
    for _ in range(steps):
        found = [0.0] * len(rates)
        for plays, reward in items:
            logs = [reward * math.log(rate) + (plays - reward) * math.log(1.0 - rate) for rate in rates]
            weights = [mass * math.exp(log - max(logs)) for mass, log in zip(masses, logs, strict=True)]
            for k, weight in enumerate(weights):
                found[k] += weight / sum(weights) / len(items)
        masses = [0.0] * len(rates)
        for k, mass in enumerate(found):
            masses[k] += (1.0 - 2.0 * spread) * mass
            masses[max(k - 1, 0)] += spread * mass
            masses[min(k + 1, len(rates) - 1)] += spread * mass
    return masses


def share_above(rates, masses, level):
    """The share of items above a level, each mass spread evenly over the log-odds nearest to its point."""
    odds = [math.log(rate / (1.0 - rate)) for rate in rates]
    edges = [odds[0], *((a + b) / 2.0 for a, b in itertools.pairwise(odds)), odds[-1]]
    place = math.log(level / (1.0 - level))
    share = 0.0
    for k, mass in enumerate(masses):
        low, high = edges[k], edges[k + 1]
        share += mass * min(max((high - place) / (high - low), 0.0), 1.0)
    return share


def log_likelihood(history, rates, masses, wear):
    """Of rows (item, plays, reward) in order of time, if each play leaves the share 1 - wear of an item's rate."""
    total = 0.0
    for item in sorted({row[0] for row in history}):
        of_item = 0.0
        for rate, mass in zip(rates, masses, strict=True):
            likelihood, now = 1.0, rate
            for owner, plays, reward in history:
                if owner == item:
                    each = []
                    for _ in range(plays):
                        each.append(now)
                        now *= 1.0 - wear
                    average = sum(each) / plays
                    likelihood *= average**reward * (1.0 - average) ** (plays - reward)
            of_item += mass * likelihood
        total += math.log(of_item)
    return total


def worn_profile(history, rates, wear, steps):
    """The log-likelihood with the first rates that make it largest, by many steps of expectation and maximisation."""
    masses = [1.0 / len(rates)] * len(rates)
    single = {
        item: [
            math.exp(log_likelihood([row for row in history if row[0] == item], [rate], [1.0], wear)) for rate in rates
        ]
        for item in sorted({row[0] for row in history})
    }
    for _ in range(steps):
        found = [0.0] * len(rates)
        for likelihoods in single.values():
            weights = [mass * likelihood for mass, likelihood in zip(masses, likelihoods, strict=True)]
            for k, weight in enumerate(weights):
                found[k] += weight / sum(weights) / len(single)
        masses = found
    return log_likelihood(history, rates, masses, wear)
