"""UCBAIR and IMOSS: the choices of their twins, how many arms there are, their indices and their regret."""

import math
from decimal import localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.ucb_v import ucb_v_index
from manyarms.contract import ask, ask_among, correct, recall, tell
from manyarms.policies import growing as fast
from tests.open_asks import left_open, lost, settled
from tests.policies.rivals import begun, choices_of, regrets, short_horizons
from tests.reference import growing as slow
from tests.reference.sizes import exact
from tests.twinned import COINS, betas, check_plainly, plays_as_its_twin, two_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

airs = st.builds(ma.UCBAIR, beta=betas, below_one=st.booleans(), width=st.sampled_from([1.0, 0.1, 0.01]))
imosses = st.builds(
    ma.IMOSS,
    growth=st.sampled_from([0.1, 0.5, 0.8]),
    warmup=st.sampled_from([1, 2, 10, 300]),
    alpha=st.sampled_from([0.1, 2.0]),
)

test_ucb_air_plays_as_its_twin = plays_as_its_twin(airs, two_worlds, horizons=short_horizons, examples=25)
test_imoss_plays_as_its_twin = plays_as_its_twin(imosses, two_worlds, horizons=short_horizons, examples=25)


@pytest.mark.once
@pytest.mark.parametrize("spec", [ma.UCBAIR(beta=0.8, width=0.05), ma.IMOSS(warmup=3)])
def test_corrected_rewards_move_means_and_variances_as_in_the_twin(spec):
    corrected = ma.Conversions(ma.LogUniform(least=1, longest=30), timeout=12, late="corrected")
    for feedback in (corrected, ma.Lost(0.2, corrected), corrected.replace(pending=0.25)):
        assert check_plainly(spec, COINS.replace(feedback=feedback), 300, seed=5).ignored == 0


# ---------------------------------------------------------------- how many arms there are


def first_rounds(spec, rounds):
    """The round in which each arm is played first."""
    arms = [choice.arm for choice in choices_of(spec, 0.5, rounds)]
    return [arms.index(arm) + 1 for arm in range(max(arms) + 1)]


def test_fresh_arms_come_when_the_power_of_the_round_exceeds_their_number():
    assert first_rounds(ma.UCBAIR(beta=1.0), 101) == [1, *(k * k + 1 for k in range(1, 11))]
    assert first_rounds(ma.UCBAIR(beta=0.5), 130) == [1, *(k**3 + 1 for k in range(1, 6))]
    assert first_rounds(ma.UCBAIR(beta=0.5, below_one=True), 260) == [1, *(k**4 + 1 for k in range(1, 5))]
    assert first_rounds(ma.UCBAIR(beta=2.0, below_one=True), 28) == first_rounds(ma.UCBAIR(beta=2.0), 28)
    assert first_rounds(ma.IMOSS(), 145) == [*range(1, 11), 101, 122, 145]


@pytest.mark.once
@pytest.mark.parametrize(
    "spec", [ma.UCBAIR(beta=0.8), ma.UCBAIR(beta=1.0), ma.UCBAIR(beta=3.0), ma.IMOSS(), ma.IMOSS(0.9)]
)
def test_there_are_as_many_arms_as_exact_arithmetic_says_and_room_for_them(spec):
    growth = spec.growing()
    with localcontext(prec=60):
        exponent = exact(spec.growth) if isinstance(spec, ma.IMOSS) else exact(spec.beta) / (exact(spec.beta) + 1)
    arms = 0
    for t in range(1, 3000):
        arms += t >= fast.draw_round(growth, arms)
        assert arms == slow.wanted(t, exponent, growth.first), t
        assert spec.slots(t - 1) >= arms or t == 1


# ---------------------------------------------------------------- indices


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30), st.integers(2, 10**6), st.integers(1, 1000))
def test_traits_and_moment_make_the_index(rewards, t, arms):
    n, total, squares = len(rewards), sum(rewards), sum(reward**2 for reward in rewards)

    def index(spec):
        formula = spec.formula()
        moment = fast.moment_of(formula, t, arms)
        return fast.index_at(formula, moment, *fast.traits_of(formula, n, total, squares))

    level = 2.0 * math.log(10.0 * math.log(t))
    # The root of a variance that is nearly 0 shows the rounding error of the squares.
    assert index(ma.UCBAIR(beta=1.0)) == pytest.approx(ucb_v_index(n, total, squares, level), abs=1e-6)
    share = max(0.0, math.log(t / (arms * n)))
    assert index(ma.IMOSS()) == pytest.approx(total / n + math.sqrt(0.55 * share / n))


