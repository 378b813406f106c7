"""DUCB: the choices of its twin, and what is left of earlier rounds."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.d_ucb import LARGEST_UNIT, discount_for, discounted_index, level_in
from manyarms.contract import best_among, expected, pick, plays_of, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import check_plainly, crashing, horizons, plays_as_its_twin, seeds, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

discounts = st.builds(
    ma.DUCB,
    discount=st.sampled_from([None, 0.05, 0.5, 0.9, 0.99]),
    changes=st.sampled_from([1, 9, 10_000]),
    width=st.sampled_from([0.6, 0.1]),
)
specs = st.builds(ma.Subsample, base=discounts, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 150))

test_subsample_over_d_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=15)
@given(specs, trending, few_rounds, seeds)
def test_its_plain_kernels_play_as_its_twin_where_arms_wear(spec, world, rounds, seed):
    check_plainly(spec, world, rounds, seed)


def test_without_a_discount_it_is_ucb_with_the_round_under_the_logarithm():
    base = begun(ma.DUCB(discount=1.0, width=0.6), 3, 100)
    for slot, reward in [(0, 1.0), (1, 0.0), (0, 0.5), (0, 0.0)]:
        base = play(base, slot, reward)
    # t = 4 rounds, of which slot 0 has 3 with the mean 1/2.
    assert base.mass == 4.0
    assert discounted_index(base, 0, level_in(base)) == pytest.approx(0.5 + 2 * math.sqrt(0.6 * math.log(4) / 3))
    assert discounted_index(base, 1, level_in(base)) == pytest.approx(2 * math.sqrt(0.6 * math.log(4)))
    assert discounted_index(base, 2, level_in(base)) == math.inf


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.999])
def test_weights_are_sums_of_powers_however_often_they_are_scaled(discount):
    dice = random.Random(1)
    base = begun(ma.DUCB(discount=discount), 2, 1000)
    told = []
    for t in range(1, 1001):
        told.append((dice.randrange(2), dice.random()))
        base = play(base, *told[-1])
        assert base.unit <= LARGEST_UNIT
        assert base.mass == pytest.approx((1 - discount**t) / (1 - discount), rel=1e-12)
    for slot in range(2):
        left = [(discount ** (1000 - s), reward) for s, (each, reward) in enumerate(told, start=1) if each == slot]
        assert base.weights[slot] / base.unit == pytest.approx(math.fsum(w for w, _ in left), rel=1e-12)
        mean = math.fsum(w * reward for w, reward in left) / math.fsum(w for w, _ in left)
        assert expected(base, slot) == pytest.approx(mean, abs=2.0**-20)
        assert plays_of(base, slot) == sum(each == slot for each, _ in told)


def test_an_arm_of_less_weight_than_a_play_is_not_untried():
    # The weight of an arm that always pays tends to 2, and the mass with it: its index to 1 + 2 sqrt(0.1 log(2) / 2) =
    # 1.37. An arm that never pays, played k rounds ago, has 2 sqrt(0.1 log(2) · 2^k) at most: 1.05 for k = 2, 1.49 for
    # k = 3. So it waits for two rounds or three, and not for one, as it would if a weight below 1 counted as none.
    picked = picks(ma.DUCB(discount=0.5, width=0.1), 2, 400, lambda slot, t: float(slot == 0))[10:]
    bad = [round for round, slot in enumerate(picked) if slot == 1]
    assert {b - a for a, b in itertools.pairwise(bad)} <= {3, 4}


@pytest.mark.parametrize(
    ("horizon", "changes", "discount"), [(10_000.0, 1, 0.9975), (10_000.0, 4, 0.995), (10.0, 90, 0.75), (0.0, 1, 0.75)]
)
def test_the_discount_follows_from_the_horizon(horizon, changes, discount):
    assert discount_for(horizon, changes) == pytest.approx(discount, abs=1e-15)
    assert begun(ma.DUCB(changes=changes), 3, max(horizon, 1.0)).discount == pytest.approx(discount, abs=1e-15)


def test_it_leaves_an_arm_that_breaks_down():
    def reward_of(slot, round):
        return (1.0 if round <= 500 else 0.0) if slot == 0 else 0.5

    # A hundred rounds after the change, 0.95^100 = 0.6 % of what was before is left.
    discounted = picks(ma.DUCB(discount=0.95, width=0.1), 2, 1000, reward_of)[600:]
    assert discounted.count(1) > 0.7 * len(discounted)
    # With everything left the broken arm's mean is at least 1/2 as long as most plays are its own.
    assert picks(ma.DUCB(discount=1.0, width=0.1), 2, 1000, reward_of).count(1) <= 500


def test_late_answers_count_as_much_as_the_latest_play():
    base = begun(ma.DUCB(discount=0.5), 2, 100)
    base = play(base, 0, 0.25)
    base = play(base, 0, 0.25)  # weights 1/2 and 1
    base = revise(base, 0, 0, 0.5)
    assert expected(base, 0) == pytest.approx((0.375 + 0.5) / 1.5, abs=2.0**-20)
    assert expected(revise(base, 0, 0, 5.0), 0) == 1.0
    base = begun(ma.DUCB(discount=0.5), 2, 100)
    for reward in (0.25, 0.25):
        base = play(base, 0, reward)
    base = revise(base, 0, -1, -0.25)
    assert (plays_of(base, 0), expected(base, 0), base.mass) == (1, 0.25, 0.75)
    base = revise(base, 0, -1, -0.25)
    assert (plays_of(base, 0), base.mass, pick(base, 0, 3)[0]) == (0, 0.0, 0)  # untried again
    base = revise(base, 1, 8, 6.0)  # seen elsewhere
    assert (plays_of(base, 1), expected(base, 1), base.mass) == (8, 0.75, 8.0)


def test_an_arm_that_was_out_of_reach_for_very_long_is_untried():
    base = begun(ma.DUCB(discount=0.01), 2, 1000)
    base = play(base, 0, 1.0)
    for _ in range(400):
        base = play(base, 1, 1.0)
    assert base.weights[0] == 0.0
    assert (pick(base, 0, 402)[0], expected(base, 0)) == (0, 0.0)


def test_of_some_arms_it_plays_that_with_the_largest_index():
    base = begun(ma.DUCB(), 4, 100)
    for slot, reward in enumerate([0.2, 0.9, 0.5]):
        base = play(base, slot, reward)
    assert best_among(base, 0, 4, [True, True, True, True], 4)[0] == 3
    assert best_among(base, 0, 4, [True, False, True, False], 4)[0] == 2
    assert best_among(base, 0, 4, [False] * 4, 4)[0] == -1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"discount": 0}, "discount must be above 0, not 0"),
        ({"discount": 1.5}, r"discount must lie in \[0, 1\], not 1\.5"),
        ({"changes": 0}, "changes must be a whole number of at least 1, not 0"),
        ({"width": -1}, "width must be above 0, not -1"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"DUCB: {message}"):
        ma.DUCB(**fields)
