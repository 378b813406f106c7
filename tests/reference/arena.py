"""The arena's ratios, written out: lists of numbers, one loop inside another.

``regrets[contest][entrant]`` is a list of lists: one list of regrets for each policy of the entrant, an entry for each
replication. Entrants that do not take part are not there.
"""

import math

from scipy import stats


def mean(values):
    return sum(values) / len(values)


def best_of(policies):
    """The regrets of the policy with the least mean; the first of several."""
    return min(policies, key=mean)


def best_other(contest, entrant, rivals):
    """The rival with the least mean regret in a contest, and its regrets."""
    least = None
    for name, policies in contest.items():
        if name != entrant and name in rivals:
            values = best_of(policies)
            if least is None or mean(values) < mean(least[1]):
                least = name, values
    return least


def log_ratio_and_moves(contest, entrant, rivals):
    own = best_of(contest[entrant])
    rival, other = best_other(contest, entrant, rivals)
    moves = [x / mean(own) - y / mean(other) for x, y in zip(own, other, strict=True)]
    return rival, math.log(mean(own) / mean(other)), moves


def interval(log_ratio, moves):
    n = len(moves)
    middle = mean(moves)
    variance = sum((move - middle) ** 2 for move in moves) / (n - 1)
    half = stats.t.ppf(0.975, n - 1) * math.sqrt(variance / n)
    return math.exp(log_ratio), math.exp(log_ratio - half), math.exp(log_ratio + half)


def ratio(contest, entrant, rivals):
    _, log_ratio, moves = log_ratio_and_moves(contest, entrant, rivals)
    return interval(log_ratio, moves)


def geometric_mean(contests, entrant, rivals):
    """Over contests in which the entrant and some rival took part."""
    met = [
        log_ratio_and_moves(contest, entrant, rivals)
        for contest in contests
        if entrant in contest and any(name in rivals and name != entrant for name in contest)
    ]
    together = [mean([moves[replication] for _, _, moves in met]) for replication in range(len(met[0][2]))]
    return interval(mean([log_ratio for _, log_ratio, _ in met]), together)
