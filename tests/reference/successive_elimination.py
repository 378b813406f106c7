"""Even-Dar, Mannor & Mansour (JMLR 2006): successive elimination with a fixed horizon's radius."""

import math

from manyarms.arithmetic import natural_log

from .dense import Dense
from .twins import twin_of


class SuccessiveElimination(Dense):
    def __init__(self, arms, horizon, log_horizon):
        super().__init__(arms, horizon, log_horizon)
        self.log_term = natural_log(2.0 * arms * horizon**2)
        self.active = list(range(arms))
        self.phase = list(self.active)  # who is still to be played in this phase

    def pick(self, t):
        return self.phase[0]

    def learn(self, place, reward):
        super().learn(place, reward)
        self.phase.pop(0)  # a play takes a turn, whoever's it was: a late answer may come from before
        if not self.phase:
            # Unless answers were lost, every active arm has been played equally often. Drop those whose mean lies two
            # radii or more below the best, radius sqrt(log(2 K T^2) / (2 n)).
            means = {a: self.sums[a] / self.plays[a] for a in self.active if self.plays[a] > 0}
            best = max(means.values(), default=-math.inf)
            self.active = [
                a
                for a in self.active
                if a not in means or best - means[a] < 2.0 * math.sqrt(self.log_term / (2.0 * self.plays[a]))
            ]
            self.phase = list(self.active)


@twin_of("SuccessiveElimination")
def new_successive_elimination(spec, setting):
    return SuccessiveElimination
