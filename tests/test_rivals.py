"""The rivals: the same choices as their slow twins, and the numbers that are known of them."""

import functools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, begin, tell
from manyarms.policies import cbt as fast_cbt
from manyarms.policies import confidence
from manyarms.policies import ucbt_asw as fast_ucbt
from tests.reference.world import NaiveWorld
from tests.test_aucbt_asw import expected_block_regret
from tests.test_theory import within_standard_errors
from tests.twinned import (
    COINS,
    FLIPS,
    WEAR,
    check_same,
    crashing,
    horizons,
    k_failures,
    maybe,
    plays_as_its_twin,
    told_horizons,
    tops,
    two_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

# ---------------------------------------------------------------- what is played


def tenures(log):
    """How long each arm was played, in the order of the arms."""
    return np.unique(log.arm, return_counts=True)[1].tolist()


def tenures_of(spec, reward, rounds):
    """The same where every reward is this one."""
    arms = [choice.arm for choice in choices_of(spec, reward, rounds)]
    return np.unique(arms, return_counts=True)[1].tolist()


def choices_of(spec, reward, rounds):
    spec = spec.with_horizon(rounds)
    state = begin(spec.start(rounds), 0)
    choices = []
    for round in range(1, rounds + 1):
        choices.append(ask(state, round, 0))
        state = tell(state, choices[-1], reward)
    return choices


def regrets(specs, horizon, replications, seed=1, world=COINS):
    result = ma.simulate(specs, world, horizon, replications=replications, seed=seed, checkpoints=1)
    return {name: result.final_regret(name) for name in specs}


# ---------------------------------------------------------------- KFailure


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


def of_another_simulation(mean, deviation):
    """The mean of an independent simulation: three standard errors, if it had 400 runs with this deviation."""
    return pytest.approx(mean, abs=3 * deviation / math.sqrt(400))


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


# ---------------------------------------------------------------- MRun

runs = st.builds(
    ma.MRun, run=maybe(1, 2, 5, 40), recall=st.booleans(), horizon=st.one_of(told_horizons, st.sampled_from([1, 2, 9]))
)


test_m_run_plays_as_its_twin = plays_as_its_twin(runs, crashing, examples=50)


@pytest.mark.parametrize("recall", [True, False])
def test_m_run_twins_meet_commitments_of_both_kinds(recall):
    log, result = check_same(ma.MRun(recall=recall), COINS, 900, seed=3, replications=8)
    ends = [log.arm[-1] for log in result.logs["it"].values()]
    drawn = result.final("it", "arms") - 1
    if recall:
        assert (drawn <= 29).all()
        assert (drawn < 29).any()  # 30 successes in a row
        assert any(end < last for end, last in zip(ends, drawn, strict=True))  # an earlier arm is recalled
    else:
        assert all(end == last for end, last in zip(ends, drawn, strict=True))
    assert np.count_nonzero(log.arm == log.arm[-1]) > 30


def expected_run_regret(m, horizon):
    """Without recall, for coins with uniform means: after k successes and no failure the gap is 1 / (k + 2) on average.

    A fresh arm reaches k successes with probability 1 / (k + 1).
    """
    cost = [0.0]
    for n in range(1, horizon + 1):
        total = 0.0
        for k in range(min(m, n)):
            # At this play the arm costs its gap, and fails with the same probability.
            total += 1 / (k + 1) / (k + 2) * (1.0 + cost[n - k - 1])
        if n > m:
            total += 1 / (m + 1) * (n - m) / (m + 2)
        cost.append(total)
    return cost[horizon]


def expected_recalling_regret(m, horizon):
    """With recall: after b successes and a failure the gap is 2 / (b + 3) on average."""

    @functools.cache
    def cost(n, failed, best):
        total = 0.0
        for k in range(min(m, n)):
            now = max(best, k)
            left = n - k - 1
            rest = left * 2 / (now + 3) if failed + 1 == m else cost(left, failed + 1, now)
            total += 1 / (k + 1) / (k + 2) * (1.0 + rest)
        if n > m:
            total += 1 / (m + 1) * (n - m) / (m + 2)
        return total

    return cost(horizon, 0, -1)


def test_expected_regrets_of_runs_are_those_of_an_independent_simulation():
    assert expected_run_regret(10, 100) == of_another_simulation(15.6, deviation=9.6)
    assert expected_run_regret(32, 1000) == of_another_simulation(56.4, deviation=39)
    assert expected_recalling_regret(10, 100) == of_another_simulation(19.0, deviation=15)
    # In the long run: m + (n - (m + 1) H_m) / (m + 2), which is 2 sqrt(n) for m = sqrt(n).
    harmonic = sum(1 / k for k in range(1, 33))
    assert expected_run_regret(32, 1000) == pytest.approx(32 + (1000 - 33 * harmonic) / 34, rel=0.03)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("recall", "horizon", "expected"),
    [
        (False, 100, expected_run_regret(10, 100)),
        (False, 1000, expected_run_regret(32, 1000)),
        (True, 100, expected_recalling_regret(10, 100)),
        (True, 225, expected_recalling_regret(15, 225)),
    ],
)
def test_m_run_has_its_expected_regret(recall, horizon, expected):
    regret = regrets({"it": ma.MRun(recall=recall)}, horizon, 8000)["it"]
    assert within_standard_errors(regret, expected, errors=4.5)  # a chance of 7e-6


