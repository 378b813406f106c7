"""A fresh arm every round."""

import itertools


def uniform_play(counts):
    counts.blocks = 1
    for arm in itertools.count():
        yield arm, 1.0
        counts.arms += 1
