"""TwoTarget: the choices of its twin, its targets, and its regret."""

import functools

import pytest
from hypothesis import strategies as st

import manyarms as ma
from manyarms.contract import ask, tell
from manyarms.policies import two_target as fast
from tests.open_asks import left_open, settled
from tests.policies.rivals import begun, choices_of, of_another_simulation, regrets, tenures_of
from tests.policies.test_theory import within_standard_errors
from tests.reference.two_target import exact, targets
from tests.twinned import COINS, check_same, crashing, plays_as_its_twin, told_horizons

pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

two_targets = st.builds(
    ma.TwoTarget,
    failures=st.sampled_from([1, 2, 3, 7]),
    beta=st.sampled_from([0.5, 1.0, 1.3, 2.0]),
    alpha=st.sampled_from([1.0, 0.25, 3.0]),
    horizon=st.one_of(told_horizons, st.sampled_from([1, 2, 9])),
)

test_two_target_plays_as_its_twin = plays_as_its_twin(two_targets, crashing, examples=30)


@pytest.mark.parametrize("horizon", [None, "doubling"])
def test_twins_meet_arms_that_pass_and_arms_that_do_not(horizon):
    log, result = check_same(ma.TwoTarget(horizon=horizon), COINS, 900, seed=3, replications=4)
    tenures = [int((log.arm == arm).sum()) for arm in range(int(log.arm[-1]) + 1)]
    assert min(tenures) < 8 < 100 < max(tenures)
    assert all(
        log.arm[-1] == arms - 1
        for log, arms in zip(result.logs["it"].values(), result.final("it", "arms"), strict=True)
    )


@pytest.mark.once
@pytest.mark.parametrize(
    ("m", "n", "first", "second"), [(3, 100, 3, 21), (3, 10_000, 17, 212), (6, 2 * 10**6, 100, 6000)]
)
def test_targets_of_a_known_horizon_are_those_of_the_source(m, n, first, second):
    # (n/2)^(1/3) and m (n/2)^(1/2); 10^6 is a cube and a square, which powers of floats need not find.
    settings = ma.TwoTarget(failures=m, horizon=n).settings()
    assert (fast.first_target(settings, 1), fast.second_target(settings, 1)) == (first, second)
    assert targets(m, exact(1.0), exact(n / 2)) == (first, second)


@pytest.mark.once
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_an_arm_is_outgrown_in_the_round_whose_target_it_misses(beta):
    settings = ma.TwoTarget(beta=beta, horizon="doubling").settings()
    for successes in range(3, 40):
        last = fast.outgrown_at(settings, successes)
        assert fast.second_target(settings, last) <= successes < fast.second_target(settings, last + 1)


def expected_regret(m, horizon, is_known):
    """For coins with uniform means: after s successes and f failures the gap is (f + 1) / (s + f + 2) on average.

    Of an arm that is judged, a play costs as much as it fails; one that has passed costs its gap while it stays.
    """
    settings = ma.TwoTarget(failures=m, horizon=horizon if is_known else "doubling").settings()

    @functools.cache
    def cost(t, s, f):  # t rounds are played
        if t == horizon:
            return 0.0
        gap = (f + 1) / (s + f + 2)
        return (1.0 - gap) * cost(t + 1, s + 1, f) + gap * (1.0 + after_failure(t + 1, s, f + 1))

    def after_failure(t, s, f):
        l_1, l_2 = fast.first_target(settings, t), fast.second_target(settings, t)
        if (f == 1 and s < l_1) or (f == m and s < l_2):
            return cost(t, 0, 0)
        if f < m:
            return cost(t, s, f)
        end = min(max(fast.outgrown_at(settings, s), t), horizon)
        return (end - t) * (f + 1) / (s + f + 2) + cost(end, 0, 0)

    return cost(0, 0, 0)


@pytest.mark.once
def test_expected_regrets_are_those_of_an_independent_simulation():
    assert expected_regret(3, 100, is_known=True) == of_another_simulation(14.9, deviation=9.2)
    assert expected_regret(6, 100, is_known=True) == of_another_simulation(16.4, deviation=9.7)


