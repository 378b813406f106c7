"""Worlds: where means come from, how they move, what an arm pays, and what is counted on the way.

Statistical tests have fixed seeds and tolerances that a perfect sampler would miss once in a million.
"""

import dataclasses
import itertools
import json
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.compiled import loop
from manyarms.contract import Play, begin, fresh_mean, moved, preview, pull, register, reward_of
from manyarms.replication import play_replications, replicate
from manyarms.streams import bits_at, replication_key, uniform
from manyarms.trace import COLUMNS
from tests.reference.world import NaiveWorld

ALARM = 1e-6
DRAWS = 2**18

exactly = settings(derandomize=True, deadline=None, max_examples=60)


def normal_bound(numbers):
    """What none of this many standard normal numbers exceeds in absolute value, but for a false alarm."""
    return stats.norm.isf(ALARM / 2 / numbers)


def check_distribution(drawn, distribution, grid):
    """Dvoretzky, Kiefer & Wolfowitz: P(sup |F_n - F| > d) <= 2 exp(-2 n d^2), for any F."""
    shares = np.searchsorted(np.sort(drawn), grid, side="right") / drawn.size
    assert np.abs(shares - distribution(grid)).max() < math.sqrt(math.log(2 / ALARM) / (2 * drawn.size))


def check_share(hits, trials, probability, tests=1):
    """A number of hits that a binomial distribution allows, from below and above."""
    low, high = stats.binom.ppf([ALARM / 2 / tests, 1 - ALARM / 2 / tests], trials, probability)
    assert low <= hits <= high


# Driving a world by hand


def begun(world, slots=1, seed=0, replication=0):
    return begin(world.start(slots), replication_key(seed, replication))


def play(state, arms, rounds=None):
    """Play these arms, each in the slot of its number, and return the state and (mean, next mean, reward)."""
    rounds = range(1, len(arms) + 1) if rounds is None else rounds
    out = []
    for arm, round in zip(arms, rounds, strict=True):
        state, *values = pull(state, arm, arm, round)
        out.append(values)
    return state, np.array(out)


def lone_arm(drift, first_mean, rounds):
    """One arm that begins with this mean, played in these rounds."""
    state = begun(ma.World(ma.Empirical([first_mean]), drift, ma.Exact()))
    rounds = list(rounds)
    return play(state, [0] * len(rounds), rounds)


def run_log(policy, world, horizon, seed=0, replication=0):
    """One replication as plain Python, with its log."""
    checkpoints = np.arange(1, horizon + 1)
    plain = play_replications.function
    run = replicate(policy, world, horizon, 1, seed, first=replication, checkpoints=checkpoints, log=True, loop=plain)
    assert run.finished.all()
    return run.logs[0], run.out[0]


# Reservoirs


@loop
def write_means(reservoir, key, out):
    for arm in range(out.size):
        out[arm] = fresh_mean(reservoir, bits_at(key, arm, 0))


def means_of(reservoir, draws=DRAWS, seed=1):
    out = np.zeros(draws)
    write_means(reservoir.start(), np.uint64(replication_key(seed, 0) | 1), out)
    return out


# Each reservoir with the distribution of the gap to its top, from SciPy.
CONTINUOUS = [
    (ma.PowerLaw(beta=0.3), stats.powerlaw(0.3)),
    (ma.PowerLaw(beta=1.0), stats.uniform()),
    (ma.PowerLaw(beta=3.0, top=0.8), stats.powerlaw(3.0, scale=0.8)),
    (ma.Uniform(), stats.uniform()),
    (ma.Uniform(0.2, 0.7), stats.uniform(0.0, 0.7 - 0.2)),
    (ma.BetaDistributed(0.5, 2.0), stats.beta(2.0, 0.5)),
    (ma.BetaDistributed(2.0, 0.5), stats.beta(0.5, 2.0)),
    (ma.BetaDistributed(3.0, 4.0), stats.beta(4.0, 3.0)),
    (ma.BetaDistributed(1.0, 1.0), stats.uniform()),
]
continuous = pytest.mark.parametrize(("reservoir", "gap"), CONTINUOUS, ids=lambda value: getattr(value, "label", str)())


@pytest.mark.compiled
@continuous
def test_means_have_the_exact_distribution(reservoir, gap):
    means = means_of(reservoir)
    assert means.min() >= 0.0
    assert means.max() <= reservoir.top
    gaps = reservoir.top - means
    check_distribution(gaps, gap.cdf, gap.ppf(np.linspace(0.0005, 0.9995, 1999)))
    # The good arms are what matters, and too few to move the distribution function: count them.
    rare = [0.1, 0.01, 0.001, 0.0003]
    for probability in rare:
        check_share((gaps < gap.ppf(probability)).sum(), DRAWS, probability, tests=len(rare))


@continuous
def test_tail_constants_are_the_tightest(reservoir, gap):
    low, high = reservoir.tail_constants
    x = reservoir.top * np.append(np.logspace(-9, 0, 20001), np.linspace(0, 1, 20001)[1:])
    ratios = gap.cdf(x) / x**reservoir.tail
    assert (low <= ratios * (1 + 1e-9)).all()
    assert (ratios <= high * (1 + 1e-9)).all()
    assert ratios.min() == pytest.approx(low, rel=1e-3)
    assert ratios.max() == pytest.approx(high, rel=1e-3)


