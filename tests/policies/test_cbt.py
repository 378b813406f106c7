"""CBT: the choices of its twin, its bound and its target."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.policies import cbt as fast_cbt
from manyarms.policies import confidence
from tests.policies.rivals import regrets, short_horizons, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.twinned import FLIPS, check_same, maybe, plays_as_its_twin, told_horizons, two_worlds

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
cbts = st.builds(
    ma.CBT,
    beta=st.sampled_from([0.5, 1.0, 2.0, "auto"]),
    first_loss=st.sampled_from([1.0, 0.5]),
    target=maybe(0.05, 0.4),
    horizon=told_horizons,
)


test_cbt_plays_as_its_twin_that_forgets_no_arm = plays_as_its_twin(cbts, two_worlds, short_horizons, examples=50)


@pytest.mark.parametrize("spec", [ma.CBT(beta=1.0), ma.EmpiricalCBT(keep=4, horizon="doubling")])
def test_a_used_state_begins_as_a_new_one(spec):
    several = ma.simulate({"it": spec}, FLIPS, 300, replications=3, seed=7, threads=1)  # one state for all
    _, alone = check_same(spec, FLIPS, 300, seed=7, replications=3)
    assert several["it"].tobytes() == alone["it"].tobytes()


@pytest.mark.parametrize("losses", [[1.0], [0.0], [0.3, 0.3], [1.0, 0.0, 0.0], [0.2, 0.9, 0.4, 0.1, 0.0]])
def test_the_confidence_bound_is_that_of_mean_and_standard_deviation(losses):
    slack = confidence.Slack(shrink=2.5, width=2.0)
    mean, deviation = np.mean(losses), np.std(losses)
    expected = max(mean / 2.5, mean - 2.0 * deviation / math.sqrt(len(losses)))
    found = confidence.confidence_bound(sum(losses), sum(x * x for x in losses), len(losses), slack)
    # The variance is a difference of numbers below 1, so a deviation of 0 is known to about sqrt(2^-53) = 1e-8.
    assert found == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize("horizon", [1, 2, 15, 16, 100, 10**5, 10**9])
def test_the_slack_is_log_log_n_and_at_least_1(horizon):
    slack = confidence.slack_for(horizon)
    expected = max(1.0, math.log(math.log(horizon))) if horizon > 2 else 1.0
    assert slack == pytest.approx((expected, expected), rel=1e-14)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("first_loss", [1.0, 0.5])
def test_the_target_balances_what_a_better_arm_saves_and_a_failure_costs(beta, first_loss):
    n = 10_000
    target = fast_cbt.target_for(ma.CBT(beta=beta, first_loss=first_loss).settings(), beta, n)
    # The average of (target - gap)^+ over fresh arms, by the midpoint rule in u = P(gap < x).
    u = (np.arange(10**6) + 0.5) / 10**6 * target**beta
    saved = np.mean(target - u ** (1 / beta)) * target**beta
    assert saved == pytest.approx(first_loss / n, rel=1e-4)
    if beta == first_loss == 1.0:
        assert target == pytest.approx(math.sqrt(2 / n), rel=1e-14)


def test_an_arm_stays_while_its_bound_is_at_most_the_target():
    # Every loss is 1/2, and so is every bound.
    assert tenures_of(ma.CBT(beta=1.0, target=0.5), 0.5, 100) == [100]
    assert tenures_of(ma.CBT(beta=1.0, target=0.499), 0.5, 100) == [1] * 100
    # Losses so far are t / 2 of 100 after round t: enough for a bound of 1/2 after the last round only.
    assert tenures_of(ma.EmpiricalCBT(), 0.5, 100) == [1] * 100
    assert tenures_of(ma.EmpiricalCBT(horizon=100), 0.5, 102) == [3, *[1] * 99]
    for spec in (ma.CBT(beta=1.0), ma.EmpiricalCBT()):
        assert tenures_of(spec, 1.0, 100) == [100]
        assert tenures_of(spec, 0.0, 100) == [1] * 100


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("horizon", "known_target", "empirical"), [(100, 14.5, 15.1), (1000, 51.1, 53.0), (10_000, 167, 171)]
)
def test_cbt_has_the_regret_of_an_independent_simulation(horizon, known_target, empirical):
    found = regrets({"CBT": ma.CBT(beta=1.0), "empirical": ma.EmpiricalCBT()}, horizon, 2000)
    for name, other in (("CBT", known_target), ("empirical", empirical)):
        # Four standard errors of ours, and three of the other, if it had 400 runs.
        deviation = found[name].std(ddof=1)
        assert within_standard_errors(found[name], other, errors=4.0, allowance=3 * deviation / math.sqrt(400))


@pytest.mark.compiled
def test_no_rival_is_below_the_lower_bound_and_cbt_comes_close():
    # Coins and a uniform reservoir: no regret can be below sqrt(2 n) in the long run (Berry et al.).
    n = 10_000
    specs = {
        "CBT": ma.CBT(beta=1.0),
        "empirical": ma.EmpiricalCBT(),
        "run": ma.MRun(recall=False),
        "recalling": ma.MRun(),
        "failure": ma.KFailure(),
    }
    ratio = {name: regret.mean() / math.sqrt(2 * n) for name, regret in regrets(specs, n, 1000).items()}
    # One run of CBT deviates by some 60, so these means by 2, which is 0.014 in ratio; four of those.
    assert 1.0 < ratio["CBT"] < 1.0 + 0.24 + 4 * 0.014
    assert ratio["CBT"] - 4 * 0.014 < ratio["empirical"] < 1.24 * ratio["CBT"]  # its factor in the limit, beta = 1
    assert ratio["empirical"] < ratio["run"] < ratio["recalling"] < ratio["failure"]
    assert ratio["run"] == pytest.approx(math.sqrt(2), rel=0.15)  # 2 sqrt(n)
