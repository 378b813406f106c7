"""NLearning: the choices of its twin, and its regret."""

import functools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, tell
from manyarms.policies.n_learning import learning_rounds
from tests.open_asks import left_open, settled
from tests.policies.rivals import begun, choices_of, of_another_simulation, regrets, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.reference import failures as slow
from tests.twinned import COINS, check_same, crashing, maybe, plays_as_its_twin, told_horizons

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

learners = st.builds(
    ma.NLearning, learning=maybe(1, 2, 5, 40), horizon=st.one_of(told_horizons, st.sampled_from([1, 2, 9]))
)

test_n_learning_plays_as_its_twin = plays_as_its_twin(learners, crashing, examples=30)


def test_twins_meet_arms_that_are_recalled_and_arms_that_stay():
    _, result = check_same(ma.NLearning(), COINS, 900, seed=3, replications=8)
    is_recalled = [log.arm[-1] < log.arm.max() for log in result.logs["it"].values()]
    assert True in is_recalled
    assert False in is_recalled


@pytest.mark.once
def test_n_is_that_of_exact_arithmetic():
    assert learning_rounds(100) == math.ceil(10 * math.log(100)) == 47
    assert [learning_rounds(n) for n in range(1, 3000)] == [slow.learning_rounds(n) for n in range(1, 3000)]


def expected_regret(learning, horizon):
    """For coins with uniform means: a run of k and then a failure has a chance of 1 / ((k + 1) (k + 2)).

    Up to there an arm costs on average as much as it fails. After a run of b and a failure the gap is 2 / (b + 3).
    """

    @functools.cache
    def cost(t, best):  # t rounds are played, and a fresh arm is next
        total = 0.0
        for k in range(horizon - t):
            end, longest = t + k + 1, max(best, k)
            rest = (horizon - end) * 2 / (longest + 3) if end >= learning else cost(end, longest)
            total += (1.0 + rest) / ((k + 1) * (k + 2))
        return total

    return cost(0, -1)


@pytest.mark.once
def test_the_expected_regret_is_that_of_an_independent_simulation():
    assert expected_regret(47, 100) == of_another_simulation(16.8, deviation=9.3)


@pytest.mark.compiled
@pytest.mark.parametrize(("learning", "horizon"), [(None, 100), (None, 225), (10, 225)])
def test_n_learning_has_its_expected_regret(learning, horizon):
    regret = regrets({"it": ma.NLearning(learning)}, horizon, 8000)["it"]
    expected = expected_regret(learning or learning_rounds(horizon), horizon)
    assert within_standard_errors(regret, expected, errors=4.5)  # a chance of 7e-6


@pytest.mark.compiled
@pytest.mark.parametrize(("horizon", "mean", "deviation"), [(1000, 65.4, 40), (10_000, 230, 147)])
def test_its_regret_is_that_of_an_independent_simulation(horizon, mean, deviation):
    regret = regrets({"it": ma.NLearning()}, horizon, 2000)["it"]
    # Three standard errors of the other's 400 runs; those of 2000 are less than half as large.
    assert regret.mean() == pytest.approx(mean, abs=3 * deviation * (400**-0.5 + 2000**-0.5))


def test_after_n_rounds_the_longest_run_is_recalled():
    assert tenures_of(ma.NLearning(), 1.0, 100) == [100]
    # Where all fail at once, 47 arms are tried and the first of them is recalled.
    assert [choice.arm for choice in choices_of(ma.NLearning(), 0.0, 100)] == [*range(47), *[0] * 53]


def test_the_arm_in_play_after_n_rounds_is_played_to_its_failure():
    state = begun(ma.NLearning(learning=4, horizon=100))
    plays = []
    for round, reward in enumerate([0, 1, 0, 1, 1, 1, 0, 0, 0], start=1):
        choice = ask(state, round)
        plays.append((choice.arm, choice.slot))
        state = tell(state, choice, float(reward))
    # Arm 2 fails in round 7, with the longest run; it is where it was left.
    assert plays == [(0, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 0), (2, 0), (2, 0), (2, 0)]
    assert (state.committed, state.counts.arms) == (True, 3)


def test_late_rewards_of_an_arm_that_was_left_are_rounds_and_no_more():
    state = begun(ma.NLearning(learning=50, horizon=100))
    state, first, second, third = left_open(state, 1, 2, 3)
    state = settled(state, first, 0.0)
    for late in (second, third):
        state = settled(state, late, 1.0)
    assert (state.arm, state.successes, state.committed, state.block.left) == (1, 0, False, 97)


def test_without_a_horizon_blocks_double_with_their_own_n():
    choices = choices_of(ma.NLearning(horizon="doubling"), 0.0, 2**9 - 2)
    assert np.bincount([choice.block for choice in choices])[1:].tolist() == [2**m for m in range(1, 9)]
    for m in range(1, 9):
        # In the last round of a block nothing is recalled any more.
        wanted = min(slow.learning_rounds(2**m), 2**m)
        assert len({choice.arm for choice in choices if choice.block == m}) == wanted
