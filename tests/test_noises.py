"""Noises: what an arm pays."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.compiled import loop
from manyarms.contract import reward_of
from manyarms.streams import bits_at, replication_key
from tests.reference import squares
from tests.worlds import DRAWS, check_distribution, check_share, exactly, normal_bound

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


@pytest.mark.compiled
@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [0.05, 1.0])
def test_gaussian(mean, sigma):
    rewards = rewards_of(ma.Gaussian(sigma), mean)
    noise = stats.norm(mean, sigma)
    check_distribution(rewards, noise.cdf, np.sort(rewards))  # which is the statistic of Kolmogorov and Smirnov
    check_moments(rewards, noise)
    # The tails weigh too little for that: count what is beyond four standard deviations, on each side.
    for beyond in (rewards > mean + 4 * sigma, rewards < mean - 4 * sigma):
        check_share(beyond.sum(), DRAWS, stats.norm.sf(4.0), tests=2)


@exactly
@given(mean=st.floats(0.0, 1.0), bits=st.integers(0, 2**64 - 1), sigma=st.floats(1e-3, 1e3))
@example(mean=0.5, bits=0, sigma=1.0)
def test_gaussian_rewards_are_those_of_box_and_muller(mean, bits, sigma):
    first, second = (squares.uniform(squares.splitmix64(bits, step)) for step in (1, 2))
    number = math.sqrt(-2.0 * math.log1p(-first)) * math.cos(2.0 * math.pi * second)
    # Relative 1e-14 is 45 units in the last place; near its zeros the library's cosine is off by the rounded angle.
    assert reward_of(ma.Gaussian(sigma).start(), mean, bits) == pytest.approx(
        mean + sigma * number, rel=1e-14, abs=1e-14 * (mean + sigma)
    )


def test_regret_is_that_of_the_means_whatever_the_noise():
    worlds = [ma.World(ma.PowerLaw(1.0), ma.Crash(0.1), noise) for noise in (ma.Exact(), ma.Gaussian(3.0))]
    exact, noisy = (ma.simulate({"it": ma.UniformPlay()}, world, 200, seed=1, threads=1) for world in worlds)
    assert exact.final_regret("it") == noisy.final_regret("it")
    assert exact.final("it", "reward") != noisy.final("it", "reward")


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
