"""Stretches: how long they are, what ends them, and what is added up."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.policies import stretch as stretching
from manyarms.policies.stretch import NO_STRETCH, longer, one_play, planned

some = settings(deadline=None, derandomize=True, max_examples=100)
means = st.floats(0.001, 0.999)


def begun(mean, plays=10**6, most=10**6, dispersion=1.0):
    calm = NO_STRETCH._replace(slot=3, arm=7, calm=10**6)
    return planned(calm, plays, most, mean, dispersion)


@some
@given(means, st.sampled_from([1.0, 0.25]), st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40))
def test_the_doubt_is_the_most_that_any_last_plays_say_for_half_the_mean(mean, dispersion, rewards):
    def ratio(reward):  # of the likelihoods of half the mean and of the mean, as logarithms
        half = 0.5 * mean
        hits, misses = reward * math.log(half / mean), (1.0 - reward) * math.log((1.0 - half) / (1.0 - mean))
        return (hits + misses) / dispersion

    stretch, told = begun(mean, dispersion=dispersion), 0
    for n, reward in enumerate(rewards, start=1):
        stretch = longer(stretch, one_play(reward, 0.0), 0)
        told += 1
        most = max(0.0, *(sum(map(ratio, rewards[first:n])) for first in range(n)))
        assert stretch.doubt == pytest.approx(most, abs=1e-9)
        if stretch.left == 0:
            break
    assert (stretch.left == 0) == (stretch.doubt >= stretching.ALARM)
    assert stretch.told.number == told
    assert stretch.told.total == sum(rewards[:told])
    assert stretch.told.are_coins == (0.5 not in rewards[:told])


def test_a_few_failures_of_an_arm_that_hardly_fails_end_a_stretch():
    # Of a mean of 0.98: log((1 - 0.49) / (1 - 0.98)) = 3.2 for each failure, so one is enough; of 0.9 it is 1.7.
    for mean, failures in ((0.98, 1), (0.9, 2), (0.5, 8)):
        stretch = begun(mean)
        while stretch.left > 0:
            stretch = longer(stretch, one_play(0.0, 0.0), 1)
        assert stretch.told.number == failures


def test_a_reward_that_is_no_coin_ends_a_stretch_of_coins():
    stretch = longer(begun(0.5), one_play(1.0, 1.0), 1)
    assert stretch.left > 0
    assert longer(stretch, one_play(0.5, 1.0), 1).left == 0
    assert longer(stretch, one_play(0.5, 1.0), 0).left > 0


@some
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), means)
def test_a_stretch_is_a_share_of_what_was_played_and_no_longer_than_half_of_what_was_calm(plays, calm, most, mean):
    stretch = planned(NO_STRETCH._replace(calm=calm), plays, most, mean, 1.0)
    longest = min(plays // stretching.SHARE, calm // 2, most)
    assert stretch.left == (longest if longest >= stretching.LEAST else 0)
    assert stretch.calm == calm
    assert stretch.told.number == 0


def test_calm_grows_until_an_alarm_or_another_arm():
    stretch = begun(0.9)._replace(calm=100)
    for _ in range(5):
        stretch = longer(stretch, one_play(1.0, 1.0), 1)
    assert stretching.judged(stretch, 3, 7, 0).calm == 105
    assert stretching.judged(stretch, 3, 7, 1).calm == 106
    assert stretching.judged(stretch, 3, 8, 1).calm == 1  # another arm in its slot
    assert stretching.judged(stretch, 4, 9, 1).calm == 1
    alarmed = longer(longer(stretch, one_play(0.0, 1.0), 1), one_play(0.0, 0.0), 1)
    assert stretching.is_alarmed(alarmed)
    assert stretching.judged(alarmed, 3, 7, 0).calm == 0
    assert stretching.judged(alarmed, 3, 7, 0).left == 0
