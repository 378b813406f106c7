"""Epsilon-greedy: throw a coin for whether to throw a die."""

import functools

from .greedy import Greedy
from .squares import bits_at, splitmix64, uniform
from .twins import twin_of


class EpsilonGreedy(Greedy):
    def __init__(self, arms, horizon, log_horizon, epsilon, key):
        super().__init__(arms, horizon, log_horizon)
        self.epsilon = epsilon
        self.key = key

    def pick(self, t):
        bits = bits_at(self.key, t, 0)
        if 0 not in self.plays and uniform(bits) < self.epsilon:
            return int(uniform(splitmix64(bits, 1)) * len(self.plays))
        return super().pick(t)

    def probability(self, place):
        if 0 in self.plays:
            return 1.0
        return self.epsilon / len(self.plays) + (1.0 - self.epsilon if place == super().pick(0) else 0.0)


@twin_of("EpsilonGreedy")
def new_epsilon_greedy(spec, setting):
    return functools.partial(EpsilonGreedy, epsilon=spec.epsilon, key=setting.key)
