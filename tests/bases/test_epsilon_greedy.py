"""EpsilonGreedy: the choices of its twin, and how often it plays any arm."""

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from tests.twinned import COINS, PLAIN, TOLD, blackboxes, crashing, horizons, plays_as_its_twin, subsamples
from tests.worlds import check_share

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

epsilons = st.sampled_from([0.0, 0.1, 0.5, 1.0])

few_rounds = horizons.map(lambda horizon: min(horizon, 254))

test_subsample_over_epsilon_greedy_plays_as_its_twin = plays_as_its_twin(
    subsamples(st.builds(ma.EpsilonGreedy, epsilon=epsilons), **TOLD), crashing, few_rounds, examples=20
)

test_blackbox_over_epsilon_greedy_plays_as_its_twin = plays_as_its_twin(
    blackboxes(st.builds(ma.EpsilonGreedy, epsilon=epsilons), **PLAIN), crashing, few_rounds, examples=20
)


def log_of(base, rounds=3000, arms=5):
    policy = ma.Subsample(base=base, beta=1.0, arms=arms)
    return ma.simulate({"it": policy}, COINS, rounds, replications=1, seed=3, log=True).log("it")


@pytest.mark.compiled
def test_without_chance_it_is_greedy():
    np.testing.assert_array_equal(log_of(ma.EpsilonGreedy(epsilon=0.0)).arm, log_of(ma.Greedy()).arm)


@pytest.mark.compiled
def test_it_plays_any_arm_as_often_as_it_says_and_states_the_chance():
    log = log_of(ma.EpsilonGreedy(epsilon=0.3))
    assert set(log.probability[:5]) == {1.0}  # every arm once
    best = log.probability[5:] > 0.5
    assert set(np.round(log.probability[5:], 12)) == {0.06, 0.76}
    check_share(int((~best).sum()), len(best), 0.3 * 4 / 5)


def test_only_shares_are_taken():
    with pytest.raises(ValueError, match=r"EpsilonGreedy: epsilon must lie in \[0, 1\], not 2"):
        ma.EpsilonGreedy(epsilon=2)
