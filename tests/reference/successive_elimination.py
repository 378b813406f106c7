"""Even-Dar, Mannor & Mansour (JMLR 2006): successive elimination with a fixed horizon's radius."""

import math

from manyarms.arithmetic import natural_log

from .twins import twin_of


class SuccessiveElimination:
    def __init__(self, arms, horizon, log_horizon):
        self.log_term = natural_log(2.0 * arms * horizon**2)
        self.active = list(range(arms))
        self.phase = list(self.active)  # who is still to be played in this phase
        self.sums = [0.0] * arms
        self.plays = [0] * arms

    def pick(self):
        return self.phase[0]

    def learn(self, place, reward):
        self.sums[place] += reward
        self.plays[place] += 1
        self.phase.remove(place)
        if not self.phase:
            # Every active arm has been played equally often. Drop those whose mean lies two radii
            # or more below the best, radius sqrt(log(2 K T^2) / (2 n)).
            means = {a: self.sums[a] / self.plays[a] for a in self.active}
            best = max(means.values())
            self.active = [
                a for a in self.active if best - means[a] < 2.0 * math.sqrt(self.log_term / (2.0 * self.plays[a]))
            ]
            self.phase = list(self.active)


@twin_of("SuccessiveElimination")
def new_successive_elimination(spec, setting):
    return SuccessiveElimination