@pytest.mark.parametrize(
    ("reservoir", "top", "tail"),
    [
        (ma.PowerLaw(beta=0.5), 1.0, 0.5),
        (ma.PowerLaw(beta=2.0, top=0.9), 0.9, 2.0),
        (ma.Uniform(0.2, 0.7), 0.7, 1.0),
        (ma.BetaDistributed(2.0, 3.0), 1.0, 3.0),
        (ma.Empirical([0.1, 0.4, 0.2]), 0.4, None),
        # Where several reach the top, the one with the most good arms counts.
        (ma.Mixture([ma.PowerLaw(2.0), ma.PowerLaw(0.5), ma.PowerLaw(0.1, top=0.5)]), 1.0, 0.5),
        (ma.Mixture([ma.Uniform(0.0, 0.5), ma.BetaDistributed(1.0, 4.0)], weights=[9, 1]), 1.0, 4.0),
        # A list of means has no exponent, and so no mixture has whose top it reaches.
        (ma.Mixture([ma.Empirical([0.9]), ma.Uniform(0.0, 0.5)]), 0.9, None),
        (ma.Mixture([ma.Empirical([1.0]), ma.PowerLaw(1.0)]), 1.0, None),
    ],
)
def test_top_and_tail(reservoir, top, tail):
    assert reservoir.top == top
    assert reservoir.tail == tail


@pytest.mark.parametrize("reservoir", [ma.Empirical([0.5]), ma.Mixture([ma.Uniform(), ma.PowerLaw(1.0)])])
def test_no_constants_where_none_are_known(reservoir):
    assert reservoir.tail_constants is None


def test_a_power_law_at_the_bottom_has_no_constants():
    reservoir = ma.PowerLaw(beta=1.0, top=0.0)
    assert reservoir.tail_constants is None
    assert fresh_mean(reservoir.start(), 12345) == 0.0


@exactly
@given(bits=st.integers(0, 2**64 - 1))
def test_uniform_is_the_power_law_with_exponent_one_arm_for_arm(bits):
    assert fresh_mean(ma.Uniform().start(), bits) == fresh_mean(ma.PowerLaw(1.0).start(), bits)
    assert fresh_mean(ma.Uniform().start(), bits) == 1.0 - uniform(bits)


@exactly
@given(bits=st.integers(0, 2**64 - 1), beta=st.floats(1e-3, 1e3), top=st.floats(0.0, 1.0))
def test_means_lie_between_0_and_the_top(bits, beta, top):
    for reservoir in (ma.PowerLaw(beta, top=top), ma.BetaDistributed(beta, top + 0.01)):
        assert 0.0 <= fresh_mean(reservoir.start(), bits) <= reservoir.top


@pytest.mark.compiled
def test_empirical_draws_each_of_its_means_equally_often():
    values = [0.1, 0.4, 0.25, 0.9, 0.0]
    means = means_of(ma.Empirical(values))
    found, counts = np.unique(means, return_counts=True)
    assert found.tolist() == sorted(values)
    for number in counts:
        check_share(number, DRAWS, 1 / 5, tests=5)


