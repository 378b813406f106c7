"""Every policy and base makes the choice of its slow twin, in every round and to the bit."""

import math
import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.arithmetic import natural_log
from manyarms.checks import examples
from manyarms.checks.runs import CORRECTED_WORLD
from manyarms.policies import blackbox as fast_blackbox
from manyarms.policies import elimination as fast_elimination
from manyarms.replication import replicate
from manyarms.trace import COLUMNS
from tests.reference import sizes
from tests.reference.asymptotic_ucb import AsymptoticUCB
from tests.reference.twins import all_twins, twin_run
from tests.reference.ucb import UCB
from tests.twinned import (
    FLIPS,
    WEAR,
    blackboxes,
    check_columns,
    check_log,
    check_plainly,
    check_same,
    eliminations,
    greedies,
    k_failures,
    seeds,
    ssucbs,
    subsamples,
    successive,
    two_worlds,
    ucbs,
)

# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")

POLICIES = [spec for spec in examples() if spec.kind == "policy"]
BASES = [spec for spec in examples() if spec.kind == "base"]


@pytest.mark.once
def test_every_policy_and_base_has_a_twin():
    assert {type(spec).__name__ for spec in POLICIES + BASES} <= set(all_twins())


# Not uncompiled, too: a promise of each of them is that the compiled loop and the plain one do the same.
@pytest.mark.compiled
@pytest.mark.parametrize("spec", POLICIES, ids=lambda spec: spec.label())
def test_each_replication_of_every_policy_plays_as_its_own_twin(spec):
    check_same(spec, FLIPS, 300, seed=2**64 - 1, replications=3)


@pytest.mark.compiled
@pytest.mark.parametrize("base", BASES, ids=lambda spec: spec.label())
def test_each_replication_of_every_base_plays_as_its_own_twin(base):
    check_same(ma.Subsample(base=base, beta=1.0, arms=12), FLIPS, 300, seed=2**64 - 1, replications=3)


# ---------------------------------------------------------------- answers that come late

LATE = [
    ma.Batches(7),
    ma.Batches(64),
    ma.Delayed(5),
    ma.Delayed(ma.Geometric(mean=8.0, longest=60)),
    ma.Conversions(ma.LogUniform(least=1, longest=30), timeout=12),
    ma.Lost(0.3),
    ma.Lost(0.2, ma.Delayed(ma.LogNormal(median=6.0, spread=1.0, longest=50))),
]
CONVERSIONS = ma.Conversions(ma.LogUniform(least=1, longest=30), timeout=12, late="corrected")
CORRECTED = [
    CONVERSIONS,
    ma.Lost(0.2, CONVERSIONS),
]
PENDING = [
    CONVERSIONS.replace(pending=0.0),
    ma.Batches(7, pending=0.5),
    ma.Lost(0.2, ma.Delayed(5), pending=0.25),
]


# Every policy meets every feedback in one of two worlds, half of them in either, and of two policies not the same half.
# With MANYARMS_EVERY_PAIR=1 it meets all in both (make verify).
EVERY_PAIR = os.environ.get("MANYARMS_EVERY_PAIR") == "1"


def check_late(spec, rounds):
    """In every feedback that it takes; returns the rewards ignored in all."""
    ignored = 0
    taken = LATE + (CORRECTED if spec.takes_corrections else []) + (PENDING if spec.takes_pending else [])
    for number, feedback in enumerate(taken):
        worlds = (FLIPS, WEAR)
        for world in worlds if EVERY_PAIR else [worlds[(number + spec.digest()) % 2]]:
            late = world.replace(feedback=feedback)
            ignored += check_plainly(spec, late, rounds, seed=number, replication=number % 3).ignored
    return ignored


# With a threshold that no single loss reaches: else there would be nothing left to correct.
PATIENT = [ma.Elimination(beta=1.0, threshold=0.5, warm_start=warm) for warm in (True, False)]


@pytest.mark.once
@pytest.mark.parametrize("spec", POLICIES + PATIENT, ids=lambda spec: spec.label())
def test_every_policy_hears_of_late_answers_what_its_twin_hears(spec):
    check_late(spec, 300)


