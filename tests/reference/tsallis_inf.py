"""Zimmert & Seldin (JMLR 2021), Algorithm 1 for alpha = 1/2.

That the weights sum to 1 defines x, and is checked in every round. Which of the floats next to it is taken decides the
last bits of all probabilities: that one is the fast code's.
"""

import functools
import math

import numpy as np

from manyarms.bases.tsallis_inf import normaliser_for

from .drawn import Drawn
from .twins import twin_of


def squared(number):
    """To the last bit, which Python's power may miss."""
    return number * number


class TsallisINF(Drawn):
    def __init__(self, arms, horizon, log_horizon, key, estimator):
        super().__init__(arms, horizon, log_horizon, key)
        self.estimator = estimator
        self.L = [0.0] * arms
        self.t = 1
        self.w = self.weights()

    def eta(self):
        return {"IW": 2.0, "RV": 4.0}[self.estimator] / math.sqrt(self.t)

    def weights(self):
        eta = self.eta()
        x = normaliser_for(np.array(self.L), self.arms, eta)
        assert x < min(self.L)
        w = [4.0 / squared(eta * (L - x)) for L in self.L]
        assert math.isclose(math.fsum(w), 1.0, rel_tol=1e-12)
        return [min(one, 1.0) for one in w]

    def chances(self):
        return self.w

    def estimate(self, place, reward, chance):
        loss = 1.0 - reward
        for i in range(self.arms):
            B = 0.5 if self.estimator == "RV" and self.w[i] >= squared(self.eta()) else 0.0  # noqa: N806
            self.L[i] += (loss - B) / chance + B if i == place else B
        self.t += 1
        self.w = self.weights()


@twin_of("TsallisINF")
def new_tsallis_inf(spec, setting):
    return functools.partial(TsallisINF, key=setting.key, estimator=spec.estimator)
