"""Lykouris, Mirrokni & Paes Leme (STOC 2018), Algorithm 2: the multi-layer active arm elimination race.

Every layer has its own set of active arms, counts and sums. The logarithm in the widths may be scaled; delta is 1 / T.
"""

import functools
import math

from manyarms.arithmetic import binary_log, natural_log

from .drawn import Drawn
from .squares import bits_at, uniform
from .twins import twin_of


class MultiLayerRace(Drawn):
    def __init__(self, arms, horizon, log_horizon, key, scale):
        super().__init__(arms, horizon, log_horizon, key)
        T = max(horizon, 2)  # noqa: N806
        self.layers = range(1, math.ceil(math.log2(T)) + 1)
        self.log_term = scale * natural_log(4.0 * arms * T * binary_log(float(T)) * T)
        self.active = {layer: set(range(arms)) for layer in self.layers}
        self.n = {layer: [0] * arms for layer in self.layers}
        self.sums = {layer: [0.0] * arms for layer in self.layers}

    def layer_of(self, t):
        """Layer l with probability 2^-l, and with what remains layer 1: [1/2, 1) is layer 1, [1/4, 1/2) layer 2, …"""
        u = uniform(bits_at(self.key, t, 0))
        return next((layer for layer in self.layers if u >= 2.0**-layer), 1)

    def arm_of(self, layer):
        """The least played arm of the layer, or of the first one above that has an arm."""
        layer = next(one for one in self.layers if one >= layer and self.active[one])
        return min(sorted(self.active[layer]), key=lambda a: self.n[layer][a])

    def pick(self, t):
        return self.arm_of(self.layer_of(t))

    def chances(self):
        found = [0.0] * self.arms
        for layer in self.layers:
            found[self.arm_of(layer)] += 2.0**-layer + (2.0 ** -self.layers[-1] if layer == 1 else 0.0)
        return found

    def estimate(self, place, reward, chance):
        layer = self.layer_of(self.asked)
        if place not in self.active[layer]:
            return
        self.n[layer][place] += 1
        self.sums[layer][place] += reward
        while dropped := self.one_that_is_worse(layer):
            for below in range(1, layer + 1):
                self.active[below].discard(dropped[0])

    def one_that_is_worse(self, layer):
        """[a'] if some a of the layer has mean(a) - mean(a') > wd(a) + wd(a'), here as mean - wd > mean' + wd'."""
        for worse in sorted(self.active[layer]):
            for better in self.active[layer]:
                if self.bound(layer, better, -1) > self.bound(layer, worse, 1):
                    return [worse]
        return []

    def bound(self, layer, a, sign):
        n = self.n[layer][a]
        if n == 0:
            return sign * math.inf
        return self.sums[layer][a] / n + sign * (math.sqrt(self.log_term / n) + self.log_term / n)


@twin_of("MultiLayerRace")
def new_multi_layer_race(spec, setting):
    return functools.partial(MultiLayerRace, key=setting.key, scale=spec.scale)
