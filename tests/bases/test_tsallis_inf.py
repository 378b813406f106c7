"""TsallisINF: the choices of its twin, its weights and estimates, and how long it can neglect an arm."""

import math
import random
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import tsallis_inf as fast
from manyarms.bases.drawn import chance_in
from manyarms.contract import Choice, learn, pick
from manyarms.states import copied
from tests.bases.finite import begun
from tests.policies.test_theory import within_standard_errors
from tests.twinned import COINS, TOLD, blackboxes, crashing, horizons, plays_as_its_twin, subsamples

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

thorough = settings(deadline=None, derandomize=True, max_examples=100)
few_rounds = horizons.map(lambda horizon: min(horizon, 254))
bases = st.builds(ma.TsallisINF, estimator=st.sampled_from(["RV", "IW"]))
both = pytest.mark.parametrize("estimator", ["RV", "IW"])

test_subsample_over_tsallis_inf_plays_as_its_twin = plays_as_its_twin(
    subsamples(bases, **TOLD), crashing, few_rounds, examples=20
)

test_blackbox_over_tsallis_inf_plays_as_its_twin = plays_as_its_twin(
    blackboxes(bases), crashing, few_rounds, examples=10
)


def played(base, slot, reward):
    """The base when it has heard of a play that it drew."""
    return learn(base, Choice(slot=slot, arm=slot, probability=chance_in(base, slot), block=1, round=1), reward)


def chances(base):
    return [chance_in(base, slot) for slot in range(base.arms)]


# ---------------------------------------------------------------- weights


def bisected(losses, rate):
    """The normaliser, to the last bit that bisection can tell."""
    low, high = min(losses) - 2.0 * math.sqrt(len(losses)) / rate * 1.001, min(losses)
    while True:
        x = (low + high) / 2
        if not low < x < high:
            return low
        low, high = (x, high) if math.fsum(4.0 / (rate * (loss - x)) ** 2 for loss in losses) <= 1.0 else (low, x)


@thorough
@given(
    st.lists(st.floats(-1e3, 1e6), min_size=1, max_size=30),
    st.integers(1, 10**7).map(lambda t: 2.0 / math.sqrt(t)),
)
def test_weights_sum_to_1_and_the_normaliser_is_that_of_bisection(losses, rate):
    x = fast.normaliser_for(np.array(losses), len(losses), rate)
    gap, exact = min(losses) - x, min(losses) - bisected(losses, rate)
    # Losses of up to 1e6 are floats 1e-10 apart, and the gap is at least 1.
    assert gap == pytest.approx(exact, rel=1e-9)
    assert math.fsum(fast.weight(rate, loss, x) for loss in losses) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.once
def test_newton_needs_at_most_six_steps(monkeypatch):
    steps = []

    def counted(value):
        steps[-1] += 1
        return math.sqrt(value)

    monkeypatch.setattr(fast, "math", types.SimpleNamespace(sqrt=counted))
    dice = random.Random(1)
    for _ in range(2000):
        arms = int(10 ** dice.uniform(0, 3))
        spread = 10 ** dice.uniform(-3, 7)
        losses = np.array([spread * dice.random() ** dice.choice([1, 10]) for _ in range(arms)])
        steps.append(0)
        fast.normaliser_for(losses, arms, 10 ** dice.uniform(-4, 0.6))
    assert 4 <= max(steps) <= 6 < fast.MOST_STEPS


@both
def test_at_first_all_arms_weigh_the_same(estimator):
    for arms in (1, 2, 7, 1000):
        base = begun(ma.TsallisINF(estimator=estimator), arms, 100)
        assert chances(base) == pytest.approx([1.0 / arms] * arms, rel=1e-13)


@thorough
@given(st.lists(st.floats(0.0, 1e3), min_size=2, max_size=10), st.floats(-1e3, 1e3), st.integers(1, 10**5))
def test_weights_fall_with_the_losses_and_only_differences_count(losses, shift, t):
    rate = fast.learning_rate(False, t)

    def weights(losses):
        x = fast.normaliser_for(np.array(losses), len(losses), rate)
        return [fast.weight(rate, loss, x) for loss in losses]

    found = weights(losses)
    assert [found[place] for place in np.argsort(losses, kind="stable")] == sorted(found, reverse=True)
    assert weights([loss + shift for loss in losses]) == pytest.approx(found, rel=1e-9)


def test_two_arms_have_weights_in_closed_form():
    # With gap z of the better arm and g more of the other, the weights are to each other as (z + g)^2 to z^2.
    rate, g = 0.1, 30.0
    x = fast.normaliser_for(np.array([5.0, 5.0 + g]), 2, rate)
    better, other = (fast.weight(rate, loss, x) for loss in (5.0, 5.0 + g))
    assert other / better == pytest.approx(((5.0 - x) / (5.0 - x + g)) ** 2, rel=1e-12)
    assert better == pytest.approx(4.0 / (rate * (5.0 - x)) ** 2, rel=1e-12)


# ---------------------------------------------------------------- estimates


