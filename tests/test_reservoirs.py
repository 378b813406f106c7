"""Reservoirs: where means come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.compiled import loop
from manyarms.contract import fresh_mean, fresh_mean_in
from manyarms.streams import bits_at, replication_key, uniform
from tests.reference.world import NaiveWorld
from tests.worlds import DRAWS, begun, check_distribution, check_share, exactly, play

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


@exactly
@given(
    factor=st.sampled_from([0.25, 1.0, 3.0]),
    over=st.integers(1, 50),
    rounds=st.lists(st.integers(1, 80), min_size=1, max_size=20, unique=True).map(sorted),
    seed=st.integers(0, 2**64 - 1),
)
def test_a_trend_is_by_the_round_of_the_first_play_as_in_the_naive_world(factor, over, rounds, seed):
    # Each arm is played twice, and the second play finds what the first has left.
    world = ma.World(ma.Trending(ma.PowerLaw(0.7, top=0.6), factor, over), ma.Crash(0.2), ma.Exact())
    arms = [*range(len(rounds)), *range(len(rounds))]
    rounds = [*rounds, *(round + 100 for round in rounds)]
    _, path = play(begun(world, slots=20, seed=seed), arms, rounds)
    naive = NaiveWorld(world, seed, 0)
    assert path.tolist() == [list(naive.pull(arm, t)) for arm, t in zip(arms, rounds, strict=True)]


def test_a_trend_goes_from_1_to_its_factor_and_stays():
    for parts in (ma.Empirical([0.5]), ma.Mixture([ma.Empirical([0.5]), ma.Empirical([0.5])])):
        trend = ma.Trending(parts, factor=3.0, over=4).start()
        found = [fresh_mean_in(trend, 7, round) for round in (1, 2, 3, 5, 100)]
        assert found == [0.5, 0.75, 1.0, 1.0, 1.0]  # they stop at 1
        assert fresh_mean(trend, 7) == 0.5
    within = ma.Mixture([ma.Trending(ma.Empirical([0.5]), 0.5, over=2), ma.Empirical([0.5])], weights=[1e6, 1]).start()
    assert [fresh_mean_in(within, 7, round) for round in (1, 2, 3)] == [0.5, 0.375, 0.25]
    assert fresh_mean(within, 7) == 0.5


def test_top_and_tail_of_a_trend():
    rising, falling = (ma.Trending(ma.PowerLaw(2.0, top=0.3), factor, over=10) for factor in (2.0, 0.5))
    assert (rising.top, rising.tail) == (0.6, 2.0)
    assert (falling.top, falling.tail) == (0.3, 2.0)
    stopped = ma.Trending(ma.PowerLaw(2.0), 2.0, over=10)
    assert (stopped.top, stopped.tail) == (1.0, None)


def test_mixture_weights_are_scaled():
    parts = [ma.Uniform(0.0, 0.5), ma.PowerLaw(1.0), ma.PowerLaw(2.0)]
    assert ma.Mixture(parts, weights=[2, 1, 1]).weights == (0.5, 0.25, 0.25)
    assert ma.Mixture(parts).weights == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    state = ma.Mixture(parts, weights=[2, 1, 1]).start()
    assert (state.share, state.rest.share) == (0.5, 0.5)


@pytest.mark.once
def test_reservoirs_go_inside_each_other_as_far_as_can_be_compiled():
    def nested(depth, wrap):
        found = ma.Uniform()
        for _ in range(depth):
            found = wrap(found)
        return found

    def in_mixture(part):
        return ma.Mixture([ma.Uniform(), part])

    def in_trend(part):
        return ma.Trending(part, 2.0, over=10)

    ma.Mixture([ma.Uniform()] * 17)
    for wrap in (in_mixture, in_trend):
        nested(16, wrap)
        with pytest.raises(ValueError, match=r"17 inside each other, are more than can be compiled; up to 16"):
            nested(17, wrap)
    with pytest.raises(ValueError, match=r"Mixture: 80 reservoirs, 79 inside each other"):
        ma.Mixture([ma.Uniform()] * 80)
    with pytest.raises(ValueError, match=r"Mixture: 72 reservoirs, .* and 64 in all\. Put some together"):
        ma.Mixture([ma.Mixture([ma.Uniform()] * 8)] * 9)