def test_empirical_counts_a_repeated_mean_twice():
    evenly = [(2 * number + 1) * 2**64 // 600 for number in range(300)]
    drawn = [fresh_mean(ma.Empirical([0.2, 0.8, 0.8]).start(), bits) for bits in evenly]
    assert (drawn.count(0.2), drawn.count(0.8)) == (100, 200)


@pytest.mark.compiled
def test_mixture_weighs_its_parts_and_leaves_them_as_they_are():
    # The parts do not overlap, so every mean tells where it came from.
    parts = [ma.Uniform(0.0, 0.25), ma.Uniform(0.25, 0.5), ma.PowerLaw(beta=2.0, top=0.2), ma.Empirical([0.75, 1.0])]
    parts[2] = ma.Mixture([ma.Uniform(0.5, 0.6), ma.Uniform(0.6, 0.7)], weights=[1, 3])
    means = means_of(ma.Mixture(parts, weights=[1, 2, 4, 1]))
    shares = [(0.0, 0.25, 1 / 8), (0.25, 0.5, 2 / 8), (0.5, 0.6, 1 / 8), (0.6, 0.7, 3 / 8)]
    for low, high, share in shares:
        inside = means[(means > low) & (means <= high)]
        check_share(inside.size, DRAWS, share, tests=6)
        part = stats.uniform(low, high - low)
        check_distribution(inside, part.cdf, part.ppf(np.linspace(0.001, 0.999, 999)))
    for value in (0.75, 1.0):
        check_share((means == value).sum(), DRAWS, 1 / 16, tests=6)


def test_mixture_weights_are_scaled():
    parts = [ma.Uniform(0.0, 0.5), ma.PowerLaw(1.0), ma.PowerLaw(2.0)]
    assert ma.Mixture(parts, weights=[2, 1, 1]).weights == (0.5, 0.25, 0.25)
    assert ma.Mixture(parts).weights == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    state = ma.Mixture(parts, weights=[2, 1, 1]).start()
    assert (state.share, state.rest.share) == (0.5, 0.5)


# Noises


@loop
def write_rewards(noise, mean, key, out):
    for play in range(out.size):
        out[play] = reward_of(noise, mean, bits_at(key, 3, play))


def rewards_of(noise, mean, draws=DRAWS):
    out = np.zeros(draws)
    write_rewards(noise.start(), mean, np.uint64(replication_key(2, 0) | 1), out)
    return out


def check_moments(rewards, distribution):
    """Mean and variance are right; the variance of both estimates follows from the distribution."""
    mean, variance, excess = (float(value) for value in distribution.stats(moments="mvk"))
    assert abs(rewards.mean() - mean) < normal_bound(2) * math.sqrt(variance / rewards.size)
    spread = math.sqrt((excess + 2) * variance**2 / rewards.size)  # fourth moment less squared variance
    assert abs(rewards.var() - variance) < normal_bound(2) * spread


@pytest.mark.compiled
@pytest.mark.parametrize("mean", [0.001, 0.3, 0.5, 0.95])
def test_bernoulli(mean):
    rewards = rewards_of(ma.Bernoulli(), mean)
    assert set(np.unique(rewards)) == {0.0, 1.0}
    check_share(rewards.sum(), DRAWS, mean)


@pytest.mark.compiled
@pytest.mark.parametrize("mean", [0.0, 0.3, 0.5, 0.95])
def test_gap_uniform(mean):
    rewards = rewards_of(ma.GapUniform(), mean)
    loss = stats.uniform(0.0, 2 * (1 - mean))
    assert rewards.min() > 1 - 2 * (1 - mean)
    assert rewards.max() <= 1.0
    check_distribution(1 - rewards, loss.cdf, loss.ppf(np.linspace(0.001, 0.999, 999)))
    check_moments(1 - rewards, loss)


@pytest.mark.compiled
@pytest.mark.parametrize("mean", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("concentration", [0.5, 10.0, 300.0])
def test_beta_noise(mean, concentration):
    rewards = rewards_of(ma.BetaNoise(concentration), mean)
    assert rewards.min() >= 0.0
    assert rewards.max() <= 1.0
    noise = stats.beta(mean * concentration, (1 - mean) * concentration)
    assert noise.mean() == pytest.approx(mean)
    assert noise.var() == pytest.approx(mean * (1 - mean) / (1 + concentration))
    check_distribution(rewards, noise.cdf, np.linspace(0.001, 0.999, 999))
    check_moments(rewards, noise)


@exactly
@given(mean=st.floats(0.0, 1.0), bits=st.integers(0, 2**64 - 1), concentration=st.floats(1e-3, 1e3))
def test_rewards_stay_in_their_range(mean, bits, concentration):
    assert reward_of(ma.Exact().start(), mean, bits) == mean
    assert reward_of(ma.Bernoulli().start(), mean, bits) in (0.0, 1.0)
    assert 2 * mean - 1 - 1e-15 <= reward_of(ma.GapUniform().start(), mean, bits) <= 1.0
    assert 0.0 <= reward_of(ma.BetaNoise(concentration).start(), mean, bits) <= 1.0


@pytest.mark.parametrize("noise", [ma.Bernoulli(), ma.GapUniform(), ma.BetaNoise(10.0), ma.BetaNoise(1e-3), ma.Exact()])
@pytest.mark.parametrize("bits", [0, 1, 2**63, 2**64 - 1])
def test_noise_vanishes_at_the_top(noise, bits):
    assert reward_of(noise.start(), 1.0, bits) == 1.0


@pytest.mark.parametrize("noise", [ma.Bernoulli(), ma.BetaNoise(10.0), ma.BetaNoise(1e-3), ma.Exact()])
@pytest.mark.parametrize("bits", [0, 1, 2**63, 2**64 - 1])
def test_noise_vanishes_at_the_bottom(noise, bits):
    assert reward_of(noise.start(), 0.0, bits) == 0.0


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


def test_the_change_after_the_last_round_is_not_counted():
    state, path = lone_arm(ma.JumpAt(4, -0.25), 0.5, range(1, 5))
    assert path[-1].tolist() == [0.5, 0.25, 0.5]
    assert (state.changes, state.variation) == (0, 0.0)
    state, *_ = pull(state, 0, 0, 5)
    assert (state.changes, state.variation) == (1, 0.25)


def test_an_arm_moves_only_when_it_is_played():
    state = begun(ma.World(ma.Empirical([0.75]), ma.Rotting(0.25), ma.Exact()), slots=2)
    _, path = play(state, [0, 1, 1, 0, 1, 0])
    assert path[:, 0].tolist() == [0.75, 0.75, 0.5, 0.5, 0.25, 0.25]


def test_an_arm_that_comes_to_a_slot_is_fresh():
    world = ma.World(ma.Uniform(), ma.JumpAt(2, -1.0), ma.Exact())
    state = begun(world)
    first = [preview(state, arm) for arm in range(3)]
    assert len(set(first)) == 3
    seen = []
    for round, arm in enumerate([0, 0, 0, 1, 1, 2, 2], start=1):
        state, mean, *_ = pull(state, 0, arm, round)
        seen.append(mean)
    # Each arm falls at its own second play, wherever the slot has been.
    assert seen == [first[0], first[0], 0.0, first[1], first[1], first[2], first[2]]


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


@pytest.mark.usefixtures("uncompiled")
def test_a_replication_does_not_depend_on_those_before_it():
    world = ma.World(ma.Uniform(), ma.Phases([ma.Adversary(3, 0.5), ma.Crash(0.1)], ends=[30]), ma.Bernoulli())
    policy = ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3)
    together = ma.simulate(policy, world, 60, replications=4, seed=9, threads=1)["Subsample"]
    alone = [run_log(policy, world, 60, seed=9, replication=number)[1] for number in range(4)]
    np.testing.assert_array_equal(together, np.array(alone)[:, ma.simulate(policy, world, 60).checkpoints - 1])


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


# What is counted, against the log

SOME_DRIFTS = [
    ma.Still(),
    ma.Rotting("1/t"),
    ma.Rotting("3%"),
    ma.Rising(0.01),
    ma.Crash(0.1),
    ma.Crash(0.1, to=0.5),
    ma.JumpAt(3, -0.2),
    ma.RandomWalk(0.2),
    ma.Adversary(patience=4, size=0.1),
    ma.Turnover(length=30),
    ma.Fatigue(after=3, rate=0.05),
    ma.Phases([ma.RandomWalk(0.1), ma.Still(), ma.Rotting(0.05)], ends=[50, 120]),
]


def check_counts(log, checkpoints, values):
    """V, V_R, L and L_R at these checkpoints are the paper's sums over the log."""
    for checkpoint, row in zip(checkpoints, values, strict=True):
        variation = rotting_variation = 0.0
        changes = rotting_changes = 0
        for t in range(2, checkpoint + 1):  # the arm played at t - 1: its mean at t less its mean at t - 1
            change = log.next_mean[t - 2] - log.mean[t - 2]
            variation += abs(change)
            rotting_variation += max(-change, 0.0)
            changes += change != 0.0
            rotting_changes += change < 0.0
        kept = dict(zip(COLUMNS, row.tolist(), strict=True))
        assert kept["V"] == variation
        assert kept["V_R"] == rotting_variation
        assert kept["L"] == changes
        assert kept["L_R"] == rotting_changes


def check_rested(log):
    """The mean of an arm when it is played is the mean that its last play left."""
    left = {}
    for arm, mean, next_mean in zip(log.arm.tolist(), log.mean, log.next_mean, strict=True):
        assert left.get(arm, mean) == mean
        left[arm] = next_mean
    assert len(left) > 1


@pytest.mark.parametrize("drift", SOME_DRIFTS, ids=lambda drift: drift.label())
def test_variation_and_changes_are_the_sums_over_the_log(drift):
    policy = ma.Subsample(base=ma.UCB(), beta=1.0, arms=4)
    log, values = run_log(policy, ma.World(ma.Uniform(), drift, ma.Bernoulli()), 200, seed=3)
    check_rested(log)
    checkpoints = [1, 2, 3, 50, 51, 121, 199, 200]
    check_counts(log, checkpoints, values[np.array(checkpoints) - 1])
    assert log.mean.min() >= 0.0
    assert log.next_mean.max() <= 1.0
    assert (log.mean != log.next_mean).any() == (drift != ma.Still())


@pytest.mark.usefixtures("uncompiled")
def test_simulate_counts_the_same():
    world = ma.World(ma.Uniform(), SOME_DRIFTS[-1], ma.Bernoulli())
    checkpoints = [1, 2, 3, 50, 51, 121, 199, 200]
    policy = ma.Subsample(base=ma.UCB(), beta=1.0, arms=4)
    result = ma.simulate(policy, world, 200, replications=2, seed=3, checkpoints=checkpoints, log=True)
    for replication in range(2):
        log = result.log("Subsample", replication)
        check_rested(log)
        check_counts(log, checkpoints, result["Subsample"][replication])


# The n-th play of an arm is the same event for every policy


def events(log):
    """(arm, how often it was played before) -> (mean, next mean, reward)."""
    found, plays = {}, {}
    for entry, arm in enumerate(log.arm.tolist()):
        number = plays.get(arm, 0)
        found[arm, number] = (log.mean[entry], log.next_mean[entry], log.reward[entry])
        plays[arm] = number + 1
    return found


@pytest.mark.parametrize(
    ("drift", "noise"),
    [
        (ma.RandomWalk(0.1), ma.BetaNoise(5.0)),
        (ma.Crash(0.2), ma.Bernoulli()),
        (ma.JumpAt(3, -0.3), ma.GapUniform()),
        (ma.Rotting("5%"), ma.BetaNoise(1.0)),
    ],
    ids=lambda spec: spec.label(),
)
def test_the_nth_play_of_an_arm_is_the_same_event_for_every_policy(drift, noise):
    world = ma.World(ma.PowerLaw(1.0), drift, noise)
    policies = [
        ma.Subsample(base=ma.UCB(), beta=1.0, arms=5),
        ma.Subsample(base=ma.Greedy(), beta=1.0, arms=7),
        ma.UniformPlay(),
        ma.Oracle(keep=3),
    ]
    logs = [run_log(policy, world, 150, seed=8)[0] for policy in policies]
    first = events(logs[0])
    for log, least in zip(logs[1:], (50, 5, 1), strict=True):
        other = events(log)
        common = first.keys() & other.keys()
        assert len(common) >= least
        assert [first[place] for place in common] == [other[place] for place in common]
    assert logs[0].arm.tolist() != logs[1].arm.tolist()


def test_another_replication_or_seed_is_another_event():
    world = ma.World(ma.PowerLaw(1.0), ma.RandomWalk(0.1), ma.GapUniform())
    here, *others = (events(run_log(ma.UniformPlay(), world, 50, *place)[0]) for place in ((8, 0), (8, 1), (9, 0)))
    for other in others:
        assert not set(here.values()) & set(other.values())


# Compiled and uncompiled


@loop
def play_in_turn(world, key, out):
    world = begin(world, key)
    arms = world.means.size
    for entry in range(out.shape[0] - 1):
        arm = entry * entry % arms
        world, mean, next_mean, reward = pull(world, arm, arm, entry + 1)
        out[entry, 0] = mean
        out[entry, 1] = next_mean
        out[entry, 2] = reward
        out[entry, 3] = preview(world, entry)
    out[-1, 0] = world.variation
    out[-1, 1] = world.rotting_variation
    out[-1, 2] = world.changes
    out[-1, 3] = world.rotting_changes


ALL_KINDS = [
    ma.World(ma.PowerLaw(0.3, top=0.9), ma.Rotting("0.1*t^-0.7"), ma.Bernoulli()),
    ma.World(ma.Uniform(0.1, 0.8), ma.Rising("1%"), ma.GapUniform()),
    ma.World(ma.BetaDistributed(0.4, 2.0), ma.Crash(0.1), ma.BetaNoise(3.0)),
    ma.World(ma.Empirical([0.1, 0.5, 0.9]), ma.JumpAt(3, -0.4), ma.Exact()),
    ma.World(
        ma.Mixture([ma.PowerLaw(2.0), ma.Empirical([0.2]), ma.BetaDistributed(1.0, 3.0)], weights=[1, 2, 3]),
        ma.RandomWalk(0.3),
        ma.Bernoulli(),
    ),
    ma.World(
        ma.PowerLaw(1.5),
        ma.Phases([ma.Still(), ma.Adversary(2, 0.2), ma.Rotting("1/t"), ma.Rising(0.01)], ends=[20, 150, 200]),
        ma.GapUniform(),
    ),
]


@pytest.mark.compiled
@pytest.mark.parametrize("world", ALL_KINDS, ids=lambda world: world.label())
def test_compiled_and_uncompiled_worlds_agree_to_the_bit(world):
    runs = []
    for run in (play_in_turn, play_in_turn.function):
        out = np.zeros((301, 4))
        run(world.start(7), np.uint64(replication_key(12, 0)), out)
        runs.append(out.view(np.uint64))
    np.testing.assert_array_equal(*runs)
    assert play_in_turn.signatures()  # or nothing was compiled


# Bad input

BAD_INPUT = [
    (lambda: ma.PowerLaw(beta=0), "PowerLaw", "beta", "0"),
    (lambda: ma.PowerLaw(beta=-1.0), "PowerLaw", "beta", "-1.0"),
    (lambda: ma.PowerLaw(beta=math.nan), "PowerLaw", "beta", "nan"),
    (lambda: ma.PowerLaw(beta=math.inf), "PowerLaw", "beta", "inf"),
    (lambda: ma.PowerLaw(beta="1"), "PowerLaw", "beta", "'1'"),
    (lambda: ma.PowerLaw(beta=None), "PowerLaw", "beta", "None"),
    (lambda: ma.PowerLaw(beta=True), "PowerLaw", "beta", "True"),
    (lambda: ma.PowerLaw(beta=1j), "PowerLaw", "beta", "1j"),
    (lambda: ma.PowerLaw(beta=10**400), "PowerLaw", "beta", "1000000"),
    (lambda: ma.PowerLaw(1.0, top=1.5), "PowerLaw", "top", "1.5"),
    (lambda: ma.PowerLaw(1.0, top=-0.1), "PowerLaw", "top", "-0.1"),
    (lambda: ma.Uniform(low=-0.1), "Uniform", "low", "-0.1"),
    (lambda: ma.Uniform(high=1.1), "Uniform", "high", "1.1"),
    (lambda: ma.Uniform(0.5, 0.5), "Uniform", "low", "0.5"),
    (lambda: ma.Uniform(0.7, 0.2), "Uniform", "high", "0.2"),
    (lambda: ma.Uniform(high="a"), "Uniform", "high", "'a'"),
    (lambda: ma.BetaDistributed(0, 1), "BetaDistributed", "a ", "0"),
    (lambda: ma.BetaDistributed(1, -1), "BetaDistributed", "b ", "-1"),
    (lambda: ma.BetaDistributed(1, [1]), "BetaDistributed", "b ", "[1]"),
    (lambda: ma.Empirical([]), "Empirical", "means", "empty"),
    (lambda: ma.Empirical(3), "Empirical", "means", "3"),
    (lambda: ma.Empirical(None), "Empirical", "means", "None"),
    (lambda: ma.Empirical([0.1, 1.5]), "Empirical", "means", "1.5"),
    (lambda: ma.Empirical([0.1, math.nan]), "Empirical", "means", "nan"),
    (lambda: ma.Empirical("ab"), "Empirical", "means", "'a'"),
    (lambda: ma.Mixture([ma.Uniform()]), "Mixture", "reservoirs", "[Uniform("),
    (lambda: ma.Mixture([ma.Uniform(), 3]), "Mixture", "reservoirs", "3]"),
    (lambda: ma.Mixture([ma.Uniform, ma.Uniform()]), "Mixture", "reservoirs", "manyarms.reservoirs.Uniform"),
    (lambda: ma.Mixture(3), "Mixture", "reservoirs", "3"),
    (lambda: ma.Mixture(ma.Uniform()), "Mixture", "reservoirs", "Uniform("),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1]), "Mixture", "weights", "1"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, 0]), "Mixture", "weights", "0"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, -2]), "Mixture", "weights", "-2"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, "x"]), "Mixture", "weights", "'x'"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=3), "Mixture", "weights", "3"),
    (lambda: ma.BetaNoise(0), "BetaNoise", "concentration", "0"),
    (lambda: ma.BetaNoise(-1.0), "BetaNoise", "concentration", "-1.0"),
    (lambda: ma.BetaNoise("3"), "BetaNoise", "concentration", "'3'"),
    (lambda: ma.Crash(1.1), "Crash", "probability", "1.1"),
    (lambda: ma.Crash(-0.1), "Crash", "probability", "-0.1"),
    (lambda: ma.Crash(math.nan), "Crash", "probability", "nan"),
    (lambda: ma.Crash(0.1, to=1.5), "Crash", "to ", "1.5"),
    (lambda: ma.Crash(0.1, to=-0.5), "Crash", "to ", "-0.5"),
    (lambda: ma.Crash(0.1, to="stale"), "Crash", "to ", "'stale'"),
    (lambda: ma.Crash(0.1, to=None), "Crash", "to ", "None"),
    (lambda: ma.JumpAt(0, 0.1), "JumpAt", "play", "0"),
    (lambda: ma.JumpAt(1.5, 0.1), "JumpAt", "play", "1.5"),
    (lambda: ma.JumpAt("1", 0.1), "JumpAt", "play", "'1'"),
    (lambda: ma.JumpAt(2**70, 0.1), "JumpAt", "play", "1180591620717411303424"),
    (lambda: ma.JumpAt(1, math.nan), "JumpAt", "size", "nan"),
    (lambda: ma.JumpAt(1, None), "JumpAt", "size", "None"),
    (lambda: ma.RandomWalk(0), "RandomWalk", "size", "0"),
    (lambda: ma.RandomWalk(-0.1), "RandomWalk", "size", "-0.1"),
    (lambda: ma.RandomWalk(math.inf), "RandomWalk", "size", "inf"),
    (lambda: ma.Phases([ma.Still()], []), "Phases", "drifts", "[Still()]"),
    (lambda: ma.Phases([ma.Still(), 3], [1]), "Phases", "drifts", "3]"),
    (lambda: ma.Phases([ma.Still(), ma.Still], [1]), "Phases", "drifts", "memoryless.Still"),
    (lambda: ma.Phases(3, [1]), "Phases", "drifts", "3"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], 5), "Phases", "ends", "5"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], []), "Phases", "ends", "0"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [1, 2]), "Phases", "ends", "2"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [0]), "Phases", "ends", "0"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [1.5]), "Phases", "ends", "1.5"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting(), ma.Still()], [5, 5]), "Phases", "ends", "[5, 5]"),
    (lambda: ma.Adversary(patience=0), "Adversary", "patience", "0"),
    (lambda: ma.Fatigue(0, 0.1), "Fatigue", "after", "0"),
    (lambda: ma.Fatigue(1.5, 0.1), "Fatigue", "after", "1.5"),
    (lambda: ma.Fatigue(5, -0.1), "Fatigue", "rate", "-0.1"),
    (lambda: ma.Fatigue(5, math.inf), "Fatigue", "rate", "inf"),
    (lambda: ma.Fatigue(5, "1/t"), "Fatigue", "rate", "'1/t'"),
    (lambda: ma.Turnover(length=0), "Turnover", "length", "0"),
    (lambda: ma.Turnover(length=2.5), "Turnover", "length", "2.5"),
    (lambda: ma.Turnover(length=2, to=1.5), "Turnover", "to", "1.5"),
    (lambda: ma.Adversary(patience=2.5), "Adversary", "patience", "2.5"),
    (lambda: ma.Adversary(patience=1e300), "Adversary", "patience", "1e+300"),
    (lambda: ma.Adversary(size=1.5), "Adversary", "size", "1.5"),
    (lambda: ma.Adversary(size=-0.1), "Adversary", "size", "-0.1"),
    (lambda: ma.World(ma.Uniform), "World", "reservoir", "ma.Uniform(…)"),
    (lambda: ma.World(3), "World", "reservoir", "3"),
    (lambda: ma.World(ma.Uniform(), ma.Rotting), "World", "drift", "ma.Rotting(…)"),
    (lambda: ma.World(ma.Uniform(), ma.Bernoulli()), "World", "drift", "Bernoulli()"),
    (lambda: ma.World(ma.Uniform(), noise=ma.Still()), "World", "noise", "Still()"),
    (lambda: ma.World(ma.Uniform(), noise=None), "World", "noise", "None"),
    (lambda: ma.World(ma.Uniform(), top=1.1), "World", "top", "1.1"),
    (lambda: ma.World(ma.Uniform(), top=math.nan), "World", "top", "nan"),
]


