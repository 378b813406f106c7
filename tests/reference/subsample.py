"""Bayati, Hamidi, Johari & Khosravi (NeurIPS 2020): draw K arms once, run a base on them.

SSUCB is this with the asymptotically optimal UCB, SS-Greedy with the greedy base. Without a
horizon: blocks of 2, 4, 8, … rounds, each with a fresh subsample of the size that fits.
"""

import itertools

from manyarms.arithmetic import natural_log

from .sizes import subsample_size


def subsample(counts, new_base, *, beta, arms=None, horizon=None, published=False):
    """``arms`` is K in place of the rule; ``horizon`` is None when unknown."""
    for m in itertools.count(1):
        length = 2**m if horizon is None else horizon
        size = subsample_size(length, beta, published) if arms is None else min(arms, length)
        drawn = list(range(counts.arms, counts.arms + size))
        counts.arms += size
        counts.blocks += 1
        base = new_base(size, length, natural_log(max(length, 2)))
        # A known horizon that has passed changes nothing: the only block goes on.
        for _ in range(length) if horizon is None else itertools.count():
            place = base.pick()
            reward = yield drawn[place], 1.0
            base.learn(place, reward)