# ---------------------------------------------------------------- regret


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("horizon", "replications", "mean", "deviation"),
    [(100, 2000, 47.7, 9), (1000, 1000, 426, 45), (10_000, 200, 3162, 185)],
)
def test_the_regret_of_ucb_air_is_that_of_an_independent_simulation(horizon, replications, mean, deviation):
    regret = regrets({"it": ma.UCBAIR(beta=1.0)}, horizon, replications)["it"]
    # Three standard errors of the other's runs, if there were 200 of them, and of these.
    assert regret.mean() == pytest.approx(mean, abs=3 * deviation * (200**-0.5 + replications**-0.5))


@pytest.mark.compiled
def test_moss_is_less_careful_and_loses_less():
    regret = regrets({"air": ma.UCBAIR(beta=1.0), "moss": ma.IMOSS()}, 1000, 200)
    assert (regret["moss"] < regret["air"]).mean() > 0.95


# ---------------------------------------------------------------- late answers, and catalogues


@pytest.mark.parametrize("spec", [ma.UCBAIR(beta=1.0), ma.IMOSS(warmup=4)])
def test_open_asks_go_on_to_other_arms_and_leave_no_trace_when_they_are_lost(spec):
    state = begun(spec)
    state, *asks = left_open(state, 1, 2, 3, 4, 5)
    assert len({one.choice.arm for one in asks}) >= 2
    for one in asks:
        state = lost(state, one)
    drawn = state.counts.arms
    assert (state.rounds, state.counts.ignored) == (5, 0)
    assert not state.rewards.plays[:drawn].any()
    assert not state.rewards.sums[:drawn].any()
    assert not state.squares[:drawn].any()
    assert np.isinf(state.traits.first[:drawn]).all()


def test_an_answer_takes_the_place_of_what_was_presumed_and_a_correction_of_the_answer():
    state = begun(ma.UCBAIR(beta=1.0))
    state = tell(state, ask(state, 1), 0.5)
    state, late = left_open(state, 2)
    state = settled(state, late, 1.0)
    at_once = begun(ma.UCBAIR(beta=1.0))
    at_once = tell(at_once, ask(at_once, 1), 0.5)
    at_once = tell(at_once, ask(at_once, 2), 1.0)
    corrected = correct(at_once, late.choice, 1.0, 0.25)
    assert corrected.rewards.sums[:2].tolist() == [0.5, 0.25]
    assert corrected.squares[:2].tolist() == [0.25, 0.0625]
    assert state.rewards.sums[:2].tolist() == [0.5, 1.0]
    assert state.squares[:2].tolist() == [0.25, 1.0]


def test_the_best_allowed_arm_is_asked_for_if_there_is_one():
    state = begun(ma.IMOSS(warmup=3))
    for round, reward in enumerate([0.2, 0.9, 0.5], start=1):
        state = tell(state, ask(state, round), reward)
    allowed = np.array([True, False, True] + [False] * 20)
    assert ask_among(state, 4, allowed, False).arm == 2
    assert ask_among(state, 4, np.zeros(23, dtype=np.bool_), False).slot == -1
    state = recall(state, 0, 8, 8.0, True)
    assert (state.rewards.plays[0], state.rewards.sums[0], state.squares[0]) == (9, 8.2, pytest.approx(8.04))
    assert ask_among(state, 4, allowed, False).arm == 0


@pytest.mark.once
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ma.UCBAIR(beta=0), "UCBAIR: beta must be above 0, not 0"),
        (lambda: ma.UCBAIR(beta=1.0, below_one=1), "UCBAIR: below_one must be True or False, not 1"),
        (lambda: ma.UCBAIR(beta=1.0, width=-1), "UCBAIR: width must be above 0, not -1"),
        (lambda: ma.IMOSS(growth=1.0), "IMOSS: growth must be above 0 and below 1, not 1.0; the source has 0.5"),
        (lambda: ma.IMOSS(warmup=0), "IMOSS: warmup must be a whole number of at least 1, not 0"),
        (lambda: ma.IMOSS(alpha=0), "IMOSS: alpha must be above 0, not 0"),
    ],
)
def test_wrong_settings_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()