@pytest.mark.parametrize(("build", "spec", "field", "value"), BAD_INPUT)
def test_bad_input_is_refused_by_name(build, spec, field, value):
    with pytest.raises((ValueError, TypeError), match=f"^{spec}: ") as refused:
        build()
    message = str(refused.value).removeprefix(f"{spec}: ")
    assert field in message
    assert value in message


# JSON

fractions = st.floats(0.0, 1.0)
sizes = st.floats(1e-6, 1e6)
rates = st.one_of(
    st.floats(0.0, 10.0),
    st.integers(0, 3),
    st.sampled_from([np.float64(0.5), np.float32(0.25), np.int64(1)]),
    st.builds("{}/t".format, sizes),
    st.builds("{}*t^-{}".format, sizes, fractions),
    st.builds("{}%".format, st.floats(0.0, 100.0)),
)
plain_reservoirs = st.one_of(
    st.builds(ma.PowerLaw, sizes, fractions),
    st.builds(ma.PowerLaw, st.integers(1, 5)),
    st.builds(lambda ends: ma.Uniform(*sorted(ends)), st.lists(fractions, min_size=2, max_size=2, unique=True)),
    st.builds(ma.BetaDistributed, sizes, sizes),
    st.builds(ma.Empirical, st.lists(fractions, min_size=1, max_size=5)),
)