@pytest.mark.compiled
@pytest.mark.parametrize("horizon", [None, "doubling"])
@pytest.mark.parametrize("m", [1, 3, 6])
def test_two_target_has_its_expected_regret(m, horizon):
    regret = regrets({"it": ma.TwoTarget(failures=m, horizon=horizon)}, 200, 8000)["it"]
    assert within_standard_errors(regret, expected_regret(m, 200, horizon is None), errors=4.5)  # a chance of 7e-6


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("beta", "horizon", "mean", "deviation"),
    [(1.0, 1000, 52.2, 33), (1.0, 10_000, 171, 105), (0.5, 10_000, 32.1, 26), (2.0, 1000, 179, 80)],
)
def test_its_regret_is_that_of_an_independent_simulation(beta, horizon, mean, deviation):
    world = COINS.replace(reservoir=ma.PowerLaw(beta=beta))
    regret = regrets({"it": ma.TwoTarget(beta=beta)}, horizon, 2000, world=world)["it"]
    # Three standard errors of the other's 400 runs; those of 2000 are less than half as large.
    assert regret.mean() == pytest.approx(mean, abs=3 * deviation * (400**-0.5 + 2000**-0.5))


@pytest.mark.compiled
def test_without_a_horizon_its_regret_stays_a_multiple_of_the_root():
    # The bound is (2 + 1/m) sqrt(T) in the long run. An arm that stays for good would cost in proportion to T.
    for horizon, replications in ((1000, 4000), (100_000, 400)):
        regret = regrets({"it": ma.TwoTarget(horizon="doubling")}, horizon, replications)["it"]
        assert regret.mean() / horizon**0.5 < 2.0 + 1 / 3 + 4.5 * regret.std() / (replications * horizon) ** 0.5


def test_arms_go_at_the_first_failure_or_at_the_mth():
    assert tenures_of(ma.TwoTarget(horizon=100), 1.0, 100) == [100]
    assert tenures_of(ma.TwoTarget(horizon=100), 0.99, 100) == [1] * 100
    # A horizon of 2 has a first target of 1 and a second of 3: with the pattern 1, 0, 0, … the third failure is judged.
    settings = ma.TwoTarget(horizon=2).settings()
    assert (fast.first_target(settings, 1), fast.second_target(settings, 1)) == (1, 3)
    assert played(ma.TwoTarget(horizon=2), [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]) == [0] * 4 + [1] * 8


def played(spec, rewards):
    """The arms that it plays when it is told these rewards."""
    state, arms = begun(spec), []
    for round, reward in enumerate(rewards, start=1):
        choice = ask(state, round)
        arms.append(choice.arm)
        state = tell(state, choice, float(reward))
    return arms


def test_an_arm_that_has_passed_is_left_when_the_target_has_outgrown_it():
    # Without a horizon and with m = 1, eight successes and a failure pass: floor(9^(1/2)) is 3. In round 81 it is 9.
    arms = played(ma.TwoTarget(failures=1, horizon="doubling"), [1] * 8 + [0] * 80)
    assert arms[:80] == [0] * 80
    assert arms[80] == 1


def test_late_rewards_of_an_arm_that_was_left_are_rounds_and_no_more():
    state = begun(ma.TwoTarget(horizon=100))
    state, first, second, third = left_open(state, 1, 2, 3)
    state = settled(state, first, 0.0)
    assert (state.arm, state.failed) == (1, 0)
    for late in (second, third):
        state = settled(state, late, 1.0)
    assert (state.arm, state.successes, state.failed, state.rounds, state.counts) == (1, 0, 0, 3, (0, 1, 2, 0))


def test_it_has_one_block_whatever_the_horizon():
    for horizon in (None, "doubling"):
        assert {choice.block for choice in choices_of(ma.TwoTarget(horizon=horizon), 0.0, 50)} == {1}
