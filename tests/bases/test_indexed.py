"""Bases with an index: one of one's own needs a state and two kernels, and is played like the package's."""

import dataclasses
import math
import random
from typing import NamedTuple

import pytest

import manyarms as ma
from manyarms import checks
from manyarms.bases.indexed import Indexed, IndexedState
from manyarms.contract import Choice, index_of, learn, pick, register, renew
from manyarms.specs import SPEC_TYPES, Positive


class PessimistFormula(NamedTuple):
    """A lower bound: mean - width · arms / plays."""

    width: float
    arms: int


def renew_pessimist(formula, arms, horizon, log_horizon):
    return PessimistFormula(formula.width, arms)


def pessimist_index(formula, plays, total):
    return total / plays - formula.width * formula.arms / plays


register(PessimistFormula, renew=renew_pessimist, index_of=pessimist_index)


@dataclasses.dataclass(frozen=True)
class Pessimist(Indexed):
    width: Positive = 0.5

    def formula(self):
        return PessimistFormula(width=self.width, arms=0)


@pytest.fixture(scope="module", autouse=True)
def forget_pessimist():
    yield
    del SPEC_TYPES["Pessimist"]


def test_the_largest_index_is_played_and_untried_arms_come_first():
    dice = random.Random(5)
    arms = 9
    base = renew(Pessimist().start(arms + 3), arms, 1000.0, math.log(1000.0))
    assert isinstance(base, IndexedState)
    plays, sums = [0] * arms, [0.0] * arms
    for round in range(1, 400):
        slot, probability = pick(base, 0, round)
        untried = [place for place in range(arms) if plays[place] == 0]
        if untried:
            assert slot == untried[0]
        else:
            indices = [index_of(base.formula, plays[place], sums[place]) for place in range(arms)]
            assert indices[slot] == max(indices)
        assert probability == 1.0
        reward = float(dice.random() < 0.1 * slot)
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round), reward)
        plays[slot] += 1
        sums[slot] += reward
    assert base.rewards.plays[:arms].tolist() == plays
    assert base.rewards.sums[:arms].tolist() == sums


def test_a_new_subsample_reaches_the_index():
    base = renew(Pessimist().start(8), 8, 100.0, math.log(100.0))
    assert base.formula.arms == 8
    assert renew(base, 3, 100.0, math.log(100.0)).formula.arms == 3


@pytest.mark.compiled
def test_an_index_of_ones_own_keeps_the_promises():
    checks.check(Pessimist())


def test_greedy_and_ucb_share_their_kernels():
    greedy, ucb = ma.Greedy().start(3), ma.UCB().start(3)
    assert type(greedy.formula) is type(ucb.formula)
    assert greedy.formula.width == 0.0
    assert not ma.Greedy().is_scattered
    assert ma.UCB().is_scattered
