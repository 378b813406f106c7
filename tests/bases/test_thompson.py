"""Thompson: the choices of its twin, and the moments of its draws."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases import thompson as fast_thompson
from manyarms.contract import Choice, learn, pick, renew
from manyarms.streams import bits_at
from tests.policies.test_theory import within_standard_errors
from tests.reference.squares import POLICY_STREAM, replication_key, stream_key
from tests.twinned import (
    COINS,
    PLAIN,
    TOLD,
    blackboxes,
    check_same,
    crashing,
    horizons,
    plays_as_its_twin,
    subsamples,
    trending,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


few_rounds = horizons.map(lambda horizon: min(horizon, 126))  # the twin draws for every arm in every round


test_blackbox_over_thompson_plays_as_its_twin = plays_as_its_twin(
    blackboxes(st.just(ma.Thompson()), **PLAIN), crashing, few_rounds, examples=20
)


test_subsample_over_thompson_plays_as_its_twin = plays_as_its_twin(
    subsamples(st.just(ma.Thompson()), **TOLD), trending, few_rounds, examples=20
)


priors = st.sampled_from([(2.0, 3.0), (1.0, 30.0), (0.5, 0.5), (7.0, 1.0)])

test_thompson_with_a_prior_plays_as_its_twin = plays_as_its_twin(
    subsamples(st.builds(ma.Thompson, prior=priors), **TOLD), crashing, few_rounds, examples=20
)


def test_thompson_twins_meet_an_arm_that_is_found():
    log, _ = check_same(ma.Subsample(base=ma.Thompson(), beta=1.0, arms=8), COINS, 400, seed=9)
    best = log.arm[np.argmax(log.mean)]
    assert np.mean(log.arm[:50] == best) < 0.5 < np.mean(log.arm[-100:] == best)


def thompson_after(*rewards, prior=(1.0, 1.0)):
    """A base with one arm more than there are lists of rewards, the last of which knows nothing."""
    base = renew(ma.Thompson(prior).start(len(rewards) + 1), len(rewards) + 1, 100.0, math.log(100))
    for slot, several in enumerate(rewards):
        for reward in several:
            base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=1), reward)
    return base


KEY = stream_key(replication_key(10, 0), POLICY_STREAM, 0)


def test_without_data_every_arm_is_as_likely():
    base, picks = thompson_after([], [], []), 4000
    shares = np.bincount([pick(base, KEY, round)[0] for round in range(1, picks + 1)], minlength=4) / picks
    # Hoeffding, for 4 arms and a total chance of 1e-9.
    assert np.abs(shares - 0.25).max() <= math.sqrt(math.log(2 * 4 / 1e-9) / (2 * picks))


@pytest.mark.parametrize(
    ("rewards", "successes"), [([1.0] * 9, 9.0), ([0.0] * 4, 0.0), ([0.25, 0.5, 1.0, 0.0], 1.75), ([-3.0, 2.0], 1.0)]
)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (2.0, 9.0)])
def test_draws_have_the_moments_of_the_posterior(rewards, successes, prior):
    base, draws = thompson_after(rewards, prior=prior), 4000
    found = np.array(
        [fast_thompson.drawn_mean(base.rewards, *prior, 0, bits_at(KEY, round, 0)) for round in range(draws)]
    )
    a, b = prior[0] + successes, prior[1] + len(rewards) - successes
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    # Five standard errors, a chance of 6e-7; that of a variance is at most variance · sqrt((kurtosis - 1) / n), and the
    # kurtosis of these Beta distributions is at most 9.
    assert found.mean() == pytest.approx(mean, abs=5 * math.sqrt(variance / draws))
    assert found.var() == pytest.approx(variance, rel=5 * math.sqrt(8 / draws))


def test_draws_of_arms_and_rounds_are_not_those_of_others():
    base = thompson_after([1.0], [1.0])
    draws = {
        fast_thompson.drawn_mean(base.rewards, 1.0, 1.0, slot, bits_at(KEY, round, slot))
        for slot in (0, 1)
        for round in range(50)
    }
    assert len(draws) == 100


def test_the_flat_prior_is_left_out_of_the_json_and_another_is_kept():
    assert ma.Thompson().to_json() == {"type": "Thompson"}
    for spec in (ma.Thompson(), ma.Thompson(prior=(2, 0.5))):
        assert ma.spec_from_json(spec.to_json()) == spec
    assert ma.Thompson(prior=[1, 1]) == ma.Thompson()


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ((1.0,), r"Thompson: prior must be two numbers, a and b of Beta\(a, b\), not \(1.0,\)"),
        ((1.0, 0.0), "Thompson: each of the prior must be above 0, not 0.0"),
        (3.0, "Thompson: prior must be a list, not 3.0"),
    ],
)
def test_priors_that_are_none_are_refused(prior, words):
    with pytest.raises(ValueError, match=words):
        ma.Thompson(prior=prior)


def test_a_prior_of_small_means_leaves_bad_arms_sooner():
    # One arm has failed 20 times, the others were never played: by the flat prior they are better with a chance of
    # 22 / 23 each, by that of means around 2 % hardly more often than not.
    fails = [0.0] * 20
    shares = []
    for prior in ((1.0, 1.0), (1.0, 50.0)):
        base = thompson_after(fails, prior=prior)
        shares.append(np.mean([pick(base, KEY, round)[0] == 0 for round in range(2000)]))
    assert shares[0] < 0.1 < 0.35 < shares[1] < 0.5


@pytest.mark.compiled
@pytest.mark.parametrize(("horizon", "other"), [(100, 22), (1000, 82)])
def test_thompson_has_the_regret_of_an_independent_simulation(horizon, other):
    spec = ma.Subsample(base=ma.Thompson(), beta=1.0)
    regret = ma.simulate({"it": spec}, COINS, horizon, replications=100, seed=1).final_regret("it")
    # Its numbers are rounded to one unit: half of that, three standard errors, if it had 400 runs, and four of ours.
    error = regret.std(ddof=1) / math.sqrt(400)
    assert within_standard_errors(regret, other, errors=4.0, allowance=0.5 + 3 * error)
