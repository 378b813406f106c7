"""MUCB: the choices of its twin, its restarts and its forced exploration."""

import math

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.m_ucb import threshold_for
from manyarms.contract import pick, plays_of
from tests.bases.finite import begun, picks, play
from tests.twinned import crashing, horizons, plays_as_its_twin, plays_plainly_as_its_twin, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

tests = {
    "window": st.sampled_from([2, 10, 40]),
    "threshold": st.sampled_from([None, 0.5, 3.0]),
    "changes": st.sampled_from([1, 9]),
    "width": st.sampled_from([2.0, 0.1]),
}
rested = st.builds(ma.MUCB, **tests)
restless = st.builds(ma.MUCB, rested=st.just(False), exploration=st.sampled_from([None, 0.0, 0.3, 1.0]), **tests)
specs = st.builds(ma.Subsample, st.one_of(rested, restless), beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 300))

test_m_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)
test_m_ucb_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=15)


def coin(slot, round):
    return float((round * 7 + 3 * slot) % 11 < slot + 2)


def test_without_alarms_it_is_ucb():
    assert picks(ma.MUCB(threshold=1e9), 7, 500, coin) == picks(ma.UCB(), 7, 500, coin)


@pytest.mark.parametrize("is_rested", [True, False])
def test_a_restart_forgets_all_arms_or_the_one_that_changed(is_rested):
    # Halves of 10: after k rewards of 1 behind zeros the sums are k apart, and more than 4 with the fifth.
    base = begun(ma.MUCB(rested=is_rested, window=20, threshold=4.0), 3, 1000)
    base = play(play(base, 1, 0.5), 2, 0.5)
    for _ in range(30):
        base = play(base, 0, 0.0)
    for number in range(5):
        assert base.indexed.rewards.plays.tolist() == [30 + number, 1, 1]
        base = play(base, 0, 1.0)
    assert base.indexed.rewards.plays.tolist() == ([0, 1, 1] if is_rested else [0, 0, 0])
    assert [plays_of(base, slot) for slot in range(3)] == [35, 1, 1]
    for _ in range(40):  # nothing is left of the zeros
        base = play(base, 0, 1.0)
    assert base.indexed.rewards.plays[0] == 40


def test_fewer_rewards_than_a_window_raise_no_alarm():
    base = begun(ma.MUCB(window=20, threshold=4.0), 1, 1000)
    for number in range(19):
        base = play(base, 0, float(number >= 10))
    assert base.indexed.rewards.plays[0] == 19
    assert play(base, 0, 1.0).indexed.rewards.plays[0] == 0  # 10 against 0


@pytest.mark.parametrize(
    ("window", "arms", "horizon", "threshold"),
    # sqrt(w log(2 K T^2) / 2): sqrt(29,549 · 26.0217 / 2) and sqrt(200 · 23.7190 / 2).
    [(29_549, 10, 1e5, 620.05), (200, 100, 1e4, 48.702)],
)
def test_the_threshold_follows_from_window_arms_and_horizon(window, arms, horizon, threshold):
    assert threshold_for(window, arms, horizon) == pytest.approx(threshold, rel=1e-4)
    assert begun(ma.MUCB(window=200), 100, 10_000).threshold == pytest.approx(48.702, rel=1e-4)


def test_forced_exploration_comes_in_turns():
    # K = 4, T = 10^5 and w = 50 have b = sqrt(25 log(8 · 10^10)) = 25.05 and
    # gamma = sqrt(4 (50.11 + 21.21) / (2 · 10^5)) = 0.03777: ceil(4 / gamma) = 106.
    base = begun(ma.MUCB(rested=False, window=50), 4, 100_000)
    assert base.period == math.ceil(4 / math.sqrt(4 * (2 * 25.053 + 3 * math.sqrt(50)) / 2e5)) == 106
    for slot in range(4):
        base = play(base, slot, float(slot == 2))
    assert [pick(base, 0, round)[0] for round in range(106, 112)] == [2, 0, 1, 2, 3, 2]
    assert begun(ma.MUCB(rested=False, exploration=0.3), 4, 1000).period == 14
    assert begun(ma.MUCB(rested=False, changes=1000), 4, 1000).period == 5  # one round is for the index
    assert begun(ma.MUCB(), 4, 1000).period == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"window": 21}, "window must be even, to have two halves, not 21"),
        ({"window": 0}, "window must be a whole number of at least 2, not 0"),
        ({"threshold": 0}, "threshold must be above 0, not 0"),
        ({"changes": 0}, "changes must be a whole number of at least 1, not 0"),
        ({"exploration": 0.1}, "exploration is for arms that change in waiting; say rested=False, too"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"MUCB: {message}"):
        ma.MUCB(**fields)
