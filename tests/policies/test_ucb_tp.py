"""UCBTP and AUCBTP: the choices of their twins, their index, thresholds and rates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from manyarms.policies import aucb_tp as fast_adaptive
from manyarms.policies import ucb_tp as fast
from tests.open_asks import left_open, settled
from tests.policies.rivals import begun, choices_of, regrets, short_horizons, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.reference import ucb_tp as slow
from tests.twinned import FLIPS, WEAR, check_same, plays_as_its_twin, told_horizons, tops, two_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

ucb_tps = st.builds(
    ma.UCBTP,
    rotting=st.sampled_from([0.0, 1e-4, 0.003, 0.1, 2.0]),
    delta=st.sampled_from([None, None, 0.0, 0.3]),
    width=st.sampled_from([0.02, 0.1, 0.5, 2.0]),  # with 8 hardly an arm is dropped in so few rounds
    top=tops,
    horizon=told_horizons,
)
aucb_tps = st.builds(
    ma.AUCBTP,
    width=st.sampled_from([0.02, 0.1, 0.5, 2.0]),
    scale=st.sampled_from([186.0, 1.0, 0.02]),
    top=tops,
    horizon=st.one_of(told_horizons, st.sampled_from([1, 2, 9])),
)

test_ucb_tp_plays_as_its_twin = plays_as_its_twin(ucb_tps, two_worlds, horizons=short_horizons, examples=30)
test_aucb_tp_plays_as_its_twin = plays_as_its_twin(aucb_tps, two_worlds, horizons=short_horizons, examples=30)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
@pytest.mark.parametrize("spec", [ma.UCBTP(rotting=0.001, width=0.1), ma.AUCBTP(width=0.1, scale=0.1)])
def test_twins_meet_long_and_short_tenures(spec, world):
    log, _ = check_same(spec, world, 900, seed=8)
    tenures = np.unique(log.arm, return_counts=True)[1]
    assert len(tenures) > 10
    assert tenures.min() < 5 < 32 < tenures.max()


# ---------------------------------------------------------------- UCBTP


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=50), st.floats(0.0, 1.0), st.floats(0.1, 12.0))
def test_the_index_takes_the_wear_back_and_puts_it_on_again(rewards, rho, width):
    index = fast.worn_index(sum(rewards), len(rewards), rho, width * math.log(1000))
    assert index == pytest.approx(slow.ucb(rewards, rho, width, 1000), abs=1e-9)


@pytest.mark.once
def test_an_arm_that_wears_at_the_rate_is_seen_as_it_is_now():
    # Rewards 1, 1 - rho, …, without doubt: after n plays the next one pays 1 - n rho.
    rho = 0.01
    for n in range(1, 20):
        rewards = [1.0 - rho * i for i in range(n)]
        assert fast.worn_index(sum(rewards), n, rho, 0.0) == pytest.approx(1.0 - n * rho)


@pytest.mark.once
@pytest.mark.parametrize(("rho", "expected"), [(0.0, 1e-3), (1e-12, 1e-3), (1e-6, 1e-2), (0.001, 0.1), (8.0, 1.0)])
def test_the_threshold_is_the_cube_root_of_the_rate_or_what_noise_allows(rho, expected):
    assert fast.threshold_for(rho, 1e6) == pytest.approx(expected)


@pytest.mark.parametrize(("delta", "tenure"), [(0.0, 93), (0.5, 369)])
def test_at_a_hundred_thousand_rounds_no_arm_is_dropped_before_93_plays(delta, tenure):
    # 8 log T = 92.1, which has to be less than n (1 - delta)^2.
    spec = ma.UCBTP(rotting=0.0, delta=delta, horizon=100_000)
    assert tenures_of(spec, 0.0, 4 * tenure) == [tenure] * 4


def test_an_arm_that_never_fails_is_left_when_enough_wear_could_have_come():
    # rho (n + 1) / 2 > delta + sqrt(8 log T / n), for delta = rho^(1/3).
    rho, log_rounds = 1e-3, math.log(1e5)
    tenure = next(n for n in itertools.count(1) if rho * (n + 1) / 2 > 0.1 + math.sqrt(8 * log_rounds / n))
    assert tenures_of(ma.UCBTP(rotting=rho, horizon=100_000), 1.0, 3 * tenure) == [tenure] * 3
    assert tenures_of(ma.UCBTP(rotting=0.0, horizon=100_000), 1.0, 2000) == [2000]


def expected_regret(horizon, rho, delta, c, cells=4000):
    """What so many rounds cost without noise or drift, for gaps U of (0, 1): each stays as long as its index allows.

    A gap in each of so many equal cells: the error is of the order of 1 / cells.
    """
    n = np.arange(1, horizon + 1)
    gaps = (np.arange(cells) + 0.5) / cells
    slack = delta + np.sqrt(c / n) - rho * (n + 1) / 2  # an arm with a larger gap is dropped after n plays
    least = np.minimum.accumulate(slack)
    tenure = np.searchsorted(-least, -gaps, side="right") + 1  # the first n with slack < gap
    chance = np.bincount(np.minimum(tenure, horizon + 1), minlength=horizon + 2) / cells
    lost = np.bincount(np.minimum(tenure, horizon + 1), weights=gaps, minlength=horizon + 2) / cells
    cost = np.zeros(horizon + 1)
    for m in range(1, horizon + 1):
        k = np.arange(1, m + 1)
        cost[m] = (lost[1 : m + 1] * k).sum() + lost[m + 1 :].sum() * m + chance[1 : m + 1] @ cost[m - k]
    return cost[horizon]


@pytest.mark.compiled
@pytest.mark.parametrize(("rho", "delta", "width"), [(0.0, 0.05, 8.0), (0.002, 0.1, 0.5), (1e-4, 0.02, 0.05)])
def test_without_noise_or_drift_it_has_its_expected_regret(rho, delta, width):
    horizon = 1000
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    regret = regrets({"it": ma.UCBTP(rotting=rho, delta=delta, width=width)}, horizon, 2000, world=world)["it"]
    expected = expected_regret(horizon, rho, delta, width * math.log(horizon))
    assert within_standard_errors(regret, expected, errors=4.5, allowance=0.001 * expected)  # a chance of 7e-6


def test_late_rewards_of_a_dropped_arm_are_not_the_next_ones():
    state = begun(ma.UCBTP(rotting=0.0, delta=0.1, width=0.01))
    state, first, second = left_open(state, 1, 2)
    state = settled(settled(state, first, 0.0), second, 1.0)
    assert (state.arm, state.plays, state.total, state.block.left, state.counts) == (1, 0, 0.0, 98, (0, 1, 2, 0))


# ---------------------------------------------------------------- AUCBTP


@pytest.mark.once
def test_a_million_rounds_have_the_numbers_of_the_released_code():
    period = fast_adaptive.period_of(ma.AUCBTP(horizon=10**6).settings(), 1)
    assert (period.block_length, period.thresholds) == (1000, 13)  # ceil(1.5 · 9.97) - 2
    assert period.mixing == pytest.approx(math.sqrt(13 * math.log(13) / ((math.e - 1) * 1000)))
    log_rounds = math.log(10**6)
    assert period.reward_scale == pytest.approx(186_000 * log_rounds + 4 * math.sqrt(1000 * log_rounds))
    rates = [fast_adaptive.rate_of(place) for place in range(13)]
    assert rates == slow.grid(1000) == [2.0 ** -(j + 3) for j in range(13)]
    assert fast_adaptive.threshold_of(rates[0]) == pytest.approx(0.5)


@pytest.mark.once
def test_short_runs_have_at_least_one_rate():
    for horizon in range(1, 200):
        period = fast_adaptive.period_of(ma.AUCBTP(horizon=horizon).settings(), 1)
        assert period.thresholds == len(slow.grid(period.block_length)) >= 1
        assert 0.0 <= period.mixing <= 1.0


def test_the_arm_in_play_is_carried_into_the_next_block_and_judged_anew():
    choices = choices_of(ma.AUCBTP(), 1.0, 100)
    assert {choice.arm for choice in choices} == {0}
    assert np.bincount([choice.block for choice in choices])[1:].tolist() == [10] * 10
    spec = ma.AUCBTP(horizon=100)
    state = begin(spec.start(100), 0)
    for round in range(1, 13):
        state = tell(state, ask(state, round), 1.0)
    assert (state.counts.blocks, state.plays, state.total, state.earned) == (2, 2, 2.0, 2.0)


def test_late_rewards_count_while_their_arm_is_in_play_in_whichever_block():
    state = begun(ma.AUCBTP())  # blocks of 10 rounds, in which no arm can be dropped
    state, early = left_open(state, 1)
    for round in range(2, 12):
        state = tell(state, ask(state, round), 1.0)
    assert (early.choice.block, state.counts.blocks, state.plays) == (1, 2, 0)
    state = settled(state, early, 1.0)
    assert (state.plays, state.earned, state.block.left, state.counts.ignored) == (1, 1.0, 9, 0)


def test_late_rewards_of_a_dropped_arm_are_those_of_its_block_only():
    state = begun(ma.AUCBTP(width=1e-6))
    state, first, second, third = left_open(state, 1, 2, 3)
    state = settled(settled(state, first, 0.0), second, 0.5)
    assert (state.arm, state.plays, state.earned, state.block.left) == (1, 0, 0.5, 8)
    for round in range(4, 12):
        state = tell(state, ask(state, round), 0.0)
    assert state.counts.blocks == 2
    state = settled(state, third, 1.0)
    assert (state.earned, state.block.left, state.counts.ignored) == (0.0, 10, 1)


@pytest.mark.compiled
def test_exp3_finds_the_rate_that_pays_if_it_listens():
    # Arms stand still, and what is taken for wear drops good ones: the smaller the rate, the better. With a scale of
    # 0.01 EXP3 hears of it; with 1e12 it draws all rates alike. A gain of 5 standard errors has a chance of 3e-7.
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    specs = {"listens": ma.AUCBTP(width=0.01, scale=0.01), "deaf": ma.AUCBTP(width=0.01, scale=1e12)}
    regret = regrets(specs, 20_000, 400, world=world)
    gain = regret["deaf"] - regret["listens"]
    assert gain.mean() > 5 * gain.std() / 400**0.5
