"""Audibert, Munos & Szepesvári (2009): UCB-V, with log or, from Wang, Audibert & Munos (2008), 2 log(10 log)."""

import functools
import math

from manyarms.arithmetic import natural_log

from .dense import Dense, Shortened
from .twins import twin_of


class Anytime(Dense):
    """E_t of the present round t, for all arms."""

    def __init__(self, arms, horizon, log_horizon, exploration, width):
        super().__init__(arms, horizon, log_horizon)
        self.squares = [0.0] * arms
        self.exploration = exploration
        self.width = width

    def clock(self):
        return self.learned + 1

    def indices(self):
        log = natural_log(max(self.clock(), 2))
        E = self.width * {"log": log, "loglog": 2.0 * natural_log(10.0 * log)}[self.exploration]  # noqa: N806
        found = []
        for n, total, squares in zip(self.plays, self.sums, self.squares, strict=True):
            if n == 0:
                found.append(math.inf)
                continue
            V = max(squares / n - (total / n) ** 2, 0.0)  # noqa: N806
            found.append(total / n + math.sqrt(2.0 * V * E / n) + 3.0 * E / n)
        return found

    def learn(self, place, reward):
        super().learn(place, reward)
        self.squares[place] += reward**2

    def settle(self, place, presumed, reward):
        super().settle(place, presumed, reward)
        self.squares[place] += reward**2 - presumed**2

    def lose(self, place, presumed):
        super().lose(place, presumed)
        self.squares[place] = self.squares[place] - presumed**2 if self.plays[place] > 0 else 0.0


class WithHorizon(Anytime, Shortened):
    """E_T of the last round, in all rounds."""

    def clock(self):
        return self.horizon

    pick = Shortened.pick


@twin_of("UCBV")
def new_ucb_v(spec, setting):
    twin = Anytime if spec.anytime else WithHorizon
    return functools.partial(twin, exploration=spec.exploration, width=spec.width)
