"""What the index bases share: play every arm once, then the first arm with the largest index."""

import math
import struct


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

    def indices(self):
        return [
            math.inf if plays == 0 else self.index(total, plays)
            for total, plays in zip(self.sums, self.plays, strict=True)
        ]

    def pick(self):
        return first_of_the_largest(self.indices())  # ties go to the lower place

    def learn(self, place, reward):
        self.sums[place] += reward
        self.plays[place] += 1


class Shortened(Dense):
    """Compares its indices without their last bits."""

    def pick(self):
        return first_of_the_largest([shortened(index, len(self.plays)) for index in self.indices()])
