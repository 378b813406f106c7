"""KLUCB: the choices of its twin, and its index."""

import math
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.arithmetic import natural_log
from manyarms.bases import kl_ucb as fast_kl
from manyarms.contract import Choice, expected, learn, pick, renew, revise
from tests.policies.test_theory import within_standard_errors
from tests.reference import kl_ucb as slow_kl
from tests.twinned import (
    COINS,
    FLIPS,
    PLAIN,
    TOLD,
    WEAR,
    blackboxes,
    check_same,
    crashing,
    horizons,
    plays_as_its_twin,
    subsamples,
    two_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


thorough = settings(deadline=None, derandomize=True, max_examples=150)
kl_ucbs = st.builds(ma.KLUCB, width=st.sampled_from([1.0, 0.3, 4.0]))
short_horizons = horizons.map(lambda horizon: min(horizon, 400))


test_blackbox_over_kl_ucb_plays_as_its_twin = plays_as_its_twin(
    blackboxes(kl_ucbs, **PLAIN), crashing, short_horizons, examples=40
)


test_subsample_over_kl_ucb_plays_as_its_twin = plays_as_its_twin(
    subsamples(kl_ucbs, **TOLD), two_worlds, short_horizons, examples=40
)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_kl_ucb_twins_meet_changing_leaders(world):
    log, _ = check_same(ma.Subsample(base=ma.KLUCB(), beta=1.0, arms=12), world, 1500, seed=5)
    assert np.count_nonzero(np.diff(log.arm[12:])) > 100


def test_kl_ucb_twins_meet_restarts():
    spec = ma.Blackbox(base=ma.KLUCB(), beta=1.0, threshold=0.3, log_power=1.0, log_base="e")
    _, result = check_same(spec, FLIPS, 800, seed=7)
    assert result.final("it", "restarts")[0] >= 2


@pytest.mark.usefixtures("uncompiled")
def test_a_used_base_in_a_used_policy_begins_as_a_new_one():
    spec = ma.Blackbox(base=ma.KLUCB(), beta=1.0, threshold=0.3)
    several = ma.simulate({"it": spec}, FLIPS, 300, replications=3, seed=8, threads=1)  # one state for all
    _, alone = check_same(spec, FLIPS, 300, seed=8, replications=3)
    assert several["it"].tobytes() == alone["it"].tobytes()


def index_of(mean, bound):
    return 1.0 - fast_kl.kl_gap(mean, bound)


@thorough
@given(st.integers(1, 10**7), st.floats(0.0, 1.0), st.floats(0.1, 100.0))
def test_the_index_is_that_of_bisection(plays, share, level):
    mean = round(share * plays) / plays
    bound = level / plays
    # A divergence is a difference of numbers up to 1, so it is known to some 2^-52, of a bound of at least 1e-8; a
    # distance of at most sqrt(bound / 2) inherits half of that relative error. Small gaps are right in relative terms.
    tolerance = min(2.0**-50 / math.sqrt(bound), 1e-9)
    assert fast_kl.kl_gap(mean, bound) == pytest.approx(slow_kl.least_gap(mean, bound), abs=tolerance)
    if bound > 0.01:
        assert fast_kl.kl_gap(mean, bound) == pytest.approx(slow_kl.least_gap(mean, bound), rel=1e-11, abs=0.0)


@thorough
@given(st.integers(1, 10**6), st.floats(0.0, 1.0), st.floats(0.1, 30.0))
def test_the_index_lies_between_the_mean_and_pinskers_bound(plays, share, level):
    mean = round(share * plays) / plays
    index = index_of(mean, level / plays)
    assert mean - 2.0**-53 <= index <= min(1.0, mean + math.sqrt(level / (2 * plays)) + 1e-12)


@thorough
@given(st.integers(2, 10**4), st.floats(0.0, 0.99), st.floats(0.1, 30.0))
def test_the_index_grows_with_mean_and_level_and_falls_with_plays(plays, share, level):
    mean = math.floor(share * plays) / plays
    gap = fast_kl.kl_gap(mean, level / plays)
    assume(gap > 1e-290)  # beyond, all are 0
    assert fast_kl.kl_gap(mean + 1 / plays, level / plays) < gap
    assert fast_kl.kl_gap(mean, 1.1 * level / plays) < gap
    assert fast_kl.kl_gap(mean, level / (plays + 1)) > gap


@pytest.mark.parametrize("bound", [1e-9, 1e-3, 0.5, 3.0, 100.0])
def test_the_index_of_an_arm_that_never_paid_or_always_paid(bound):
    # d(0, q) = log(1 / (1 - q)), and d(1, q) is at most the bound for q = 1 too.
    assert fast_kl.kl_gap(0.0, bound) == pytest.approx(math.exp(-bound), rel=1e-14)
    assert fast_kl.kl_gap(1.0, bound) == 0.0
    # Noise beyond [0, 1], and means without a logarithm.
    assert fast_kl.kl_gap(-0.3, bound) == fast_kl.kl_gap(1e-310, bound) == fast_kl.kl_gap(0.0, bound)
    assert fast_kl.kl_gap(1.2, bound) == 0.0


def test_means_a_hair_from_the_ends_have_an_index():
    for hair in (2.0**-53, 1e-15, 1e-12, 1e-9):
        for bound in (1e-9, 1e-6, 1e-3, 1.0, 20.0):
            for mean in (hair, 1.0 - hair):
                gap = fast_kl.kl_gap(mean, bound)
                assert 0.0 <= gap <= 1.0 - mean
                assert gap == pytest.approx(slow_kl.least_gap(mean, bound), rel=1e-6, abs=0.0)


def test_arms_whose_indices_crowd_at_1_are_still_told_apart():
    # Gaps of 6e-27 and 5e-34: both indices are 1 as floats.
    base = renew(ma.KLUCB().start(2), 2, 1000.0, math.log(1000))
    for slot, reward in ((0, 0.9), (1, 0.92)):
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=1), reward)
    assert pick(base, 0, 3)[0] == 1


