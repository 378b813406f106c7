"""KFailure: the choices of its twin, and its regret."""

import math

import numpy as np
import pytest

import manyarms as ma
from tests.policies.rivals import of_another_simulation, regrets, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.twinned import crashing, k_failures, plays_as_its_twin

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")


test_k_failure_plays_as_its_twin = plays_as_its_twin(k_failures, crashing, examples=50)


def expected_k_failure_regret(failures, horizon):
    """For coins with uniform means, where the regret is the number of failures on average.

    The j-th failure of an arm comes by play n with probability 1 - j / (n + 1), and the k-th in play t with
    probability k / (t (t + 1)): the run is a renewal process.
    """
    t = np.arange(1, horizon + 1)
    ends = np.where(t >= failures, failures / (t * (t + 1)), 0.0)
    cost = np.zeros(horizon + 1)
    for n in range(1, horizon + 1):
        first_arm = sum(max(1.0 - j / (n + 1), 0.0) for j in range(1, failures + 1))
        cost[n] = first_arm + ends[:n] @ cost[n - 1 :: -1][:n]
    return cost[horizon]


def test_the_expected_regret_of_one_failure_is_t_over_log_t():
    assert expected_k_failure_regret(1, 100) == of_another_simulation(21.8, deviation=10)
    assert expected_k_failure_regret(1, 1000) == of_another_simulation(148, deviation=60)
    # T / log T is the limit; what it leaves out is of the order of log log T / log T.
    ratios = [expected_k_failure_regret(1, n) / (n / math.log(n)) for n in (100, 1000, 4000)]
    assert all(1.0 < ratio < 1.05 for ratio in ratios)


@pytest.mark.compiled
@pytest.mark.parametrize("failures", [1, 2, 5])
def test_k_failure_has_its_expected_regret(failures):
    regret = regrets({"it": ma.KFailure(failures)}, 1000, 4000)["it"]
    assert within_standard_errors(regret, expected_k_failure_regret(failures, 1000), errors=4.5)  # a chance of 7e-6


def test_k_failure_drops_at_the_kth_failure():
    assert tenures_of(ma.KFailure(3), 0.0, 10) == tenures_of(ma.KFailure(3), 0.99, 10) == [3, 3, 3, 1]
    assert tenures_of(ma.KFailure(1), 1.0, 10) == [10]
