"""Wei & Luo (COLT 2021): MALG and MASTER with UCB1 inside; every copy keeps all its rewards."""

import functools
import math

from manyarms.arithmetic import binary_log, natural_log

from .dense import first_of_the_largest
from .squares import bits_at, splitmix64, uniform
from .twins import twin_of


class Copy:
    """UCB1 on the rounds s … e of a block."""

    def __init__(self, arms, s, e, level):
        self.s = s
        self.e = e
        self.level = level
        self.rewards = [[] for _ in range(arms)]

    def indices(self):
        return [total(r) / len(r) + math.sqrt(self.level / len(r)) if r else math.inf for r in self.rewards]


def total(values):
    """One after the other."""
    result = 0.0
    for value in values:
        result += value
    return result


class MASTER:
    asked = 0

    def __init__(self, arms, horizon, log_horizon, key, scale, delta, width):
        self.K = arms
        self.T = max(horizon, 2)
        self.key = key
        log_delta = -natural_log(self.T) if delta is None else natural_log(delta)
        self.factor = scale * 6.0 * (binary_log(self.T) + 1.0) * (natural_log(self.T) - log_delta)
        self.level = width * natural_log(self.T)
        self.plays = [0] * arms
        self.begin_block(0)
        self.begin_copies(0)

    def rho(self, t):
        return math.sqrt(self.K / t) + self.K / t

    def radius(self, t):
        return self.factor * self.rho(t)

    def begin_block(self, n):
        self.n = n
        self.copies = []
        self.f = []  # values of the rounds so far
        self.R = []  # rewards of the rounds so far

    def begin_copies(self, asked):
        t = len(self.R)
        for m in range(self.n, -1, -1):
            u = uniform(splitmix64(bits_at(self.key, asked, 2), m + 1))
            if t % 2**m == 0 and u < self.rho(2**self.n) / self.rho(2**m):
                self.copies.append(Copy(self.K, t + 1, t + 2**m, self.level))

    def in_control(self):
        t = len(self.R) + 1
        return min((copy for copy in self.copies if copy.e >= t), key=lambda copy: copy.e - copy.s)

    def pick(self, t):
        return first_of_the_largest(self.in_control().indices())

    def probability(self, place):
        return 1.0

    def expected(self, place):
        return math.nan

    def learn(self, place, reward):
        if math.isnan(reward):
            return
        self.plays[place] += 1
        reward = min(max(reward, 0.0), 1.0)
        copy = self.in_control()
        self.f.append(min(max(copy.indices()), 1.0))
        self.R.append(reward)
        copy.rewards[place].append(reward)
        if self.test_1() or self.test_2():
            self.begin_block(0)
        elif len(self.R) == 2**self.n:
            self.begin_block(min(self.n + 1, 20))
        self.begin_copies(self.asked)

    def test_1(self):
        t = len(self.R)
        return any(
            total(self.R[copy.s - 1 : t]) / (t - copy.s + 1) >= min(self.f) + 9.0 * self.radius(t - copy.s + 1)
            for copy in self.copies
            if copy.e == t
        )

    def test_2(self):
        t = len(self.R)
        return total(f - r for f, r in zip(self.f, self.R, strict=True)) / t >= 3.0 * self.radius(t)

    def settle(self, place, presumed, reward):
        self.learn(place, reward)

    def lose(self, place, presumed):
        pass


@twin_of("MASTER")
def new_master(spec, setting):
    return functools.partial(MASTER, key=setting.key, scale=spec.scale, delta=spec.delta, width=spec.width)
