"""For tests of the rivals: what they play, and what is known of it."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.contract import ask, begin, tell
from tests.twinned import COINS, horizons


def tenures_of(spec, reward, rounds):
    """The same where every reward is this one."""
    arms = [choice.arm for choice in choices_of(spec, reward, rounds)]
    return np.unique(arms, return_counts=True)[1].tolist()


def begun(spec, rounds=100):
    """The state with which a run of so many rounds begins."""
    return begin(spec.with_horizon(rounds).start(rounds), 0)


def choices_of(spec, reward, rounds):
    state = begun(spec, rounds)
    choices = []
    for round in range(1, rounds + 1):
        choices.append(ask(state, round))
        state = tell(state, choices[-1], reward)
    return choices


def regrets(specs, horizon, replications, seed=1, world=COINS):
    result = ma.simulate(specs, world, horizon, replications=replications, seed=seed, checkpoints=1)
    return {name: result.final_regret(name) for name in specs}


def of_another_simulation(mean, deviation):
    """The mean of an independent simulation: three standard errors, if it had 400 runs with this deviation."""
    return pytest.approx(mean, abs=3 * deviation / math.sqrt(400))


short_horizons = horizons.map(lambda horizon: min(horizon, 250))  # the twins look at all rewards in every round
