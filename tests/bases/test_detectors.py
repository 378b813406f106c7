"""Detectors of change: CUSUM, two halves of a window, and the generalized likelihood ratio."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyarms.bases import detectors as fast
from manyarms.bases.glr_kl_ucb import glr_threshold
from manyarms.bases.recent import new_recent, remember
from tests.reference import detecting as slow
from tests.reference.windows import in_grains

pytestmark = pytest.mark.once

quick = settings(deadline=None, derandomize=True, max_examples=40)
coins = st.lists(st.integers(0, 1).map(float), min_size=2, max_size=120)
shares = st.lists(st.floats(0.0, 1.0).map(in_grains), min_size=2, max_size=60)


def run_away(rewards, reference, tolerance):
    """What CUSUM says after each of them."""
    cusum = fast.new_cusum(2)
    cusum.rises[1] = cusum.falls[1] = 9.0  # of an arm that was there before
    fast.compare_with(cusum, 1, reference)
    return [fast.cusum_after(cusum, 1, reward, tolerance) for reward in rewards]


@pytest.mark.parametrize("jump", [0.5, -0.5, 0.25, -0.25])
def test_cusum_reaches_its_threshold_after_as_many_rewards_as_the_jump_needs(jump):
    # Every reward adds |jump| - 1/8, which is exact in floats: 3 is reached after ceil(3 / (|jump| - 1/8)) of them.
    sums = run_away([0.5] * 20 + [0.5 + jump] * 40, 0.5, 0.125)
    assert set(sums[:20]) == {0.0}
    alarm = next(number for number, away in enumerate(sums[20:], start=1) if away >= 3.0)
    assert alarm == math.ceil(3.0 / (abs(jump) - 0.125))


def test_cusum_forgives_what_is_within_the_tolerance():
    assert set(run_away([0.6, 0.4, 0.62] * 30, 0.5, 0.125)) == {0.0}
    # What was off does not count for ever: rewards that are not take it back.
    sums = run_away([1.0] * 4 + [0.5] * 20, 0.5, 0.125)
    assert max(sums) == 1.5
    assert sums[-1] == 0.0


@quick
@given(shares, st.sampled_from([2, 4, 6, 20]))
def test_halves_are_the_newest_rewards_and_those_before(rewards, window):
    halves = fast.new_halves(3, window)
    halves.newer[1] = halves.older[1] = 7.0  # of an arm that was there before
    for taken, reward in enumerate(rewards):
        apart = fast.halves_after(halves, window, 1, taken, reward)
        heard = rewards[: taken + 1]
        if taken + 1 < window:
            assert apart == 0.0
        else:
            half = window // 2
            assert apart == abs(sum(heard[-half:]) - sum(heard[-window:-half]))  # exactly: all are grains
    assert not halves.rewards[:window].any()
    assert not halves.rewards[2 * window :].any()


def glr_of(rewards):
    recent = new_recent(2)
    for reward in rewards:
        remember(recent, 1, reward)
    return fast.glr_statistic(recent, 1, sum(rewards))


@quick
@given(st.one_of(coins, shares))
def test_the_ratio_is_the_largest_over_the_splits_that_blocks_can_tell(rewards):
    assert glr_of(rewards) == pytest.approx(slow.glr(rewards, slow.splits(len(rewards))), rel=1e-9, abs=1e-9)


def test_there_is_a_split_within_half_of_any_number_of_rewards_ago():
    for plays in range(2, 700):
        ago = np.array(sorted(plays - split for split in slow.splits(plays)))
        wanted = np.arange(1, plays)
        nearest = ago[np.searchsorted(ago, wanted, side="right") - 1]
        assert (2 * nearest > wanted).all()
        assert len(ago) <= 2 * math.log2(plays) + 1


@quick
@given(coins, st.data())
def test_the_ratio_of_a_split_is_that_of_the_likelihoods(rewards, data):
    split = data.draw(st.integers(1, len(rewards) - 1))

    def log_likelihood(tosses):
        heads = sum(tosses)
        parts = [(heads, heads / len(tosses)), (len(tosses) - heads, 1.0 - heads / len(tosses))]
        return sum(number * math.log(share) for number, share in parts if number > 0)

    def gain(tosses):
        return fast.split_statistic(len(tosses), sum(tosses), len(tosses) - split, sum(tosses[split:]))

    before, after = rewards[:split], rewards[split:]
    direct = log_likelihood(before) + log_likelihood(after) - log_likelihood(rewards)
    assert gain(rewards) == pytest.approx(direct, abs=1e-9)
    backwards = fast.split_statistic(len(rewards), sum(rewards), split, sum(before))
    assert gain(rewards) == pytest.approx(backwards, abs=1e-9)  # the same if time runs backwards


@pytest.mark.parametrize("rewards", [[0.0] * 50, [1.0] * 50, [0.0, 1.0] * 32, [0.25] * 64])
def test_equal_means_are_no_change(rewards):
    assert fast.split_statistic(len(rewards), sum(rewards), 32, sum(rewards[-32:])) == pytest.approx(0.0, abs=1e-12)


def alarm_of(rewards, statistic):
    for plays in range(2, len(rewards) + 1):
        if statistic(rewards[:plays]) >= glr_threshold(math.log(3.0 / 0.05), plays):
            return plays
    return None


def delays_of(rewards, change):
    """How many rewards after a change it is seen, and how many if all splits are tried."""
    seen = alarm_of(rewards, glr_of)
    best = alarm_of(rewards, lambda heard: slow.glr(heard, range(1, len(heard))))
    assert change < best <= seen  # no split is tried that the other does not try
    return seen - change, best - change


@pytest.mark.parametrize(("before", "after"), [(0.8, 0.2), (0.5, 0.9), (0.9, 0.5)])
def test_without_noise_a_change_is_seen_at_most_twice_as_late_as_with_all_splits(before, after):
    for change in (60, 90, 100):
        seen, best = delays_of([before] * change + [after] * 110, change)
        assert seen <= 2 * best


def test_with_noise_a_change_is_seen_somewhat_later_than_with_all_splits():
    dice = random.Random(5)
    means = [0.8] * 90 + [0.2] * 110
    delays = [delays_of([float(dice.random() < mean) for mean in means], 90) for _ in range(12)]
    seen, best = np.sum(delays, axis=0)
    assert 1.2 < seen / best < 1.6  # measured: 1.41


def test_false_alarms_are_rare():
    # At most 1 in 20 is aimed at. More than 4 of 20 would have a chance of 0.003 then.
    dice = random.Random(7)
    alarms = sum(alarm_of([float(dice.random() < 0.5) for _ in range(150)], glr_of) is not None for _ in range(20))
    assert alarms <= 4
