"""RLessUCB: the choices of its twin, and where its lines lead."""

import math

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.r_less_ucb import rising_index, window_for
from manyarms.bases.rising_ucb import rising_index as sisters_index
from manyarms.contract import best_among, expected, pick, plays_of, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import crashing, horizons, plays_plainly_as_its_twin, trending

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* counts losses from top"),
    pytest.mark.once,
]

risings = st.builds(
    ma.RLessUCB,
    share=st.sampled_from([0.25, 0.5, 0.03]),
    width=st.sampled_from([0.4, 10.0, 0.01, 1e-4]),
    longest=st.sampled_from([1, 4, 64]),
)
specs = st.builds(ma.Subsample, base=risings, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 200))

test_r_less_ucb_plays_as_its_twin = plays_plainly_as_its_twin(specs, crashing, few_rounds, examples=15)
test_r_less_ucb_plays_as_its_twin_where_arms_wear = plays_plainly_as_its_twin(specs, trending, few_rounds, examples=8)


def heard(spec, slots_and_rewards):
    base = begun(spec, 2, 1000)
    for slot, reward in slots_and_rewards:
        base = play(base, slot, reward)
    return base


def index_in(base, slot, round, level):
    """The index in a round to come."""
    return rising_index(base._replace(told=round - 1), slot, level)


def by_turns(number, reward_in):
    """Two arms in turn: slot 1 pays what an arm that rises with the rounds pays in each of them."""
    return [(round % 2, reward_in(round)) for round in range(1, number + 1)]


@pytest.mark.parametrize("rounds", [8, 15, 40, 333])
def test_the_index_is_that_of_the_paper(rounds):
    # (1/h) sum of x_l + (t - t_l) (x_l - x_(l-h)) / (t_l - t_(l-h)), and
    # sigma (t - t_(n-h+1)) sqrt(10 alpha log(t) / h^3)
    def reward_in(round):
        return (round * round % 97) / 97

    base = heard(ma.RLessUCB(longest=1000), by_turns(rounds, reward_in))
    t = rounds + 1
    for slot in (0, 1):
        times = [round for round in range(1, t) if round % 2 == slot]
        x = [reward_in(round) for round in times]
        n, h = len(x), int(0.25 * len(x))
        if h == 0:
            assert index_in(base, slot, t, 1.0) == math.inf
            continue
        line = sum(x[i] + (t - times[i]) * (x[i] - x[i - h]) / (times[i] - times[i - h]) for i in range(n - h, n)) / h
        bound = 0.1 * (t - times[n - h]) * math.sqrt(10 * 4 * math.log(t) / h**3)
        # Rewards are rounded down by less than 2^-30, and slopes drawn out over fewer rounds than there were.
        assert index_in(base, slot, t, math.sqrt(0.4 * math.log(t))) == pytest.approx(
            line + bound, abs=2.0**-30 * (1 + t)
        )


def test_if_one_arm_has_all_plays_it_is_r_ed_ucb():
    rewards = [(number * 37 % 64) / 64 for number in range(64)]
    base = heard(ma.RLessUCB(), [(0, reward) for reward in rewards])
    sister = begun(ma.RisingUCB(), 2, 1000)
    for reward in rewards:
        sister = play(sister, 0, reward)
    confidence = 0.4 * math.log(65)  # 64 rewards: both have a window of 16, which ends with the latest
    assert index_in(base, 0, 65, math.sqrt(confidence)) == pytest.approx(sisters_index(sister, 0, confidence))


def test_the_line_of_an_arm_that_rises_steadily_is_what_it_will_pay():
    base = heard(ma.RLessUCB(), by_turns(300, lambda t: 0.1 + t / 1024))
    for slot in (0, 1):
        for t in (301, 400, 800):
            # 2^-30 for each reward, over the window's rounds and what lies ahead, as above.
            assert index_in(base, slot, t, 0.0) == pytest.approx(0.1 + t / 1024, abs=2.0**-30 * (2 + t))


def test_a_window_is_a_share_of_the_rewards_and_has_a_longest():
    assert [window_for(0.25, taken, 64) for taken in (0, 3, 4, 7, 8, 11, 255, 256, 10**9)] == [
        0, 0, 1, 1, 2, 2, 63, 64, 64,
    ]  # fmt: skip
    # Only the last 2 · 4 rewards are looked at, however they wind through the room that is made for them.
    many = heard(ma.RLessUCB(longest=4), [(0, (number * 7 % 11) / 16) for number in range(103)])
    few = begun(ma.RLessUCB(longest=4, share=0.5), 2, 1000)
    for number in range(95, 103):
        few = play(few, 0, (number * 7 % 11) / 16)
    assert many.levels[0] == pytest.approx(few.levels[0])
    assert many.slopes[0] == pytest.approx(few.slopes[0])


def test_arms_without_a_window_come_first():
    assert picks(ma.RLessUCB(), 3, 60, lambda slot, t: 0.5)[:12] == [0] * 4 + [1] * 4 + [2] * 4


def test_it_comes_back_to_an_arm_that_rises_in_waiting():
    # Arm 0 pays 1/2, arm 1 rises by 1/2000 a round and is better from round 1000 on.
    picked = picks(ma.RLessUCB(width=1e-6), 2, 2000, lambda slot, t: 0.5 if slot == 0 else t / 2000)
    # Lines are right: with bounds of at most 2000 sqrt(1e-6 log(2000)) = 5.5 for h = 1, and 0.01 for h = 64.
    assert picked[1300:].count(1) > 600
    assert picks(ma.Greedy(), 2, 2000, lambda slot, t: 0.5 if slot == 0 else t / 2000).count(1) == 1


def test_late_answers_change_the_latest_reward_and_its_line():
    base = heard(ma.RLessUCB(), [(0, 0.25)] * 7 + [(0, 0.0)])
    base = revise(base, 0, 0, 0.25)
    assert (base.levels[0], base.slopes[0], expected(base, 0)) == (0.25, 0.0, 0.25)
    for _ in range(8):
        base = revise(base, 0, -1, -0.25)
    assert (plays_of(base, 0), pick(base, 0, 9)[0], base.levels[0]) == (0, 0, math.inf)
    base = revise(base, 1, 16, 8.0)  # seen elsewhere
    assert (plays_of(base, 1), base.told, base.levels[1], base.lasts[1]) == (16, 24, 0.5, 24)


def test_of_some_arms_it_plays_that_with_the_largest_index():
    base = begun(ma.RLessUCB(width=1e-6), 3, 100)
    for slot, reward in ((0, 0.2), (1, 0.9)):
        for _ in range(4):
            base = play(base, slot, reward)
    assert best_among(base, 0, 9, [True, True, True], 3)[0] == 2
    assert best_among(base, 0, 9, [True, True, False], 3)[0] == 1
    assert best_among(base, 0, 9, [False] * 3, 3)[0] == -1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"share": 0.6}, r"share must be at most 1/2, not 0\.6"),
        ({"width": -1}, "width must be above 0, not -1"),
        ({"longest": 0}, "longest must be a whole number of at least 1, not 0"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"RLessUCB: {message}"):
        ma.RLessUCB(**fields)
