"""Gupta, Koren & Talwar (COLT 2019), Algorithm 1, BARBAR. Lambda may be scaled; delta is 1 / T."""

import functools
import math

from manyarms.arithmetic import binary_log, natural_log

from .drawn import Drawn
from .twins import twin_of


class BARBAR(Drawn):
    def __init__(self, arms, horizon, log_horizon, key, scale):
        super().__init__(arms, horizon, log_horizon, key)
        T = max(horizon, 2)  # noqa: N806
        self.lam = scale * 1024.0 * natural_log(8.0 * arms * binary_log(float(T)) * T)
        self.Delta = [1.0] * arms
        self.m = 0
        self.begin_phase()

    def begin_phase(self):
        self.m += 1
        self.n = [self.lam / (D * D) for D in self.Delta]
        self.N = 0.0
        for n in self.n:
            self.N += n
        self.heard = []  # (arm, reward) of this phase

    def chances(self):
        return [n / self.N for n in self.n]

    def estimate(self, place, reward, chance):
        # An answer from an earlier phase counts by how much likelier its arm has become.
        self.heard.append((place, reward * (self.chances()[place] / chance)))
        if len(self.heard) >= math.ceil(self.N):
            self.end_phase()

    def end_phase(self):
        sums = [0.0] * self.arms
        for place, reward in self.heard:
            sums[place] += reward
        r = [total / n for total, n in zip(sums, self.n, strict=True)]  # by the planned n_i
        best = max(mean - D / 16.0 for mean, D in zip(r, self.Delta, strict=True))
        least = max(2.0**-self.m, 2.0**-30)
        self.Delta = [max(least, best - mean) for mean in r]
        self.begin_phase()


@twin_of("BARBAR")
def new_barbar(spec, setting):
    return functools.partial(BARBAR, key=setting.key, scale=spec.scale)
