"""Mixing: the masses of the twin, what they say, and how far they are from the truth."""

import numpy as np
import pytest

from manyarms.lab.planning.counts import Counts, read_counts
from manyarms.lab.planning.mixing import (
    SPREAD,
    evidence_of,
    exceeded,
    grid_of,
    likelihoods,
    likely_range,
    log_likelihoods,
    share_above,
    smooth_masses,
)
from tests.reference import plan as slow

pytestmark = pytest.mark.once


def sample(random, items, draw=lambda random, items: random.beta(1.2, 60.0, items)):
    plays = random.integers(20, 200, items)
    reward = random.binomial(plays, draw(random, items))
    return Counts("sample", tuple(map(str, range(items))), plays.astype(float), reward.astype(float))


@pytest.mark.parametrize("seed", range(5))
def test_masses_are_those_of_the_twin(seed):
    random = np.random.default_rng(seed)
    counts = sample(random, 15)
    evidence = evidence_of(counts, random)
    rates = grid_of(evidence, 12)
    found = smooth_masses(likelihoods(log_likelihoods(evidence, rates)), evidence.number, steps=20)
    items = list(zip(counts.plays.tolist(), counts.reward.tolist(), strict=True))
    assert found == pytest.approx(slow.smooth_masses(items, rates.tolist(), SPREAD, 20), abs=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_shares_are_those_of_the_twin_and_levels_their_inverse():
    random = np.random.default_rng(1)
    rates = 1.0 / (1.0 + np.exp(-np.linspace(-6.0, 0.0, 20)))
    masses = random.dirichlet(np.ones(20))
    levels = np.geomspace(rates[1], rates[-2], 9)
    shares = share_above(rates, masses, levels)
    assert shares == pytest.approx([slow.share_above(rates, masses, level) for level in levels])
    assert exceeded(rates, masses, shares) == pytest.approx(levels)


def test_items_of_which_the_same_was_seen_stand_together_and_weigh_as_much():
    random = np.random.default_rng(2)
    counts = read_counts({"item": list("abcd"), "plays": [10, 10, 10, 40], "reward": [1, 1, 0, 3]})
    evidence = evidence_of(counts, random)
    assert sorted(evidence.number.tolist()) == [1.0, 1.0, 2.0]


def test_of_many_items_some_are_chosen_with_all_their_rows(monkeypatch):
    monkeypatch.setattr("manyarms.lab.planning.mixing.MOST_ITEMS", 5)
    rows = {"item": np.repeat(np.arange(20), 3), "time": np.tile([0, 1, 2], 20)}
    counts = read_counts(rows | {"plays": np.arange(1, 61), "reward": np.ones(60)})
    evidence = evidence_of(counts, np.random.default_rng(3))
    assert evidence.plays.size == 5
    assert np.bincount(evidence.history.item, evidence.history.plays).tolist() == evidence.plays.tolist()


def test_estimates_are_near_the_truth():
    random = np.random.default_rng(4)
    items = 3000
    evidence = evidence_of(sample(random, items), random)
    rates = grid_of(evidence)
    masses = smooth_masses(likelihoods(log_likelihoods(evidence, rates)), evidence.number)
    # The mean of Beta(1.2, 60) is 1.2 / 61.2, its variance 1.2 · 60 / (61.2^2 · 62.2); a count adds that of a coin over
    # some 70 plays (the harmonic mean of 20 … 200 is 78). Four standard deviations of an average over all items.
    mean = 1.2 / 61.2
    deviation = np.sqrt((1.2 * 60.0 / (61.2**2 * 62.2) + mean / 70.0) / items)
    assert abs(masses @ rates - mean) < 4.0 * deviation
    # One in ten exceeds 0.0430 (the 90 % quantile of that Beta). The density there is 5.92, by which a share of 0.1
    # known to four times sqrt(0.1 · 0.9 / 3000) = 0.022 is a level known to 0.0037; noise at most doubles the variance.
    assert exceeded(rates, masses, np.array([0.1]))[0] == pytest.approx(0.0430, abs=np.sqrt(2.0) * 0.0037)


def test_the_likely_range_of_the_best_holds_the_estimate_and_widens_with_the_loss():
    random = np.random.default_rng(5)
    evidence = evidence_of(sample(random, 400), random)
    rates = grid_of(evidence)
    seen = likelihoods(log_likelihoods(evidence, rates))
    masses = smooth_masses(seen, evidence.number)
    narrow, wide = (likely_range(seen, evidence.number, masses, 0.01, loss) for loss in (0.5, 3.0))
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    level = exceeded(rates, masses, np.array([0.01]))[0]
    assert rates[wide[0] - 1] <= level <= rates[wide[1]]