def test_m_run_stays_with_the_first_arm_that_never_fails():
    assert tenures_of(ma.MRun(), 1.0, 100) == [100]
    # Where all fail at once, 10 arms are tried and the first of them is recalled; or one after another is tried.
    assert [choice.arm for choice in choices_of(ma.MRun(), 0.0, 100)] == [*range(10), *[0] * 90]
    assert tenures_of(ma.MRun(recall=False), 0.0, 100) == [1] * 100


def test_a_recalled_arm_is_where_it_was_left():
    # Arm 1 has the longest run and is left in slot 1, while others come and go in slot 0.
    state = begin(ma.MRun(run=4, horizon=100).start(100), 0)
    plays = []
    for round, reward in enumerate([0, 1, 1, 0, 1, 0, 0, 0], start=1):
        choice = ask(state, round, 0)
        plays.append((choice.arm, choice.slot))
        state = tell(state, choice, float(reward))
    assert plays == [(0, 0), (1, 1), (1, 1), (1, 1), (2, 0), (2, 0), (3, 0), (1, 1)]
    assert state.committed
    assert state.counts.arms == 4


def test_late_rewards_of_an_arm_that_was_left_change_nothing():
    for spec in (ma.MRun(run=2, horizon=100), ma.MRun(run=2, recall=False, horizon=100)):
        state = begin(spec.start(100), 0)
        first, second, third = (ask(state, round, 0) for round in (1, 2, 3))
        state = tell(state, first, 0.0)
        assert (state.arm, state.failed) == (1, 1)
        for late in (second, third):
            state = tell(state, late, 1.0)
        assert (state.arm, state.successes, state.failed, state.committed, state.block.left) == (1, 0, 1, False, 97)


def test_without_a_horizon_blocks_double_with_their_own_m():
    choices = choices_of(ma.MRun(horizon="doubling"), 0.0, 2**9 - 2)
    assert np.bincount([choice.block for choice in choices])[1:].tolist() == [2**m for m in range(1, 9)]
    for m in range(1, 9):
        assert len({choice.arm for choice in choices if choice.block == m}) == math.isqrt(2**m - 1) + 1


# ---------------------------------------------------------------- CBT and EmpiricalCBT

short_horizons = horizons.map(lambda horizon: min(horizon, 250))  # the twins look at all rewards in every round
cbts = st.builds(
    ma.CBT,
    beta=st.sampled_from([0.5, 1.0, 2.0, "auto"]),
    first_loss=st.sampled_from([1.0, 0.5]),
    target=maybe(0.05, 0.4),
    horizon=told_horizons,
)
empirical_cbts = st.builds(ma.EmpiricalCBT, keep=st.sampled_from([1, 2, 3, 17, 1024]), horizon=told_horizons)