def test_newton_needs_at_most_eight_steps(monkeypatch):
    dice = random.Random(1)
    steps = []
    divergence = fast_kl.divergence

    def counted(mean, gap):
        steps[-1] += 1
        return divergence(mean, gap)

    monkeypatch.setattr(fast_kl, "divergence", counted)
    for _ in range(20_000):
        plays = 10 ** dice.uniform(0, 7)
        hair = 10 ** dice.uniform(-14, 0)
        steps.append(0)
        fast_kl.kl_gap(dice.choice([hair, 1.0 - hair, dice.random()]), 10 ** dice.uniform(-1, 2) / plays)
    assert 6 <= max(steps) <= 8 < fast_kl.MOST_STEPS


def test_the_logarithm_is_natural_whatever_the_policys_is():
    base = renew(ma.KLUCB(width=2.0).start(3), 3, 1024.0, 10.0)
    assert base.formula.level == 2.0 * natural_log(1024.0)
    assert renew(base, 3, 1.0, 0.0).formula.level == 2.0 * natural_log(2.0)  # a horizon of 1 counts as 2


def test_late_rewards_sweep_and_count_for_their_own_arm():
    base = renew(ma.KLUCB().start(4), 4, 100.0, math.log(100))
    picked = []
    for round in range(1, 5):  # an open ask is a play that paid what is expected, of an untried arm 0
        slot = pick(base, 0, round)[0]
        assert expected(base, slot) == 0.0
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round), 0.0)
        picked.append(slot)
    assert picked == [0, 1, 2, 3]
    for slot in (2, 0, 3, 1):
        base = revise(base, slot, 0, float(slot == 3))
    assert base.rewards.plays.tolist() == [1, 1, 1, 1]
    assert base.rewards.sums.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert pick(base, 0, 5)[0] == 3
    base = revise(base, 1, -1, 0.0)  # its answer got lost: it is untried again
    assert pick(base, 0, 5)[0] == 1


@pytest.mark.compiled
def test_kl_ucb_has_the_regret_of_an_independent_simulation():
    # T = 2^14 and 128 arms: 526 over 24 runs, with a standard error of up to 9 percent: three of those, and three of
    # ours, a chance below 1e-4 (with the same seed it passes always or never).
    result = ma.simulate(
        {"KL": ma.Subsample(base=ma.KLUCB(), beta=1.0), "UCB": ma.Subsample(base=ma.UCB(width=0.5), beta=1.0)},
        COINS,
        2**14,
        replications=40,
        seed=1,
    )
    regret = result.final_regret("KL")
    assert within_standard_errors(regret, 526, errors=3.0, allowance=3 * 0.09 * 526)
    # UCB with half the width has the wider intervals: 1,540 there, with the same allowance.
    wider = result.final_regret("UCB")
    assert within_standard_errors(wider, 1540, errors=3.0, allowance=3 * 0.09 * 1540)
    assert regret.mean() < 0.6 * wider.mean()


@pytest.mark.parametrize("width", [0, -1.0, math.inf, math.nan, "wide", True])
def test_a_wrong_width_is_refused_in_words(width):
    with pytest.raises(ValueError, match=r"KLUCB: width must be (above 0|a finite number), not"):
        ma.KLUCB(width=width)
