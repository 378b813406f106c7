"""RAWUCB and FEWA: the choices of their twins, their windows, and when they let an arm go."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.fewa import tolerance
from manyarms.bases.raw_ucb import rotting_index
from manyarms.bases.recent import MOST_NEWS, amend, in_grains, new_recent, remember, window_mean, windows_of
from manyarms.contract import best_among, expected, pick, plays_of, revise
from tests.bases.finite import begun, picks, play
from tests.reference.rotting import recent_rewards
from tests.twinned import FLIPS, check_plainly, crashing, horizons, plays_as_its_twin, seeds, trending

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

raw_ucbs = st.builds(ma.RAWUCB, width=st.sampled_from([0.7, 2.0, 0.05]))
fewas = st.builds(ma.FEWA, width=st.sampled_from([0.03, 2.0, 0.005]))
few_rounds = horizons.map(lambda horizon: min(horizon, 254))


def specs(bases):
    return st.builds(ma.Subsample, base=bases, beta=st.just(1.0), arms=st.sampled_from([1, 2, 7, 20]))


test_subsample_over_raw_ucb_plays_as_its_twin = plays_as_its_twin(specs(raw_ucbs), crashing, few_rounds, examples=30)
test_subsample_over_fewa_plays_as_its_twin = plays_as_its_twin(specs(fewas), crashing, few_rounds, examples=30)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=20)
@given(specs(st.one_of(raw_ucbs, fewas)), trending, few_rounds, seeds)
def test_their_plain_kernels_play_as_their_twins_where_arms_wear(spec, world, rounds, seed):
    check_plainly(spec, world, rounds, seed)


# ---------------------------------------------------------------- windows


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.floats(-1.0, 2.0), max_size=140), st.floats(-1.0, 1.0))
def test_windows_are_sums_of_the_last_rewards(rewards, change):
    rewards = [in_grains(reward) for reward in rewards]
    change = in_grains(change)
    recent = new_recent(2)
    for number, reward in enumerate(rewards, start=1):
        remember(recent, 1, reward)
        if number % 7 == 0:  # the latest was another
            amend(recent, 1, change)
            rewards[number - 1] += change
    filled = [2**number for number in range(20) if 2**number <= len(rewards)]
    assert windows_of(recent, 1) == len(filled)
    for number, h in enumerate(filled):
        assert window_mean(recent, 1, number) == sum(recent_rewards(rewards, h)) / h
    assert windows_of(recent, 0) == 0


def test_a_window_lags_by_less_than_half_its_length():
    for taken in range(1, 300):
        for h in (1, 2, 4, 8, 16, 32, 64):
            window = recent_rewards(list(range(1, taken + 1)), h)
            if window is not None:
                assert 0 <= taken - window[-1] < max(h // 2, 1)


def test_rewards_lose_less_than_a_grain():
    for reward in (0.0, 1.0, 0.3, -0.3, 1 / 3):
        assert 0.0 <= reward - in_grains(reward) < 2.0**-30
    assert in_grains(1.0) == 1.0


# ---------------------------------------------------------------- RAW-UCB


def test_the_index_is_the_least_bound_of_all_windows():
    base = begun(ma.RAWUCB(width=0.7), 2, 1000)
    level = 0.7 * math.log(1000)
    for _ in range(64):
        base = play(base, 0, 1.0)
    # Of a reward that never changes the longest window says most; UCB would say the same.
    assert rotting_index(base.recent, base.level, 0) == pytest.approx(1.0 + math.sqrt(level / 64))
    for _ in range(16):
        base = play(base, 0, 0.0)
    # The last 16 rewards, and the 32 up to the last one, of which half are from before.
    bounds = {16: math.sqrt(level / 16), 32: 0.5 + math.sqrt(level / 32), 64: 48 / 64 + math.sqrt(level / 64)}
    assert rotting_index(base.recent, base.level, 0) == pytest.approx(min(bounds.values()))
    assert min(bounds, key=bounds.get) == 16
    assert rotting_index(base.recent, base.level, 1) == math.inf


def test_raw_ucb_plays_an_arm_that_never_pays_until_a_window_tells():
    # Its index is sqrt(level / h) for the longest filled window h, that of an arm that always pays is at least 1: it is
    # left for good at the latest with h >= level = 4.8, after 8 plays; and not before sqrt(level / h) is below
    # 1 + sqrt(level / 512) = 1.1, where h = 2 is not enough.
    picked = picks(ma.RAWUCB(width=0.7), 2, 1000, lambda slot, t: float(slot == 1))
    assert 4 <= picked.count(0) <= 8


@pytest.mark.compiled
def test_raw_ucb_leaves_arms_that_break_down_where_ucb_hangs_on_to_them():
    # Every arm breaks down after 100 plays on average. The same width, so that the windows make the difference.
    policies = {
        "windows": ma.Subsample(base=ma.RAWUCB(width=0.1), beta=1.0, arms=60),
        "whole": ma.Subsample(base=ma.UCB(width=0.1), beta=1.0, arms=60),
    }
    result = ma.simulate(policies, FLIPS, 3000, replications=40, seed=5)
    saved = result.final_regret("whole") - result.final_regret("windows")
    assert saved.mean() > 5 * saved.std(ddof=1) / math.sqrt(40)  # five standard errors: by chance once in 10^6


# ---------------------------------------------------------------- FEWA


def test_fewa_plays_an_arm_that_never_pays_until_it_has_filled_the_window_that_drops_it():
    # 2 sqrt(level / h) < 1 first for h = 64 >= 4 level = 4 · 2 log(1000) = 55.3: just so many plays.
    assert tolerance(2.0 * math.log(1000), 6) < 1.0 < tolerance(2.0 * math.log(1000), 5)
    picked = picks(ma.FEWA(width=2.0), 2, 1000, lambda slot, t: float(slot == 1))
    assert picked.count(0) == 64


def test_fewa_plays_equal_arms_in_turn():
    picked = picks(ma.FEWA(), 3, 300, lambda slot, t: 0.5)
    assert picked == [0, 1, 2] * 100


def test_fewa_goes_by_recent_rewards():
    # Slot 0 pays for 200 rounds and then no more. The mean of all its rewards stays the larger one.
    picked = picks(ma.FEWA(), 2, 400, lambda slot, t: float(t <= 200) if slot == 0 else 0.5)
    assert picked[:200].count(0) > 180
    assert picked[220:].count(1) == 180


# ---------------------------------------------------------------- late answers, and some arms only


@pytest.mark.parametrize("spec", [ma.RAWUCB(), ma.FEWA()])
def test_late_answers_change_the_latest_reward(spec):
    base = begun(spec, 2, 100)
    for reward in (0.25, 0.25, 0.0):
        base = play(base, 0, reward)
    base = revise(base, 0, 0, 0.75)
    assert window_mean(base.recent, 0, 0) == 0.75
    base = play(base, 0, 0.75)
    assert window_mean(base.recent, 0, 2) == 0.5
    assert expected(base, 0) == 0.5
    for left in (3, 2, 1):  # lost ones stay what was presumed
        base = revise(base, 0, -1, -0.5)
        assert (plays_of(base, 0), windows_of(base.recent, 0)) == (left, 3)
    base = revise(base, 0, -1, -0.5)
    assert (plays_of(base, 0), windows_of(base.recent, 0), pick(base, 0, 5)[0]) == (0, 0, 0)  # untried again
    base = revise(base, 1, 10_000, 2500.0)  # seen elsewhere
    assert (plays_of(base, 1), base.recent.taken[1], expected(base, 1)) == (10_000, MOST_NEWS, 0.25)
    assert window_mean(base.recent, 1, 12) == 0.25


def test_of_some_arms_the_best_is_played():
    for spec in (ma.RAWUCB(), ma.FEWA()):
        base = begun(spec, 4, 100)
        for slot, reward in enumerate([0.2, 0.9, 0.5]):
            base = play(base, slot, reward)
        assert best_among(base, 0, 4, [True, True, True, True], 4)[0] == 3
        assert best_among(base, 0, 4, [True, False, True, False], 4)[0] == 2
        assert best_among(base, 0, 4, [False] * 4, 4)[0] == -1


@pytest.mark.parametrize("kind", [ma.RAWUCB, ma.FEWA])
@pytest.mark.parametrize("width", [0, -1.0, math.inf, "wide"])
def test_a_wrong_width_is_refused_in_words(kind, width):
    with pytest.raises(ValueError, match=rf"{kind.__name__}: width must be (above 0|a finite number), not"):
        kind(width=width)
