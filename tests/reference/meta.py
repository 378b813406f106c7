"""Suk & Kpotufe (COLT 2022), Algorithms 1 and 2: META, with all estimates of the episode in a list.

Stretches of rounds are those of the fast one: 1, 2, 4, … rounds that end at multiples of half their length.
"""

import functools
import math

from manyarms.arithmetic import binary_log, natural_log

from .squares import bits_at, uniform
from .twins import twin_of
from .windows import in_grains


class META:
    chance = 1.0
    asked = 0

    def __init__(self, arms, horizon, log_horizon, key, threshold):
        self.K = arms
        self.T = max(horizon, 2)
        self.key = key
        self.threshold = threshold
        self.plays = [0] * arms
        self.begin_episode()

    def begin_episode(self):
        self.estimates = []  # of every round of the episode, of every arm
        # Base(s, m): its first round, its last round, its arms. The first of them is the episode itself.
        self.bases = [(1, math.inf, set(range(self.K)))]

    def in_control(self):
        s = len(self.estimates) + 1
        return [arms for first, last, arms in self.bases if last >= s][-1]

    def pick(self, t):
        good = sorted(self.in_control())
        return good[int(uniform(bits_at(self.key, t, 0)) * len(good))]

    def probability(self, place):
        return 1.0 / len(self.in_control())

    def expected(self, place):
        return math.nan

    def learn(self, place, reward):
        if math.isnan(reward):
            return
        self.plays[place] += 1
        seen = [0.0] * self.K
        seen[place] = in_grains(min(max(reward, 0.0), 1.0) / self.chance)
        self.estimates.append(seen)
        self.evict()
        if not self.bases[0][2]:
            self.begin_episode()
        else:
            self.schedule(uniform(bits_at(self.key, self.asked, 2)))

    def evict(self):
        t = len(self.estimates)
        for k in range(21):
            n = 2**k
            if n <= t and t % max(n // 2, 1) == 0:
                sums = [sum(estimates[a] for estimates in self.estimates[t - n :]) for a in range(self.K)]
                limit = self.threshold * natural_log(self.T) * math.sqrt(max(self.K * (n - 1), self.K**2))
                for first, _, arms in self.bases:
                    if first <= t - n + 1:
                        arms.difference_update(a for a in range(self.K) if max(sums) - sums[a] > limit)

    def schedule(self, u):
        """Of all m for which a coin says so, the largest: it is at least m with probability 1 - prod (1 - p)."""
        s = len(self.estimates) + 1
        none = 1.0
        for rank in range(min(math.ceil(binary_log(self.T)), 40), 0, -1):
            m = 2**rank
            none *= 1.0 - 1.0 / math.sqrt(m * (s - 1))
            if u < 1.0 - none:
                self.bases.append((s, s + m - 1, set(range(self.K))))
                return

    def settle(self, place, presumed, reward):
        self.learn(place, reward)

    def lose(self, place, presumed):
        pass


@twin_of("META")
def new_meta(spec, setting):
    return functools.partial(META, key=setting.key, threshold=spec.threshold)