@pytest.mark.once
@pytest.mark.parametrize("base", BASES, ids=lambda spec: spec.label())
def test_every_base_learns_of_late_answers_what_its_twin_learns(base):
    # Without a warm start arms go with their blocks; with one, some stay and learn from older answers.
    for warm in (False, True):
        box = ma.Blackbox(base=base, beta=1.0, threshold=0.3, warm_start=warm)
        assert check_late(box, 130) > 0
    assert check_late(ma.Subsample(base=base, beta=1.0, arms=12), 130) == 0  # one block
    assert check_late(ma.Subsample(base=base, beta="auto", horizon="doubling"), 130) > 0


# The compiled loop, once for each kind of block. What else is compiled, the promises compare with plain Python.
@pytest.mark.compiled
@pytest.mark.parametrize("spec", [PATIENT[0], ma.Blackbox(base=ma.UCB(), beta=1.0)])
def test_the_compiled_loop_hears_of_late_answers_what_a_twin_hears(spec):
    check_same(spec, FLIPS.replace(feedback=CORRECTED_WORLD.feedback), 1000, seed=3)


feedbacks = st.one_of(
    st.builds(ma.Batches, st.integers(1, 300)),
    st.builds(ma.Delayed, st.integers(1, 300)),
    st.builds(ma.Delayed, st.builds(ma.Geometric, mean=st.floats(0.1, 200.0), longest=st.integers(1, 300))),
    st.builds(
        ma.Conversions,
        st.builds(ma.LogNormal, median=st.floats(0.1, 99.0), spread=st.floats(0.1, 3.0), longest=st.integers(1, 300)),
        timeout=st.integers(1, 300),
    ),
)
maybe_lossy = st.one_of(feedbacks, st.builds(ma.Lost, st.sampled_from([0.0, 0.05, 0.5, 1.0]), feedbacks))
late_policies = st.one_of(
    eliminations(),
    blackboxes(st.one_of(ucbs, greedies, successive)),
    subsamples(st.one_of(ucbs, greedies, successive)),
    ssucbs,
    k_failures,
    st.sampled_from([spec for spec in POLICIES if not spec.takes_corrections]),
)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=150)
@given(late_policies, two_worlds, maybe_lossy, st.integers(1, 500), seeds)
@example(  # rewards below 0, and open asks that are thought better of: a group of fewer than no plays
    ma.Forager(keep=2, most=3),
    ma.World(ma.PowerLaw(beta=0.5), ma.Rotting("1/t"), ma.GapUniform()),
    ma.Batches(137),
    303,
    2,
)
def test_any_policy_with_any_feedback_plays_as_its_twin(spec, world, feedback, rounds, seed):
    check_plainly(spec, world.replace(feedback=feedback), rounds, seed)


@pytest.mark.once
@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    late_policies.filter(lambda spec: spec.takes_corrections),
    two_worlds,
    feedbacks,
    st.sampled_from([0.0, 0.4, 1.0]),
    st.integers(1, 500),
    seeds,
)
def test_any_policy_that_takes_corrections_plays_as_its_twin(spec, world, feedback, pending, rounds, seed):
    if isinstance(feedback, ma.Conversions):
        feedback = feedback.replace(late="corrected")
    late = [feedback, ma.Lost(0.2, feedback)]
    if spec.takes_pending:
        late += [feedback.replace(pending=pending), ma.Lost(0.2, feedback, pending=pending)]
    for feedback in late:
        check_plainly(spec, world.replace(feedback=feedback), rounds, seed)


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


@pytest.mark.parametrize("rounds", [2, 6, 14, 30, 254, 1022])
def test_a_block_that_ends_with_the_run_leaves_an_open_one(rounds):
    spec = ma.Elimination(beta=1.0, preset="paper", threshold=100.0)
    log, last = checked(spec, WEAR, rounds, seed=8)
    assert last["blocks"] == log.block[-1] + 1


@pytest.mark.parametrize(
    ("base", "twin"),
    [
        (ma.UCB(width=2.0), lambda arms, horizon: UCB(arms, horizon, natural_log(horizon), width=2.0)),
        (ma.AsymptoticUCB(sigma=0.5), lambda arms, horizon: AsymptoticUCB(arms, horizon, 0.0, sigma=0.5)),
    ],
)
def test_coins_make_exact_ties_which_go_to_the_lower_place(base, twin):
    horizon = 1000
    log, _ = check_same(ma.Subsample(base=base, beta=1.0, arms=30), FLIPS, horizon, seed=10)
    slow = twin(30, horizon)
    ties = 0
    for t, (arm, reward) in enumerate(zip(log.arm.tolist(), log.reward.tolist(), strict=True), start=1):
        assert slow.pick(t) == arm
        indices = slow.indices()
        best = max(indices)
        ties += math.isfinite(best) and indices.count(best) > 1
        slow.learn(arm, reward)
    assert ties > 50


