"""What the bases share that draw their picks and weigh rewards by 1 / probability."""

import math

from .squares import bits_at, uniform


class Drawn:
    """``chances()`` says with what probability each place is drawn, ``estimate`` what is made of a reward."""

    chance = 1.0  # of the ask that is heard of …
    asked = 0  # … and its round

    def __init__(self, arms, horizon, log_horizon, key):
        self.arms = arms
        self.horizon = horizon
        self.key = key
        self.plays = [0] * arms

    def pick(self, t):
        """Walk through the places until u is used up."""
        u = uniform(bits_at(self.key, t, 0))
        for place, chance in enumerate(self.chances()):
            if u < chance:
                return place
            u -= chance
        return self.arms - 1

    def probability(self, place):
        return self.chances()[place]

    def expected(self, place):
        """Nothing is presumed of an open ask."""
        return math.nan

    def learn(self, place, reward):
        if not math.isnan(reward):
            self.plays[place] += 1
            self.estimate(place, min(max(reward, 0.0), 1.0), self.chance)

    def settle(self, place, presumed, reward):
        """So its answer is learned when it comes, …"""
        self.learn(place, reward)

    def lose(self, place, presumed):
        """… and if none comes, nothing is."""