@st.composite
def mixtures(draw, parts):
    chosen = draw(st.lists(parts, min_size=2, max_size=6))
    some = st.lists(sizes, min_size=len(chosen), max_size=len(chosen))
    return ma.Mixture(chosen, draw(st.one_of(st.none(), some)))


reservoirs = st.recursive(plain_reservoirs, mixtures, max_leaves=8)
plain_drifts = st.one_of(
    st.just(ma.Still()),
    st.builds(ma.Rotting, rates),
    st.builds(ma.Rising, rates),
    st.builds(ma.Crash, fractions, st.one_of(st.just("fresh"), fractions)),
    st.builds(ma.JumpAt, st.integers(1, 10**9), st.floats(-2.0, 2.0)),
    st.builds(ma.RandomWalk, sizes),
    st.builds(ma.Adversary, st.integers(1, 10**9), fractions),
    st.builds(ma.Turnover, st.integers(1, 10**9), fractions),
    st.builds(ma.Fatigue, st.integers(1, 10**9), sizes),
)


@st.composite
def phases(draw, parts):
    chosen = draw(st.lists(parts, min_size=2, max_size=4))
    size = len(chosen) - 1
    ends = draw(st.lists(st.integers(1, 10**9), min_size=size, max_size=size, unique=True))
    return ma.Phases(chosen, sorted(ends))


