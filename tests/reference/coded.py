"""Indices as public code has them: Bayati et al. 2020, and Suk & Kim, June 2025 (also Kim et al. 2022 and 2024)."""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Dense, first_of_the_largest, shortened
from .twins import twin_of
from .windows import in_grains


class CodedUCB(Dense):
    def __init__(self, arms, horizon, log_horizon, sigma):
        super().__init__(arms, horizon, log_horizon)
        self.sigma = sigma

    def index(self, total, plays):
        t = self.learned + 1
        f = 1.0 + 2.0 * t * natural_log(float(t))  # log(t^2) = 2 log t
        return total / plays + self.sigma * math.sqrt(2.0 * natural_log(f)) * (1.0 / math.sqrt(plays))


class StaleUCB(Dense):
    def __init__(self, arms, horizon, log_horizon, sigma, window):
        super().__init__(arms, horizon, log_horizon)
        self.sigma, self.window = sigma, window
        self.values = ["untried"] * arms  # the index of each arm when it was last played
        self.history = []  # (place, reward) of every round

    def pick(self, t):
        if "undefined" in self.values:  # not a number: numpy's argmax finds those first
            return self.values.index("undefined")
        if "untried" in self.values:
            return self.values.index("untried")
        return first_of_the_largest([shortened(value, len(self.values)) for value in self.values])

    def learn(self, place, reward):
        super().learn(place, reward)
        t = self.learned
        plays, total = self.plays[place], self.sums[place]
        if self.window is not None:
            before = [paid for where, paid in self.history[-self.window :] if where == place]
            plays, total = len(before), sum(before)
        self.history.append((place, in_grains(reward)))
        if plays == 0:
            self.values[place] = "undefined"
        else:
            log_f = natural_log(1.0 + t * natural_log(float(t)) * natural_log(float(t)))
            self.values[place] = total / plays + self.sigma * math.sqrt(2.0 * log_f / plays)


@twin_of("CodedUCB")
def new_coded_ucb(spec, setting):
    return functools.partial(CodedUCB, sigma=spec.sigma)


@twin_of("StaleUCB")
def new_stale_ucb(spec, setting):
    return functools.partial(StaleUCB, sigma=spec.sigma, window=spec.window)
