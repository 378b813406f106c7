"""Garivier & Cappé (COLT 2011): KL-UCB, with log T in place of log t. Its index by bisection, to the last bit."""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Shortened
from .twins import twin_of


def kl(p, gap):
    """d(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)) for q = 1 - gap, with 0 log 0 = 0."""
    first = 0.0 if p == 0.0 else p * natural_log(p / (1.0 - gap))
    second = 0.0 if p == 1.0 else (1.0 - p) * natural_log((1.0 - p) / gap)
    return first + second


@functools.cache  # the twin solves for every arm in every round
def least_gap(p, bound):
    """1 - max{q in [p, 1] : d(p, q) <= bound}; below 1e-300 it counts as 0."""
    low, high = 1e-300, 1.0 - p
    if p == 1.0 or kl(p, low) <= bound:
        return 0.0
    while True:
        gap = math.sqrt(low) * math.sqrt(high)
        if not low < gap < high:
            return high
        if kl(p, gap) <= bound:
            high = gap
        else:
            low = gap


class KLUCB(Shortened):
    def __init__(self, arms, horizon, log_horizon, width):
        super().__init__(arms, horizon, log_horizon)
        self.width = width

    def index(self, total, plays):
        # The argmax of q is that of q - 1 = -gap, which has more digits where q is close to 1.
        mean = min(max(total / plays, 0.0), 1.0)
        return -least_gap(mean, self.width * natural_log(max(self.horizon, 2)) / plays)


@twin_of("KLUCB")
def new_kl_ucb(spec, setting):
    return functools.partial(KLUCB, width=spec.width)