drifts = st.recursive(plain_drifts, phases, max_leaves=6)
noises = st.one_of(
    st.sampled_from([ma.Bernoulli(), ma.GapUniform(), ma.Exact()]),
    st.builds(ma.BetaNoise, sizes),
)
worlds = st.builds(ma.World, reservoirs, drifts, noises, fractions)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(spec=st.one_of(reservoirs, drifts, noises, worlds))
def test_every_spec_survives_json(spec):
    text = json.dumps(spec.to_json(), allow_nan=False)
    again = ma.spec_from_json(json.loads(text))
    assert again == spec
    assert type(again) is type(spec)
    assert again.digest() == spec.digest()
    assert hash(again) == hash(spec)
    assert json.dumps(again.to_json(), allow_nan=False) == text


def test_every_kind_of_world_is_in_the_strategies():
    """A spec added to the package but not to the tests above would go untested."""
    kinds = {"reservoir", "drift", "noise", "world"}
    defined = {
        name
        for name, spec in vars(ma).items()
        if getattr(spec, "kind", None) in kinds and dataclasses.is_dataclass(spec)
    }
    assert defined == {
        "World", "PowerLaw", "Uniform", "BetaDistributed", "Empirical", "Mixture",
        "Still", "Rotting", "Rising", "Crash", "JumpAt", "Phases", "RandomWalk", "Adversary", "Turnover", "Fatigue",
        "Bernoulli", "GapUniform", "BetaNoise", "Exact",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"type": "Nothing"}, ["'Nothing'", "Rotting"]),
        ({}, ["None"]),
        ({"type": "PowerLaw", "beta": 1.0, "gamma": 2.0}, ["PowerLaw", "'gamma'", "beta"]),
        ({"type": "PowerLaw", "beta": -1.0}, ["PowerLaw", "beta", "-1.0"]),
        ({"type": "World", "reservoir": {"type": "Uniform", "low": 3}}, ["Uniform", "low", "3"]),
    ],
)
def test_bad_json_is_refused(values, parts):
    with pytest.raises(ValueError, match=parts[0]) as refused:
        ma.spec_from_json(values)
    for part in parts:
        assert part in str(refused.value)


