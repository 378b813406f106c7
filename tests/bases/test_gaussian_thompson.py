"""GaussianThompson: the choices of its twin, and the moments of its draws."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.bases.gaussian_thompson import draw
from manyarms.contract import pick
from manyarms.streams import bits_at
from tests.reference.squares import POLICY_STREAM, replication_key, stream_key
from tests.twinned import horizons, plays_as_its_twin, subsamples, trending

from .finite import begun, play

few_rounds = horizons.map(lambda horizon: min(horizon, 126))  # the twin draws for every arm in every round
specs = st.builds(
    ma.GaussianThompson, sigma=st.sampled_from([0.05, 0.5, 2.0]), prior=st.sampled_from([(0.5, 0.25), (-1.0, 3.0)])
)

test_gaussian_thompson_plays_as_its_twin = plays_as_its_twin(subsamples(specs), trending, few_rounds, examples=20)

KEY = stream_key(replication_key(10, 0), POLICY_STREAM, 0)


def draws(spec, rewards, number):
    """Of the first of two arms, after these rewards."""
    base = begun(spec, 2, 100)
    for reward in rewards:
        base = play(base, 0, reward)
    return np.array([draw(base, 0, bits_at(KEY, round, 0)) for round in range(number)])


@pytest.mark.parametrize("rewards", [[], [0.7], [3.0, -2.0, 0.5, 0.5], [0.9] * 50])
@pytest.mark.parametrize(("sigma", "mean", "deviation"), [(0.5, 0.5, 0.25), (2.0, -1.0, 3.0)])
def test_draws_have_the_moments_of_the_posterior(rewards, sigma, mean, deviation):
    number = 4000
    found = draws(ma.GaussianThompson(sigma, (mean, deviation)), rewards, number)
    # By hand: Bayes' rule for one reward after the other.
    centre, variance = mean, deviation**2
    for reward in rewards:
        gain = variance / (variance + sigma**2)
        centre, variance = centre + gain * (reward - centre), variance * (1.0 - gain)
    # Five standard errors, a chance of 6e-7; that of the variance of a normal is variance * sqrt(2 / n).
    assert found.mean() == pytest.approx(centre, abs=5 * math.sqrt(variance / number))
    assert found.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / number))


def test_the_better_of_two_arms_is_found_beyond_the_unit_interval():
    # One pays 4, the other -3: once both were played, they are 14 standard deviations apart. Before that, N(0, 25) is
    # below -3 with a chance of 0.27, which is how long the worse one can last if it came first, and above 4 with one of
    # 0.21, by which the better one lets it have its first play: 0.27^10 and 0.79^100 are below 3e-6.
    base, picked = begun(ma.GaussianThompson(sigma=0.5, prior=(0.0, 5.0)), 2, 200), []
    for number in range(1, 201):
        picked.append(int(pick(base, KEY, number)[0]))
        base = play(base, picked[-1], (-3.0, 4.0)[picked[-1]], number)
    assert 1 <= picked.count(0) <= 10
    assert set(picked[100:]) == {1}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sigma": 0.0}, "GaussianThompson: sigma must be above 0, not 0.0"),
        (
            {"prior": (0.5,)},
            r"GaussianThompson: prior must be two numbers, a mean and a standard deviation, not \(0.5,\)",
        ),
        ({"prior": (0.5, 0.0)}, "GaussianThompson: the deviation of the prior must be above 0, not 0.0"),
        ({"prior": ("a", 1.0)}, "GaussianThompson: the mean of the prior must be a finite number, not 'a'"),
    ],
)
def test_what_cannot_be_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        ma.GaussianThompson(**settings)
