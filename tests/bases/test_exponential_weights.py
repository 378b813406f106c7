"""Exp3S and Rexp3: the choices of their twins, their pace, and that weights are kept within floats."""

import math
import random

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import exponential_weights as fast
from manyarms.bases.drawn import chance_in
from manyarms.bases.exponential_weights import pace_for
from manyarms.contract import Choice, learn, pick
from manyarms.states import copied
from tests.bases.finite import begun
from tests.twinned import TOLD, crashing, horizons, plays_as_its_twin, subsamples

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

few_rounds = horizons.map(lambda horizon: min(horizon, 254))
exp3_s = st.builds(
    ma.Exp3S,
    changes=st.sampled_from([None, 0, 7]),
    mixing=st.sampled_from([None, None, 0.0, 0.2, 1.0]),
    share=st.sampled_from([None, 0.0, 0.05]),
)
rexp3 = st.builds(ma.Rexp3, variation=st.sampled_from([0.3, 1.0, 20.0]), batch=st.sampled_from([None, None, 1, 7]))

test_subsample_over_exp3_s_plays_as_its_twin = plays_as_its_twin(
    subsamples(exp3_s, **TOLD), crashing, few_rounds, examples=20
)

test_subsample_over_rexp3_plays_as_its_twin = plays_as_its_twin(
    subsamples(rexp3, **TOLD), crashing, few_rounds, examples=20
)


def choice_of(slot, probability, round=1):
    return Choice(slot=int(slot), arm=int(slot), probability=probability, block=1, round=round)


def picks(spec, arms, horizon, reward_of, key=1):
    """What a base picks in every round, and the base after the last."""
    base = begun(spec, arms, horizon)
    picked = []
    for round in range(1, horizon + 1):
        slot, probability = pick(base, key, round)
        picked.append(int(slot))
        base = learn(base, choice_of(slot, probability, round), reward_of(slot, round))
    return picked, base


# ---------------------------------------------------------------- pace


def test_the_pace_is_that_of_the_sources():
    def pace(spec, arms, horizon):
        return pace_for(spec.tuning(), arms, float(horizon))

    known = math.sqrt(10 * (3 * math.log(10 * 10**4) + math.e) / ((math.e - 1) * 10**4))
    assert pace(ma.Exp3S(changes=2), 10, 10**4) == pytest.approx((known, math.e / 10**4, 0), rel=1e-12)
    unknown = math.sqrt(10 * math.log(10**5) / 10**4)
    assert pace(ma.Exp3S(), 10, 10**4) == pytest.approx((unknown, math.e / 10**4, 0), rel=1e-12)
    assert pace(ma.Exp3S(mixing=0.3, share=0.0), 10, 10**4) == (0.3, 0.0, 0)
    batch = math.ceil((10 * math.log(10)) ** (1 / 3) * (10**4 / 2.5) ** (2 / 3))
    assert batch == 717
    mixing = math.sqrt(10 * math.log(10) / ((math.e - 1) * 717))
    assert pace(ma.Rexp3(variation=2.5), 10, 10**4) == pytest.approx((mixing, 0.0, 717), rel=1e-12)
    # So much exploration that nothing else is left, and a single arm.
    assert pace(ma.Exp3S(changes=5), 10, 10).mixing == pace(ma.Rexp3(batch=3), 10, 10).mixing == 1.0
    assert pace(ma.Rexp3(), 1, 100) == (0.0, 0.0, 1)


def test_rexp3_begins_anew_with_every_batch():
    base = begun(ma.Rexp3(batch=5), 3, 100)
    for number in range(1, 11):
        base = learn(base, choice_of(0, chance_in(base, 0)), 1.0)
        assert (base.weights[0] == 1.0) == (number % 5 == 0)
    assert base.plays.tolist() == [10, 0, 0]


def test_without_batches_and_shares_both_are_exp3():
    arms, rounds = 4, 300
    batch = rounds + 1
    mixing = math.sqrt(arms * math.log(arms) / ((math.e - 1) * batch))
    rewards = random.Random(3).choices([0.0, 1.0], k=rounds + 1)

    def pays(slot, round):
        return rewards[round] * (slot != 2)

    restarted, _ = picks(ma.Rexp3(batch=batch), arms, rounds, pays)
    shared, _ = picks(ma.Exp3S(mixing=mixing, share=0.0), arms, rounds, pays)
    assert restarted == shared