def test_numpy_numbers_become_plain_ones():
    spec = ma.World(
        ma.PowerLaw(np.float32(0.5), top=np.float64(0.75)),
        ma.Phases(
            [ma.Adversary(np.int64(3), np.float32(0.5)), ma.JumpAt(np.int32(7), np.float64(-0.5))], [np.int64(9)]
        ),
        ma.BetaNoise(np.int64(2)),
    )
    assert ma.spec_from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert type(spec.drift.ends[0]) is int
    assert type(spec.reservoir.top) is float


# Somebody's own world, by the recipe of contract.register


class ShelfState(NamedTuple):
    good: float
    share: float


@dataclasses.dataclass(frozen=True)
class Shelf(ma.Reservoir):
    """Most arms are worthless; some are all equally good."""

    good: float
    share: float

    def start(self):
        return ShelfState(good=self.good, share=self.share)

    @property
    def top(self):
        return self.good


def shelf_mean(reservoir, bits):
    return reservoir.good if uniform(bits) < reservoir.share else 0.0


register(ShelfState, fresh_mean=shelf_mean)


class WearyState(NamedTuple):
    pace: float
    plays: int  # of all arms, in this run


@dataclasses.dataclass(frozen=True)
class Weary(ma.Drift):
    """The more has been played, of whatever arm, the faster arms fall."""

    pace: float

    def start(self):
        return WearyState(pace=self.pace, plays=0)


