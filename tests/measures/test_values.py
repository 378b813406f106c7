"""Values: the price of a play and the value of a search are those of every rule tried, and of informed players."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import manyarms as ma
from manyarms.contract import begin, pull
from manyarms.measures import upper_value
from manyarms.measures.values import further_gain, law_of, least_price, search_value
from manyarms.streams import replication_key
from tests.reference import values as slow
from tests.worlds import exactly

levels = st.lists(st.integers(0, 20).map(lambda twentieths: twentieths / 20), min_size=1, max_size=3, unique=True)
few_rounds = st.integers(1, 6)


def clipped(mean):
    return min(max(mean, 0.0), 1.0)


def repeated(step):
    """The path of an arm whose mean goes from one play to the next by a step."""

    def path(mean, n):
        for play in range(1, n):
            mean = clipped(step(mean, play))
        return mean

    return path


PATHS = {
    ma.Still(): lambda mean, play: mean,
    ma.Rotting(0.07): lambda mean, play: mean - 0.07,
    ma.Rotting("20%"): lambda mean, play: 0.8 * mean,
    ma.Rising(0.11): lambda mean, play: mean + 0.11,
    ma.Fatigue(after=2, rate=0.3): lambda mean, play: mean - 0.3 * (play > 2),
    ma.JumpAt(play=3, size=0.4): lambda mean, play: mean + 0.4 * (play == 3),
    ma.Stages([ma.Rising(0.3), ma.Rotting("50%")], ends=[2]): lambda mean, play: mean + 0.3 if play <= 2 else mean / 2,
    ma.Stages([ma.Rotting(0.3), ma.Rising(0.4)], ends=[2]): lambda mean, play: mean + (0.4 if play > 2 else -0.3),
}


@pytest.mark.parametrize("drift", PATHS, ids=lambda drift: drift.label())
@exactly
@given(means=levels, rounds=few_rounds)
def test_the_price_is_that_of_the_best_of_all_rules(drift, means, rounds):
    wanted = slow.best_price(means, [1 / len(means)] * len(means), repeated(PATHS[drift]), rounds)
    assert least_price(law_of(ma.Empirical(means)), drift, rounds) == pytest.approx(wanted, abs=1e-8)


@exactly
@given(means=levels, rounds=st.integers(1, 40))
def test_the_search_is_the_best_of_all_rules(means, rounds):
    wanted = slow.best_search(sorted(means), [1 / len(means)] * len(means), rounds)
    assert search_value(law_of(ma.Empirical(means)), rounds) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@exactly
@given(means=levels, rounds=st.integers(1, 7), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_nobody_who_sees_means_and_knows_all_earns_more(means, rounds, share):
    # Every rule at all, with arms to which one may come back.
    weights = [1 / len(means)] * len(means)
    most = slow.best_of_everything(tuple(means), tuple(weights), lambda mean: mean * (1 - share), rounds)
    world = ma.World(ma.Empirical(means), ma.Rotting(f"{100 * share:g}%"))
    assert most <= upper_value(world, rounds) + 1e-7


# ---------------------------------------------------------------- informed players


def earned(world, horizon, price, seed):
    """What a player earns who sees means, and plays an arm as long as more plays of it are worth their price."""
    state = begin(world.start(1), replication_key(seed, 0))
    arm, total = 0, 0.0
    drift = world.drift
    for round in range(1, horizon + 1):
        state, mean, after, _ = pull(state, 0, arm, round)
        total += mean
        if isinstance(drift, ma.Stages):
            played = int(state.visits[0] & 0xFFFFFFFF)
            left = ma.Stages(drift.drifts, [drift.ends[0] - played]) if played < drift.ends[0] else drift.drifts[1]
            law = law_of(ma.Empirical([after]))
            stays = after - price + further_gain(left, law, price, horizon)[0] > 0.0
        else:
            stays = after >= price
        arm += not stays
    return total / horizon


CATALOGUES = [
    ma.World(ma.PowerLaw(1.0, top=0.3), ma.Rotting("1%"), ma.Exact()),
    ma.World(ma.BetaDistributed(1.0, 30.0), ma.Rotting(0.002), ma.Exact()),
    ma.World(ma.PowerLaw(2.0, top=0.5), ma.Crash(0.02, to=0.0), ma.Exact()),
    ma.World(ma.PowerLaw(1.0, top=0.5), ma.Crash(0.05), ma.Exact()),
    ma.World(ma.Uniform(0.1, 0.4), ma.Fatigue(after=20, rate=0.01), ma.Exact()),
    ma.World(ma.Uniform(0.0, 0.3), ma.Stages([ma.Rising("10%"), ma.Rotting("5%")], ends=[6]), ma.Exact()),
]


@pytest.mark.parametrize("world", CATALOGUES, ids=lambda world: world.label())
def test_the_price_is_what_an_informed_player_earns_in_the_long_run(world):
    horizon = 2_000 if isinstance(world.drift, ma.Stages) else 20_000
    stays = price = upper_value(world, 10**9) / 10**9
    if world.drift == ma.Crash(0.05):  # a crash is a look at another arm for nothing: stay with somewhat worse ones too
        going_on = further_gain(world.drift, law_of(world.reservoir), price, horizon)
        stays = law_of(world.reservoir).means[np.argmax(going_on > going_on[0])]
        assert stays < price
    found = [earned(world, horizon, stays, seed) for seed in range(4)]
    error = np.std(found, ddof=1) / 2.0
    # Four standard errors, of 3 degrees of freedom and fixed seeds; half a per cent for the arm that is cut off.
    assert np.mean(found) == pytest.approx(price, abs=4 * error + 0.005 * price)


@pytest.mark.parametrize("reservoir", [ma.PowerLaw(1.0), ma.PowerLaw(3.0, top=0.2), ma.BetaDistributed(0.5, 20.0)])
def test_the_search_is_what_an_informed_player_earns(reservoir):
    horizon, law = 400, law_of(reservoir)
    generator = np.random.default_rng(5)
    means = {
        ma.PowerLaw: lambda: reservoir.top * (1.0 - generator.random() ** (1.0 / reservoir.beta)),
        ma.BetaDistributed: lambda: generator.beta(0.5, 20.0),
    }[type(reservoir)]
    totals = []
    for _ in range(4000):
        best, total = 0.0, 0.0
        for left in range(horizon, 0, -1):
            gain = np.dot(np.maximum(law.means - best, 0.0), law.weights)
            if left < horizon and (left - 1) * gain <= best - law.mean:
                total += left * best
                break
            mean = means()
            total += mean
            best = max(best, mean)
        totals.append(total)
    error = np.std(totals) / math.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(search_value(law, horizon), abs=4 * error)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "policy", [ma.Oracle(), ma.SSUCB(beta=1.0), ma.CBT(beta=1.0)], ids=lambda policy: policy.label()
)
def test_policies_earn_less(policy):
    # But the oracle, who sees arms that it has not played.
    world = ma.World(ma.PowerLaw(1.0), ma.Rotting("1%"))
    reward = ma.simulate({"it": policy}, world, 5000, replications=20, seed=3).final("it", "reward")
    most = upper_value(world, 5000)
    assert reward.mean() > most if isinstance(policy, ma.Oracle) else reward.mean() < most


# ---------------------------------------------------------------- first means


@pytest.mark.parametrize(
    ("reservoir", "exact"),
    [
        (ma.PowerLaw(0.4, top=0.3), stats.powerlaw(0.4, scale=0.3)),
        (ma.PowerLaw(4.0), stats.powerlaw(4.0)),
        (ma.Uniform(0.2, 0.5), stats.uniform(0.0, 0.3)),
        (ma.BetaDistributed(1.0, 300.0), stats.beta(300.0, 1.0)),
        (ma.BetaDistributed(0.3, 3.0), stats.beta(3.0, 0.3)),
        (ma.BetaDistributed(5.0, 0.4), stats.beta(0.4, 5.0)),
        (ma.BetaDistributed(0.5, 0.5), stats.beta(0.5, 0.5)),
    ],
    ids=lambda value: getattr(value, "label", str)(),
)
def test_cells_have_the_moments_and_the_tail_of_the_reservoir(reservoir, exact):
    law = law_of(reservoir)
    assert law.weights.sum() == pytest.approx(1.0)
    assert (np.diff(law.means) >= 0.0).all()
    assert reservoir.top - law.mean == pytest.approx(exact.mean(), rel=1e-5)
    assert law.variance == pytest.approx(exact.var(), rel=1e-3)
    for share in (0.1, 1e-3, 1e-5):
        gap = exact.ppf(share)
        if gap > 1e-9:  # closer to the top, nobody can tell
            assert law.weights[law.means > reservoir.top - gap].sum() == pytest.approx(share, rel=0.03)


def test_mixtures_and_lists_are_added_up():
    law = law_of(ma.Mixture([ma.Empirical([0.1, 0.1, 0.4]), ma.Empirical([0.2])], weights=[3, 1]))
    assert law.means.tolist() == [0.1, 0.2, 0.4]
    assert law.weights == pytest.approx([0.5, 0.25, 0.25])


# ---------------------------------------------------------------- what must be true


def test_a_world_that_is_worse_is_worth_less():
    reservoir = ma.PowerLaw(2.0, top=0.3)
    order = [ma.Still(), ma.Rotting("0.1%"), ma.Rotting("1%"), ma.Rotting("10%"), ma.Rotting("100%")]
    values = [upper_value(ma.World(reservoir, drift), 10**5) for drift in order]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(10**5 * 0.1, rel=1e-6)  # nothing is left after a play: random arms
    assert values[0] < 0.3 * 10**5


def test_seasons_cost_a_search_each():
    reservoir = ma.PowerLaw(1.0, top=0.3)
    values = [upper_value(ma.World(reservoir, ma.Turnover(length)), 10**5) for length in (100, 1000, 10**5)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(upper_value(ma.World(reservoir), 10**5), rel=1e-4)
    # Old arms go on with 0.2 for ever: all but the first few plays.
    assert upper_value(ma.World(reservoir, ma.Turnover(1, to=0.2)), 10**5) == pytest.approx(0.2 * 10**5, rel=1e-4)


def test_a_reservoir_that_gets_better_lies_between_its_ends():
    first, last = (upper_value(ma.World(ma.PowerLaw(2.0, top), ma.Rotting("3%")), 10**4) for top in (0.2, 0.4))
    trend = ma.Trending(ma.PowerLaw(2.0, 0.2), factor=2.0, over=10**4)
    assert upper_value(ma.World(trend, ma.Rotting("3%")), 10**4) == pytest.approx((first + last) / 2, rel=0.03)
    worse = ma.Trending(ma.PowerLaw(2.0, 0.2), factor=0.5, over=10**4)
    assert upper_value(ma.World(worse, ma.Rotting("3%")), 10**4) == first
    crashes = ma.Crash(0.01)  # to means that are the better the later
    best = upper_value(ma.World(ma.PowerLaw(2.0, 0.4), crashes), 10**4)
    assert upper_value(ma.World(trend, crashes), 10**4) == pytest.approx(best, rel=1e-3)
    whole = ma.Trending(ma.PowerLaw(2.0, 0.2), factor=2.0, over=1)
    assert upper_value(ma.World(whole, ma.Rotting("3%")), 10**4) == pytest.approx(last, rel=1e-3)


@pytest.mark.parametrize(
    ("world", "horizon", "words"),
    [
        (
            ma.World(ma.PowerLaw(1.0), ma.Rotting("1/t")),
            10,
            r"Rotting\(\) does not go by an arm's own plays; take Still",
        ),
        (ma.World(ma.PowerLaw(1.0), ma.Adversary()), 10, "Adversary.* does not go by an arm's own plays"),
        (ma.World(ma.Mixture([ma.Trending(ma.Uniform(), 2.0, 9), ma.Uniform()])), 10, "Trending.* is not known; take"),
        (ma.World(ma.PowerLaw(1.0)), 0, "upper_value: horizon must be a whole number of at least 1, not 0"),
    ],
)
def test_what_is_not_known_is_said(world, horizon, words):
    with pytest.raises(ValueError, match=words):
        upper_value(world, horizon)
