"""Bases that draw: live probabilities, among all items and among some, and what they refuse."""

import math

import numpy as np
import pytest

import manyarms as ma
from manyarms.contract import best_among, expected, revise
from manyarms.states import copied, leaves
from tests.bases.finite import begun

DRAWN = [ma.TsallisINF(), ma.Exp3S(mixing=0.2), ma.Rexp3(variation=10.0), ma.BARBAR(scale=2.0**-10)]
each = pytest.mark.parametrize("base", DRAWN, ids=lambda base: base.label())


def policy_over(base, arms=6):
    return ma.Subsample(base, beta=1.0, arms=arms, horizon=10**6)


@each
def test_each_item_is_chosen_as_often_as_is_stated_among_all_and_among_some(base):
    """The sum of 1 / probability over the asks for an item, over the asks in which it was to be had, is 1 on average.

    Its variance is the average of 1 / probability - 1, over those asks; it is estimated by what is seen, and four
    standard deviations are allowed.
    """
    items = list(range(6))
    bandit = ma.Bandit(policy_over(base), 5, items=items, holdout=0.2)
    sums, squares, chances = np.zeros(6), np.zeros(6), np.zeros(6)
    for number in range(3000):
        among = items if number % 2 else [0, 1, 2]
        decision = bandit.ask(among=among)
        bandit.tell(decision, float(decision.key == 2 or number % 3 == 0))
        sums[decision.key] += 1.0 / decision.probability
        squares[decision.key] += 1.0 / decision.probability**2
        chances[among] += 1
    deviations = np.sqrt(squares) / chances
    assert (np.abs(sums / chances - 1.0) < 4.0 * deviations).all()
    assert deviations.max() < 0.25


@each
def test_among_some_arms_probabilities_are_to_each_other_as_among_all(base):
    state = begun(base, 5, 1000)
    allowed = np.array([True, False, True, False, True])
    drawn = [best_among(state, 1, round, allowed, 5) for round in range(1, 400)]
    assert {int(slot) for slot, _ in drawn} == {0, 2, 4}
    for slot, probability in drawn:
        assert probability == pytest.approx(base.chance_among(state, slot, allowed), rel=1e-12)
    assert sum(base.chance_among(state, slot, allowed) for slot in range(5)) == pytest.approx(1.0, rel=1e-12)
    assert base.chance_among(state, 1, allowed) == 0.0
    assert best_among(state, 1, 1, np.zeros(5, dtype=np.bool_), 5) == (-1, 1.0)


@each
def test_open_asks_teach_nothing_and_corrections_are_refused(base):
    state = begun(base, 3, 100)
    assert math.isnan(expected(state, 0))
    elsewhere = revise(copied(state), 0, 5, 3.0)  # nobody knows how likely those plays were
    for (_, one), (_, other) in zip(leaves(state), leaves(elsewhere), strict=True):
        np.testing.assert_array_equal(one, other)
    policy = policy_over(base)
    assert not policy.takes_corrections
    assert not policy.takes_pending
    with pytest.raises(ValueError, match="correct"):
        ma.Bandit(policy, 1, correctable=5)
    bandit = ma.Bandit(policy, 1)
    before = bandit.to_json()["state"]["base"]
    bandit.forget(bandit.ask())
    assert bandit.to_json()["state"]["base"] == before


@pytest.mark.compiled
def test_compiled_chooses_among_as_plain():
    plain, warm = (ma.Bandit(policy_over(ma.TsallisINF()), 7, items=range(6)) for _ in range(2))
    assert warm.warm()
    for number in range(100):
        among = list(range(6)) if number % 2 else [1, 3, 5]
        decisions = plain.ask(among=among), warm.ask(among=among)
        assert decisions[0].key == decisions[1].key
        assert decisions[0].probability == decisions[1].probability
        for bandit, decision in zip((plain, warm), decisions, strict=True):
            bandit.tell(decision, float(number % 3 == 0))
    assert plain.to_json()["state"] == warm.to_json()["state"]
