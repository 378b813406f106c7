"""Any base, thrown away and made anew in the rounds that were told."""

import functools
import math

from .twins import new_twin, twin_of


class RestartAt:
    chance = 1.0
    asked = 0

    def __init__(self, arms, horizon, log_horizon, new_base, rounds):
        self.new_base = functools.partial(new_base, arms, horizon, log_horizon)
        self.rounds = rounds
        self.base = self.new_base()
        self.episode = 0
        self.plays = [0] * arms

    def episode_of(self, t):
        return sum(change <= t for change in self.rounds)

    def reach(self, t):
        if self.episode_of(t) > self.episode:
            self.base = self.new_base()
            self.episode = self.episode_of(t)

    def pick(self, t):
        return self.base.pick(t)

    def probability(self, place):
        return self.base.probability(place)

    def expected(self, place):
        return math.nan

    def learn(self, place, reward):
        if math.isnan(reward):
            return
        self.plays[place] += 1
        if self.episode_of(self.asked) >= self.episode:
            self.reach(self.asked)
            self.base.chance, self.base.asked = self.chance, self.asked
            self.base.learn(place, reward)
            self.reach(self.asked + 1)

    def settle(self, place, presumed, reward):
        self.learn(place, reward)

    def lose(self, place, presumed):
        pass


@twin_of("RestartAt")
def new_restart_at(spec, setting):
    return functools.partial(RestartAt, new_base=new_twin(spec.base, setting), rounds=spec.rounds)
