"""UCBTASW: the choices of its twin, its threshold and its windows."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from manyarms.policies import ucbt_asw as fast_ucbt
from tests.open_asks import left_open, settled
from tests.policies.rivals import regrets, tenures_of
from tests.policies.test_aucbt_asw import expected_block_regret
from tests.policies.test_theory import within_standard_errors
from tests.twinned import COINS, FLIPS, WEAR, check_same, plays_as_its_twin, told_horizons, tops, two_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


def tenures(log):
    """How long each arm was played, in the order of the arms."""
    return np.unique(log.arm, return_counts=True)[1].tolist()


told_changes = [
    {"variation": 0.0},
    {"variation": 1.0},
    {"variation": 1e4},
    {"changes": 0},
    {"changes": 10**5},
    {"variation": 20.0, "changes": 3},
    {"delta": 0.0},
    {"delta": 0.3, "changes": 3},
]
ucbts = st.builds(
    lambda told, **more: ma.UCBTASW(**told, **more),
    st.sampled_from(told_changes),
    beta=st.sampled_from([0.5, 1.0, 2.0, "auto"]),
    width=st.sampled_from([0.02, 0.1, 0.5, 2.0]),  # with 12 hardly an arm is dropped in so few rounds
    top=tops,
    horizon=told_horizons,
)


test_ucbt_asw_plays_as_its_twin = plays_as_its_twin(ucbts, two_worlds, examples=50)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_ucbt_asw_twins_meet_long_and_short_tenures(world):
    log, _ = check_same(ma.UCBTASW(beta=1.0, variation=1.0, width=0.1), world, 2000, seed=8, replications=2)
    found = tenures(log)
    assert len(found) > 10
    assert max(found) > 64


@pytest.mark.parametrize(
    ("beta", "told", "expected"),
    [
        (1.0, {"variation": 8.0}, 0.004 ** (1 / 3)),
        (1.0, {"variation": 0.0}, 2000**-0.5),
        (2.0, {"variation": 8.0}, 0.004**0.25),
        (2.0, {"variation": 1e-9}, 2000 ** (-1 / 3)),
        (0.5, {"variation": 8.0}, 0.004 ** (1 / 3)),  # below 1, beta counts as 1
        (1.0, {"changes": 4}, 0.0025**0.5),
        (2.0, {"changes": 4}, 0.0025 ** (1 / 3)),
        (0.5, {"changes": 0}, 2000**-0.5),
        (1.0, {"variation": 8.0, "changes": 4}, 0.05),
        (1.0, {"variation": 0.0, "changes": 400}, 2000**-0.5),
        (1.0, {"changes": 10**6}, 1.0),
        (1.0, {"variation": 8.0, "delta": 0.3}, 0.3),
    ],
)
def test_the_threshold_follows_from_what_is_told(beta, told, expected):
    assert fast_ucbt.threshold_for(ma.UCBTASW(beta=beta, **told).settings(), beta, 2000.0) == pytest.approx(expected)


@pytest.mark.parametrize(("delta", "tenure"), [(0.0, 256), (0.26, 256), (0.27, 512)])
def test_at_a_hundred_thousand_rounds_no_arm_is_dropped_before_256_plays(delta, tenure):
    # 12 log T = 138.2: sqrt(138.2 / 128) is above 1, and sqrt(138.2 / 256) = 0.735 is below 1 - delta up to 0.265.
    assert tenures_of(ma.UCBTASW(beta=1.0, delta=delta, horizon=100_000), 0.0, 4096) == [tenure] * (4096 // tenure)


@pytest.mark.compiled
def test_a_stationary_arm_at_the_level_is_practically_never_dropped():
    # Hoeffding: the mean of w coins falls short of its expectation by sqrt(12 log T / w) with a chance of T^-24.
    world = COINS.replace(reservoir=ma.PowerLaw(beta=1e-9, top=0.9))  # a gap of U^(10^9): all means are 0.9
    result = ma.simulate({"it": ma.UCBTASW(beta=1.0, delta=0.1)}, world, 100_000, replications=10, seed=9)
    assert result.final_regret("it") == pytest.approx(10_000)
    assert (result.final("it", "arms") == 1).all()


def test_a_short_window_finds_what_a_long_one_hides():
    # 200 rewards of 1, then zeros: the arm is dropped after 28 of them, when the mean of all is still 0.88.
    state = begin(ma.UCBTASW(beta=1.0, delta=0.25, width=1.0, horizon=100_000).start(300), 0)
    for round in range(1, 201):
        state = tell(state, ask(state, round), 1.0)
    played = 0
    while state.arm == 0:
        played += 1
        state = tell(state, ask(state, 200 + played), 0.0)
    # sqrt(log 1e5 / w) is 0.85 for w = 16, beyond 1 - delta = 0.75, and 0.6 for w = 32, with 4/32 from four ones; for
    # w = 64 it is 0.42, which leaves 0.33, or 20 of 64 ones: not before 44 zeros.
    assert played == 28


@pytest.mark.compiled
@pytest.mark.parametrize(("width", "delta"), [(12.0, 0.05), (0.5, 0.1), (0.05, 0.02)])
def test_ucbt_asw_without_noise_or_drift_has_its_expected_regret(width, delta):
    # One block of AUCBTASW with one threshold is this policy.
    horizon = 1000
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    regret = regrets({"it": ma.UCBTASW(beta=1.0, delta=delta, width=width)}, horizon, 2000, world=world)["it"]
    expected = expected_block_regret(horizon, width * math.log(horizon), delta)
    assert within_standard_errors(regret, expected, errors=4.5)  # a chance of 7e-6


def test_late_rewards_of_a_dropped_arm_are_not_the_next_ones():
    state = begin(ma.UCBTASW(beta=1.0, delta=0.1, width=0.01, horizon=100).start(100), 0)
    state, first, second = left_open(state, 1, 2)
    state = settled(settled(state, first, 0.0), second, 1.0)
    assert (state.arm, state.plays, state.block.left, state.counts) == (1, 0, 98, (0, 1, 2, 0))


def test_a_live_bandit_that_outgrows_its_horizon_keeps_every_bonus():
    spec = ma.UCBTASW(beta=1.0, delta=0.25, width=2.0, horizon=500)
    bandit, state = ma.Bandit(spec, seed=1), begin(spec.start(3000), 0)
    for round in range(1, 3001):
        decision, choice = bandit.ask(), ask(state, round)
        assert decision.arm == choice.arm, round
        reward = 0.7 if round <= 2500 else 0.1
        bandit.tell(decision, reward)
        state = tell(state, choice, reward)
    assert state.arm > 0
