"""Suk & Kim, Algorithm 3: the horizon form of UCB."""

import functools
import math

from .dense import Shortened
from .twins import twin_of


class UCB(Shortened):
    def __init__(self, arms, horizon, log_horizon, width):
        super().__init__(arms, horizon, log_horizon)
        self.width = width

    def index(self, total, plays):
        # Line 4: (1 / N) sum of rewards + sqrt(2 log T / N); infinite where N = 0.
        return total / plays + math.sqrt(self.width * self.log_horizon / plays)


@twin_of("UCB")
def new_ucb(spec, setting):
    return functools.partial(UCB, width=spec.width)
