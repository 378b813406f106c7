"""For tests of worlds and their parts: how they are played, and how far numbers may lie from what is expected."""

import math

import numpy as np
from hypothesis import settings
from scipy import stats

import manyarms as ma
from manyarms.contract import begin, pull
from manyarms.streams import replication_key

ALARM = 1e-6
DRAWS = 2**18

exactly = settings(derandomize=True, deadline=None, max_examples=60)


def normal_bound(numbers):
    """What none of this many standard normal numbers exceeds in absolute value, but for a false alarm."""
    return stats.norm.isf(ALARM / 2 / numbers)


def check_distribution(drawn, distribution, grid):
    """Dvoretzky, Kiefer & Wolfowitz: P(sup |F_n - F| > d) <= 2 exp(-2 n d^2), for any F."""
    shares = np.searchsorted(np.sort(drawn), grid, side="right") / drawn.size
    assert np.abs(shares - distribution(grid)).max() < math.sqrt(math.log(2 / ALARM) / (2 * drawn.size))


def check_share(hits, trials, probability, tests=1):
    """A number of hits that a binomial distribution allows, from below and above."""
    low, high = stats.binom.ppf([ALARM / 2 / tests, 1 - ALARM / 2 / tests], trials, probability)
    assert low <= hits <= high


# Driving a world by hand


def begun(world, slots=1, seed=0, replication=0):
    return begin(world.start(slots), replication_key(seed, replication))


def play(state, arms, rounds=None):
    """Play these arms, each in the slot of its number, and return the state and (mean, next mean, reward)."""
    rounds = range(1, len(arms) + 1) if rounds is None else rounds
    out = []
    for arm, round in zip(arms, rounds, strict=True):
        state, *values = pull(state, arm, arm, round)
        out.append(values)
    return state, np.array(out)


def lone_arm(drift, first_mean, rounds):
    """One arm that begins with this mean, played in these rounds."""
    state = begun(ma.World(ma.Empirical([first_mean]), drift, ma.Exact()))
    rounds = list(rounds)
    return play(state, [0] * len(rounds), rounds)
