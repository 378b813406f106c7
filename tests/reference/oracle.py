"""Sees the means: plays the best of the arms it keeps, and looks at one fresh arm after each round."""

import itertools


def oracle(counts, world, *, keep):
    """``world.mean(arm)`` is an arm's present mean, whether or not it was played."""
    counts.blocks = 1
    kept = [0]  # the first arm is played unseen
    for fresh in itertools.count(1):
        means = [world.mean(arm) for arm in kept]
        yield kept[means.index(max(means))], 1.0
        counts.arms = fresh + 1
        if len(kept) < keep:
            kept.append(fresh)
            continue
        means = [world.mean(arm) for arm in kept]
        if world.mean(fresh) > min(means):
            kept[means.index(min(means))] = fresh
