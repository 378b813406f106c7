"""MOSS: the choices of its twin, and its index."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import Choice, index_of, learn, pick, renew
from tests.policies.test_theory import within_standard_errors
from tests.twinned import (
    COINS,
    betas,
    blackboxes,
    crashing,
    horizons,
    plays_as_its_twin,
    plays_plainly_as_its_twin,
    subsamples,
    trending,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

thorough = settings(deadline=None, derandomize=True, max_examples=100)
mosses = st.builds(ma.MOSS, width=st.sampled_from([1.0, 0.2, 4.0]))
short_horizons = horizons.map(lambda horizon: min(horizon, 400))


test_subsample_over_moss_plays_as_its_twin = plays_as_its_twin(
    subsamples(mosses, beta=betas), crashing, short_horizons, examples=40
)


test_blackbox_over_moss_plays_as_its_twin = plays_plainly_as_its_twin(blackboxes(mosses), trending, short_horizons)


def formula_for(arms, horizon, spec=None):
    return renew((spec or ma.MOSS()).formula(), arms, float(horizon), math.log(horizon))


@thorough
@given(st.integers(1, 50), st.integers(1, 10**6), st.integers(1, 10**5), st.floats(0.0, 1.0))
def test_the_width_is_0_from_an_arms_share_of_the_horizon_on(arms, horizon, plays, mean):
    total = mean * plays
    width = index_of(formula_for(arms, horizon), plays, total) - total / plays
    assert (width > 0.0) == (plays < horizon / arms) or abs(plays * arms - horizon) < 1e-9 * horizon
    # Never wider than UCB with the same factor under the root.
    assert width <= math.sqrt(math.log(horizon) / plays) + 1e-12


def test_the_index_by_hand():
    # 8,000 rounds, 10 arms, 20 plays: log(8000 / 200) = log 40.
    assert index_of(formula_for(10, 8000), 20, 5.0) == pytest.approx(0.25 + math.sqrt(math.log(40) / 20), rel=1e-14)
    wide = formula_for(10, 8000, ma.MOSS(width=4.0))
    assert index_of(wide, 20, 5.0) == pytest.approx(0.25 + 2 * math.sqrt(math.log(40) / 20), rel=1e-14)


def test_the_logarithm_is_natural_and_the_arms_are_those_of_the_subsample():
    spec = ma.MOSS().start(16)
    told_base_2 = renew(spec, 10, 8000.0, math.log2(8000.0))
    assert told_base_2.formula == formula_for(10, 8000)
    assert renew(told_base_2, 5, 8000.0, 1.0).formula.share == 1600.0


def test_after_its_share_it_is_greedy():
    # 20 rounds for two arms: after ten plays each, the better mean is played for good.
    base = renew(ma.MOSS().start(2), 2, 20.0, math.log(20))
    for slot, rewards in ((0, [1.0] * 6 + [0.0] * 4), (1, [1.0] * 5 + [0.0] * 5)):
        for reward in rewards:
            base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=1), reward)
    for round in range(21, 40):
        slot = pick(base, 0, round)[0]
        assert slot == 0
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=round), round % 2 < 0.55)
    assert base.rewards.plays.tolist() == [29, 10]


@pytest.mark.compiled
def test_moss_has_the_regret_of_an_independent_simulation():
    # T = 2^14 and 128 arms: 836 over 24 runs, with a standard error of up to 9 percent: three of those, and three of
    # ours. (A width of 4, that of noise with variance 1, leads to more than twice that.)
    spec = ma.Subsample(base=ma.MOSS(), beta=1.0)
    result = ma.simulate({"it": spec}, COINS, 2**14, replications=40, seed=1)
    assert within_standard_errors(result.final_regret("it"), 836, errors=3.0, allowance=3 * 0.09 * 836)


@pytest.mark.parametrize("width", [0, -1.0, math.inf, math.nan, "wide", True])
def test_a_wrong_width_is_refused_in_words(width):
    with pytest.raises(ValueError, match=r"MOSS: width must be (above 0|a finite number), not"):
        ma.MOSS(width=width)
