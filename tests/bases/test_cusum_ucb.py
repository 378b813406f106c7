"""CUSUMUCB: the choices of its twin, its restarts and its rounds at random."""

import collections
import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.cusum_ucb import exploration_for, threshold_for
from manyarms.contract import best_among, pick, plays_of
from manyarms.streams import policy_key
from tests.bases.finite import begun, picks, play
from tests.twinned import crashing, horizons, plays_as_its_twin, plays_plainly_as_its_twin, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

tests = {
    "samples": st.sampled_from([1, 5, 100]),
    "tolerance": st.sampled_from([0.1, 0.02]),
    "threshold": st.sampled_from([None, 1.0, 3.0]),
    "changes": st.sampled_from([1, 9]),
    "width": st.sampled_from([1.0, 0.1]),
}
rested = st.builds(ma.CUSUMUCB, **tests)
restless = st.builds(ma.CUSUMUCB, rested=st.just(False), exploration=st.sampled_from([None, 0.0, 0.3, 1.0]), **tests)
specs = st.builds(ma.Subsample, st.one_of(rested, restless), beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 300))

test_cusum_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)
test_cusum_ucb_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=15)


def coin(slot, round):
    return float((round * 7 + 3 * slot) % 11 < slot + 2)


def test_without_alarms_it_is_ucb():
    assert picks(ma.CUSUMUCB(threshold=1e9), 7, 500, coin) == picks(ma.UCB(width=1.0), 7, 500, coin)


@pytest.mark.parametrize("jump", [0.5, -0.25])
def test_an_arm_restarts_after_as_many_rewards_as_the_jump_needs(jump):
    # The first 10 make the mean, and count for nothing else; then each adds |jump| - 1/8, exactly.
    base = begun(ma.CUSUMUCB(samples=10, tolerance=0.125, threshold=2.0), 2, 1000)
    base = play(base, 1, 0.0)
    for _ in range(40):
        base = play(base, 0, 0.5)
    needed = math.ceil(2.0 / (abs(jump) - 0.125))
    for number in range(needed):
        assert base.indexed.rewards.plays[0] == 40 + number
        base = play(base, 0, 0.5 + jump)
    assert base.indexed.rewards.plays.tolist() == [0, 1]
    assert (plays_of(base, 0), plays_of(base, 1)) == (40 + needed, 1)
    assert pick(base, 0, 99)[0] == 0  # untried
    for _ in range(30):  # it starts from new: another mean, and nothing is left of what had run away
        base = play(base, 0, 0.5 + jump)
    assert base.indexed.rewards.plays[0] == 30


def test_the_first_rewards_raise_no_alarm():
    base = begun(ma.CUSUMUCB(samples=50, threshold=1.0), 1, 1000)
    for number in range(50):
        base = play(base, 0, float(number % 2))
    assert base.indexed.rewards.plays[0] == 50


@pytest.mark.parametrize(
    # log(10^4 / changes), and sqrt(changes · that / 10^4); a horizon below two rounds a change counts as two.
    ("horizon", "changes", "threshold", "exploration"),
    [(1e4, 1, 9.2103, 0.030349), (1e4, 4, 7.8240, 0.055943), (3.0, 9, 0.6931, 1.0)],
)
def test_threshold_and_exploration_follow_from_the_horizon(horizon, changes, threshold, exploration):
    assert threshold_for(horizon, changes) == pytest.approx(threshold, rel=1e-4)
    assert exploration_for(horizon, changes) == pytest.approx(exploration, rel=1e-4)
    base = begun(ma.CUSUMUCB(changes=changes, rested=False), 3, horizon)
    assert base.exploration == pytest.approx(exploration, rel=1e-4)
    assert begun(ma.CUSUMUCB(changes=changes), 3, horizon).exploration == 0.0


def test_rounds_at_random_go_to_all_arms_and_say_how_likely_they_were():
    spec = ma.CUSUMUCB(rested=False, exploration=0.4)
    base = begun(spec, 4, 1000)
    for slot in range(4):
        base = play(base, slot, 0.25 * slot)
    key = policy_key(7, 0)
    rounds = [pick(base, key, round) for round in range(1, 2001)]
    counts = collections.Counter(slot for slot, _ in rounds)
    # 0.1 of 2,000 rounds for each but the best: 200, with a standard deviation of 13.4; four of them. And the last too.
    assert all(abs(counts[slot] - 200) < 54 for slot in range(3))
    assert {chance for slot, chance in rounds if slot < 3} == {0.1}
    assert dict(rounds)[3] == pytest.approx(0.7)
    among = [best_among(base, key, round, [True, False, True, False], 4) for round in range(1, 2001)]
    assert dict(among) == {0: 0.2, 2: pytest.approx(0.8)}
    assert abs(sum(slot == 0 for slot, _ in among) - 400) < 4 * math.sqrt(2000 * 0.2 * 0.8)
    assert best_among(base, key, 1, [False] * 4, 4)[0] == -1
    some = np.array([True, False, True, False])
    assert [spec.chance_among(base, slot, some) for slot in range(4)] == [0.2, 0.0, pytest.approx(0.8), 0.0]
    assert spec.is_random
    assert not ma.CUSUMUCB().is_random


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"samples": 0}, "samples must be a whole number of at least 1, not 0"),
        ({"tolerance": 0}, "tolerance must be above 0, not 0"),
        ({"threshold": -1.0}, r"threshold must be above 0, not -1\.0"),
        ({"changes": 0}, "changes must be a whole number of at least 1, not 0"),
        ({"exploration": 0.1}, "exploration is for arms that change in waiting; say rested=False, too"),
        ({"exploration": 1.1, "rested": False}, r"exploration must lie in \[0, 1\], not 1\.1"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"CUSUMUCB: {message}"):
        ma.CUSUMUCB(**fields)