# ---------------------------------------------------------------- weights


def test_weights_are_those_of_the_source_and_shares_come_from_all():
    base = begun(ma.Exp3S(mixing=0.2, share=0.01), 4, 100)
    for slot, reward in ((1, 1.0), (3, 0.5), (1, 0.25), (0, 0.0)):
        before = copied(base)
        base = learn(base, choice_of(slot, chance_in(base, slot)), reward)
        chance = 0.8 * before.weights[slot] / before.weights.sum() + 0.05
        expected = before.weights.copy()
        expected[slot] *= math.exp(0.2 * reward / chance / 4)
        expected += math.e * 0.01 / 4 * before.weights.sum()
        np.testing.assert_allclose(base.weights, expected, rtol=1e-14)
        assert base.total == pytest.approx(base.weights.sum(), rel=1e-15)


def test_estimates_are_right_on_average_however_late_answers_come():
    """Each arm is drawn with its probability: on average the logarithms of weights rise by gamma / K · reward."""
    arms, rewards = 4, [0.2, 0.9, 0.5, 0.0]
    base = begun(ma.Exp3S(mixing=0.3, share=0.0), arms, 1000)
    for number in range(1, 100):
        asked = [chance_in(base, slot) for slot in range(arms)]
        later = copied(base)
        for _ in range(number % 3):  # other answers that come first
            later = learn(later, choice_of(number % arms, chance_in(later, number % arms)), 0.7)
        rise = np.zeros(arms)
        for slot, chance in enumerate(asked):
            told = learn(copied(later), choice_of(slot, chance), rewards[slot])
            rise += chance * np.log(told.weights / later.weights)
        np.testing.assert_allclose(rise, 0.3 / arms * np.array(rewards), atol=1e-12)
        slot, chance = pick(base, 1, number)
        base = learn(base, choice_of(slot, chance), rewards[slot])


@pytest.mark.parametrize("share", [0.0, 1e-4])
def test_weights_never_overflow_nor_vanish(share):
    # Arm 0 always pays, with the largest estimate: its weight grows by the factor e in each round.
    base = begun(ma.Exp3S(mixing=0.5, share=share), 5, 10_000)
    lightened = 0
    for _ in range(3000):
        before = base.total
        base = learn(base, choice_of(0, 0.1), 1.0)
        lightened += base.total < before
        assert math.isfinite(base.total)
        assert base.weights.min() > 0.0
        assert all(0.1 <= chance_in(base, slot) <= 1.0 for slot in range(5))
    assert lightened == math.floor(3000 / math.log(fast.LARGEST_TOTAL)) or share > 0.0
    assert lightened > 10
    for _ in range(30_000):  # what has vanished comes back
        if chance_in(base, 1) > 0.5:
            break
        base = learn(base, choice_of(1, 0.1), 1.0)
    assert chance_in(base, 1) > 0.5


@pytest.mark.once
def test_with_shares_it_finds_the_arm_that_has_become_the_best():
    def pays(slot, round):
        return float(slot == (0 if round <= 1500 else 1))

    late = {}
    for share in (0.0, 1e-3):
        picked, _ = picks(ma.Exp3S(mixing=0.1, share=share), 2, 2000, pays)
        late[share] = sum(picked[1750:])
    # In the last 250 rounds the new one has nearly all of them: a play at random of the other is one in twenty, 12.5
    # with a standard deviation of 3.5. With weights that never forget, it has such plays only.
    assert late[1e-3] > 200
    assert late[0.0] < 50


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ma.Exp3S(changes=-1), r"Exp3S: changes must be a whole number of at least 0, not -1"),
        (lambda: ma.Exp3S(mixing=2), r"Exp3S: mixing must lie in \[0, 1\], not 2"),
        (lambda: ma.Exp3S(share=-0.1), r"Exp3S: share must lie in \[0, 1\], not -0.1"),
        (lambda: ma.Rexp3(variation=0), r"Rexp3: variation must be above 0, not 0"),
        (lambda: ma.Rexp3(batch=0), r"Rexp3: batch must be a whole number of at least 1, not 0"),
    ],
)
def test_wrong_numbers_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()
