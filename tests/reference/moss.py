"""Audibert & Bubeck (COLT 2009): MOSS."""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Shortened
from .twins import twin_of


class MOSS(Shortened):
    def __init__(self, arms, horizon, log_horizon, width):
        super().__init__(arms, horizon, log_horizon)
        self.width = width

    def index(self, total, plays):
        # X_i + sqrt(max(log(n / (K T_i)), 0) / T_i); infinite where T_i = 0.
        log = natural_log(self.horizon / len(self.plays) / plays)
        return total / plays + math.sqrt(self.width * max(log, 0.0) / plays)


@twin_of("MOSS")
def new_moss(spec, setting):
    return functools.partial(MOSS, width=spec.width)
