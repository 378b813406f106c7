"""Forager, from the seven points of its description. Losses are 1 - reward.

Every arm is the list of its losses, each with the average loss before it, and every average, stake and impression is
computed anew from the lists. Averages and stakes are taken step by step, so that the last bits are those of the rule.
"""

import fractions
import functools
import itertools
import math

from manyarms.arithmetic import natural_log

from .dense import first_of_the_largest, shortened


def average(values):
    """With weights i (i + 1): the n-th value has the share n (n + 1) / (n (n + 1) (n + 2) / 3) = 3 / (n + 2)."""
    result = 0.0
    for n, value in enumerate(values, start=1):
        result += 3.0 / (n + 2.0) * (value - result)
    return result


def weight_of_all(n):
    """The sum of n weights when the newest is 1; the reciprocal of the share of the newest."""
    return 1.0 / (3.0 / (n + 2.0)) if n > 0 else 0.0


@functools.cache
def squared_weights(n):
    """The sum of the squares of n weights, when their sum is 1."""
    weights = [i * (i + 1) for i in range(1, n + 1)]
    return float(fractions.Fraction(sum(w * w for w in weights), sum(weights) ** 2))


def variance(losses):
    mean = average(losses)
    return max(average([x * x for x in losses]) - mean * mean, 0.0)


class Arm:
    def __init__(self, number, level):
        self.number = number
        self.level = level  # the average loss of all plays before it was drawn
        self.losses = []  # pairs: the loss, and the average loss of all plays before it
        self.bound = -math.inf  # as of its last play

    def impression(self, first_look):
        """The average of the first losses and, a sixth as many, of the average loss, which says how many are first."""
        result = self.level
        for n, (loss, level) in enumerate(self.losses, start=1):
            spread = level * (1.0 - level)
            first = max(first_look / spread, 1.0) if spread > 0.0 else 1.0
            if n <= first:
                result += (loss - result) / (n + first / 6.0)
        return result

    def stake(self, share):
        """It wins and loses this share of itself with a loss, and begins anew when it is below 1."""
        result = 1.0
        for loss, level in self.losses:
            result = max(result, 1.0) * (1.0 + share * (loss / level - 1.0))
        return result

    def evidence(self):
        return (self.stake(1 / 2) + self.stake(1 / 10) + self.stake(1 / 50)) / 3.0


class Forager:
    """``arm`` is the next one to play; ``told`` takes the reward of any that was ever asked for."""

    def __init__(self, keep, slack, first_look, false_alarms, wary):
        self.slack, self.first_look, self.false_alarms, self.wary = slack, first_look, false_alarms, wary
        self.losses = []  # of all rounds
        self.strikes = []  # the rounds of strike-outs
        self.share, self.target = 0.5, 1.0
        self.drawn, self.reckoning = 0, 8
        self.places = [None] * keep
        self.evicted = 0  # arms that had to go for others
        self.arm = self.fresh()

    def level(self):
        """The average loss, with one round of loss 1/2 beside those remembered."""
        remembered = weight_of_all(len(self.losses))
        return (remembered * average(self.losses) + 0.5) / (remembered + 1.0)

    def recent_strikes(self):
        t = len(self.losses)
        return sum(s * (s + 1) for s in self.strikes) / (t * (t + 1))

    def is_wary(self):
        return self.recent_strikes() * self.wary**2 >= 1.0

    def bounds(self):
        return [math.inf if arm is None else arm.bound for arm in self.places]

    def fresh(self):
        """In the first empty place, or in that of the arm with the largest bound."""
        bounds = self.bounds()
        where = first_of_the_largest([shortened(bound, len(bounds)) for bound in bounds])
        self.evicted += self.places[where] is not None
        self.places[where] = Arm(self.drawn, self.level())
        self.drawn += 1
        return self.places[where]

    def least(self, banned):
        """The place with the least bound but the banned one, compared without the last bits; the first of several."""
        bounds = self.bounds()
        allowed = [place for place, arm in enumerate(self.places) if arm is None or arm.number != banned]
        return allowed[first_of_the_largest([shortened(-bounds[place], len(bounds)) for place in allowed])]

    def bound_of(self, arm):
        t, n = len(self.losses), len(arm.losses)
        b = self.slack * natural_log(natural_log(max(t, 20.0)))
        losses = [loss for loss, _ in arm.losses]
        m, all_weights = average(losses), weight_of_all(n)
        # The variance of all losses counts as one more play.
        v = (variance(losses) * all_weights + variance(self.losses)) / (all_weights + 1.0)
        return max(m / max(b, 1.0), m - b * math.sqrt(v * squared_weights(n)))

    def best_share(self, level):
        """e / (e + 1), e Hill's estimate from the impressions up to the average loss, and one at 1/e of that."""
        seen = [arm.impression(self.first_look) for arm in self.places if arm is not None and arm.losses]
        logs = [1.0] + [natural_log(level / look) for look in seen if look <= level]
        total = functools.reduce(lambda one, other: one + other, logs)
        return len(logs) / (len(logs) + total)

    def told(self, number, reward):
        loss, before = 1.0 - reward, self.level()
        self.losses.append(loss)
        arm = next((arm for arm in self.places if arm is not None and arm.number == number), None)
        if arm is not None:
            arm.losses.append((loss, before))
            arm.bound = self.bound_of(arm)
            between = (weight_of_all(len(self.losses)) + 1.0) / (self.recent_strikes() + 1.0)
            if arm.evidence() > between / self.false_alarms:
                self.places[self.places.index(arm)] = None
                self.strikes.append(len(self.losses))
        level = self.level()
        if self.share * level < self.target or self.share * level * self.share > self.target:
            self.target = self.share * level
        place = self.least(banned=number if self.is_wary() else None)
        if self.bounds()[place] <= self.target:
            self.arm = self.places[place]
            return
        if self.drawn >= self.reckoning:  # with 8 arms, then with a fifth more each time; it holds from the next round
            self.share = self.best_share(level)
            self.reckoning = self.drawn + self.drawn // 5 + 1
        self.arm = self.fresh()


def forager(counts, **settings):
    """As the other twins: yields the arm and its probability, and takes the reward."""
    counts.blocks += 1
    twin = Forager(**settings)
    for _ in itertools.count():
        counts.arms = twin.drawn
        reward = yield twin.arm.number, 1.0
        twin.told(twin.arm.number, reward)
