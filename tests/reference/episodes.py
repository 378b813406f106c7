"""The parts of a run by brute force, in exact fractions: every arm's mean in every round is written down.

Rounds count from 1. A run is three lists: the arm of each round, its mean, and its mean at the next round.
"""

from fractions import Fraction

from .variation import measures


def parts(labels):
    """Of each part, its label, first and last round: wherever the label changes, a new one begins."""
    found = []
    for t, label in enumerate(labels, start=1):
        if found and found[-1][0] == label:
            found[-1][2] = t
        else:
            found.append([label, t, t])
    return found


def paths(arms, means, next_means, first, last):
    """For each arm played in the part, its mean in each of the part's rounds; before its first play, that play's."""
    found = {}
    for arm in dict.fromkeys(arms[first - 1 : last]):
        plays = [t for t in range(first, last + 1) if arms[t - 1] == arm]
        mean, path = Fraction(means[plays[0] - 1]), []
        for t in range(first, last + 1):
            if t in plays:
                mean = Fraction(means[t - 1])
            path.append(mean)
            if t in plays:
                mean = Fraction(next_means[t - 1])
        found[arm] = path
    return found


def accounts(arms, means, next_means, labels, top):
    """Of each part: label, first, last, regret, V, V_R, L, L_R, arms, arms never played before."""
    exact_means, exact_next = [Fraction(mean) for mean in means], [Fraction(mean) for mean in next_means]
    rows = []
    for label, first, last in parts(labels):
        regret = sum(Fraction(top) - mean for mean in exact_means[first - 1 : last])
        # The loop takes each change as a float; sums of changes are exact.
        total = rotting = Fraction(0)
        for t in range(max(first, 2), last + 1):
            fall = Fraction(means[t - 2] - next_means[t - 2])
            total += abs(fall)
            rotting += max(fall, 0)
        _, _, number, falling = measures(arms, exact_means, exact_next, first, last)
        here, before = set(arms[first - 1 : last]), set(arms[: first - 1])
        rows.append((label, first, last, regret, total, rotting, number, falling, len(here), len(here - before)))
    return rows


def decompositions(arms, means, next_means, labels, top, best, unplayed=None):
    """Of each part: regret, that of the best arm, that to the best arm, and the best arm."""
    rows = []
    for place, (_, first, last) in enumerate(parts(labels)):
        found = paths(arms, means, next_means, first, last)
        spare = Fraction(0 if unplayed is None else unplayed[place])
        arm = None
        if best == "initial":
            arm = max(found, key=lambda candidate: found[candidate][0])  # the first of equal ones
            path = found[arm]
            if spare > path[0]:
                arm, path = None, [spare] * len(path)
        else:
            path = [max(spare, *column) for column in zip(*found.values(), strict=True)]
        played = [Fraction(mean) for mean in means[first - 1 : last]]
        regret = sum(Fraction(top) - mean for mean in played)
        of_best = sum(Fraction(top) - mean for mean in path)
        to_best = sum(better - mean for better, mean in zip(path, played, strict=True))
        rows.append((regret, of_best, to_best, arm))
    return rows


def corruption_levels(arms, means, next_means, labels, reference):
    """The least alpha of each part: for each arm the best reference is searched among the middles of its means."""
    levels = []
    for _, first, last in parts(labels):
        worst = Fraction(0)
        for path in paths(arms, means, next_means, first, last).values():
            centres = [path[0]] if reference == "initial" else [(a + b) / 2 for a in path for b in path]
            worst = max(worst, min(max(abs(mean - centre) for mean in path) for centre in centres))
        levels.append(worst)
    return levels


def answers(shifts, restarts):
    """For each shift its restart or None, and the restarts that are no shift's."""
    found = {}
    for restart in restarts:
        pending = [shift for shift in shifts if shift <= restart]
        if pending and pending[-1] not in found:
            found[pending[-1]] = restart
    return [(shift, found.get(shift)) for shift in shifts], [r for r in restarts if r not in found.values()]