ONE_OF_EACH = [
    ma.Elimination(beta=1.0, threshold=0.05),
    ma.Blackbox(base=ma.UCB(), beta=0.8, threshold=0.2),
    ma.Blackbox(base=ma.AsymptoticUCB(), beta=1.0, threshold=0.2),
    ma.Subsample(base=ma.Greedy(), beta=1.0),
    ma.Subsample(base=ma.SuccessiveElimination(), beta=1.0, horizon="doubling"),
    ma.SSUCB(beta=1.0),
    ma.UniformPlay(),
    ma.Oracle(keep=20),
]


@pytest.mark.parametrize("spec", ONE_OF_EACH, ids=lambda spec: spec.label())
def test_a_used_state_begins_as_a_new_one(spec):
    # simulate makes one state for several replications when it keeps no log.
    horizon, seed = 300, 13
    checkpoints = np.array([100, horizon])
    run = replicate(spec, FLIPS, horizon, 3, seed, checkpoints=checkpoints, log=True)
    for replication in range(3):
        slow_log, columns = twin_run(spec, FLIPS, horizon, seed, replication)
        check_columns(run.out[replication], checkpoints, columns)
    check_log(run.logs[2], slow_log)  # the last one's log is what remains


GRID = [0.5, 0.8, 1.2, *(step / 20 for step in range(6, 61))]


@pytest.mark.once
@pytest.mark.parametrize("horizon", [2, 1000, 4096, 100_000])
def test_subsample_sizes_are_those_of_exact_arithmetic(horizon):
    for beta in GRID:
        for log_factor, log_base in [(False, 2), (True, 2), (True, "e"), (True, 10.0)]:
            elimination = {
                cap: ma.Elimination(beta=beta, log_base=log_base, log_factor=log_factor, cap=cap).settings()
                for cap in (True, False)
            }
            box = ma.Blackbox(base=ma.UCB(), beta=beta, log_base=log_base, log_factor=log_factor).settings()
            for m in range(1, 22):
                for cap, chosen in elimination.items():
                    fast = fast_elimination.subsample_size(chosen, beta, m, float(horizon))
                    assert fast == sizes.elimination_size(m, beta, horizon, log_base, log_factor, cap), (beta, m)
                fast = fast_blackbox.subsample_size(box, beta, m, float(horizon))
                assert fast == sizes.blackbox_size(m, beta, horizon, log_base, log_factor), (beta, m)


@pytest.mark.once
@pytest.mark.parametrize("horizon", [None, "doubling"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_there_is_room_for_every_block_that_can_be_opened(beta, horizon):
    # Compiled code does not notice a write beyond the room, so no comparison of choices would.
    for rounds in [*range(1, 70), 126, 127, 254, 255, 500]:
        known = rounds if horizon is None else None
        elimination = ma.Elimination(beta=beta, preset="paper", cap=False, horizon=horizon).with_horizon(rounds)
        box = ma.Blackbox(base=ma.UCB(), beta=beta, preset="published", horizon=horizon).with_horizon(rounds)
        one = ma.SSUCB(beta=beta, horizon=horizon).with_horizon(rounds)
        room = {spec: spec.slots(rounds) for spec in (elimination, box, one)}
        for m in range(1, 12):
            # Block m is opened at the end of some round, not before blocks 1 … m - 1 took 2^m - 2 of
            # them; how long before depends on the restarts, so any later round is possible.
            if 2**m - 2 > rounds:
                break
            for opened in {2**m - 2, rounds}:
                reckoned = sizes.assumed_horizon(known, opened + 2**m)
                assert sizes.elimination_size(m, beta, reckoned, 2, True, False) <= room[elimination]
                assert sizes.blackbox_size(m, beta, reckoned, "e", True) <= room[box]
            if horizon == "doubling":
                assert sizes.subsample_size(2**m, beta) <= room[one]
