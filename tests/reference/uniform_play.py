"""A fresh arm every round."""

import itertools

from .twins import twin_of


def uniform_play(counts):
    counts.blocks = 1
    for arm in itertools.count():
        yield arm, 1.0
        counts.arms += 1


@twin_of("UniformPlay")
def new_uniform_play(spec, setting):
    return uniform_play
