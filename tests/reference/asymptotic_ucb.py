"""Lattimore & Szepesvári, "Bandit Algorithms", Chapter 8: asymptotically optimal UCB."""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Dense
from .twins import twin_of


class AsymptoticUCB(Dense):
    def __init__(self, arms, horizon, log_horizon, sigma):
        super().__init__(arms, horizon, log_horizon)
        self.sigma = sigma

    def indices(self):
        # f(t) = 1 + t log(t)^2, t the round about to be played: the same for all arms.
        t = self.learned + 1
        self.log_f = natural_log(1.0 + t * natural_log(t) * natural_log(t))
        return super().indices()

    def index(self, total, plays):
        return total / plays + self.sigma * math.sqrt(2.0 * self.log_f / plays)


@twin_of("AsymptoticUCB")
def new_asymptotic_ucb(spec, setting):
    return functools.partial(AsymptoticUCB, sigma=spec.sigma)