def begin_weary(drift, key):
    return WearyState(pace=drift.pace, plays=0)


def weary_moved(drift, play, reservoir):
    return WearyState(pace=drift.pace, plays=drift.plays + 1), play.mean - drift.pace * drift.plays


register(WearyState, begin=begin_weary, moved=weary_moved)


class CoarseState(NamedTuple):
    levels: float


@dataclasses.dataclass(frozen=True)
class Coarse(ma.Noise):
    """The mean, rounded up or down to a level at random."""

    levels: int

    def start(self):
        return CoarseState(levels=float(self.levels))


def coarse_reward(noise, mean, bits):
    return math.floor(mean * noise.levels + uniform(bits)) / noise.levels


register(CoarseState, reward_of=coarse_reward)

OWN_WORLD = ma.World(Shelf(0.75, 0.3), Weary(2.0**-12), Coarse(5))
OWN_POLICY = ma.Subsample(base=ma.Greedy(), beta=1.0, arms=6)


def test_ones_own_world_works_like_any_other():
    assert ma.spec_from_json(json.loads(json.dumps(OWN_WORLD.to_json()))) == OWN_WORLD
    log, values = run_log(OWN_POLICY, OWN_WORLD, 120, seed=1)
    check_rested(log)
    check_counts(log, [120], values[-1:])
    assert set(np.round(log.reward * 5).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(log.mean[:6].tolist()) == {0.0, 0.75}  # each arm's first play: nothing has fallen but arms played
    falls = np.minimum(log.mean, 2.0**-12 * np.arange(120))
    np.testing.assert_allclose(log.mean - log.next_mean, falls, rtol=0, atol=1e-15)


def test_ones_own_drift_forgets_the_run():
    result = ma.simulate(OWN_POLICY, OWN_WORLD, 120, replications=3, seed=1, checkpoints=[120], threads=1)
    alone = [run_log(OWN_POLICY, OWN_WORLD, 120, seed=1, replication=number)[1][-1] for number in range(3)]
    np.testing.assert_array_equal(result["Subsample"][:, 0], alone)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "world",
    [
        OWN_WORLD,
        # Inside the package's own states, too.
        ma.World(
            ma.Mixture([Shelf(0.9, 0.5), ma.Uniform()]),
            ma.Phases([ma.Still(), Weary(2.0**-10)], ends=[40]),
            ma.Bernoulli(),
        ),
    ],
    ids=lambda world: world.label(),
)
def test_ones_own_world_compiles_and_agrees_and_is_not_cached(world):
    cached = list(play_replications.cached.signatures)
    uncached = list(play_replications.uncached.signatures)
    result = ma.simulate(OWN_POLICY, world, 120, seed=1, checkpoints=120, log=True)
    assert list(play_replications.cached.signatures) == cached
    assert len(play_replications.uncached.signatures) == len(uncached) + 1
    assert play_replications.uncached.stats.cache_path is None
    assert play_replications.cached.stats.cache_path is not None
    log, values = run_log(OWN_POLICY, world, 120, seed=1)
    np.testing.assert_array_equal(result["Subsample"][0].view(np.uint64), values.view(np.uint64))
    for compiled, plain in zip(result.log("Subsample"), log, strict=True):
        np.testing.assert_array_equal(compiled.view(np.uint64), plain.view(np.uint64))
    assert len(set(log.arm.tolist())) == 6


def test_a_state_without_kernels_is_refused_by_name():
    class Orphan(NamedTuple):
        unused: float

    with pytest.raises(TypeError, match=r"'reward_of' for the state type 'Orphan'.*register\(Orphan, reward_of=…\)"):
        reward_of(Orphan(0.0), 0.5, 0)
    with pytest.raises(ValueError, match=r"unknown verb 'reward'; the verbs are .*reward_of"):
        register(Orphan, reward=coarse_reward)


def test_another_spec_of_the_same_name_is_refused():
    with pytest.raises(TypeError, match=r"'Bernoulli' is already defined in manyarms\.noises"):
        dataclasses.make_dataclass("Bernoulli", [], bases=(ma.Noise,), frozen=True)
