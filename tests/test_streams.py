"""The random streams: known answers, quality in every direction addresses are used, and the draws on top.

Quality tests have fixed seeds. Their tolerances are such that a perfect generator would fail one
test in a million (``ALARM``), shared out among the numbers that the test looks at.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from manyarms import streams
from manyarms.compiled import loop
from manyarms.streams import (
    ARM_STREAM,
    DRIFT_STREAM,
    GOLDEN_GAMMA,
    NOISE_STREAM,
    POLICY_STREAM,
    address,
    beta_draw,
    bits_at,
    bits_of,
    follow,
    i64,
    index_below,
    log_gamma_draw,
    mixed,
    normal,
    replication_key,
    stream_key,
    u64,
    uniform,
)
from tests.reference import squares
from tests.twinned import seeds

ALARM = 1e-6
"""How often a perfect generator would fail a test."""

WORDS = 2**20

exactly = settings(derandomize=True, deadline=None)
a_word = st.integers(0, 2**64 - 1)


def normal_bound(numbers):
    """What none of this many standard normal numbers exceeds in absolute value, but for a false alarm."""
    return stats.norm.isf(ALARM / 2 / numbers)


def distance_bound(draws):
    """Dvoretzky, Kiefer & Wolfowitz, with Massart's constant: P(sup |F_n - F| > d) <= 2 exp(-2 n d^2)."""
    return math.sqrt(math.log(2 / ALARM) / (2 * draws))


def check_even(counts, tests=1):
    """Counts that should all be alike are neither too uneven nor too even (chi-square, both tails)."""
    expected = counts.sum() / counts.size
    assert expected >= 50  # else the chi-square distribution is no good approximation
    statistic = ((counts - expected) ** 2 / expected).sum()
    degrees = counts.size - 1
    low, high = stats.chi2.ppf(ALARM / 2 / tests, degrees), stats.chi2.isf(ALARM / 2 / tests, degrees)
    assert low < statistic < high


# Known answers


def squares64(counter, key):
    """Five rounds as Widynski publishes them (arXiv:2004.06278, version 3 and later), for Python's integers."""
    wrap = 2**64
    x = y = counter * key % wrap
    z = (y + key) % wrap
    for add in (y, z, y):
        x = (x * x + add) % wrap
        x = x // 2**32 + x % 2**32 * 2**32
    t = x = (x * x + z) % wrap
    x = x // 2**32 + x % 2**32 * 2**32
    return t ^ ((x * x + y) % wrap // 2**32)


def test_bits_are_those_of_another_implementation_of_squares():
    # Counters 0, 1, 2, … under one of Widynski's keys, from the tests of the Rust crate squares-rnd.
    expected = [
        14399542303155484263,
        17501607969359464034,
        9354028374942533382,
        15427513012393281532,
        1327885891373351147,
        60638670215810043,
        5911835172535428600,
        7806583138883068395,
    ]
    assert [bits_of(0x5D8491E219F6537D, counter) for counter in range(8)] == expected
    assert [squares64(counter, 0x5D8491E219F6537D) for counter in range(8)] == expected


@exactly
@given(key=a_word, counter=a_word)
@example(key=1, counter=2**64 - 1)
@example(key=2**64 - 1, counter=2**64 - 1)
def test_bits_follow_the_published_definition(key, counter):
    assert bits_of(key | 1, counter) == squares64(counter, key | 1)


@exactly
@given(key=a_word, index=st.integers(0, 2**31 - 1), sub_index=st.integers(0, 2**32 - 2))
@example(key=3, index=2**31 - 1, sub_index=2**32 - 2)
def test_an_address_is_a_counter_of_its_own(key, index, sub_index):
    counter = index * 2**32 + sub_index + 1
    assert address(index, sub_index) == counter
    assert bits_at(key, index, sub_index) == squares64(counter, key)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]),
    ],
)
def test_follow_is_splitmix64(state, expected):
    assert [follow(state, step) for step in (1, 2, 3, 4)] == expected
    assert [mixed((state + step * GOLDEN_GAMMA) % 2**64) for step in (1, 2, 3, 4)] == expected


