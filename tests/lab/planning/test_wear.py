"""Wear: the likelihood of the twin, the profile by brute force, and the truth within the interval."""

import numpy as np
import pytest

from manyarms.lab.planning.counts import read_counts
from manyarms.lab.planning.mixing import evidence_of, log_likelihoods
from manyarms.lab.planning.wear import WearProfile, estimated_wear
from tests.reference import plan as slow

pytestmark = pytest.mark.once


def worn_rows(random, items, wear, buckets=6, plays=40):
    """Rows by item and time, paid play by play."""
    rows = []
    for item, rate in enumerate(random.beta(2.0, 20.0, items)):
        for bucket in range(buckets):
            rates = rate * (1.0 - wear) ** (bucket * plays + np.arange(plays))
            rows.append((item, bucket, plays, int((random.random(plays) < rates).sum())))
    return dict(zip(("item", "time", "plays", "reward"), map(list, zip(*rows, strict=True)), strict=True))


def evidence_from(rows):
    return evidence_of(read_counts(rows), np.random.default_rng(0))


@pytest.mark.parametrize("wear", [0.0, 0.003, 0.05])
def test_the_likelihood_of_a_history_is_that_of_the_twin(wear):
    random = np.random.default_rng(6)
    rows = {"item": [0, 1, 0, 1], "time": [0, 0, 1, 1], "plays": [3, 9, 6, 4], "reward": [1, 2, 1, 0]}
    rates, masses = np.array([0.05, 0.2, 0.5]), random.dirichlet(np.ones(3))
    logs = log_likelihoods(evidence_from(rows), rates, wear)
    found = np.log(np.exp(logs) @ masses).sum()
    history = list(zip(rows["item"], rows["plays"], rows["reward"], strict=True))
    assert found == pytest.approx(slow.log_likelihood(history, rates.tolist(), masses.tolist(), wear))


def test_the_profile_is_that_of_brute_force_and_the_interval_ends_where_it_has_lost_enough():
    rows = worn_rows(np.random.default_rng(7), 12, 0.01, buckets=2, plays=12)
    evidence = evidence_from(rows)
    profile = WearProfile(evidence)
    history = list(zip(rows["item"], rows["plays"], rows["reward"], strict=True))
    for wear in (0.0, 0.01, 0.1):
        brute = slow.worn_profile(history, profile.rates.tolist(), wear, 1000)
        # A thousand steps of expectation and maximisation are within 0.02 of the best, below it; Newton's within 1e-5.
        assert -1e-5 <= profile.log_likelihood(wear) - brute < 0.02
    found = estimated_wear(evidence)
    tried = np.linspace(0.0, 0.5, 201)
    values = np.array([profile.log_likelihood(wear) for wear in tried])
    likely = tried[values >= max(values.max(), profile.log_likelihood(found.value)) - 1.9207]
    assert found.low <= likely[0] + 1e-3
    assert likely[-1] - 1e-3 <= found.high <= likely[-1] + 0.01


@pytest.mark.parametrize("wear", [0.0, 0.004])
def test_the_interval_holds_the_truth_nineteen_times_of_twenty(wear):
    random = np.random.default_rng(8)
    found = [estimated_wear(evidence_from(worn_rows(random, 60, wear))) for _ in range(20)]
    # Of 20 intervals that hold the truth with probability 0.95, fewer than 15 do with probability 0.0003.
    assert sum(one.low <= wear <= one.high for one in found) >= 15
    assert sum(one.is_seen for one in found) >= 15 if wear else sum(one.is_seen for one in found) <= 5


def test_items_that_were_played_on_because_they_began_well_are_not_taken_for_worn():
    random = np.random.default_rng(9)
    rates = random.beta(1.0, 9.0, 200)
    first = random.binomial(10, rates)
    more = np.where(first >= 2, 90, 1)  # rates seem to fall from 0.3 to 0.2 for those that go on
    rows = {
        "item": np.tile(np.arange(200), 2),
        "time": np.repeat([0, 1], 200),
        "plays": np.append(np.full(200, 10), more),
    }
    found = estimated_wear(evidence_from(rows | {"reward": np.append(first, random.binomial(more, rates))}))
    assert not found.is_seen