@both
def test_estimates_are_right_on_average_however_late_answers_come(estimator):
    """Each arm is drawn with its probability: on average the estimates rise by the losses, of all arms."""
    dice = random.Random(2)
    arms, rewards = 4, [0.2, 0.9, 0.5, 0.0]
    base = begun(ma.TsallisINF(estimator=estimator), arms, 1000)
    has_baselines = False
    for number in range(1, 200):
        asked = chances(base)
        later = copied(base)
        for _ in range(dice.choice([0, 0, 5])):  # other answers that come first
            later = played(later, int(pick(later, 1, number)[0]), dice.random())
        has_baselines |= any(fast.baseline(later.is_reduced, later.rate, chance) > 0.0 for chance in chances(later))
        rise = np.zeros(arms)
        for slot, chance in enumerate(asked):
            choice = Choice(slot=slot, arm=slot, probability=chance, block=1, round=number)
            rise += chance * (learn(copied(later), choice, rewards[slot]).losses - later.losses)
        np.testing.assert_allclose(rise, 1.0 - np.array(rewards), atol=1e-9 * float(np.abs(later.losses).max() + 1.0))
        base = played(base, int(pick(base, 1, number)[0]), dice.random())
    assert has_baselines == (estimator == "RV")


def test_rates_and_baselines_are_those_of_the_source():
    assert [fast.learning_rate(reduced, 16) for reduced in (False, True)] == [0.5, 1.0]
    assert [fast.baseline(True, 0.5, chance) for chance in (0.24, 0.25, 0.9)] == [0.0, 0.5, 0.5]
    assert fast.baseline(False, 0.5, 0.9) == 0.0


def test_rewards_beyond_the_range_count_as_its_ends():
    base = begun(ma.TsallisINF(), 3, 100)
    for beyond, end in ((-4.0, 0.0), (1e9, 1.0)):
        np.testing.assert_array_equal(played(copied(base), 1, beyond).losses, played(copied(base), 1, end).losses)


# ---------------------------------------------------------------- regret


@pytest.mark.compiled
def test_it_has_the_regret_of_an_independent_simulation():
    # T = 2^14 and 128 arms, 24 runs with a standard error of up to 9 percent: three of those, and three of ours.
    policies = {name: ma.Subsample(base=ma.TsallisINF(estimator=name), beta=1.0) for name in ("RV", "IW")}
    result = ma.simulate(policies, COINS, 2**14, replications=24, seed=1)
    for name, expected in (("RV", 1107), ("IW", 1669)):
        regret = result.final_regret(name)
        assert within_standard_errors(regret, expected, errors=3.0, allowance=3 * 0.09 * expected)


def regret_to_the_best(spec, rounds, key, losers):
    """Of two arms, one pays nothing and the other 1; how much less is earned than by the better one of them.

    ``losers`` says which one pays nothing in each round; None: the one that is picked.
    """
    base = begun(spec, 2, rounds)
    lost = np.zeros(2)
    earned, picked = 0.0, []
    for round in range(1, rounds + 1):
        slot, probability = pick(base, key, round)
        loser = slot if losers is None else losers[round - 1]
        lost[loser] += 1.0
        reward = float(slot != loser)
        base = learn(base, Choice(slot=int(slot), arm=int(slot), probability=probability, block=1, round=round), reward)
        earned += reward
        picked.append(int(slot))
    return rounds - lost.min() - earned, picked


@pytest.mark.once
@both
def test_an_adversary_costs_it_no_more_than_is_proved(estimator):
    # What ruins a base that leaves nothing to chance: whatever it picks pays nothing.
    rounds = 1000
    ruin, losers = regret_to_the_best(ma.UCB(width=0.5), rounds, 1, None)
    assert ruin >= rounds / 2
    # On average at most 4 sqrt(K T) + 1 for IW, 2 sqrt(K T) + 10 K log T + 16 for RV, whoever decides the rewards.
    root = math.sqrt(2 * rounds)
    bound = {"IW": 4 * root + 1, "RV": 2 * root + 20 * math.log(rounds) + 16}[estimator]
    base = ma.TsallisINF(estimator=estimator)
    regrets = [regret_to_the_best(base, rounds, key, losers)[0] for key in range(1, 41, 2)]
    assert np.mean(regrets) + 3.0 * np.std(regrets) / math.sqrt(len(regrets)) < bound < ruin / 2


# ---------------------------------------------------------------- the paper's assumption on bases


@both
def test_by_bad_luck_it_neglects_the_better_arm_too_often_for_the_papers_assumption(estimator):
    """docs/theory/rivals.md: arm 0 always pays 1/2, arm 1 never pays, and arm 0 is drawn in each of the first rounds.

    With a chance of about D^-3 its losses are estimated to be D more than those of arm 1, and it is not drawn again
    within D / 4 rounds, except with a chance below 1/8.
    """
    base = begun(ma.TsallisINF(estimator=estimator), 2, 10**6)
    luck = 1.0
    while (ahead := base.losses[0] - base.losses[1]) < 200:
        luck *= chance_in(base, 0)
        base = played(base, 0, 0.5)
    assert luck > ahead**-3.2
    again = 0.0
    for _ in range(int(ahead / 4)):
        again += chance_in(base, 0)
        base = played(base, 1, 0.0)
    assert again < 1 / 8


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("estimator", ["rv", "", None, 1])
def test_a_wrong_estimator_is_refused_in_words(estimator):
    with pytest.raises(ValueError, match=r"TsallisINF: estimator must be one of 'RV', 'IW', not"):
        ma.TsallisINF(estimator=estimator)