def splitmix64(state):
    """One step of SplitMix64 as Steele, Lea and Flood publish it, for Python's integers."""
    word = (state + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word // 2**30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word // 2**27) * 0x94D049BB133111EB % 2**64
    return word ^ word // 2**31


@exactly
@given(seed=a_word, replication=st.integers(0, 2**31), stream=st.integers(1, 4), label=a_word)
def test_keys_are_nested_steps_of_splitmix64_made_odd(seed, replication, stream, label):
    assert splitmix64(0) == 0xE220A8397B1DCDAF
    outer = splitmix64(splitmix64(seed) ^ replication)
    assert replication_key(seed, replication) == outer
    assert stream_key(outer, stream, label) == splitmix64(splitmix64(outer ^ stream) ^ label) | 1


# Quality, in every direction in which numbers of one run or one comparison lie next to each other

PLAYS, ARMS, ARMS_LATER, REPLICATIONS, SEEDS, LABELS, STEPS = range(7)
DIRECTIONS = {
    "the plays of an arm": (PLAYS, NOISE_STREAM),
    "the first plays of arms": (ARMS, ARM_STREAM),  # counters 2^32 apart, whose lower halves are 0
    "the eighth plays of arms": (ARMS_LATER, DRIFT_STREAM),
    "the asks of a policy": (ARMS, POLICY_STREAM),
    "replications": (REPLICATIONS, ARM_STREAM),
    "seeds": (SEEDS, NOISE_STREAM),
    "policies": (LABELS, POLICY_STREAM),
    "the steps after one address": (STEPS, DRIFT_STREAM),
}


@loop
def write_words(direction, seed, stream, out):
    key = stream_key(replication_key(seed, 0), stream, 0)
    for n in range(out.size):
        if direction == PLAYS:
            out[n] = bits_at(key, 5, n)
        elif direction == ARMS:
            out[n] = bits_at(key, n, 0)
        elif direction == ARMS_LATER:
            out[n] = bits_at(key, n, 7)
        elif direction == REPLICATIONS:
            out[n] = bits_at(stream_key(replication_key(seed, n), stream, 0), 0, 0)
        elif direction == SEEDS:
            out[n] = bits_at(stream_key(replication_key(n, 0), stream, 0), 0, 0)
        elif direction == LABELS:
            out[n] = bits_at(stream_key(replication_key(seed, 0), stream, n), 1, 0)
        else:
            out[n] = follow(bits_at(key, 5, 0), n + 1)


@functools.cache
def words_along(name):
    direction, stream = DIRECTIONS[name]
    out = np.zeros(WORDS, dtype=np.uint64)
    write_words(direction, np.uint64(2024), stream, out)
    return out


def units(words):
    """The words as numbers in [0, 1), by NumPy."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def signs(words):
    """Every bit as -1 or +1: one row for each word."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return bits.astype(np.float32) * 2 - 1


def fields(words, width):
    """Some bits from the top, the middle and the bottom of each word."""
    for shift in (64 - width, 32 - width // 2, 0):
        yield ((words >> np.uint64(shift)) & np.uint64(2**width - 1)).astype(np.int64)


along = pytest.mark.parametrize("name", DIRECTIONS)


@pytest.mark.compiled
@along
def test_words_are_uniform(name):
    words = words_along(name)
    distance = stats.ks_1samp(units(words), stats.uniform.cdf, mode="asymp").statistic
    assert distance < distance_bound(WORDS)
    for part in fields(words, 12):
        check_even(np.bincount(part, minlength=2**12), tests=3)


@pytest.mark.compiled
@along
def test_every_bit_is_balanced(name):
    words = words_along(name)
    ones = np.array([np.count_nonzero(words & np.uint64(1 << bit)) for bit in range(64)])
    assert np.abs(ones - WORDS / 2).max() / math.sqrt(WORDS / 4) < normal_bound(64)  # binomial


@pytest.mark.compiled
@along
def test_neighbours_are_not_correlated(name):
    # 12 (u - 1/2) (v - 1/2) has mean 0 and variance 1 for independent uniform u and v.
    centred = (units(words_along(name)) - 0.5) * math.sqrt(12)
    lags = [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 256, 1000, 1024, 4096, 65536]
    for lag in lags:
        products = centred[:-lag] * centred[lag:]
        assert abs(products.sum()) / math.sqrt(products.size) < normal_bound(len(lags))


@pytest.mark.compiled
@along
def test_no_bit_says_anything_about_a_neighbours_bit(name):
    bits = signs(words_along(name)[: 2**16])
    lags = [1, 2, 256]
    for lag in lags:
        agreement = bits[:-lag].T @ bits[lag:] / math.sqrt(len(bits) - lag)  # whole numbers below 2^24: exact
        assert np.abs(agreement).max() < normal_bound(64 * 64 * len(lags))


@pytest.mark.compiled
@along
@pytest.mark.parametrize(("neighbours", "width"), [(2, 6), (3, 4)])
def test_neighbours_fill_the_square_and_the_cube_evenly(name, neighbours, width):
    words = words_along(name)
    words = words[: words.size // neighbours * neighbours]
    for part in fields(words, width):
        cells = part.reshape(-1, neighbours) @ (2**width) ** np.arange(neighbours)
        check_even(np.bincount(cells, minlength=2 ** (width * neighbours)), tests=3)


@loop
def write_grid(key, out):
    for arm in range(out.shape[0]):
        for play in range(out.shape[1]):
            out[arm, play] = bits_at(key, arm, play)


@pytest.mark.compiled
@pytest.mark.parametrize("stream", [NOISE_STREAM, DRIFT_STREAM])
def test_squares_of_two_arms_and_two_plays_are_filled_evenly(stream):
    grid = np.zeros((1024, 1024), dtype=np.uint64)
    write_grid(np.uint64(stream_key(replication_key(7, 1), stream, 0)), grid)
    for part in fields(grid, 3):
        corners = part[::2, ::2] + 8 * part[1::2, ::2] + 64 * part[::2, 1::2] + 512 * part[1::2, 1::2]
        check_even(np.bincount(corners.ravel(), minlength=8**4), tests=3)


COUNTER, KEY, SEED, REPLICATION, LABEL = range(5)


@loop
def count_flips(what, least_sub_index, samples, flips):
    """How often flipping an input bit (row) flips an output bit (column)."""
    for sample in range(samples):
        place = mixed(u64(sample))
        seed = follow(place, 1)
        replication = follow(place, 2) >> u64(33)
        label = follow(place, 3)
        key = stream_key(replication_key(seed, replication), NOISE_STREAM, label)
        index = i64(place >> u64(44))
        sub_index = 0
        if least_sub_index > 0:
            sub_index = least_sub_index + i64(place & u64(0xFFFFF))
        counter = u64(address(index, sub_index))
        word = bits_of(key, counter)
        for bit in range(flips.shape[0]):
            flip = u64(1) << u64(bit)
            if what == COUNTER:
                other = bits_of(key, counter ^ flip)
            elif what == KEY:
                other = bits_of(key ^ flip, counter)
            elif what == SEED:
                other = bits_of(stream_key(replication_key(seed ^ flip, replication), NOISE_STREAM, label), counter)
            elif what == REPLICATION:
                other = bits_of(stream_key(replication_key(seed, replication ^ flip), NOISE_STREAM, label), counter)
            else:
                other = bits_of(stream_key(replication_key(seed, replication), NOISE_STREAM, label ^ flip), counter)
            changed = word ^ other
            for place_of in range(64):
                flips[bit, place_of] += i64((changed >> u64(place_of)) & u64(1))


# If the lower half of the counter were 0 for first plays, the first of the five rounds would square a
# multiple of 2^32 and do nothing, and bits 28 to 31 of the key would not reach all output bits evenly.
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("what", "least_sub_index", "bits"),
    [
        pytest.param(COUNTER, 0, 64, id="counter of a first play"),
        pytest.param(COUNTER, 1, 64, id="counter of a later play"),
        pytest.param(KEY, 0, 64, id="key of a first play"),
        pytest.param(KEY, 1, 64, id="key of a later play"),
        pytest.param(SEED, 0, 64, id="seed"),
        pytest.param(REPLICATION, 0, 31, id="replication"),
        pytest.param(LABEL, 0, 64, id="label"),
    ],
)
def test_flipping_one_bit_flips_each_output_bit_half_the_time(what, least_sub_index, bits):
    samples = 40_000
    flips = np.zeros((bits, 64), dtype=np.int64)
    count_flips(what, least_sub_index, samples, flips)
    deviations = (flips - samples / 2) / math.sqrt(samples / 4)  # binomial
    assert np.abs(deviations).max() < normal_bound(flips.size)


NEIGHBOURS = {
    "arms": (11, 3, ARM_STREAM, 0),
    "noise": (11, 3, NOISE_STREAM, 0),
    "drift": (11, 3, DRIFT_STREAM, 0),
    "policy": (11, 3, POLICY_STREAM, 0),
    "another policy": (11, 3, POLICY_STREAM, 1),
    "the next replication": (11, 4, NOISE_STREAM, 0),
    "a replication far away": (11, 3 + 2**30, NOISE_STREAM, 0),
    "the next seed": (12, 3, NOISE_STREAM, 0),
    "a seed far away": (11 + 2**63, 3, NOISE_STREAM, 0),
    "seed and replication exchanged": (3, 11, NOISE_STREAM, 0),
}


def key_of(seed, replication, stream, label):
    return np.uint64(stream_key(replication_key(seed, replication), stream, label))


@pytest.mark.compiled
def test_streams_are_not_correlated():
    side = 128
    numbers, bits = {}, {}
    for name, place in NEIGHBOURS.items():
        grid = np.zeros((side, side), dtype=np.uint64)
        write_grid(key_of(*place), grid)
        numbers[name] = (units(grid) - 0.5) * math.sqrt(12)
        bits[name] = signs(grid).reshape(side, side, 64)
    shifts = [(0, 0), (1, 0), (0, 1), (1, 1)]  # the same address, the next arm, the next play, both
    pairs = list(itertools.permutations(NEIGHBOURS, 2))
    tests = len(pairs) * len(shifts)
    for one, other in pairs:
        for arms, plays in shifts:
            here, there = np.s_[: side - arms, : side - plays], np.s_[arms:, plays:]
            size = (side - arms) * (side - plays)
            assert abs((numbers[one][here] * numbers[other][there]).sum()) / math.sqrt(size) < normal_bound(tests)
            agreement = (bits[one][here] * bits[other][there]).sum(axis=(0, 1)) / math.sqrt(size)
            assert np.abs(agreement).max() < normal_bound(64 * tests)


def repeats(words):
    """How many words equal another one before them."""
    ordered = np.sort(words, axis=None)
    return np.count_nonzero(ordered[1:] == ordered[:-1])


@loop
def write_everything(seed, replications, out):
    """Words of all streams and labels of many replications, with many arms and plays."""
    row = 0
    for replication in range(replications):
        for stream in range(1, 5):
            for label in range(2):
                key = stream_key(replication_key(seed, replication), stream, label)
                for entry in range(out.shape[1]):
                    out[row, entry] = bits_at(key, entry >> 6, entry & 63)
                row += 1


@pytest.mark.compiled
def test_no_word_comes_twice():
    # Four seeds, 32 replications, 4 streams, 2 labels, 32 arms, 64 plays: n = 2^21 words. Of random words
    # n^2 / 2^65 = 2.4e-7 pairs would be equal. One stream that was a shifted copy of another would show.
    out = np.zeros((4, 32 * 4 * 2, 32 * 64), dtype=np.uint64)
    for seed in range(4):
        write_everything(np.uint64(seed), 32, out[seed])
    assert out.size == 2**21
    assert repeats(out) == 0


@pytest.mark.compiled
@along
def test_no_word_comes_twice_in_one_direction(name):
    # n = 2^20 words: 2^40 / 2^65 = 3e-8 equal pairs.
    assert repeats(words_along(name)) == 0


@loop
def write_keys(seed, streams, labels, out):
    row = 0
    for replication in range(out.size // (streams * labels)):
        for stream in range(1, streams + 1):
            for label in range(labels):
                out[row] = stream_key(replication_key(seed, replication), stream, label)
                row += 1


@pytest.mark.compiled
def test_all_keys_differ():
    # n = 2^20 odd words: n^2 / 2^64 = 6e-8 equal pairs if they were random.
    seeds = [0, 1, 2, 3, 2**32, 2**63, 2**64 - 1, GOLDEN_GAMMA]
    out = np.zeros((len(seeds), 2**17), dtype=np.uint64)
    for seed, row in zip(seeds, out, strict=True):
        write_keys(np.uint64(seed), 4, 4, row)
    assert out.size == 2**20
    assert repeats(out) == 0


# Draws


@exactly
@given(bits=a_word)
@example(bits=0)
@example(bits=2**64 - 1)
@example(bits=2**11 - 1)
def test_uniform_is_the_upper_53_bits(bits):
    drawn = uniform(bits)
    assert Fraction(drawn) == Fraction(bits >> 11, 2**53)
    assert 0.0 <= drawn < 1.0


SIZES = sorted({2**power + shift for power in range(54) for shift in (-1, 0, 1) if 1 <= 2**power + shift <= 2**53})


@pytest.mark.parametrize("bits", [2**64 - 1, 2**64 - 2**11, 0, 2**11 - 1])
def test_index_below_stays_below_for_the_extreme_bits(bits):
    for size in SIZES:
        assert index_below(bits, size) == (size - 1 if bits >> 63 else 0)


@exactly
@given(bits=a_word, size=st.integers(1, 2**53))
def test_index_below_stays_below(bits, size):
    drawn = index_below(bits, size)
    assert isinstance(drawn, int)
    assert 0 <= drawn < size
    # The exact index, or its neighbour where the product was rounded across a whole number.
    assert abs(drawn - (bits >> 11) * size // 2**53) <= 1


@loop
def write_indices(key, size, counts):
    for n in range(WORDS):
        counts[index_below(bits_at(key, n, 0), size)] += 1


@pytest.mark.compiled
@pytest.mark.parametrize("size", [2, 3, 7, 10, 100, 1025])
def test_every_index_is_as_likely(size):
    counts = np.zeros(size, dtype=np.int64)
    write_indices(key_of(5, size, POLICY_STREAM, 0), size, counts)
    assert counts.sum() == WORDS
    check_even(counts)


NORMAL, GAMMA, BETA = range(3)


@loop
def write_draws(kind, key, a, b, out):
    for n in range(out.size):
        bits = bits_at(key, n, 0)
        if kind == NORMAL:
            out[n] = normal(bits, 1)
        elif kind == GAMMA:
            out[n] = log_gamma_draw(bits, a)
        else:
            out[n] = beta_draw(bits, a, b)


def draws(kind, a=0.0, b=0.0, size=2**19):
    out = np.zeros(size)
    write_draws(kind, key_of(99, kind, NOISE_STREAM, 0), a, b, out)
    return out


def check_distribution(drawn, grid, distribution):
    """The share of draws up to each number of the grid is what the distribution function says."""
    shares = np.searchsorted(np.sort(drawn), grid, side="right") / drawn.size
    assert np.abs(shares - distribution(grid)).max() < distance_bound(drawn.size)


@pytest.mark.compiled
def test_normal_has_its_distribution():
    drawn = draws(NORMAL)
    assert np.isfinite(drawn).all()
    check_distribution(drawn, np.sort(drawn), stats.norm.cdf)
    # The far tails weigh too little to move the distribution function: count them.
    for far in (3.0, 4.0):
        for beyond in (drawn > far, drawn < -far):
            low, high = stats.binom.ppf([ALARM / 8, 1 - ALARM / 8], drawn.size, stats.norm.sf(far))
            assert low <= beyond.sum() <= high


def log_gamma_distribution(shape):
    """P(log G <= y). Below e^-30 the incomplete gamma function is its first term, to 13 digits."""

    def distribution(y):
        near = special.gammainc(shape, np.exp(np.maximum(y, -30.0)))
        return np.where(y > -30.0, near, np.exp(shape * y - special.gammaln(shape + 1.0)))

    return distribution


@pytest.mark.compiled
@pytest.mark.parametrize("shape", [1e-3, 0.05, 0.5, 0.999, 1.0, 1.5, 3.0, 30.0, 500.0])
def test_log_gamma_draw_has_its_distribution(shape):
    drawn = draws(GAMMA, shape)
    assert np.isfinite(drawn).all()
    check_distribution(drawn, np.sort(drawn), log_gamma_distribution(shape))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("a", "b"),
    [(1e-3, 1e-3), (1e-3, 2.0), (2.0, 1e-3), (0.5, 0.5), (1.0, 1.0), (2.0, 3.0), (0.01, 500.0), (500.0, 500.0)],
)
def test_beta_draw_has_its_distribution(a, b):
    drawn = draws(BETA, a, b)
    assert (drawn >= 0.0).all()
    assert (drawn <= 1.0).all()
    # Numbers too close to 0 or 1 for a float are rounded to it, so look between, evenly in the log-odds.
    grid = special.expit(np.linspace(-650.0, 30.0, 5001))
    check_distribution(drawn, grid, lambda x: special.betainc(a, b, x))
    centre = stats.beta.ppf(np.linspace(0.001, 0.999, 999), a, b)
    centre = centre[(centre > 1e-280) & (centre < 1 - 1e-13)]
    check_distribution(drawn, np.sort(centre), lambda x: special.betainc(a, b, x))


# Compiled and uncompiled


@loop
def write_all(seed, words, numbers):
    """Every function of the streams, once for each row."""
    for n in range(words.shape[0]):
        replication = replication_key(seed, n)
        key = stream_key(replication, 1 + n % 4, follow(seed, n))
        bits = bits_at(key, n, n * n)
        words[n, 0] = replication
        words[n, 1] = key
        words[n, 2] = bits
        words[n, 3] = mixed(bits)
        words[n, 4] = follow(bits, n)
        words[n, 5] = index_below(bits, n + 1)
        words[n, 6] = address(n, n * n)
        words[n, 7] = bits_of(key, bits)
        numbers[n, 0] = uniform(bits)
        numbers[n, 1] = normal(bits, n)
        numbers[n, 2] = log_gamma_draw(bits, 1e-3)
        numbers[n, 3] = log_gamma_draw(bits, 0.7)
        numbers[n, 4] = log_gamma_draw(bits, 500.0)
        numbers[n, 5] = beta_draw(bits, 2.0, 3.0)
        numbers[n, 6] = beta_draw(bits, 0.01, 0.02)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_compiled_and_uncompiled_agree_to_the_bit(seed):
    runs = []
    for run in (write_all, write_all.function):
        words, numbers = np.zeros((2000, 8), dtype=np.uint64), np.zeros((2000, 7))
        run(np.uint64(seed), words, numbers)
        runs.append((words, numbers.view(np.uint64)))
    (compiled_words, compiled_numbers), (plain_words, plain_numbers) = runs
    np.testing.assert_array_equal(compiled_words, plain_words)
    np.testing.assert_array_equal(compiled_numbers, plain_numbers)
    assert write_all.signatures()  # or nothing was compiled


# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


def test_the_twins_streams_are_the_published_generators():
    # The first outputs of SplitMix64 from seed 1234567, as published with many implementations.
    first = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [squares.splitmix64(1234567, step) for step in (1, 2, 3)] == first


@settings(deadline=None, derandomize=True)
@given(seeds, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**32 - 1), seeds)
def test_streams_are_those_of_the_twins(seed, replication, index, sub_index, label):
    key = squares.replication_key(seed, replication)
    assert streams.replication_key(seed, replication) == key
    assert streams.stream_key(key, streams.POLICY_STREAM, label) == squares.stream_key(key, 4, label)
    bits = squares.bits_at(key | 1, index, sub_index)
    assert streams.bits_at(key | 1, index, sub_index) == bits
    assert streams.follow(bits, 3) == squares.splitmix64(bits, 3)
    assert streams.uniform(bits) == squares.uniform(bits)
