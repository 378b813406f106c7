"""Sees the means: plays the best of the arms it keeps, and looks at one fresh arm after each round."""

import functools
import itertools

from .dense import first_of_the_largest, shortened
from .twins import twin_of


def oracle(counts, world, *, keep):
    """``world.mean(arm)`` is an arm's present mean, whether or not it was played.

    Which of two means is the larger is told without their last bits; whether a fresh arm is better
    than the worst that is kept, with all of them.
    """
    counts.blocks = 1
    kept = [0]  # the first arm is played unseen
    for fresh in itertools.count(1):
        best = first_of_the_largest([shortened(world.mean(arm), keep) for arm in kept])
        while not (yield kept[best], 1.0).is_round:
            pass  # answers tell it nothing
        counts.arms = fresh + 1
        if len(kept) < keep:
            kept.append(fresh)
            continue
        worst = first_of_the_largest([shortened(-world.mean(arm), keep) for arm in kept])
        if world.mean(fresh) > world.mean(kept[worst]):
            kept[worst] = fresh


@twin_of("Oracle")
def new_oracle(spec, setting):
    return functools.partial(oracle, world=setting.world, keep=min(spec.keep, setting.rounds + 1))
