"""V, V_R, L and L_R, straight from the definitions (Suk & Kim, Section 2.2), and the parts of a run, by brute force.

Rounds count from 1. A run is three lists: the arm of each round, its mean, and its mean at the next round.
"""


def changes(arms, means, next_means, until="round"):
    """The fall of each round's arm after its play: (round at which it counts, fall)."""
    falls = []
    for t, (arm, mean, after) in enumerate(zip(arms, means, next_means, strict=True), start=1):
        later = [s for s in range(t + 1, len(arms) + 1) if arms[s - 1] == arm]
        if until == "play" and later:
            after = means[later[0] - 1]
        falls.append((t + 1, mean - after))
    return falls


def measures(arms, means, next_means, first, last, until="round"):
    """V, V_R, L, L_R of the changes that count in rounds first, …, last; summed in the order of rounds."""
    total, rotting, number, falling = 0 * means[0], 0 * means[0], 0, 0
    for t, fall in changes(arms, means, next_means, until):
        if max(first, 2) <= t <= last:
            total += abs(fall)
            rotting += max(fall, 0)
            number += fall != 0
            falling += fall > 0
    return total, rotting, number, falling
