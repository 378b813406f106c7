"""Exp3.S of Auer, Cesa-Bianchi, Freund & Schapire (2002), and Rexp3 of Besbes, Gur & Zeevi (2014).

For a few hundred rounds: weights are not kept from overflowing.
"""

import functools
import math

from manyarms.arithmetic import exponential, natural_log, power

from .drawn import Drawn
from .twins import twin_of


def total_of(weights):
    """Their sum, one after the other; Python's own takes care of what rounding loses."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


class Exp3(Drawn):
    gamma = alpha = 0.0

    def begin(self):
        self.w = [1.0] * self.arms

    def chances(self):
        total = total_of(self.w)
        p = [(1.0 - self.gamma) * w / total + self.gamma / self.arms for w in self.w]
        return [min(one, 1.0) for one in p]

    def estimate(self, place, reward, chance):
        W = total_of(self.w)  # noqa: N806
        self.w[place] *= exponential(self.gamma * (reward / chance) / self.arms)
        self.w = [w + math.e * self.alpha / self.arms * W for w in self.w]


class Exp3S(Exp3):
    def __init__(self, arms, horizon, log_horizon, key, spec):
        super().__init__(arms, horizon, log_horizon, key)
        self.begin()
        K, T = arms, horizon  # noqa: N806
        self.alpha = 1.0 / T if spec.share is None else spec.share
        if spec.mixing is not None:
            self.gamma = spec.mixing
        elif spec.changes is None:
            self.gamma = min(1.0, math.sqrt(K * natural_log(K * T) / T))
        else:
            S = spec.changes + 1  # noqa: N806
            self.gamma = min(1.0, math.sqrt(K * (S * natural_log(K * T) + math.e) / ((math.e - 1.0) * T)))


class Rexp3(Exp3):
    def __init__(self, arms, horizon, log_horizon, key, spec):
        super().__init__(arms, horizon, log_horizon, key)
        self.begin()
        K, T = arms, horizon  # noqa: N806
        self.batch = spec.batch
        if self.batch is None:
            by_arms = power(K * natural_log(K), 1.0 / 3.0)
            self.batch = max(math.ceil(by_arms * power(T / spec.variation, 2.0 / 3.0)), 1)
        self.gamma = min(1.0, math.sqrt(K * natural_log(K) / ((math.e - 1.0) * self.batch)))
        self.in_batch = 0

    def estimate(self, place, reward, chance):
        super().estimate(place, reward, chance)
        self.in_batch += 1
        if self.in_batch == self.batch:
            self.begin()
            self.in_batch = 0


@twin_of("Exp3S")
def new_exp3_s(spec, setting):
    return functools.partial(Exp3S, key=setting.key, spec=spec)


@twin_of("Rexp3")
def new_rexp3(spec, setting):
    return functools.partial(Rexp3, key=setting.key, spec=spec)