test_cbt_plays_as_its_twin_that_forgets_no_arm = plays_as_its_twin(cbts, two_worlds, short_horizons, examples=50)


test_empirical_cbt_plays_as_its_twin = plays_as_its_twin(empirical_cbts, two_worlds, short_horizons, examples=50)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_empirical_cbt_twins_meet_arms_that_come_back(world):
    log, _ = check_same(ma.EmpiricalCBT(), world, 500, seed=6)
    first_plays = np.unique(log.arm, return_index=True)[1]
    changes = 1 + np.count_nonzero(np.diff(log.arm))
    assert len(first_plays) > 20
    assert changes > 1.2 * len(first_plays)


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


def test_without_ties_a_few_arms_are_as_good_as_all_until_one_would_have_come_back():
    met = set()
    for seed in range(6):
        for keep in (2, 5, 12):
            kept, few = (begin(ma.EmpiricalCBT(number, horizon=500).start(500), 0) for number in (500, keep))
            world = NaiveWorld(WEAR, seed, 0)
            for t in range(1, 501):
                one, other = ask(kept, t, 0), ask(few, t, 0)
                if few.missed:
                    met.add("missed")
                    break
                assert one.arm == other.arm, (seed, keep, t)
                reward = world.pull(int(one.arm), t)[2]
                kept, few = tell(kept, one, reward), tell(few, other, reward)
                if few.let_go < math.inf:
                    met.add("let go")
    assert met == {"missed", "let go"}


def test_late_rewards_count_for_their_arm_while_it_is_kept_and_for_the_target_always():
    state = begin(ma.EmpiricalCBT(keep=2, horizon=100).start(100), 0)
    first, again = ask(state, 1, 0), ask(state, 2, 0)
    assert (first.arm, again.arm) == (0, 0)
    state = tell(state, first, 0.0)
    second = ask(state, 3, 0)
    assert second.arm == 1
    state = tell(state, again, 1.0)  # arm 1 is untried, and stays the next
    assert (ask(state, 4, 0).arm, state.plays.tolist(), state.loss) == (1, [2, 0], 1.0)
    state = tell(state, second, 0.0)  # of arms 0 and 1, at a half and one, the latter goes
    assert (ask(state, 5, 0).arm, state.arms.tolist(), state.let_go) == (2, [0, 2], 1.0)
    state = tell(state, second, 0.5)  # another reward for arm 1, which is kept no more
    assert (state.loss, state.plays.tolist(), state.arms.tolist(), state.counts.ignored) == (2.5, [2, 0], [0, 2], 0)
    one = begin(ma.CBT(beta=1.0, target=0.3, horizon=100).start(100), 0)
    first, again = ask(one, 1, 0), ask(one, 2, 0)
    one = tell(tell(one, first, 0.0), again, 0.5)
    assert (one.arm, one.plays, one.total, one.block.left) == (1, 0, 0.0, 98)


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
@pytest.mark.parametrize(("beta", "other"), [(0.8, 4346), (1.0, 5776), (1.2, 7369)])
def test_where_arms_wear_out_empirical_cbt_has_the_regret_of_an_independent_simulation(beta, other):
    world = ma.World(ma.PowerLaw(beta=beta), ma.Rotting("1/t"), ma.GapUniform())
    regret = regrets({"it": ma.EmpiricalCBT()}, 100_000, 40, world=world)["it"]
    # The other had five to ten runs: four standard errors of five, and four of ours.
    assert within_standard_errors(regret, other, errors=4.0, allowance=4 * regret.std(ddof=1) / math.sqrt(5))


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


# ---------------------------------------------------------------- UCBTASW

told_changes = [
    {"variation": 0.0},
    {"variation": 1.0},
    {"variation": 1e4},
    {"changes": 0},
    {"changes": 10**5},
    {"variation": 20.0, "changes": 3},
    {"delta": 0.0},
    {"delta": 0.3, "changes": 3},
]
ucbts = st.builds(
    lambda told, **more: ma.UCBTASW(**told, **more),
    st.sampled_from(told_changes),
    beta=st.sampled_from([0.5, 1.0, 2.0, "auto"]),
    width=st.sampled_from([0.02, 0.1, 0.5, 2.0]),  # with 12 hardly an arm is dropped in so few rounds
    top=tops,
    horizon=told_horizons,
)


