"""Drifts: how means move."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.contract import Play, begin, moved
from manyarms.streams import replication_key
from tests.reference.world import NaiveWorld
from tests.worlds import begun, check_distribution, check_share, exactly, lone_arm, normal_bound, play

# Drifts: the path of one arm

ROUNDS = (1, 2, 3, 4, 5, 8, 20, 100, 1000)  # with gaps: the round counts, not the play

PATHS = [
    (ma.Still(), 0.4, lambda mean, t, n: mean),
    (ma.Rotting(0.03), 0.2, lambda mean, t, n: mean - 0.03),
    (ma.Rotting("1/t"), 1.0, lambda mean, t, n: mean - 1 / t),
    (ma.Rotting("0.05/t"), 0.9, lambda mean, t, n: mean - 0.05 / t),
    (ma.Rotting("0.1/t^0.5"), 0.9, lambda mean, t, n: mean - 0.1 / math.sqrt(t)),
    (ma.Rotting("0.1*t^-2"), 0.9, lambda mean, t, n: mean - 0.1 / (t * t)),
    (ma.Rotting("10%"), 0.9, lambda mean, t, n: 0.9 * mean),
    (ma.Rotting("100%"), 0.9, lambda mean, t, n: 0.0),
    (ma.Rising(0.3), 0.0, lambda mean, t, n: mean + 0.3),
    (ma.Rising("0.5/t"), 0.2, lambda mean, t, n: mean + 0.5 / t),
    (ma.Rising("t^-0.7"), 0.0, lambda mean, t, n: mean + math.exp(-0.7 * math.log(t))),
    (ma.Rising("1%"), 0.5, lambda mean, t, n: 1.01 * mean),
    (ma.JumpAt(play=1, size=-0.3), 0.8, lambda mean, t, n: mean - 0.3 * (n == 1)),
    (ma.JumpAt(play=6, size=0.3), 0.8, lambda mean, t, n: mean + 0.3 * (n == 6)),
    (ma.Crash(probability=0.0), 0.8, lambda mean, t, n: mean),
    (ma.Crash(probability=1.0, to=0.1), 0.8, lambda mean, t, n: 0.1),
    (ma.Crash(probability=1.0), 0.8, lambda mean, t, n: 0.8),  # fresh, from a list of one
    (ma.Adversary(patience=3, size=0.25), 1.0, lambda mean, t, n: mean - 0.25 * (n % 3 == 0)),
    (ma.Adversary(patience=1, size=0.4), 1.0, lambda mean, t, n: mean - 0.4),
    (ma.Fatigue(after=3, rate=0.1), 0.8, lambda mean, t, n: mean - 0.1 * (n > 3)),
    (ma.Fatigue(after=1, rate=0.0), 0.8, lambda mean, t, n: mean),
    (ma.Turnover(length=4), 0.8, lambda mean, t, n: mean if t <= 4 else 0.0),
    (ma.Turnover(length=4, to=0.9), 0.8, lambda mean, t, n: mean),
    (
        ma.Phases([ma.Still(), ma.Rotting(0.1), ma.Rising(0.05), ma.JumpAt(9, 0.5)], ends=[2, 4, 999]),
        0.5,
        lambda mean, t, n: mean if t <= 2 else mean - 0.1 if t <= 4 else mean + 0.05 if t <= 999 else mean + 0.5,
    ),
    (
        ma.Stages([ma.Rising("10%"), ma.Still(), ma.Rotting(0.1)], ends=[3, 5]),
        0.5,
        lambda mean, t, n: 1.1 * mean if n <= 3 else mean if n <= 5 else mean - 0.1,
    ),
]


@pytest.mark.parametrize(("drift", "first_mean", "step"), PATHS, ids=[case[0].label() for case in PATHS])
def test_path_of_one_arm(drift, first_mean, step):
    mean, expected, changed = first_mean, [], []
    for number, round in enumerate(ROUNDS, start=1):
        after = min(1.0, max(0.0, step(mean, round, number)))
        expected.append((mean, after, mean))
        changed.append(after - mean)
        mean = after
    state, path = lone_arm(drift, first_mean, ROUNDS)
    assert path == pytest.approx(np.array(expected), abs=1e-12)
    # What has been counted by the last round: every change but the one after it.
    changed = np.array(changed[:-1])
    assert state.variation == pytest.approx(np.abs(changed).sum(), abs=1e-12)
    assert state.rotting_variation == pytest.approx(np.maximum(-changed, 0).sum(), abs=1e-12)


def test_means_stop_at_the_ends_and_a_stopped_arm_has_not_changed():
    # In quarters, so that every number is exact.
    state, path = lone_arm(ma.Rotting(0.25), 0.75, range(1, 11))
    assert path[:, 1].tolist() == [0.5, 0.25] + [0.0] * 8
    assert (state.changes, state.rotting_changes, state.variation, state.rotting_variation) == (3, 3, 0.75, 0.75)
    state, path = lone_arm(ma.Rising(0.25), 0.5, range(1, 11))
    assert path[:, 1].tolist() == [0.75] + [1.0] * 9
    assert (state.changes, state.rotting_changes, state.variation, state.rotting_variation) == (2, 0, 0.5, 0.0)
    state, path = lone_arm(ma.JumpAt(2, -5.0), 0.5, range(1, 5))
    assert path[:, 1].tolist() == [0.5, 0.0, 0.0, 0.0]
    assert (state.changes, state.variation) == (1, 0.5)


def test_a_crash_to_the_level_it_has_is_no_change():
    state, _ = lone_arm(ma.Crash(1.0, to=0.25), 0.5, range(1, 11))
    assert (state.changes, state.variation) == (1, 0.25)


def test_an_arm_moves_only_when_it_is_played():
    state = begun(ma.World(ma.Empirical([0.75]), ma.Rotting(0.25), ma.Exact()), slots=2)
    _, path = play(state, [0, 1, 1, 0, 1, 0])
    assert path[:, 0].tolist() == [0.75, 0.75, 0.5, 0.5, 0.25, 0.25]


def test_crash_strikes_as_often_as_it_says_and_draws_fresh_means():
    reservoir = ma.PowerLaw(2.0)
    state = begun(ma.World(reservoir, ma.Crash(0.3), ma.Exact()), seed=4)
    _, path = play(state, [0] * 20_000)
    crashed = path[:, 0] != path[:, 1]
    check_share(crashed.sum(), 20_000, 0.3)
    fresh = 1 - path[crashed, 1]
    gap = stats.powerlaw(2.0)
    check_distribution(fresh, gap.cdf, gap.ppf(np.linspace(0.01, 0.99, 199)))
    # One crash says nothing about the next: 12 (u - 1/2) (v - 1/2) of neighbours has mean 0 and variance 1.
    centred = (gap.cdf(fresh) - 0.5) * math.sqrt(12)
    assert abs((centred[1:] * centred[:-1]).sum()) / math.sqrt(centred.size - 1) < normal_bound(1)


def test_random_walk_takes_uniform_steps():
    size = 0.0005  # 20,000 steps stay within the unit interval
    state = begun(ma.World(ma.Empirical([0.5]), ma.RandomWalk(size), ma.Exact()), seed=5)
    _, path = play(state, [0] * 20_000)
    steps = (path[:, 1] - path[:, 0]) / size
    assert np.abs(steps).max() <= 1 + 1e-9
    even = stats.uniform(-1.0, 2.0)
    check_distribution(steps, even.cdf, np.linspace(-0.99, 0.99, 199))


def test_random_walk_stops_at_the_ends():
    state = begun(ma.World(ma.Empirical([0.5]), ma.RandomWalk(1.0), ma.Exact()), seed=6)
    state, path = play(state, [0] * 500)
    assert path.min() == 0.0
    assert path.max() == 1.0
    steps = np.abs(path[:-1, 1] - path[:-1, 0])
    assert state.changes == np.count_nonzero(steps) < 499  # some were stopped from the start
    assert state.variation == pytest.approx(steps.sum())


@pytest.mark.parametrize("drift", [ma.RandomWalk(0.05), ma.Crash(0.2)])
def test_random_drifts_belong_to_the_arm_and_its_play_not_to_the_round(drift):
    world = ma.World(ma.Uniform(), drift, ma.Exact())
    _, together = play(begun(world, slots=2), [0, 1] * 50)
    _, alone = play(begun(world, slots=2), [1] * 50)
    np.testing.assert_array_equal(together[1::2], alone)
    assert not np.array_equal(together[::2], together[1::2])


@exactly
@given(arms=st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=1, max_size=60), patience=st.integers(1, 5))
@example(arms=[0, 0, 1, 0, 0], patience=3)  # another arm's play costs the leader one, not all
@example(arms=[0, 1, 1, 0, 1, 1, 1, 1], patience=3)
def test_adversary_hits_the_arm_that_leads_by_its_patience(arms, patience):
    hits, vote = [], []
    for arm in arms:
        vote.append(arm)
        lead = 2 * vote.count(vote[0]) - len(vote)  # of the first arm of the vote over all others together
        hits.append(lead == patience)
        if lead in (0, patience):
            vote = []
    size = 2.0**-10
    state = begun(ma.World(ma.Empirical([1.0]), ma.Adversary(patience, size), ma.Exact()), slots=3)
    _, path = play(state, arms)
    assert (path[:, 0] - path[:, 1]).tolist() == [size * hit for hit in hits]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    length=st.integers(1, 9),
    gaps=st.lists(st.integers(1, 9), min_size=1, max_size=40),
    picks=st.lists(st.integers(0, 5), min_size=40, max_size=40),
)
def test_seasons_break_the_arms_of_earlier_ones_at_their_next_play(length, gaps, picks):
    rounds = list(itertools.accumulate(gaps))
    arms = picks[: len(rounds)]
    state = begun(ma.World(ma.Empirical([1.0]), ma.Turnover(length, to=0.25), ma.Exact()), slots=6)
    _, path = play(state, arms, rounds)
    means = dict.fromkeys(range(6), 1.0)
    for place, (arm, round) in enumerate(zip(arms, rounds, strict=True)):
        earlier = [a for a, r in zip(arms, rounds, strict=True) if (r - 1) // length < (round - 1) // length]
        assert path[place, 0] == means[arm]
        if arm <= max(earlier, default=-1):  # it or one with a higher number was played in an earlier season
            means[arm] = 0.25
        assert path[place, 1] == means[arm]


@exactly
@given(
    after=st.integers(1, 20),
    rate=st.sampled_from([0.0, 0.01, 0.3]),
    arms=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    seed=st.integers(0, 2**64 - 1),
)
def test_arms_tire_by_their_own_plays_as_in_the_naive_world(after, rate, arms, seed):
    world = ma.World(ma.PowerLaw(0.7), ma.Fatigue(after, rate), ma.Bernoulli())
    _, path = play(begun(world, slots=4, seed=seed), arms)
    naive = NaiveWorld(world, seed, 0)
    assert path.tolist() == [list(naive.pull(arm, t)) for t, arm in enumerate(arms, start=1)]
    for arm in set(arms):
        own = path[np.array(arms) == arm, 0]
        assert (own[: after + 1] == own[0]).all()
        assert (np.diff(own[after:]) < 0.0).all() or rate == 0.0 or own[-1] == 0.0


@exactly
@given(
    end=st.integers(1, 9),
    rise=st.sampled_from([0.0, 0.02, "5%"]),
    arms=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    seed=st.integers(0, 2**64 - 1),
)
def test_stages_are_those_of_the_arm_as_in_the_naive_world(end, rise, arms, seed):
    drift = ma.Stages([ma.Rising(rise), ma.Rotting("3%"), ma.JumpAt(20, 0.3)], ends=[end, end + 4])
    world = ma.World(ma.PowerLaw(0.7, top=0.4), drift, ma.Bernoulli())
    _, path = play(begun(world, slots=4, seed=seed), arms)
    naive = NaiveWorld(world, seed, 0)
    assert path.tolist() == [list(naive.pull(arm, t)) for t, arm in enumerate(arms, start=1)]
    for arm in set(arms):
        own = path[np.array(arms) == arm, 0]
        assert (np.diff(own[: end + 1]) >= 0.0).all()
        assert (np.diff(own[end : end + 5]) <= 0.0).all()


@pytest.mark.parametrize(
    "drift",
    [
        ma.Adversary(patience=5, size=0.25),
        ma.Phases([ma.Adversary(patience=5, size=0.25), ma.Still()], ends=[100]),
        ma.Phases([ma.Still(), ma.Rotting(0.0), ma.Adversary(patience=5, size=0.25)], ends=[1, 2]),
    ],
    ids=lambda drift: drift.label(),
)
def test_what_a_drift_remembers_is_forgotten_between_replications(drift):
    world = ma.World(ma.Empirical([1.0]), drift, ma.Exact())
    rounds = range(11, 15)
    state, path = play(begun(world), [0] * 4, rounds)
    state = begin(state, replication_key(0, 1))
    assert state.variation == 0.0
    state, path = play(state, [0] * 6, range(11, 17))
    assert path[:, 1].tolist() == [1.0] * 4 + [0.75] * 2


# Rates

READABLE_RATES = [
    (0, lambda mean, t: 0.0),
    (3, lambda mean, t: 3.0),
    (0.25, lambda mean, t: 0.25),
    (np.float64(0.5), lambda mean, t: 0.5),
    (np.int64(1), lambda mean, t: 1.0),
    ("1/t", lambda mean, t: 1 / t),
    ("5/t", lambda mean, t: 5 / t),
    (" 0.5 / t ", lambda mean, t: 0.5 / t),
    (".5/t", lambda mean, t: 0.5 / t),
    ("5./t", lambda mean, t: 5 / t),
    ("1e-3/t", lambda mean, t: 0.001 / t),
    ("2/t^0.7", lambda mean, t: 2 / t**0.7),
    ("2/t**0.7", lambda mean, t: 2 / t**0.7),
    ("2 / t ^ 0.7", lambda mean, t: 2 / t**0.7),
    ("1/t^1", lambda mean, t: 1 / t),
    ("1/t^0", lambda mean, t: 1.0),
    ("0/t", lambda mean, t: 0.0),
    ("t^-0.7", lambda mean, t: 1 / t**0.7),
    ("t**-0.7", lambda mean, t: 1 / t**0.7),
    ("t^-2", lambda mean, t: 1 / t**2),
    ("3*t^-0.7", lambda mean, t: 3 / t**0.7),
    ("3t^-0.7", lambda mean, t: 3 / t**0.7),
    ("3 * t ** - 0.7", lambda mean, t: 3 / t**0.7),
    ("0*t^-1", lambda mean, t: 0.0),
    ("1%", lambda mean, t: 0.01 * mean),
    ("0.5 %", lambda mean, t: 0.005 * mean),
    ("0%", lambda mean, t: 0.0),
    ("100%", lambda mean, t: mean),
]


@pytest.mark.parametrize(("rate", "amount"), READABLE_RATES, ids=[repr(case[0]) for case in READABLE_RATES])
@pytest.mark.parametrize(("drift", "sign"), [(ma.Rotting, -1), (ma.Rising, 1)])
def test_rates_are_read(drift, sign, rate, amount):
    for t, mean in ((1, 0.5), (7, 0.25), (1000, 0.875)):
        event = Play(round=t, arm=3, plays=2, mean=mean, reward=0.0, key=1)
        _, after = moved(drift(rate).start(), event, None)
        assert after == pytest.approx(mean + sign * amount(mean, t), rel=1e-14)


BAD_RATES = [
    "",
    "t",
    "5",
    "/t",
    "1/",
    "-1/t",
    "1/t^-0.5",
    "t^0.7",
    "t^",
    "2^-t",
    "1/n",
    "1/t/t",
    "1/T",
    "-1%",
    "%",
    "1%%",
    "101%",
    "1e400/t",
    "1,5/t",
    "nan/t",
    "inf",
    -0.1,
    math.nan,
    math.inf,
    None,
    True,
    (1,),
]


@pytest.mark.parametrize("rate", BAD_RATES, ids=repr)
@pytest.mark.parametrize("drift", [ma.Rotting, ma.Rising])
def test_bad_rates_are_refused(drift, rate):
    with pytest.raises(ValueError, match=drift.__name__) as refused:
        drift(rate)
    assert "rate" in str(refused.value)
    assert repr(rate) in str(refused.value)


@pytest.mark.once
@pytest.mark.parametrize("kind", [ma.Phases, ma.Stages])
def test_drifts_go_inside_each_other_as_far_as_can_be_compiled(kind):
    def nested(depth):
        found = ma.Still()
        for _ in range(depth):
            found = kind([ma.Rotting(0.01), found], ends=[10])
        return found

    def listed(number):
        return kind([ma.Still()] * number, ends=range(1, number))

    nested(12), listed(13)
    with pytest.raises(ValueError, match=r"14 drifts, 13 inside each other, are more than can be compiled; up to 12"):
        nested(40)
    with pytest.raises(ValueError, match=rf"{kind.__name__}: 80 drifts, 79 inside .* may stand in one list"):
        listed(80)
