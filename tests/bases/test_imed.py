"""IMED: the choices of its twin, and its index."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import imed
from manyarms.contract import Choice, best_among, learn, pick, renew, revise
from tests.policies.test_theory import within_standard_errors
from tests.reference.imed import divergence
from tests.twinned import (
    COINS,
    betas,
    blackboxes,
    crashing,
    horizons,
    plays_as_its_twin,
    plays_plainly_as_its_twin,
    subsamples,
    trending,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

thorough = settings(deadline=None, derandomize=True, max_examples=100)
it = st.just(ma.IMED())
few_rounds = horizons.map(lambda horizon: min(horizon, 300))


test_subsample_over_imed_plays_as_its_twin = plays_as_its_twin(
    subsamples(it, beta=betas), crashing, few_rounds, examples=30
)


test_blackbox_over_imed_plays_as_its_twin = plays_plainly_as_its_twin(blackboxes(it), trending, few_rounds)


def choice_of(slot):
    return Choice(slot=slot, arm=slot, probability=1.0, block=1, round=1)


def base_after(*records):
    """A base that knows of each arm (plays, sum of rewards)."""
    base = renew(ma.IMED().start(len(records)), len(records), 100.0, math.log(100))
    for slot, (plays, total) in enumerate(records):
        base = revise(base, slot, plays, total)
    return base


@st.composite
def records(draw):
    plays = draw(st.lists(st.integers(1, 10**5), min_size=2, max_size=8))
    shares = draw(st.lists(st.floats(0.0, 1.0), min_size=len(plays), max_size=len(plays)))
    return [(n, float(round(share * n))) for n, share in zip(plays, shares, strict=True)]


@thorough
@given(records())
def test_the_index_is_that_of_the_source(known):
    base = base_after(*known)
    means = [total / plays for plays, total in known]
    best = max(means)
    surprise = imed.surprise_of(base, means.index(best))
    for slot, (plays, _) in enumerate(known):
        expected = plays * divergence(means[slot], best) + math.log(plays)
        # Sums of up to some 12 · plays are taken from each other (log 1e5 = 11.5), each right to a few 2^-53; and the
        # twin's own 1 - best is rounded, where best is close to 1.
        assert imed.imed_index(base, slot, surprise) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_an_arm_that_always_paid_leaves_no_hope_to_one_that_did_not():
    # kl(m, 1) is infinite for m < 1: between those that always paid, the one with fewer plays is next.
    base = base_after((3, 2.0), (5, 5.0), (4, 4.0), (1, 0.0))
    assert pick(base, 0, 1) == (2, 1.0)
    assert imed.imed_index(base, 0, imed.surprise_of(base, 1)) == math.inf
    # If none ever paid, kl is 0 everywhere.
    assert pick(base_after((3, 0.0), (2, 0.0), (2, 0.0)), 0, 1) == (1, 1.0)


def test_means_outside_of_0_and_1_count_as_the_ends():
    assert pick(base_after((3, 4.0), (2, 2.0)), 0, 1) == pick(base_after((3, 3.0), (2, 2.0)), 0, 1) == (1, 1.0)
    base = base_after((2, -1.0), (4, 2.0))
    assert imed.imed_index(base, 0, imed.surprise_of(base, 1)) == pytest.approx(2 * math.log(2) + math.log(2))


def test_ties_go_to_the_lower_slot_whatever_rounding_says():
    # A failure beside a mean of 1/2: 1 · kl(0, 1/2) + log 1 = log 2, and 2 · 0 + log 2.
    assert pick(base_after((1, 0.0), (2, 1.0)), 0, 1)[0] == 0
    assert pick(base_after((2, 1.0), (1, 0.0)), 0, 1)[0] == 0
    # 3 · kl(0, q) + log 3 = log(3 / (1 - q)^3): 24 for q = 1/2.
    assert pick(base_after((3, 0.0), (24, 12.0)), 0, 1)[0] == 0
    assert pick(base_after((24, 12.0), (3, 0.0)), 0, 1)[0] == 0


def test_the_best_of_those_allowed_is_that_of_a_base_without_the_others():
    base = base_after((3, 2.0), (50, 45.0), (7, 3.0), (9, 4.0), (0, 0.0))
    for allowed in ([0, 2, 3], [2, 3], [3], [0, 1, 2, 3], [2, 4]):
        known = [(int(base.rewards.plays[slot]), float(base.rewards.sums[slot])) for slot in allowed]
        mask = np.isin(np.arange(5), allowed)
        assert best_among(base, 0, 1, mask, 5) == (allowed[pick(base_after(*known), 0, 1)[0]], 1.0)
    assert best_among(base, 0, 1, np.zeros(5, dtype=bool), 5)[0] == -1


@pytest.mark.parametrize("failures", [1, 4, 7])
def test_a_good_arm_with_bad_luck_waits_for_ever_longer(failures):
    # The example of docs/theory/rivals.md, by which IMED does not satisfy the assumption of Suk & Kim: m failures
    # beside a mean of 1/2 have the index m log 2 + log m, which the other reaches after m 2^m plays. (A tie goes to
    # the lower slot, so then and not one later.)
    base = base_after((failures, 0.0), (1, 0.5))
    waited = 1
    while pick(base, 0, 1)[0] == 1:
        base = learn(base, choice_of(1), 0.5)
        waited += 1
    assert waited == failures * 2**failures


def test_a_lost_answer_leaves_an_arm_untried():
    base = base_after((3, 2.0), (0, 0.0))
    base = learn(base, choice_of(1), 0.0)
    assert pick(revise(base, 1, -1, 0.0), 0, 1)[0] == 1


@pytest.mark.compiled
def test_imed_has_the_regret_of_an_independent_simulation():
    # T = 2^14 and 128 arms: 479 over 24 runs, with a standard error of up to 9 percent: three of those, and three of
    # ours.
    spec = ma.Subsample(base=ma.IMED(), beta=1.0)
    result = ma.simulate({"it": spec}, COINS, 2**14, replications=40, seed=1)
    assert within_standard_errors(result.final_regret("it"), 479, errors=3.0, allowance=3 * 0.09 * 479)