test_ucbt_asw_plays_as_its_twin = plays_as_its_twin(ucbts, two_worlds, examples=50)


@pytest.mark.parametrize("world", [FLIPS, WEAR], ids=["coins", "wear"])
def test_ucbt_asw_twins_meet_long_and_short_tenures(world):
    log, _ = check_same(ma.UCBTASW(beta=1.0, variation=1.0, width=0.1), world, 2000, seed=8, replications=2)
    found = tenures(log)
    assert len(found) > 10
    assert max(found) > 64


@pytest.mark.parametrize(
    ("beta", "told", "expected"),
    [
        (1.0, {"variation": 8.0}, 0.004 ** (1 / 3)),
        (1.0, {"variation": 0.0}, 2000**-0.5),
        (2.0, {"variation": 8.0}, 0.004**0.25),
        (2.0, {"variation": 1e-9}, 2000 ** (-1 / 3)),
        (0.5, {"variation": 8.0}, 0.004 ** (1 / 3)),  # below 1, beta counts as 1
        (1.0, {"changes": 4}, 0.0025**0.5),
        (2.0, {"changes": 4}, 0.0025 ** (1 / 3)),
        (0.5, {"changes": 0}, 2000**-0.5),
        (1.0, {"variation": 8.0, "changes": 4}, 0.05),
        (1.0, {"variation": 0.0, "changes": 400}, 2000**-0.5),
        (1.0, {"changes": 10**6}, 1.0),
        (1.0, {"variation": 8.0, "delta": 0.3}, 0.3),
    ],
)
def test_the_threshold_follows_from_what_is_told(beta, told, expected):
    assert fast_ucbt.threshold_for(ma.UCBTASW(beta=beta, **told).settings(), beta, 2000.0) == pytest.approx(expected)


