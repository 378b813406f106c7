"""Policies that recommend: the choices and recommendations of their twins, whatever comes late; sizes and bounds."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.checks.runs import PLAIN
from manyarms.contract import ask, ask_among, recommend, tell
from manyarms.policies import siri
from manyarms.policies.bracketing_halving import open_after
from manyarms.replication import replicate
from manyarms.trace import COLUMNS
from tests.policies.rivals import begun, short_horizons
from tests.reference.siri import size_of
from tests.reference.twins import twin_run
from tests.twinned import COINS, FLIPS, WEAR, betas_or_auto, check_plainly, plays_plainly_as_its_twin, two_worlds

SIRIS = st.builds(
    ma.SiRI,
    beta=betas_or_auto,
    factor=st.sampled_from([0.3, 1.0, 3.0]),
    width=st.sampled_from([0.25, 1.0, 0.01]),
    delta=st.sampled_from([0.1, 1.0]),
    epsilon=st.sampled_from([1 / 3, 1.0]),
    margin=st.sampled_from([0.0, 0.5]),
    horizon=st.sampled_from([None, None, "doubling", 50, 4096]),
)
OTHERS = st.one_of(
    st.builds(ma.QRM2, growth=st.sampled_from([0.205, 0.6, 0.9]), width=st.sampled_from([1.0, 0.1])),
    st.just(ma.BracketingHalving()),
    st.builds(ma.OSE, width=st.sampled_from([2.0, 0.1])),
    st.builds(ma.PROSE, width=st.sampled_from([2.0, 0.1])),
)

test_siri_plays_as_its_twin = plays_plainly_as_its_twin(SIRIS, two_worlds, short_horizons, examples=30)
test_others_play_as_their_twins = plays_plainly_as_its_twin(OTHERS, two_worlds, short_horizons, examples=30)

ONE_OF_EACH = [
    ma.SiRI(beta=1.0, factor=1.0),
    ma.SiRI(beta="auto", factor=1.0, horizon="doubling"),
    ma.QRM2(growth=0.5),
    ma.BracketingHalving(),
    ma.OSE(width=0.1),
    ma.PROSE(width=0.1),
]
CORRECTABLE = [spec for spec in ONE_OF_EACH if spec.takes_corrections]


@pytest.mark.once
@pytest.mark.parametrize("spec", ONE_OF_EACH, ids=lambda spec: spec.label())
@pytest.mark.parametrize("world", [FLIPS, WEAR, COINS.replace(feedback=ma.Delayed(ma.Geometric(mean=8.0, longest=60)))])
def test_they_recommend_what_their_twins_do(spec, world):
    rounds, gaps = 260, []
    twin_run(spec, world, rounds, seed=8, replication=1, simple=gaps)
    each = range(1, rounds + 1)
    run = replicate(spec, world, rounds, seed=8, first=1, checkpoints=each, recommend=True, loop=PLAIN)
    assert run.out[0, :, len(COLUMNS)].tolist() == gaps
    assert len(set(gaps)) > 1


@pytest.mark.once
@pytest.mark.parametrize("spec", CORRECTABLE, ids=lambda spec: spec.label())
def test_corrected_rewards_count_as_in_the_twin(spec):
    corrected = ma.Conversions(ma.LogUniform(least=1, longest=30), timeout=12, late="corrected")
    for feedback in (ma.Lost(0.2, corrected), *([corrected.replace(pending=0.25)] if spec.takes_pending else [])):
        assert check_plainly(spec, COINS.replace(feedback=feedback), 200, seed=5).ignored == 0


# ---------------------------------------------------------------- how many arms


@pytest.mark.once
def test_siri_has_as_many_arms_as_exact_arithmetic_says():
    for beta in (0.5, 0.8, 1.0, 1.9, 2.0, 3.0):
        for factor in (0.3, 1.0, 5.0):
            settings = ma.SiRI(beta=beta, factor=factor).settings()
            for rounds in (1, 2, 10, 1000, 4096, 10**6):
                assert siri.subsample_size(settings, beta, rounds) == size_of(rounds, beta, factor)


@pytest.mark.once
def test_there_is_room_for_every_bracket_and_every_scope():
    for rounds in (1, 7, 8, 23, 24, 63, 64, 159, 160, 5000):
        brackets = [b for b in range(1, 20) if b == 1 or b * 2**b <= rounds]
        assert open_after(rounds) == len(brackets)
        assert ma.BracketingHalving().slots(rounds) == sum(2**b for b in brackets)
    for policy, rounded in ((ma.OSE(), math.floor), (ma.PROSE(), math.ceil)):
        arms, step = 0, 1
        for t in range(1, 20_000):
            steps = max(rounded(math.log2(t + 1)), 1)
            step = step if step <= steps else 1
            arms += t ** (step / steps) >= arms + 1
            step += 1
            assert arms <= policy.slots(t - 1) or t == 1


# ---------------------------------------------------------------- what they say


@pytest.mark.once
def test_siri_doubles_the_plays_of_one_arm_at_a_time():
    state = begun(ma.SiRI(beta=1.0, factor=1.0, width=0.001), 100)  # 10 arms, and hardly any doubt
    arms = []
    for t in range(1, 101):
        choice = ask(state, t)
        arms.append(choice.arm)
        state = tell(state, choice, 1.0 if choice.arm == 3 else 0.0)
    assert arms[:10] == list(range(10))
    assert arms[10:17] == [3] * 7  # 1, 2 and 4 more; its bound is still the largest
    assert recommend(state, 101).arm == 3


@pytest.mark.once
def test_the_pilot_estimates_beta():
    # A pilot of 10 arms with means that are told exactly: 4 within 10^-(1/3) = 0.464 of the best.
    state = begun(ma.SiRI(beta="auto"), 10_000)
    means = [0.9, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0]
    for t in range(1, 101):
        choice = ask(state, t)
        state = tell(state, choice, means[choice.arm])
    assert not state.is_pilot
    assert state.beta == pytest.approx(math.log(10 / 4) / (math.log(10) / 3))


@pytest.mark.once
@pytest.mark.parametrize("spec", CORRECTABLE, ids=lambda spec: spec.label())
def test_where_the_plan_cannot_be_followed_they_name_the_best_that_is_allowed(spec):
    state = begun(spec, 200)
    for t in range(1, 151):
        choice = ask(state, t)
        state = tell(state, choice, 1.0 if choice.arm == 1 else 0.0)
    allowed = np.zeros(spec.with_horizon(200).slots(200), dtype=np.bool_)
    assert ask_among(state, 151, allowed, False).slot == -1
    allowed[1] = True
    assert ask_among(state, 151, allowed, False).arm == 1
    assert recommend(state, 151).arm == 1


@pytest.mark.once
@pytest.mark.parametrize("delta", [0.0, -1.0])
def test_siri_refuses_bounds_that_never_fail(delta):
    with pytest.raises(ValueError, match="SiRI: delta must"):
        ma.SiRI(beta=1.0, delta=delta)
