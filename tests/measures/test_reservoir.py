"""Estimating a reservoir: intervals hold the truth as often as they say, and the data's limits are told.

Tolerances on coverage: if an interval holds the truth with probability 0.95, the number of hits in n repetitions is
binomial; the tests fail outside of what that allows but for once in a million. Seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.measures import (
    Advice,
    estimate_from_counts,
    estimate_from_means,
    estimate_from_noisy_means,
)
from manyarms.measures.reservoir.observations import Counts
from manyarms.measures.reservoir.tail import CLOSE, Tail, fitted_weights
from tests.reference import reservoir as reference
from tests.reference import sizes

pytestmark = pytest.mark.once

ALARM = 1e-6
BETAS = (0.5, 1.0, 2.0)

exactly = settings(derandomize=True, deadline=None, max_examples=60)


def drawn_means(random, beta, arms, top=1.0):
    return top * (1.0 - random.random(arms) ** (1.0 / beta))


def check_coverage(hits, repetitions):
    """At least 95 % but for chance; never so many misses."""
    assert hits >= stats.binom.ppf(ALARM, repetitions, 0.95), (hits, repetitions)


def repeated(beta, repetitions, estimate, seed):
    """Estimates from that many samples: how many intervals hold beta, and the estimates."""
    random = np.random.default_rng([seed, int(10 * beta)])
    found = [estimate(random) for _ in range(repetitions)]
    return sum(one.low <= beta <= one.high for one in found), np.array([one.beta for one in found]), found


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_from_means_hold_beta(beta):
    hits, betas, found = repeated(beta, 1000, lambda random: estimate_from_means(drawn_means(random, beta, 400)), 1)
    check_coverage(hits, 1000)
    # Hill's estimate from k = 100 is beta times 100 / Gamma(100): median near beta, standard deviation beta / 10; that
    # of the median of 1000 is 1.25 / 1000^(1/2) of it.
    assert np.median(betas) == pytest.approx(beta, rel=0.01 + 5 * 0.1 * 1.25 / math.sqrt(1000))
    # Said to be no power law once in a thousand cases.
    assert sum(not one.is_reliable for one in found) <= stats.binom.ppf(1 - ALARM, 1000, 0.001)


def with_one_at_the_top(random, beta):
    """One arm apart, whose mean is exactly the top."""
    return np.append(drawn_means(random, beta, 399), 1.0)


def rounded(random, beta):
    return np.round(drawn_means(random, beta, 400), 4)


@pytest.mark.parametrize("top", [1.0, None])
@pytest.mark.parametrize("beta", BETAS)
def test_an_arm_at_the_top_itself_leaves_the_interval_right_and_is_told(beta, top):
    hits, _, found = repeated(
        beta, 1000, lambda random: estimate_from_means(with_one_at_the_top(random, beta), top=top), 24
    )
    check_coverage(hits, 1000)
    assert not any(one.is_reliable for one in found)
    assert {(one.top, one.top_low, one.top_high) for one in found} == {(1.0, 1.0, 1.0)}


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_from_rounded_means_hold_beta(beta):
    hits, _, found = repeated(beta, 1000, lambda random: estimate_from_means(rounded(random, beta)), 25)
    check_coverage(hits, 1000)
    # A gap below half a unit is rounded to 0, each with probability (1/20,000)^beta.
    at_top = sum(any("gaps of 0" in warning for warning in one.warnings) for one in found)
    share = 1.0 - (1.0 - 0.00005**beta) ** 400
    assert stats.binom.ppf(ALARM, 1000, share) <= at_top <= stats.binom.ppf(1 - ALARM, 1000, share)


def test_lost_gaps_count_as_at_most_the_next_and_widen_the_interval_upwards():
    means = drawn_means(np.random.default_rng(26), 1.0, 200)
    best = np.sort(means)[-4:]
    lost = np.where(means > best[0], 1.0, means)  # the three best are put at the top
    found, gaps = estimate_from_means(lost, depth=0.4), 1.0 - means[(means > 0.6) & (means <= best[0])]
    total = np.log(0.4 / gaps).sum()
    # Of k gaps that are seen, the most likely beta is k / S; S has the three lost ones as the least that is seen. The
    # search stops well within a thousandth.
    assert found.beta == pytest.approx(gaps.size / (total + 3 * np.log(0.4 / gaps.min())), rel=1e-3)
    without = estimate_from_means(means[means <= best[0]], depth=0.4)
    assert without.beta == pytest.approx(gaps.size / total, rel=1e-3)
    assert (found.high, found.low < without.low) == (without.high, True)


def test_a_top_read_off_the_means_is_told():
    means = drawn_means(np.random.default_rng(27), 1.0, 400, top=0.8)
    warned(estimate_from_means(means, top=means.max()), "if the top was read off the means, give top=None")
    # A gap within rounding of 0 is none.
    top = float(np.nextafter(means.max(), 1.0))
    warned(estimate_from_means(means, top=top), "gaps of 0 (means that are the top itself")
    near = np.append(means, 1.0 - 1e-12)  # so near to 1 that a top above it would be above 1
    assert estimate_from_means(near, top=None).top == 1.0


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_from_counts_hold_beta(beta):
    def estimate(random):
        return estimate_from_counts(random.binomial(50, drawn_means(random, beta, 300)), 50)

    hits, betas, _ = repeated(beta, 110, estimate, 2)
    check_coverage(hits, 110)
    # The error of the median of 110, from the estimates themselves, and a tenth for a likelihood that is skewed.
    assert np.median(betas) == pytest.approx(beta, abs=0.1 * beta + 5 * 1.25 * betas.std() / math.sqrt(110))


@pytest.mark.parametrize(("beta", "top"), list(itertools.product(BETAS, [1.0, 0.3])))
def test_the_naive_fit_is_right_for_means_and_wrong_for_rates(beta, top):
    random = np.random.default_rng([23, int(10 * beta)])
    plays, repetitions = 50, 300
    of_means, of_rates, believed = [], [], []
    for _ in range(repetitions):
        means = drawn_means(random, beta, 400, top)
        rates = random.binomial(plays, means) / plays
        of_means.append(reference.naive_beta(means, top))
        of_rates.append(reference.naive_beta(rates, top))
        if top < 1.0 <= beta:  # else a quarter of all rates is the top, and nothing can be fitted to them
            believed.append(estimate_from_means(np.minimum(rates, top), top=top))
    assert np.median(of_means) == pytest.approx(beta, rel=0.1)
    # Too small, and not by chance: the number of slopes below beta, were that their median, is binomial.
    assert sum(slope < beta for slope in of_rates) >= stats.binom.ppf(1 - ALARM, repetitions, 0.5)
    # Where noise does not vanish towards the top the slope is off by a third and more, and so is the estimate for means
    # that is given rates: each says that it is not to be trusted.
    if top < 1.0:
        assert np.median(of_rates) < 2 / 3 * beta
    if believed:
        assert np.median([one.beta for one in believed]) < 2 / 3 * beta
        assert not any(one.is_reliable for one in believed)


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_hold_beta_where_plays_differ_and_where_the_top_is_low(beta):
    def estimate(random):
        plays = random.integers(100, 400, 500)
        return estimate_from_counts(random.binomial(plays, drawn_means(random, beta, 500, top=0.3)), plays, top=0.3)

    check_coverage(repeated(beta, 40, estimate, 3)[0], 40)


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_from_noisy_means_hold_beta(beta):
    def estimate(random):
        means = drawn_means(random, beta, 300)
        return estimate_from_noisy_means(means + random.normal(0.0, 0.03, 300), 0.03**2)

    check_coverage(repeated(beta, 40, estimate, 4)[0], 40)


@pytest.mark.parametrize("beta", BETAS)
def test_intervals_hold_beta_and_the_top_where_it_is_not_known(beta):
    def estimate(random):
        return estimate_from_means(drawn_means(random, beta, 400, top=0.8), top=None)

    hits, betas, found = repeated(beta, 40, estimate, 5)
    check_coverage(hits, 40)
    # Intervals for the top are rougher: nine in ten.
    assert sum(one.top_low <= 0.8 <= one.top_high for one in found) >= stats.binom.ppf(ALARM, 40, 0.88)
    assert np.median(betas) == pytest.approx(beta, abs=5 * 1.25 * betas.std() / math.sqrt(40))


def test_the_top_of_counts_can_be_estimated():
    random = np.random.default_rng(6)
    hits = 0
    for _ in range(2):
        found = estimate_from_counts(random.binomial(400, drawn_means(random, 1.0, 400, top=0.6)), 400, top=None)
        assert found.top_low < found.top < found.top_high
        hits += (found.low <= 1.0 <= found.high) + (found.top_low <= 0.6 <= found.top_high)
    assert hits >= 2  # of four, each with probability 0.9 or so


# ---------------------------------------------------------------- against slow truths


@pytest.mark.parametrize("beta", BETAS)
def test_the_estimate_from_means_is_hills_and_its_interval_nearly_the_exact_one(beta):
    means = drawn_means(np.random.default_rng(7), beta, 200)
    found = estimate_from_means(means, depth=0.4)
    expected, low, high = reference.hill(means, 0.6, 1.0)
    assert found.beta == pytest.approx(expected, rel=1e-3)  # the search stops well within that
    # Likelihood intervals differ from the exact ones in the order of 1 / k of their length.
    assert (found.low, found.high) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
    within = (means > 0.6).mean()
    assert found.kappa == pytest.approx(within / 0.4**found.beta)
    assert (found.tail_arms, found.arms) == (within * 200, 200)


def test_the_likelihood_of_counts_is_that_of_quadrature():
    random = np.random.default_rng(8)
    plays = random.integers(5, 25, 30).astype(float)
    successes = random.binomial(plays.astype(int), drawn_means(random, 1.0, 30)).astype(float)
    observations = Counts(successes, plays)
    tail = Tail(observations, 0.5, 1.0)
    assert tail.bins.shape[1] == 4
    edges = np.sin(np.linspace(0.0, math.asin(math.sqrt(0.5)), 5)) ** 2
    edges[-1] = 0.5
    fast = [tail.log_likelihood(beta) for beta in BETAS]
    slow = [reference.log_likelihood(successes, plays, beta, edges, 1.0) for beta in BETAS]
    # Only differences matter: rows are scaled. Integrals are sums over cells.
    np.testing.assert_allclose(np.diff(fast), np.diff(slow), atol=0.02)


@exactly
@given(st.integers(2, 8), st.integers(3, 30), st.randoms(use_true_random=False))
def test_weights_of_a_mixture_are_the_most_likely_ones(parts, rows, source):
    random = np.random.default_rng(source.randrange(2**32))
    likelihoods = random.random((rows, parts)) ** 4
    number = random.integers(1, 50, rows).astype(float)
    value, weights = fitted_weights(likelihoods, number, np.full(parts, 1.0 / parts))
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert value == pytest.approx(number @ np.log(likelihoods @ weights))
    # The conditions of Karush, Kuhn and Tucker: no part would make it more likely.
    gradient = likelihoods.T @ (number / (likelihoods @ weights)) - number.sum()
    assert gradient.max() < 2 * CLOSE


# ---------------------------------------------------------------- what must be true


@exactly
@given(st.integers(0, 2**32 - 1), st.sampled_from(BETAS), st.floats(0.2, 1.0))
def test_a_smaller_scale_changes_kappa_and_nothing_else(seed, beta, scale):
    means = drawn_means(np.random.default_rng(seed), beta, 200)
    whole, scaled = estimate_from_means(means), estimate_from_means(scale * means, top=scale)
    assert (scaled.beta, scaled.low, scaled.high) == pytest.approx((whole.beta, whole.low, whole.high), rel=1e-6)
    assert scaled.depth == pytest.approx(scale * whole.depth)
    assert scaled.kappa == pytest.approx(whole.kappa / scale**whole.beta, rel=1e-5)


def test_the_order_of_arms_does_not_matter():
    random = np.random.default_rng(9)
    means, mixed = drawn_means(random, 1.0, 300), random.permutation(300)
    successes = random.binomial(40, means)
    assert estimate_from_means(means) == estimate_from_means(means[mixed])
    assert estimate_from_counts(successes, 40) == estimate_from_counts(successes[mixed], np.full(300, 40))


def test_many_plays_tell_as_much_as_means():
    random = np.random.default_rng(10)
    means = drawn_means(random, 1.0, 500)
    exact = estimate_from_means(means, depth=0.25)
    counted = estimate_from_counts(random.binomial(10**5, means), 10**5, depth=0.25)
    noisy = estimate_from_noisy_means(means + random.normal(0.0, 1e-3, 500), 1e-6, depth=0.25)
    for found in (counted, noisy):
        assert (found.beta, found.low, found.high) == pytest.approx((exact.beta, exact.low, exact.high), rel=0.03)
        assert found.kappa == pytest.approx(exact.kappa, rel=0.06)


def test_more_plays_than_can_matter_count_as_fewer():
    random = np.random.default_rng(11)
    means = drawn_means(random, 1.0, 200)
    found = estimate_from_counts(np.floor(10**9 * means), 10**9, depth=0.3)
    assert found.beta == pytest.approx(estimate_from_means(means, depth=0.3).beta, rel=0.02)


@pytest.mark.parametrize(
    ("world", "beta"), [(ma.PowerLaw(beta=2.0), 2.0), (ma.Uniform(0.2, 0.9), 1.0), (ma.BetaDistributed(1.0, 3.0), 3.0)]
)
def test_the_tails_of_the_packages_reservoirs_are_found(world, beta):
    random = np.random.default_rng(12)
    uniform = random.random(4000)
    gaps = {"PowerLaw": uniform**0.5, "Uniform": 0.7 * uniform, "BetaDistributed": uniform ** (1 / 3)}[
        type(world).__name__
    ]
    found = estimate_from_means(world.top - gaps, top=world.top)
    assert found.low <= beta <= found.high
    low, high = world.tail_constants
    assert 0.7 * low <= found.kappa <= 1.4 * high


# ---------------------------------------------------------------- what the data cannot tell


def warned(found, text):
    assert any(text in warning for warning in found.warnings), found
    assert not found.is_reliable
    assert text in str(found)


def test_few_arms_near_the_top_are_told():
    random = np.random.default_rng(13)
    warned(estimate_from_means(drawn_means(random, 1.0, 40)), "only some 10 arms are within")
    warned(estimate_from_means(drawn_means(random, 1.0, 40), depth=0.1), "draw more arms")


def test_few_plays_are_told():
    random = np.random.default_rng(14)
    successes = random.binomial(8, drawn_means(random, 1.0, 300))
    warned(estimate_from_counts(successes, 8), "plays are too few: noise blurs gaps of less than 0.67")
    # A depth below what noise leaves to see is taken, and told of.
    successes = random.binomial(50, drawn_means(random, 1.0, 1000))
    shallow = estimate_from_counts(successes, 50, depth=0.1)
    warned(shallow, "plays are too few")
    warned(shallow, "as far as 0.1 from the top: give a depth of 0.24 or more, or play arms more")


def test_wide_and_open_intervals_are_told():
    random = np.random.default_rng(15)
    warned(estimate_from_means(drawn_means(random, 1.0, 20)), "the interval spans a factor of")
    # All arms are the same: nothing is near the top, and any large beta will do.
    flat = estimate_from_counts(random.binomial(30, np.full(100, 0.5)), 30)
    warned(flat, "the interval is open: beta may be anything up to 20")


def test_a_tail_that_is_no_power_law_is_told():
    # One arm in ten is from a good shelf: within the quarter's depth there are two laws.
    random = np.random.default_rng(16)
    means = np.where(random.random(4000) < 0.1, 1.0 - 0.05 * random.random(4000), 0.8 * random.random(4000))
    warned(estimate_from_means(means), "is not a power law: try a smaller depth")
    warned(estimate_from_counts(random.binomial(1000, means), 1000), "is not a power law: try a smaller depth")
    assert estimate_from_means(means, depth=0.04).is_reliable


def test_rates_given_as_means_are_told():
    random = np.random.default_rng(17)
    rates = random.binomial(20, drawn_means(random, 1.0, 400)) / 20
    warned(estimate_from_means(rates), "many means are equal, as rates of few plays are: use estimate_from_counts")


def test_a_good_sample_is_reliable_and_says_so():
    found = estimate_from_means(drawn_means(np.random.default_rng(18), 1.0, 1000))
    assert found.is_reliable
    first, second = str(found).splitlines()
    assert first.startswith(f"beta {found.beta:.3g}, 95 % interval {found.low:.3g} to {found.high:.3g}; kappa ")
    assert second == f"from 1,000 arms, some 250 of them within {found.depth:.3g} of the top"
    unknown = estimate_from_means(drawn_means(np.random.default_rng(18), 1.0, 1000, top=0.5), top=None)
    assert f"top {unknown.top:.4g} ({unknown.top_low:.4g} to {unknown.top_high:.4g})" in str(unknown)


# ---------------------------------------------------------------- advice


@pytest.mark.parametrize(("beta", "horizon"), list(itertools.product(BETAS, [1, 2, 3, 6, 10, 10_000, 10**7])))
def test_advice_has_the_papers_sizes(beta, horizon):
    found = estimate_from_means(drawn_means(np.random.default_rng(19), beta, 400))
    advice = found.advice(horizon)
    # The blocks before that of rank m take 2^m - 2 rounds.
    rank = max(rank for rank in range(1, 60) if 2**rank - 2 < horizon)
    assert advice.largest_block == 2**rank
    for place, exponent in enumerate((found.beta, found.low, found.high)):
        paper = sizes.elimination_size(rank, exponent, max(horizon, 2), 2, log_factor=True, cap=True)
        assert advice.elimination_arms[place] == paper
        assert advice.blackbox_arms[place] == sizes.blackbox_size(rank, exponent, max(horizon, 2), 2, log_factor=False)
        assert advice.fresh_arms[place] == max(math.ceil(horizon ** (exponent / (exponent + 1)) * (1 - 1e-12)), 1)


@pytest.mark.parametrize("beta", BETAS)
def test_the_gap_of_the_best_arm_is_that_of_simulation(beta):
    found = estimate_from_means(drawn_means(np.random.default_rng(20), beta, 400))
    advice = found.advice(1000)
    # Gaps with P(gap < x) = kappa x^beta, and the least of so many.
    random = np.random.default_rng(21)
    gaps = (random.random((4000, advice.fresh_arms[0])) / found.kappa) ** (1.0 / found.beta)
    least = gaps.min(axis=1)
    assert advice.best_gap == pytest.approx(least.mean(), abs=5 * least.std() / math.sqrt(4000))


def test_advice_speaks_of_no_block_that_is_longer_than_the_horizon_as_if_it_were_played():
    found = estimate_from_means(drawn_means(np.random.default_rng(22), 1.0, 400))
    assert "in the largest, of 2 rounds, cut short by the horizon," in str(found.advice(1))
    assert "in the largest, of 2 rounds,\n" in str(found.advice(2))
    assert "in the largest, of 4 rounds, cut short by the horizon," in str(found.advice(3))


def test_advice_passes_warnings_on():
    found = estimate_from_means(drawn_means(np.random.default_rng(22), 1.0, 20))
    text = str(found.advice(10_000))
    assert isinstance(found.advice(10_000), Advice)
    assert text.splitlines()[-1] == f"but {found.warnings[-1]}"
    with pytest.raises(ValueError, match="advice: horizon must be a whole number of at least 1, not 0"):
        found.advice(0)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_from_means([0.5] * 4), "estimate_from_means: 4 arms are too few for any estimate; give at"),
        (lambda: estimate_from_means([[0.5] * 9]), r"means must be a list with one entry for each arm, not of shape"),
        (lambda: estimate_from_means(["a"] * 9), "estimate_from_means: means must hold numbers, not"),
        (lambda: estimate_from_means([0.5] * 9 + [math.nan]), "means must be finite, not nan"),
        (lambda: estimate_from_means([0.5] * 9 + [0.9], top=0.8), "between 0 and the top, 0.8, not 0.9; scale rewards"),
        (lambda: estimate_from_means([0.5] * 9 + [-0.1]), "between 0 and the top, 1, not -0.1"),
        (lambda: estimate_from_means(np.linspace(0, 1, 9), top=0.0), "top must be above 0, not 0.0"),
        (lambda: estimate_from_means(np.linspace(0, 1, 9), top=1.5), r"top must lie in \[0, 1\], not 1.5"),
        (lambda: estimate_from_means(np.linspace(0, 1, 9), depth=0.0), "depth must be above 0, not 0.0"),
        (lambda: estimate_from_means(np.linspace(0, 1, 9), depth=1.5), "depth must be at most the top, 1, not 1.5"),
        (
            lambda: estimate_from_means(np.linspace(0, 0.5, 9), depth=0.1),
            "0 of 9 means lie within the depth, too few to tell; give more",
        ),
        (lambda: estimate_from_means([0.5] * 9), "a quarter of the arms has the best mean; for rates of success use"),
        (
            lambda: estimate_from_counts([1] * 9, [3] * 8),
            r"successes has 9 arms but plays has shape \(8,\); give one for each",
        ),
        (lambda: estimate_from_counts([1] * 9, 0), "plays must be at least 1, not 0"),
        (lambda: estimate_from_counts([-1] * 9, 3), "successes must be at least 0, not -1"),
        (lambda: estimate_from_counts([1] * 8 + [4], 3), "successes must be at most plays, not 4 of 3 for arm 8"),
        (lambda: estimate_from_counts([0.5] * 9, 3), "successes must be whole numbers, not 0.5; for other rewards use"),
        (lambda: estimate_from_counts([1] * 3, 3), "estimate_from_counts: 3 arms are too few"),
        (lambda: estimate_from_counts([[1] * 9], 3), "must be a list with one entry for each arm, not of shape"),
        (lambda: estimate_from_noisy_means([0.5] * 9, 0.0), "variances must be above 0, not 0"),
        (lambda: estimate_from_noisy_means([0.5] * 9, [0.1] * 8), "means has 9 arms but variances has shape"),
        (
            lambda: estimate_from_noisy_means([0.5] * 9 + [7e5], 1.0),
            "the top, 1, but for noise, not 700000 for arm 9, 699,999 standard deviations outside; scale rewards",
        ),
        (lambda: estimate_from_noisy_means([0.5] * 9 + [90.0], 0.01), "not 90 for arm 9, 890 standard deviations"),
        (lambda: estimate_from_noisy_means(np.linspace(5, 6, 9), 0.01, top=None), "the top, 1, but for noise, not 6"),
        (lambda: estimate_from_noisy_means(np.linspace(-5, -4, 9), 0.01), "but for noise, not -5 for arm 0, 50 stand"),
        (
            lambda: estimate_from_means([1.0] * 9 + [0.2], depth=0.1),
            "all 9 means within the depth are the top itself, 1",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_noise_may_put_means_outside():
    means = np.append(np.linspace(0.0, 1.0, 300), [-0.5, 1.5])  # five standard deviations
    assert estimate_from_noisy_means(means, 0.01).arms == 302


def test_advice_warns_where_the_top_is_far_above_all_arms():
    random = np.random.default_rng(1)
    clicks = estimate_from_counts(random.binomial(300, random.beta(1.2, 110.0, 800)), 300).advice(100_000)
    assert 0.0 <= clicks.best_observed < 0.5
    assert "use manyarms plan (docs/plan.md) instead" in str(clicks)
    near = estimate_from_counts(random.binomial(100, random.random(500)), 100).advice(100_000)
    assert near.best_observed > 0.9
    assert near.warnings == near.estimate.warnings