@pytest.mark.parametrize(("delta", "tenure"), [(0.0, 256), (0.26, 256), (0.27, 512)])
def test_at_a_hundred_thousand_rounds_no_arm_is_dropped_before_256_plays(delta, tenure):
    # 12 log T = 138.2: sqrt(138.2 / 128) is above 1, and sqrt(138.2 / 256) = 0.735 is below 1 - delta up to 0.265.
    assert tenures_of(ma.UCBTASW(beta=1.0, delta=delta, horizon=100_000), 0.0, 4096) == [tenure] * (4096 // tenure)


@pytest.mark.compiled
def test_a_stationary_arm_at_the_level_is_practically_never_dropped():
    # Hoeffding: the mean of w coins falls short of its expectation by sqrt(12 log T / w) with a chance of T^-24.
    world = COINS.replace(reservoir=ma.PowerLaw(beta=1e-9, top=0.9))  # a gap of U^(10^9): all means are 0.9
    result = ma.simulate({"it": ma.UCBTASW(beta=1.0, delta=0.1)}, world, 100_000, replications=10, seed=9)
    assert result.final_regret("it") == pytest.approx(10_000)
    assert (result.final("it", "arms") == 1).all()


def test_a_short_window_finds_what_a_long_one_hides():
    # 200 rewards of 1, then zeros: the arm is dropped after 28 of them, when the mean of all is still 0.88.
    state = begin(ma.UCBTASW(beta=1.0, delta=0.25, width=1.0, horizon=100_000).start(300), 0)
    for round in range(1, 201):
        state = tell(state, ask(state, round, 0), 1.0)
    played = 0
    while state.arm == 0:
        played += 1
        state = tell(state, ask(state, 200 + played, 0), 0.0)
    # sqrt(log 1e5 / w) is 0.85 for w = 16, beyond 1 - delta = 0.75, and 0.6 for w = 32, with 4/32 from four ones; for
    # w = 64 it is 0.42, which leaves 0.33, or 20 of 64 ones: not before 44 zeros.
    assert played == 28


@pytest.mark.compiled
@pytest.mark.parametrize(("width", "delta"), [(12.0, 0.05), (0.5, 0.1), (0.05, 0.02)])
def test_ucbt_asw_without_noise_or_drift_has_its_expected_regret(width, delta):
    # One block of AUCBTASW with one threshold is this policy.
    horizon = 1000
    world = ma.World(ma.PowerLaw(beta=1.0), noise=ma.Exact())
    regret = regrets({"it": ma.UCBTASW(beta=1.0, delta=delta, width=width)}, horizon, 2000, world=world)["it"]
    expected = expected_block_regret(horizon, width * math.log(horizon), delta)
    assert within_standard_errors(regret, expected, errors=4.5)  # a chance of 7e-6


def test_late_rewards_of_a_dropped_arm_are_not_the_next_ones():
    state = begin(ma.UCBTASW(beta=1.0, delta=0.1, width=0.01, horizon=100).start(100), 0)
    first, second = ask(state, 1, 0), ask(state, 2, 0)
    state = tell(tell(state, first, 0.0), second, 1.0)
    assert (state.arm, state.plays, state.block.left, state.counts) == (1, 0, 98, (0, 1, 2, 0))


def test_a_live_bandit_that_outgrows_its_horizon_keeps_every_bonus():
    spec = ma.UCBTASW(beta=1.0, delta=0.25, width=2.0, horizon=500)
    bandit, state = ma.Bandit(spec, seed=1), begin(spec.start(3000), 0)
    for round in range(1, 3001):
        decision, choice = bandit.ask(), ask(state, round, 0)
        assert decision.arm == choice.arm, round
        reward = 0.7 if round <= 2500 else 0.1
        bandit.tell(decision, reward)
        state = tell(state, choice, reward)
    assert state.arm > 0


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ma.KFailure(0), "KFailure: failures must be a whole number of at least 1, not 0"),
        (lambda: ma.KFailure(1.5), "KFailure: failures must be a whole number"),
        (lambda: ma.MRun(run=0), "MRun: run must be a whole number of at least 1, not 0"),
        (lambda: ma.MRun(recall=1), "MRun: recall must be True or False, not 1"),
        (lambda: ma.MRun(horizon="long"), "MRun: horizon must be a whole number, None or 'doubling'"),
        (lambda: ma.CBT(beta=0), "CBT: beta must be above 0, not 0"),
        (lambda: ma.CBT(beta=1.0, first_loss=-1), "CBT: first_loss must be above 0, not -1"),
        (lambda: ma.CBT(beta=1.0, target=0.0), "CBT: target must be above 0, not 0"),
        (lambda: ma.CBT(beta=1.0, horizon=0), "CBT: horizon must be a whole number of at least 1"),
        (lambda: ma.EmpiricalCBT(keep=0), "EmpiricalCBT: keep must be a whole number of at least 1, not 0"),
        (lambda: ma.UCBTASW(beta=1.0), "UCBTASW: tell it variation or changes, or delta; AUCBTASW needs none"),
        (lambda: ma.UCBTASW(beta=-1, changes=0), "UCBTASW: beta must be above 0, not -1"),
        (lambda: ma.UCBTASW(beta=1.0, variation=-0.1), "UCBTASW: variation must be at least 0, not -0.1"),
        (lambda: ma.UCBTASW(beta=1.0, changes=1.5), "UCBTASW: changes must be a whole number of at least 0"),
        (lambda: ma.UCBTASW(beta=1.0, delta=1.1), r"UCBTASW: delta must lie in \[0, 1\], not 1.1"),
        (lambda: ma.UCBTASW(beta=1.0, delta=0.1, width=0), "UCBTASW: width must be above 0, not 0"),
        (lambda: ma.UCBTASW(beta=1.0, delta=0.1, top=2), "UCBTASW: top must lie in"),
        (lambda: ma.EmpiricalCBT(horizon="ever"), "EmpiricalCBT: horizon must be a whole number, None or 'doubling'"),
    ],
    ids=lambda value: value.partition(":")[0] if isinstance(value, str) else "",
)
def test_wrong_settings_are_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()
