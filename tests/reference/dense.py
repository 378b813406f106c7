"""What the index bases share: play every arm once, then the first arm with the largest index."""

import math


class Dense:
    def __init__(self, arms, horizon, log_horizon):
        self.horizon = horizon
        self.log_horizon = log_horizon
        self.sums = [0.0] * arms
        self.plays = [0] * arms

    def indices(self):
        return [
            math.inf if plays == 0 else self.index(total, plays)
            for total, plays in zip(self.sums, self.plays, strict=True)
        ]

    def pick(self):
        indices = self.indices()
        return indices.index(max(indices))  # ties go to the lower place

    def learn(self, place, reward):
        self.sums[place] += reward
        self.plays[place] += 1
