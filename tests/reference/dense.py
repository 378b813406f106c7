"""What the index bases share: play every arm once, then the first arm with the largest index."""

import math
import struct
from fractions import Fraction


def leaves_of(slots):
    """The least power of four that is not below ``slots``."""
    leaves = 1
    while leaves < slots:
        leaves *= 4
    return leaves


def shortened(index, slots):
    """An index without its last log2(leaves) bits: a whole number that is ordered like what remains.

    A float is a sign and a size, and the bits of the size, read as a whole number, grow with it. All
    numbers below zero come before all others, and the float -0.0 is one of them.
    """
    word = int.from_bytes(struct.pack(">d", index))
    sign, size = divmod(word, 2**63)
    size //= leaves_of(slots)
    return -1 - size if sign else size


def first_of_the_largest(values):
    return values.index(max(values))


class Dense:
    def __init__(self, arms, horizon, log_horizon):
        self.horizon = horizon
        self.log_horizon = log_horizon
        self.sums = [0.0] * arms
        self.plays = [0] * arms
        self.learned = 0  # plays, lost ones too

    def indices(self):
        return [
            math.inf if plays == 0 else self.index(total, plays)
            for total, plays in zip(self.sums, self.plays, strict=True)
        ]

    def pick(self, t):
        return first_of_the_largest(self.indices())  # ties go to the lower place

    def probability(self, place):
        """With which the place was picked; where it is not known, 1 is stated."""
        return 1.0

    def learn(self, place, reward):
        self.sums[place] += self.counted(reward)
        self.plays[place] += 1
        self.learned += 1

    def counted(self, reward):
        """A reward as it is counted."""
        return reward

    def expected(self, place):
        """Of an open ask: the mean reward, rounded down to 20 bits; of an arm that was never played, 0."""
        if self.plays[place] == 0:
            return 0.0
        return math.floor(Fraction(self.sums[place] / self.plays[place]) * 2**20) / 2**20

    def settle(self, place, presumed, reward):
        """It paid that instead."""
        self.sums[place] += self.counted(reward) - self.counted(presumed)

    def lose(self, place, presumed):
        """As if there had been no play."""
        self.plays[place] -= 1
        self.sums[place] = self.sums[place] - self.counted(presumed) if self.plays[place] > 0 else 0.0


class Shortened(Dense):
    """Compares its indices without their last bits."""

    def pick(self, t):
        return first_of_the_largest([shortened(index, len(self.plays)) for index in self.indices()])
