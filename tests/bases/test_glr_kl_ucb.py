"""GLRklUCB: the choices of its twin, its restarts and its forced exploration."""

import math

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import best_among, expected, pick, plays_of, renew, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import crashing, horizons, plays_as_its_twin, plays_plainly_as_its_twin, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

widths = st.sampled_from([1.0, 0.3])
deltas = st.sampled_from([None, 0.5, 1.0])
rested = st.builds(ma.GLRklUCB, delta=deltas, width=widths)
restless = st.builds(
    ma.GLRklUCB,
    rested=st.just(False),
    restarts=st.sampled_from(["local", "global"]),
    delta=deltas,
    exploration=st.sampled_from([None, 0.0, 0.1, 1.0]),
    width=widths,
)
specs = st.builds(ma.Subsample, st.one_of(rested, restless), beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 300))

test_glr_kl_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)
test_glr_kl_ucb_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=10)


def coin(slot, round):
    return float((round * 7 + 3 * slot) % 11 < slot + 2)


def test_without_alarms_it_is_kl_ucb():
    assert picks(ma.GLRklUCB(delta=1e-300), 7, 500, coin) == picks(ma.KLUCB(), 7, 500, coin)


def broken(slot, round):
    """The first arm breaks down; the second pays one half all the time, the others nothing."""
    return (1.0 if round <= 300 else 0.0) if slot == 0 else 0.5 if slot == 1 else 0.0


def test_it_leaves_an_arm_that_breaks_down():
    # After 3 failures behind 290 successes the ratio is 16.7, and has to reach log(3 · 293^1.5 · sqrt(1000)) = 13.1.
    # Then the arm is tried as a new one that fails, some ten times.
    picked = picks(ma.GLRklUCB(), 4, 1000, broken)[300:]
    assert picked.count(1) > 0.9 * len(picked)
    # Without a detector its mean is above one half for as long as it was good.
    assert picks(ma.KLUCB(), 4, 1000, broken)[300:].count(1) < 0.6 * len(picked)


def test_a_restart_forgets_one_arm_or_all():
    for scope, others in (("local", [5, 5]), ("global", [0, 0])):
        base = begun(ma.GLRklUCB(rested=False, restarts=scope, delta=0.5), 3, 1000)
        for slot in (1, 2):
            for _ in range(5):
                base = play(base, slot, 1.0)
        for _ in range(100):
            base = play(base, 0, 1.0)
        base = play(
            base, 0, 0.0
        )  # 101 rewards speak of two means by 5.61, and have to by log(3 · 101^1.5 / 0.5) = 8.71
        assert base.restarts == 0
        base = play(base, 0, 0.0)  # by 9.84, and 8.73
        assert base.restarts == 1
        assert base.indexed.rewards.plays.tolist() == [0, *others]
        assert pick(base, 0, 999)[0] == 0  # untried
        assert [plays_of(base, slot) for slot in range(3)] == [102, 5, 5]


def test_forced_exploration_comes_in_turns_and_more_often_after_restarts():
    # alpha_k = sqrt(k · 10 · 9.2103 / 10^4) = 0.09597 sqrt(k): floor(10 / alpha_1) = 104, and floor(10 / alpha_2) = 73.
    base = begun(ma.GLRklUCB(rested=False), 10, 10_000)
    assert base.period == 104
    for slot in range(10):
        base = play(base, slot, float(slot == 3))
    assert [pick(base, 0, round)[0] for round in range(104, 116)] == [3, *range(10), 3]
    for _ in range(200):
        base = play(base, 3, 1.0)
    while base.restarts == 0:
        base = play(base, 3, 0.0)
    assert base.period == 73
    assert begun(ma.GLRklUCB(rested=False, exploration=0.2), 10, 10_000).period == 50
    assert begun(ma.GLRklUCB(rested=False, exploration=1.0), 10, 10_000).period == 11  # one round is for the index
    assert begun(ma.GLRklUCB(), 10, 10_000).period == 0
    assert renew(base, 10, 10_000.0, 1.0).period == 104


def test_of_some_arms_it_plays_the_one_in_turn_or_that_with_the_largest_index():
    base = begun(ma.GLRklUCB(rested=False, exploration=0.2), 4, 100)  # a period of 20 rounds
    for slot, reward in enumerate([0.2, 0.9, 0.5, 0.1]):
        base = play(base, slot, reward)
    assert best_among(base, 0, 41, [True] * 4, 4)[0] == 0
    assert best_among(base, 0, 41, [False, True, True, True], 4)[0] == 1
    assert best_among(base, 0, 50, [True, False, True, True], 4)[0] == 2
    assert best_among(base, 0, 50, [False] * 4, 4)[0] == -1


def test_open_asks_teach_nothing_and_news_do():
    base = begun(ma.GLRklUCB(), 2, 1000)
    assert math.isnan(expected(base, 0))
    base = revise(base, 0, 60, 54.0)  # seen elsewhere
    assert (plays_of(base, 0), base.indexed.rewards.sums[0]) == (60, pytest.approx(54.0, abs=1e-6))
    base = revise(base, 0, 40, 0.0)
    assert base.restarts == 1
    assert plays_of(base, 0) == 100


@pytest.mark.parametrize("reward", [-0.5, 1.5])
def test_rewards_beyond_the_range_count_as_its_end(reward):
    base = play(begun(ma.GLRklUCB(), 2, 1000), 0, reward)
    assert base.indexed.rewards.sums[0] == min(max(reward, 0.0), 1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"delta": 0.0}, "delta must be above 0, not 0"),
        ({"delta": 2.0}, "delta must lie in \\[0, 1\\], not 2"),
        ({"restarts": "some"}, "restarts must be one of 'local', 'global', not 'some'"),
        ({"restarts": "global"}, "restarts='global' is for arms that change in waiting; say rested=False, too"),
        ({"exploration": 0.1}, "exploration is for arms that change in waiting; say rested=False, too"),
        ({"rested": 1}, "rested must be True or False, not 1"),
        ({"width": 0}, "width must be above 0, not 0"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"GLRklUCB: {message}"):
        ma.GLRklUCB(**fields)
