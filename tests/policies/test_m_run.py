"""MRun: the choices of its twin, and its regret."""

import functools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from tests.open_asks import left_open, settled
from tests.policies.rivals import choices_of, of_another_simulation, regrets, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.twinned import COINS, check_same, crashing, maybe, plays_as_its_twin, told_horizons

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


runs = st.builds(
    ma.MRun, run=maybe(1, 2, 5, 40), recall=st.booleans(), horizon=st.one_of(told_horizons, st.sampled_from([1, 2, 9]))
)


test_m_run_plays_as_its_twin = plays_as_its_twin(runs, crashing, examples=50)


@pytest.mark.parametrize("recall", [True, False])
def test_m_run_twins_meet_commitments_of_both_kinds(recall):
    log, result = check_same(ma.MRun(recall=recall), COINS, 900, seed=3, replications=8)
    ends = [log.arm[-1] for log in result.logs["it"].values()]
    drawn = result.final("it", "arms") - 1
    if recall:
        assert (drawn <= 29).all()
        assert (drawn < 29).any()  # 30 successes in a row
        assert any(end < last for end, last in zip(ends, drawn, strict=True))  # an earlier arm is recalled
    else:
        assert all(end == last for end, last in zip(ends, drawn, strict=True))
    assert np.count_nonzero(log.arm == log.arm[-1]) > 30


def expected_run_regret(m, horizon):
    """Without recall, for coins with uniform means: after k successes and no failure the gap is 1 / (k + 2) on average.

    A fresh arm reaches k successes with probability 1 / (k + 1).
    """
    cost = [0.0]
    for n in range(1, horizon + 1):
        total = 0.0
        for k in range(min(m, n)):
            # At this play the arm costs its gap, and fails with the same probability.
            total += 1 / (k + 1) / (k + 2) * (1.0 + cost[n - k - 1])
        if n > m:
            total += 1 / (m + 1) * (n - m) / (m + 2)
        cost.append(total)
    return cost[horizon]


def expected_recalling_regret(m, horizon):
    """With recall: after b successes and a failure the gap is 2 / (b + 3) on average."""

    @functools.cache
    def cost(n, failed, best):
        total = 0.0
        for k in range(min(m, n)):
            now = max(best, k)
            left = n - k - 1
            rest = left * 2 / (now + 3) if failed + 1 == m else cost(left, failed + 1, now)
            total += 1 / (k + 1) / (k + 2) * (1.0 + rest)
        if n > m:
            total += 1 / (m + 1) * (n - m) / (m + 2)
        return total

    return cost(horizon, 0, -1)


def test_expected_regrets_of_runs_are_those_of_an_independent_simulation():
    assert expected_run_regret(10, 100) == of_another_simulation(15.6, deviation=9.6)
    assert expected_run_regret(32, 1000) == of_another_simulation(56.4, deviation=39)
    assert expected_recalling_regret(10, 100) == of_another_simulation(19.0, deviation=15)
    # In the long run: m + (n - (m + 1) H_m) / (m + 2), which is 2 sqrt(n) for m = sqrt(n).
    harmonic = sum(1 / k for k in range(1, 33))
    assert expected_run_regret(32, 1000) == pytest.approx(32 + (1000 - 33 * harmonic) / 34, rel=0.03)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("recall", "horizon", "expected"),
    [
        (False, 100, expected_run_regret(10, 100)),
        (False, 1000, expected_run_regret(32, 1000)),
        (True, 100, expected_recalling_regret(10, 100)),
        (True, 225, expected_recalling_regret(15, 225)),
    ],
)
def test_m_run_has_its_expected_regret(recall, horizon, expected):
    regret = regrets({"it": ma.MRun(recall=recall)}, horizon, 8000)["it"]
    assert within_standard_errors(regret, expected, errors=4.5)  # a chance of 7e-6


def test_m_run_stays_with_the_first_arm_that_never_fails():
    assert tenures_of(ma.MRun(), 1.0, 100) == [100]
    # Where all fail at once, 10 arms are tried and the first of them is recalled; or one after another is tried.
    assert [choice.arm for choice in choices_of(ma.MRun(), 0.0, 100)] == [*range(10), *[0] * 90]
    assert tenures_of(ma.MRun(recall=False), 0.0, 100) == [1] * 100


def test_a_recalled_arm_is_where_it_was_left():
    # Arm 1 has the longest run and is left in slot 1, while others come and go in slot 0.
    state = begin(ma.MRun(run=4, horizon=100).start(100), 0)
    plays = []
    for round, reward in enumerate([0, 1, 1, 0, 1, 0, 0, 0], start=1):
        choice = ask(state, round)
        plays.append((choice.arm, choice.slot))
        state = tell(state, choice, float(reward))
    assert plays == [(0, 0), (1, 1), (1, 1), (1, 1), (2, 0), (2, 0), (3, 0), (1, 1)]
    assert state.committed
    assert state.counts.arms == 4


def test_late_rewards_of_an_arm_that_was_left_change_nothing():
    for spec in (ma.MRun(run=2, horizon=100), ma.MRun(run=2, recall=False, horizon=100)):
        state = begin(spec.start(100), 0)
        state, first, second, third = left_open(state, 1, 2, 3)
        state = settled(state, first, 0.0)
        assert (state.arm, state.failed) == (1, 1)
        for late in (second, third):
            state = settled(state, late, 1.0)
        assert (state.arm, state.successes, state.failed, state.committed, state.block.left) == (1, 0, 1, False, 97)


def test_without_a_horizon_blocks_double_with_their_own_m():
    choices = choices_of(ma.MRun(horizon="doubling"), 0.0, 2**9 - 2)
    assert np.bincount([choice.block for choice in choices])[1:].tolist() == [2**m for m in range(1, 9)]
    for m in range(1, 9):
        assert len({choice.arm for choice in choices if choice.block == m}) == math.isqrt(2**m - 1) + 1
