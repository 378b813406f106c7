"""SWUCB: the choices of its twin, and what is in its window."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.sw_ucb import window_for
from manyarms.contract import best_among, expected, pick, plays_of, renew, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import FLIPS, check_plainly, check_same, crashing, horizons, plays_as_its_twin, seeds, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

windows = st.builds(
    ma.SWUCB,
    window=st.sampled_from([None, 1, 2, 13, 100, 1000]),
    changes=st.sampled_from([1, 9]),
    width=st.sampled_from([0.6, 0.1]),
    longest=st.sampled_from([50, 16_384]),
)
specs = st.builds(ma.Subsample, base=windows, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 150))

test_subsample_over_sw_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=15)
@given(specs, trending, few_rounds, seeds)
def test_its_plain_kernels_play_as_its_twin_where_arms_wear(spec, world, rounds, seed):
    check_plainly(spec, world, rounds, seed)


def test_with_a_window_as_long_as_the_run_it_is_ucb():
    def coin(slot, round):
        return float((round * 7 + 3 * slot) % 11 < slot + 2)

    assert picks(ma.SWUCB(window=600, width=0.5), 7, 600, coin) == picks(ma.UCB(width=0.5), 7, 600, coin)


def test_the_window_holds_the_last_rounds_and_nothing_else():
    dice = random.Random(3)
    base = begun(ma.SWUCB(window=10), 4, 1000)
    told = []
    for _ in range(200):
        slot, reward = dice.randrange(4), dice.random()
        base = play(base, slot, reward)
        told.append((slot, math.floor(reward * 2**30) / 2**30))
        for each in range(4):
            rewards = [reward for slot, reward in told[-10:] if slot == each]
            assert base.rewards.plays[each] == len(rewards)
            assert base.rewards.sums[each] == sum(rewards)  # exactly: not of the arm that is played now
            assert plays_of(base, each) == sum(slot == each for slot, _ in told)
        assert base.rewards.plays.sum() == min(len(told), 10)


@pytest.mark.parametrize(
    ("horizon", "changes", "window"),
    # 2 sqrt(10^4 · 9.2103 / changes) = 606.97 and 303.48; a horizon of 1 counts as 2: 2 sqrt(2 log 2) = 2.35.
    [(10_000.0, 1, 607), (10_000.0, 4, 304), (1.0, 1, 3)],
)
def test_the_window_follows_from_the_horizon(horizon, changes, window):
    assert window_for(horizon, changes) == window
    base = renew(ma.SWUCB(changes=changes, longest=400).start(3), 3, horizon, math.log(horizon))
    assert base.length == min(window, 400)
    assert base.level == pytest.approx(0.6 * math.log(max(2.0, min(horizon, window, 400))))


def test_every_arm_is_played_again_within_a_window():
    # Out of the window it is untried, and is played as soon as those before it are: there are at most four of them.
    picked = picks(ma.SWUCB(window=60), 5, 1000, lambda slot, t: float(slot == 2))
    for slot in range(5):
        rounds = [round for round, each in enumerate(picked) if each == slot]
        assert max(b - a for a, b in itertools.pairwise(rounds)) <= 60 + 5
    assert picked.count(2) > 600


def test_it_leaves_an_arm_that_breaks_down():
    def reward_of(slot, round):
        return (1.0 if round <= 500 else 0.0) if slot == 0 else 0.5

    # From round 601 on nothing before the change is in a window of 100.
    windowed = picks(ma.SWUCB(window=100), 2, 1000, reward_of)[600:]
    assert windowed.count(1) > 0.8 * len(windowed)
    # With everything in it the broken arm's mean is at least 1/2 as long as most plays are its own.
    assert picks(ma.UCB(width=0.6), 2, 1000, reward_of).count(1) <= 500


def test_late_answers_leave_the_window_with_the_play_they_were_credited_to():
    base = begun(ma.SWUCB(window=5), 2, 100)
    base = play(base, 0, 0.25)
    base = play(base, 0, 0.25)
    base = revise(base, 0, 0, 0.5)  # the answer to one of them
    assert expected(base, 0) == 0.5
    base = revise(base, 0, -1, -0.25)  # the other is lost
    assert (base.rewards.plays[0], base.rewards.sums[0], plays_of(base, 0)) == (1, 0.75, 1)
    for _ in range(3):
        base = play(base, 1, 1.0)
    assert base.rewards.plays.tolist() == [1, 3]
    base = play(base, 1, 1.0)  # what was lost is no play, but was a round
    assert (base.rewards.plays.tolist(), base.rewards.sums[0]) == ([0, 4], 0.0)
    assert pick(base, 0, 7)[0] == 0  # as good as untried
    assert revise(base, 0, 0, 0.5).rewards.sums[0] == 0.0  # too late
    base = revise(base, 0, 8, 6.0)  # seen elsewhere: one round, and it was round 2 that left
    assert (base.rewards.plays.tolist(), expected(base, 0)) == ([8, 4], 0.75)


def test_of_some_arms_it_plays_that_with_the_largest_index():
    base = begun(ma.SWUCB(window=50), 4, 100)
    for slot, reward in enumerate([0.2, 0.9, 0.5]):
        base = play(base, slot, reward)
    assert best_among(base, 0, 4, [True, True, True, True], 4)[0] == 3
    assert best_among(base, 0, 4, [True, False, True, False], 4)[0] == 2
    assert best_among(base, 0, 4, [False] * 4, 4)[0] == -1


@pytest.mark.compiled
def test_a_full_ring_plays_as_its_twin():
    check_same(ma.Subsample(base=ma.SWUCB(longest=100), beta=1.0, arms=7), FLIPS, 900, seed=4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"window": 0}, "window must be a whole number of at least 1, not 0"),
        ({"changes": 0.5}, r"changes must be a whole number of at least 1, not 0\.5"),
        ({"width": 0}, "width must be above 0, not 0"),
        ({"longest": 0}, "longest must be a whole number of at least 1, not 0"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"SWUCB: {message}"):
        ma.SWUCB(**fields)
