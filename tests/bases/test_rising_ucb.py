"""RisingUCB: the choices of its twin, and where its lines lead."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.rising_ucb import line_to, noise_bound, rising_index, window_level
from manyarms.contract import best_among, expected, pick, plays_of, revise
from tests.bases.finite import begun, picks, play
from tests.twinned import check_plainly, crashing, horizons, plays_as_its_twin, seeds, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

risings = st.builds(
    ma.RisingUCB, share=st.sampled_from([0.25, 0.5, 0.03]), width=st.sampled_from([0.4, 10.0, 0.01, 1e-4])
)
specs = st.builds(ma.Subsample, base=risings, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))
few_rounds = horizons.map(lambda horizon: min(horizon, 254))

test_subsample_over_rising_ucb_plays_as_its_twin = plays_as_its_twin(specs, crashing, few_rounds, examples=30)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=15)
@given(specs, trending, few_rounds, seeds)
def test_its_plain_kernels_play_as_its_twin_where_arms_change(spec, world, rounds, seed):
    check_plainly(spec, world, rounds, seed)


def after(spec, rewards):
    base = begun(spec, 2, 1000)
    for reward in rewards:
        base = play(base, 0, reward)
    return base


@pytest.mark.parametrize("taken", [4, 7, 8, 23, 100, 511])
@pytest.mark.parametrize("ahead", [1, 50, 400])
def test_the_line_of_an_arm_that_rises_steadily_is_what_it_will_pay(taken, ahead):
    base = after(ma.RisingUCB(), [0.1 + number / 1024 for number in range(1, taken + 1)])
    level = window_level(0.25, taken)
    # Rewards were rounded down by less than 2^-30; a slope, their difference over h, is drawn out by ahead + 2 h.
    assert line_to(base, 0, level, taken + ahead) == pytest.approx(
        0.1 + (taken + ahead) / 1024, abs=2.0**-30 * (2 + (ahead + 2 * 2**level) / 2**level)
    )


def test_the_line_of_an_arm_whose_gains_shrink_is_above_what_it_will_pay():
    def curve(number):
        return 1.0 - math.exp(-number / 100)

    for taken in (8, 50, 64, 200, 333):
        base = after(ma.RisingUCB(), [curve(number) for number in range(1, taken + 1)])
        for t in (taken + 1, taken + 30, taken + 300):
            assert line_to(base, 0, window_level(0.25, taken), t) > curve(t)


def test_a_window_is_the_power_of_two_within_the_share():
    assert [window_level(0.25, taken) for taken in (0, 3, 4, 7, 8, 15, 16, 2**30)] == [-1, -1, 0, 0, 1, 1, 2, 19]
    assert [window_level(0.5, taken) for taken in (1, 2, 3, 4, 8)] == [-1, 0, 0, 1, 2]


def test_the_bound_is_that_of_the_paper_where_a_window_ends():
    # sigma (t - n + h - 1) sqrt(10 alpha log(t) / h^3), sigma = 0.1, alpha = 4, with n = 64 rewards, h = 16, t = 101.
    base = after(ma.RisingUCB(), [0.5] * 64)
    paper = 0.1 * (101 - 64 + 16 - 1) * math.sqrt(10 * 4 * math.log(101) / 16**3)
    assert noise_bound(4, 101 - 64, 0.4 * math.log(101)) == pytest.approx(paper)
    assert rising_index(base._replace(told=100), 0, 0.4 * math.log(101)) == pytest.approx(0.5 + paper)
    # Three rewards later the window is the same, and is drawn from where it ended.
    for _ in range(3):
        base = play(base, 0, 0.5)
    assert rising_index(base._replace(told=100), 0, 0.4 * math.log(101)) == pytest.approx(0.5 + paper)


def test_arms_without_a_window_come_first():
    picked = picks(ma.RisingUCB(), 3, 60, lambda slot, t: 0.5)
    assert picked[:12] == [0] * 4 + [1] * 4 + [2] * 4


def test_it_stays_with_an_arm_that_will_be_better_where_greedy_does_not():
    def rewards(spec):
        taken = [0, 0]

        def reward_of(slot, round):
            taken[slot] += 1
            return 0.5 if slot == 0 else 1.0 - math.exp(-taken[1] / 200)

        return picks(spec, 2, 2000, reward_of)

    # With 128 rewards, and so a window of 32, the even arm's index is at most
    # 0.5 + 2031 sqrt(1e-5 log(2000) / 32^3) = 0.6. The other one pays more than that after 184 plays, and its line is
    # never below what it will pay.
    assert rewards(ma.RisingUCB(width=1e-5))[1000:].count(1) >= 1000 - 128
    assert rewards(ma.Greedy()).count(1) == 1


def test_late_answers_change_the_latest_reward_and_its_line():
    base = after(ma.RisingUCB(), [0.25] * 7 + [0.0])
    base = revise(base, 0, 0, 0.25)
    assert line_to(base, 0, 1, 100) == 0.25
    assert expected(base, 0) == 0.25
    for _ in range(8):
        base = revise(base, 0, -1, -0.25)
    assert (plays_of(base, 0), pick(base, 0, 9)[0]) == (0, 0)
    base = revise(base, 1, 16, 8.0)  # seen elsewhere
    assert (plays_of(base, 1), base.told, line_to(base, 1, 2, 100)) == (16, 24, 0.5)


def test_of_some_arms_it_plays_that_with_the_largest_index():
    base = begun(ma.RisingUCB(), 3, 100)
    for slot, reward in ((0, 0.2), (1, 0.9)):
        for _ in range(4):
            base = play(base, slot, reward)
    assert best_among(base, 0, 9, [True, True, True], 3)[0] == 2
    assert best_among(base, 0, 9, [True, True, False], 3)[0] == 1
    assert best_among(base, 0, 9, [False] * 3, 3)[0] == -1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"share": 0}, "share must be above 0, not 0"),
        ({"share": 0.6}, r"share must be at most 1/2, not 0\.6"),
        ({"width": -1}, "width must be above 0, not -1"),
    ],
)
def test_wrong_settings_are_refused_in_words(fields, message):
    with pytest.raises(ValueError, match=f"RisingUCB: {message}"):
        ma.RisingUCB(**fields)
