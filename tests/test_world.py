""""""

import dataclasses
import json
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.compiled import loop
from manyarms.contract import begin, preview, pull, register, reward_of
from manyarms.replication import play_replications, replicate
from manyarms.streams import replication_key, uniform
from manyarms.trace import COLUMNS
from tests.twinned import check_same, k_failures, other_trending, plays_as_its_twin
from tests.worlds import begun, lone_arm

# The twins are compared with policies and worlds that disagree about the top, too.
pytestmark = pytest.mark.filterwarnings("ignore:.* counts losses from top")
test_worlds_with_every_trend_move_as_their_twins = plays_as_its_twin(k_failures, other_trending)
ROT = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("30/t"), ma.GapUniform())


def checked(spec, world, horizon, seed):
    """The fast log, compared with the twin's, and the columns of the last round."""
    log, result = check_same(spec, world, horizon, seed)
    return log, dict(zip(COLUMNS, result["it"][0, -1].tolist(), strict=True))


def test_worlds_meet_both_ends_of_the_range():
    log, last = checked(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3), ROT, 500, seed=12)
    assert log.next_mean.min() == 0.0
    assert 0 < last["L_R"] < 499  # an arm at 0 that rots has not changed
    rising = ma.World(ma.PowerLaw(beta=1.0), ma.Rising("30/t"), ma.GapUniform())
    log, last = checked(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3), rising, 500, seed=12)
    assert log.next_mean.max() == 1.0
    assert last["V_R"] == 0.0
    assert last["V"] > 0.0


def run_log(policy, world, horizon, seed=0, replication=0):
    """One replication as plain Python, with its log."""
    checkpoints = np.arange(1, horizon + 1)
    plain = play_replications.function
    run = replicate(policy, world, horizon, 1, seed, first=replication, checkpoints=checkpoints, log=True, loop=plain)
    assert run.finished.all()
    return run.logs[0], run.out[0]


def test_the_change_after_the_last_round_is_not_counted():
    state, path = lone_arm(ma.JumpAt(4, -0.25), 0.5, range(1, 5))
    assert path[-1].tolist() == [0.5, 0.25, 0.5]
    assert (state.changes, state.variation) == (0, 0.0)
    state, *_ = pull(state, 0, 0, 5)
    assert (state.changes, state.variation) == (1, 0.25)


def test_an_arm_that_comes_to_a_slot_is_fresh():
    world = ma.World(ma.Uniform(), ma.JumpAt(2, -1.0), ma.Exact())
    state = begun(world)
    first = [preview(state, arm, 1) for arm in range(3)]
    assert len(set(first)) == 3
    seen = []
    for round, arm in enumerate([0, 0, 0, 1, 1, 2, 2], start=1):
        state, mean, *_ = pull(state, 0, arm, round)
        seen.append(mean)
    # Each arm falls at its own second play, wherever the slot has been.
    assert seen == [first[0], first[0], 0.0, first[1], first[1], first[2], first[2]]


@pytest.mark.usefixtures("uncompiled")
def test_a_replication_does_not_depend_on_those_before_it():
    world = ma.World(ma.Uniform(), ma.Phases([ma.Adversary(3, 0.5), ma.Crash(0.1)], ends=[30]), ma.Bernoulli())
    policy = ma.Subsample(base=ma.Greedy(), beta=1.0, arms=3)
    together = ma.simulate(policy, world, 60, replications=4, seed=9, threads=1)["Subsample"]
    alone = [run_log(policy, world, 60, seed=9, replication=number)[1] for number in range(4)]
    np.testing.assert_array_equal(together, np.array(alone)[:, ma.simulate(policy, world, 60).checkpoints - 1])


# What is counted, against the log

SOME_DRIFTS = [
    ma.Still(),
    ma.Rotting("1/t"),
    ma.Rotting("3%"),
    ma.Rising(0.01),
    ma.Crash(0.1),
    ma.Crash(0.1, to=0.5),
    ma.JumpAt(3, -0.2),
    ma.RandomWalk(0.2),
    ma.Adversary(patience=4, size=0.1),
    ma.Turnover(length=30),
    ma.Fatigue(after=3, rate=0.05),
    ma.Phases([ma.RandomWalk(0.1), ma.Still(), ma.Rotting(0.05)], ends=[50, 120]),
]


def check_counts(log, checkpoints, values):
    """V, V_R, L and L_R at these checkpoints are the paper's sums over the log."""
    for checkpoint, row in zip(checkpoints, values, strict=True):
        variation = rotting_variation = 0.0
        changes = rotting_changes = 0
        for t in range(2, checkpoint + 1):  # the arm played at t - 1: its mean at t less its mean at t - 1
            change = log.next_mean[t - 2] - log.mean[t - 2]
            variation += abs(change)
            rotting_variation += max(-change, 0.0)
            changes += change != 0.0
            rotting_changes += change < 0.0
        kept = dict(zip(COLUMNS, row.tolist(), strict=True))
        assert kept["V"] == variation
        assert kept["V_R"] == rotting_variation
        assert kept["L"] == changes
        assert kept["L_R"] == rotting_changes


def check_rested(log):
    """The mean of an arm when it is played is the mean that its last play left."""
    left = {}
    for arm, mean, next_mean in zip(log.arm.tolist(), log.mean, log.next_mean, strict=True):
        assert left.get(arm, mean) == mean
        left[arm] = next_mean
    assert len(left) > 1


@pytest.mark.parametrize("drift", SOME_DRIFTS, ids=lambda drift: drift.label())
def test_variation_and_changes_are_the_sums_over_the_log(drift):
    policy = ma.Subsample(base=ma.UCB(), beta=1.0, arms=4)
    log, values = run_log(policy, ma.World(ma.Uniform(), drift, ma.Bernoulli()), 200, seed=3)
    check_rested(log)
    checkpoints = [1, 2, 3, 50, 51, 121, 199, 200]
    check_counts(log, checkpoints, values[np.array(checkpoints) - 1])
    assert log.mean.min() >= 0.0
    assert log.next_mean.max() <= 1.0
    assert (log.mean != log.next_mean).any() == (drift != ma.Still())


@pytest.mark.usefixtures("uncompiled")
def test_simulate_counts_the_same():
    world = ma.World(ma.Uniform(), SOME_DRIFTS[-1], ma.Bernoulli())
    checkpoints = [1, 2, 3, 50, 51, 121, 199, 200]
    policy = ma.Subsample(base=ma.UCB(), beta=1.0, arms=4)
    result = ma.simulate(policy, world, 200, replications=2, seed=3, checkpoints=checkpoints, log=True)
    for replication in range(2):
        log = result.log("Subsample", replication)
        check_rested(log)
        check_counts(log, checkpoints, result["Subsample"][replication])


# The n-th play of an arm is the same event for every policy


def events(log):
    """(arm, how often it was played before) -> (mean, next mean, reward)."""
    found, plays = {}, {}
    for entry, arm in enumerate(log.arm.tolist()):
        number = plays.get(arm, 0)
        found[arm, number] = (log.mean[entry], log.next_mean[entry], log.reward[entry])
        plays[arm] = number + 1
    return found


@pytest.mark.parametrize(
    ("drift", "noise"),
    [
        (ma.RandomWalk(0.1), ma.BetaNoise(5.0)),
        (ma.Crash(0.2), ma.Bernoulli()),
        (ma.JumpAt(3, -0.3), ma.GapUniform()),
        (ma.Rotting("5%"), ma.BetaNoise(1.0)),
    ],
    ids=lambda spec: spec.label(),
)
def test_the_nth_play_of_an_arm_is_the_same_event_for_every_policy(drift, noise):
    world = ma.World(ma.PowerLaw(1.0), drift, noise)
    policies = [
        ma.Subsample(base=ma.UCB(), beta=1.0, arms=5),
        ma.Subsample(base=ma.Greedy(), beta=1.0, arms=7),
        ma.UniformPlay(),
        ma.Oracle(keep=3),
    ]
    logs = [run_log(policy, world, 150, seed=8)[0] for policy in policies]
    first = events(logs[0])
    for log, least in zip(logs[1:], (50, 5, 1), strict=True):
        other = events(log)
        common = first.keys() & other.keys()
        assert len(common) >= least
        assert [first[place] for place in common] == [other[place] for place in common]
    assert logs[0].arm.tolist() != logs[1].arm.tolist()


def test_another_replication_or_seed_is_another_event():
    world = ma.World(ma.PowerLaw(1.0), ma.RandomWalk(0.1), ma.GapUniform())
    here, *others = (events(run_log(ma.UniformPlay(), world, 50, *place)[0]) for place in ((8, 0), (8, 1), (9, 0)))
    for other in others:
        assert not set(here.values()) & set(other.values())


# Compiled and uncompiled


@loop
def play_in_turn(world, key, out):
    world = begin(world, key)
    arms = world.means.size
    for entry in range(out.shape[0] - 1):
        arm = entry * entry % arms
        world, mean, next_mean, reward = pull(world, arm, arm, entry + 1)
        out[entry, 0] = mean
        out[entry, 1] = next_mean
        out[entry, 2] = reward
        out[entry, 3] = preview(world, entry, 1)
    out[-1, 0] = world.variation
    out[-1, 1] = world.rotting_variation
    out[-1, 2] = world.changes
    out[-1, 3] = world.rotting_changes


ALL_KINDS = [
    ma.World(ma.PowerLaw(0.3, top=0.9), ma.Rotting("0.1*t^-0.7"), ma.Bernoulli()),
    ma.World(ma.Uniform(0.1, 0.8), ma.Rising("1%"), ma.GapUniform()),
    ma.World(ma.BetaDistributed(0.4, 2.0), ma.Crash(0.1), ma.BetaNoise(3.0)),
    ma.World(ma.Empirical([0.1, 0.5, 0.9]), ma.JumpAt(3, -0.4), ma.Exact()),
    ma.World(
        ma.Mixture([ma.PowerLaw(2.0), ma.Empirical([0.2]), ma.BetaDistributed(1.0, 3.0)], weights=[1, 2, 3]),
        ma.RandomWalk(0.3),
        ma.Bernoulli(),
    ),
    ma.World(
        ma.PowerLaw(1.5),
        ma.Phases([ma.Still(), ma.Adversary(2, 0.2), ma.Rotting("1/t"), ma.Rising(0.01)], ends=[20, 150, 200]),
        ma.GapUniform(),
    ),
    ma.World(
        ma.Trending(ma.Mixture([ma.PowerLaw(2.0), ma.Empirical([0.2])]), factor=1.7, over=200),
        ma.Stages([ma.Rising(0.01), ma.Crash(0.1)], ends=[20]),
        ma.Bernoulli(),
    ),
]


@pytest.mark.compiled
@pytest.mark.parametrize("world", ALL_KINDS, ids=lambda world: world.label())
def test_compiled_and_uncompiled_worlds_agree_to_the_bit(world):
    runs = []
    for run in (play_in_turn, play_in_turn.function):
        out = np.zeros((301, 4))
        run(world.start(7), np.uint64(replication_key(12, 0)), out)
        runs.append(out.view(np.uint64))
    np.testing.assert_array_equal(*runs)
    assert play_in_turn.signatures()  # or nothing was compiled


# Bad input

BAD_INPUT = [
    (lambda: ma.PowerLaw(beta=0), "PowerLaw", "beta", "0"),
    (lambda: ma.PowerLaw(beta=-1.0), "PowerLaw", "beta", "-1.0"),
    (lambda: ma.PowerLaw(beta=math.nan), "PowerLaw", "beta", "nan"),
    (lambda: ma.PowerLaw(beta=math.inf), "PowerLaw", "beta", "inf"),
    (lambda: ma.PowerLaw(beta="1"), "PowerLaw", "beta", "'1'"),
    (lambda: ma.PowerLaw(beta=None), "PowerLaw", "beta", "None"),
    (lambda: ma.PowerLaw(beta=True), "PowerLaw", "beta", "True"),
    (lambda: ma.PowerLaw(beta=1j), "PowerLaw", "beta", "1j"),
    (lambda: ma.PowerLaw(beta=10**400), "PowerLaw", "beta", "1000000"),
    (lambda: ma.PowerLaw(1.0, top=1.5), "PowerLaw", "top", "1.5"),
    (lambda: ma.PowerLaw(1.0, top=-0.1), "PowerLaw", "top", "-0.1"),
    (lambda: ma.Uniform(low=-0.1), "Uniform", "low", "-0.1"),
    (lambda: ma.Uniform(high=1.1), "Uniform", "high", "1.1"),
    (lambda: ma.Uniform(0.5, 0.5), "Uniform", "low", "0.5"),
    (lambda: ma.Uniform(0.7, 0.2), "Uniform", "high", "0.2"),
    (lambda: ma.Uniform(high="a"), "Uniform", "high", "'a'"),
    (lambda: ma.BetaDistributed(0, 1), "BetaDistributed", "a ", "0"),
    (lambda: ma.BetaDistributed(1, -1), "BetaDistributed", "b ", "-1"),
    (lambda: ma.BetaDistributed(1, [1]), "BetaDistributed", "b ", "[1]"),
    (lambda: ma.Empirical([]), "Empirical", "means", "empty"),
    (lambda: ma.Empirical(3), "Empirical", "means", "3"),
    (lambda: ma.Empirical(None), "Empirical", "means", "None"),
    (lambda: ma.Empirical([0.1, 1.5]), "Empirical", "means", "1.5"),
    (lambda: ma.Empirical([0.1, math.nan]), "Empirical", "means", "nan"),
    (lambda: ma.Empirical("ab"), "Empirical", "means", "'a'"),
    (lambda: ma.Mixture([ma.Uniform()]), "Mixture", "reservoirs", "[Uniform("),
    (lambda: ma.Mixture([ma.Uniform(), 3]), "Mixture", "reservoirs", "3]"),
    (lambda: ma.Mixture([ma.Uniform, ma.Uniform()]), "Mixture", "reservoirs", "manyarms.reservoirs.Uniform"),
    (lambda: ma.Mixture(3), "Mixture", "reservoirs", "3"),
    (lambda: ma.Mixture(ma.Uniform()), "Mixture", "reservoirs", "Uniform("),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1]), "Mixture", "weights", "1"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, 0]), "Mixture", "weights", "0"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, -2]), "Mixture", "weights", "-2"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=[1, "x"]), "Mixture", "weights", "'x'"),
    (lambda: ma.Mixture([ma.Uniform(), ma.Uniform()], weights=3), "Mixture", "weights", "3"),
    (lambda: ma.BetaNoise(0), "BetaNoise", "concentration", "0"),
    (lambda: ma.BetaNoise(-1.0), "BetaNoise", "concentration", "-1.0"),
    (lambda: ma.BetaNoise("3"), "BetaNoise", "concentration", "'3'"),
    (lambda: ma.Gaussian(0.0), "Gaussian", "sigma", "0.0"),
    (lambda: ma.Gaussian(math.inf), "Gaussian", "sigma", "inf"),
    (lambda: ma.Crash(1.1), "Crash", "probability", "1.1"),
    (lambda: ma.Crash(-0.1), "Crash", "probability", "-0.1"),
    (lambda: ma.Crash(math.nan), "Crash", "probability", "nan"),
    (lambda: ma.Crash(0.1, to=1.5), "Crash", "to ", "1.5"),
    (lambda: ma.Crash(0.1, to=-0.5), "Crash", "to ", "-0.5"),
    (lambda: ma.Crash(0.1, to="stale"), "Crash", "to ", "'stale'"),
    (lambda: ma.Crash(0.1, to=None), "Crash", "to ", "None"),
    (lambda: ma.JumpAt(0, 0.1), "JumpAt", "play", "0"),
    (lambda: ma.JumpAt(1.5, 0.1), "JumpAt", "play", "1.5"),
    (lambda: ma.JumpAt("1", 0.1), "JumpAt", "play", "'1'"),
    (lambda: ma.JumpAt(2**70, 0.1), "JumpAt", "play", "1180591620717411303424"),
    (lambda: ma.JumpAt(1, math.nan), "JumpAt", "size", "nan"),
    (lambda: ma.JumpAt(1, None), "JumpAt", "size", "None"),
    (lambda: ma.RandomWalk(0), "RandomWalk", "size", "0"),
    (lambda: ma.RandomWalk(-0.1), "RandomWalk", "size", "-0.1"),
    (lambda: ma.RandomWalk(math.inf), "RandomWalk", "size", "inf"),
    (lambda: ma.Phases([ma.Still()], []), "Phases", "drifts", "[Still()]"),
    (lambda: ma.Phases([ma.Still(), 3], [1]), "Phases", "drifts", "3]"),
    (lambda: ma.Phases([ma.Still(), ma.Still], [1]), "Phases", "drifts", "memoryless.Still"),
    (lambda: ma.Phases(3, [1]), "Phases", "drifts", "3"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], 5), "Phases", "ends", "5"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], []), "Phases", "ends", "0"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [1, 2]), "Phases", "ends", "2"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [0]), "Phases", "ends", "0"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting()], [1.5]), "Phases", "ends", "1.5"),
    (lambda: ma.Phases([ma.Still(), ma.Rotting(), ma.Still()], [5, 5]), "Phases", "ends", "[5, 5]"),
    (lambda: ma.Stages([ma.Still(), ma.Rotting()], [1, 2]), "Stages", "ends", "2"),
    (lambda: ma.Stages([ma.Still(), ma.Rotting(), ma.Still()], [5, 5]), "Stages", "ends", "[5, 5]"),
    (lambda: ma.Trending(ma.Uniform(), 0.0, 10), "Trending", "factor", "0.0"),
    (lambda: ma.Trending(ma.Uniform(), 2.0, 0), "Trending", "over", "0"),
    (lambda: ma.Trending(3, 2.0, 10), "Trending", "reservoir", "3"),
    (lambda: ma.Adversary(patience=0), "Adversary", "patience", "0"),
    (lambda: ma.Fatigue(0, 0.1), "Fatigue", "after", "0"),
    (lambda: ma.Fatigue(1.5, 0.1), "Fatigue", "after", "1.5"),
    (lambda: ma.Fatigue(5, -0.1), "Fatigue", "rate", "-0.1"),
    (lambda: ma.Fatigue(5, math.inf), "Fatigue", "rate", "inf"),
    (lambda: ma.Fatigue(5, "1/t"), "Fatigue", "rate", "'1/t'"),
    (lambda: ma.Turnover(length=0), "Turnover", "length", "0"),
    (lambda: ma.Turnover(length=2.5), "Turnover", "length", "2.5"),
    (lambda: ma.Turnover(length=2, to=1.5), "Turnover", "to", "1.5"),
    (lambda: ma.Adversary(patience=2.5), "Adversary", "patience", "2.5"),
    (lambda: ma.Adversary(patience=1e300), "Adversary", "patience", "1e+300"),
    (lambda: ma.Adversary(size=1.5), "Adversary", "size", "1.5"),
    (lambda: ma.Adversary(size=-0.1), "Adversary", "size", "-0.1"),
    (lambda: ma.World(ma.Uniform), "World", "reservoir", "ma.Uniform(…)"),
    (lambda: ma.World(3), "World", "reservoir", "3"),
    (lambda: ma.World(ma.Uniform(), ma.Rotting), "World", "drift", "ma.Rotting(…)"),
    (lambda: ma.World(ma.Uniform(), ma.Bernoulli()), "World", "drift", "Bernoulli()"),
    (lambda: ma.World(ma.Uniform(), noise=ma.Still()), "World", "noise", "Still()"),
    (lambda: ma.World(ma.Uniform(), noise=None), "World", "noise", "None"),
    (lambda: ma.World(ma.Uniform(), top=1.1), "World", "top", "1.1"),
    (lambda: ma.World(ma.Uniform(), top=math.nan), "World", "top", "nan"),
]


@pytest.mark.parametrize(("build", "spec", "field", "value"), BAD_INPUT)
def test_bad_input_is_refused_by_name(build, spec, field, value):
    with pytest.raises((ValueError, TypeError), match=f"^{spec}: ") as refused:
        build()
    message = str(refused.value).removeprefix(f"{spec}: ")
    assert field in message
    assert value in message


# JSON

fractions = st.floats(0.0, 1.0)
sizes = st.floats(1e-6, 1e6)
rates = st.one_of(
    st.floats(0.0, 10.0),
    st.integers(0, 3),
    st.sampled_from([np.float64(0.5), np.float32(0.25), np.int64(1)]),
    st.builds("{}/t".format, sizes),
    st.builds("{}*t^-{}".format, sizes, fractions),
    st.builds("{}%".format, st.floats(0.0, 100.0)),
)
plain_reservoirs = st.one_of(
    st.builds(ma.PowerLaw, sizes, fractions),
    st.builds(ma.PowerLaw, st.integers(1, 5)),
    st.builds(lambda ends: ma.Uniform(*sorted(ends)), st.lists(fractions, min_size=2, max_size=2, unique=True)),
    st.builds(ma.BetaDistributed, sizes, sizes),
    st.builds(ma.Empirical, st.lists(fractions, min_size=1, max_size=5)),
)


@st.composite
def mixtures(draw, parts):
    chosen = draw(st.lists(parts, min_size=2, max_size=6))
    some = st.lists(sizes, min_size=len(chosen), max_size=len(chosen))
    return ma.Mixture(chosen, draw(st.one_of(st.none(), some)))


def made_of(parts):
    return st.one_of(mixtures(parts), st.builds(ma.Trending, parts, sizes, st.integers(1, 10**9)))


reservoirs = st.recursive(plain_reservoirs, made_of, max_leaves=8)
plain_drifts = st.one_of(
    st.just(ma.Still()),
    st.builds(ma.Rotting, rates),
    st.builds(ma.Rising, rates),
    st.builds(ma.Crash, fractions, st.one_of(st.just("fresh"), fractions)),
    st.builds(ma.JumpAt, st.integers(1, 10**9), st.floats(-2.0, 2.0)),
    st.builds(ma.RandomWalk, sizes),
    st.builds(ma.Adversary, st.integers(1, 10**9), fractions),
    st.builds(ma.Turnover, st.integers(1, 10**9), fractions),
    st.builds(ma.Fatigue, st.integers(1, 10**9), sizes),
)


@st.composite
def spans(draw, parts):
    chosen = draw(st.lists(parts, min_size=2, max_size=4))
    size = len(chosen) - 1
    ends = draw(st.lists(st.integers(1, 10**9), min_size=size, max_size=size, unique=True))
    return draw(st.sampled_from([ma.Phases, ma.Stages]))(chosen, sorted(ends))


drifts = st.recursive(plain_drifts, spans, max_leaves=6)
noises = st.one_of(
    st.sampled_from([ma.Bernoulli(), ma.GapUniform(), ma.Exact()]),
    st.builds(ma.BetaNoise, sizes),
    st.builds(ma.Gaussian, sizes),
)
worlds = st.builds(ma.World, reservoirs, drifts, noises, fractions)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(spec=st.one_of(reservoirs, drifts, noises, worlds))
def test_every_spec_survives_json(spec):
    text = json.dumps(spec.to_json(), allow_nan=False)
    again = ma.spec_from_json(json.loads(text))
    assert again == spec
    assert type(again) is type(spec)
    assert again.digest() == spec.digest()
    assert hash(again) == hash(spec)
    assert json.dumps(again.to_json(), allow_nan=False) == text


def test_every_kind_of_world_is_in_the_strategies():
    """A spec added to the package but not to the tests above would go untested."""
    kinds = {"reservoir", "drift", "noise", "world"}
    defined = {
        name
        for name, spec in vars(ma).items()
        if getattr(spec, "kind", None) in kinds and dataclasses.is_dataclass(spec)
    }
    assert defined == {
        "World", "PowerLaw", "Uniform", "BetaDistributed", "Empirical", "Mixture", "Trending",
        "Still", "Rotting", "Rising", "Crash", "JumpAt", "Phases", "RandomWalk", "Adversary", "Turnover", "Fatigue",
        "Stages", "Bernoulli", "GapUniform", "BetaNoise", "Gaussian", "Exact",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"type": "Nothing"}, ["'Nothing'", "Rotting"]),
        ({}, ["'type' is missing", "PowerLaw"]),
        ({"type": "PowerLaw", "beta": 1.0, "gamma": 2.0}, ["PowerLaw", "'gamma'", "beta"]),
        ({"type": "PowerLaw", "beta": -1.0}, ["PowerLaw", "beta", "-1.0"]),
        ({"type": "World", "reservoir": {"type": "Uniform", "low": 3}}, ["Uniform", "low", "3"]),
    ],
)
def test_bad_json_is_refused(values, parts):
    with pytest.raises(ValueError, match=parts[0]) as refused:
        ma.spec_from_json(values)
    for part in parts:
        assert part in str(refused.value)


def test_numpy_numbers_become_plain_ones():
    spec = ma.World(
        ma.PowerLaw(np.float32(0.5), top=np.float64(0.75)),
        ma.Phases(
            [ma.Adversary(np.int64(3), np.float32(0.5)), ma.JumpAt(np.int32(7), np.float64(-0.5))], [np.int64(9)]
        ),
        ma.BetaNoise(np.int64(2)),
    )
    assert ma.spec_from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert type(spec.drift.ends[0]) is int
    assert type(spec.reservoir.top) is float


# Somebody's own world, by the recipe of contract.register


class ShelfState(NamedTuple):
    good: float
    share: float


@dataclasses.dataclass(frozen=True)
class Shelf(ma.Reservoir):
    """Most arms are worthless; some are all equally good."""

    good: float
    share: float

    def start(self):
        return ShelfState(good=self.good, share=self.share)

    @property
    def top(self):
        return self.good


def shelf_mean(reservoir, bits):
    return reservoir.good if uniform(bits) < reservoir.share else 0.0


register(ShelfState, fresh_mean=shelf_mean)


class WearyState(NamedTuple):
    pace: float
    plays: int  # of all arms, in this run


@dataclasses.dataclass(frozen=True)
class Weary(ma.Drift):
    """The more has been played, of whatever arm, the faster arms fall."""

    pace: float

    def start(self):
        return WearyState(pace=self.pace, plays=0)


def begin_weary(drift, key):
    return WearyState(pace=drift.pace, plays=0)


def weary_moved(drift, play, reservoir):
    return WearyState(pace=drift.pace, plays=drift.plays + 1), play.mean - drift.pace * drift.plays


register(WearyState, begin=begin_weary, moved=weary_moved)


class CoarseState(NamedTuple):
    levels: float


@dataclasses.dataclass(frozen=True)
class Coarse(ma.Noise):
    """The mean, rounded up or down to a level at random."""

    levels: int

    def start(self):
        return CoarseState(levels=float(self.levels))


def coarse_reward(noise, mean, bits):
    return math.floor(mean * noise.levels + uniform(bits)) / noise.levels


register(CoarseState, reward_of=coarse_reward)

OWN_WORLD = ma.World(Shelf(0.75, 0.3), Weary(2.0**-12), Coarse(5))
OWN_POLICY = ma.Subsample(base=ma.Greedy(), beta=1.0, arms=6)


def test_ones_own_world_works_like_any_other():
    assert ma.spec_from_json(json.loads(json.dumps(OWN_WORLD.to_json()))) == OWN_WORLD
    log, values = run_log(OWN_POLICY, OWN_WORLD, 120, seed=1)
    check_rested(log)
    check_counts(log, [120], values[-1:])
    assert set(np.round(log.reward * 5).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(log.mean[:6].tolist()) == {0.0, 0.75}  # each arm's first play: nothing has fallen but arms played
    falls = np.minimum(log.mean, 2.0**-12 * np.arange(120))
    np.testing.assert_allclose(log.mean - log.next_mean, falls, rtol=0, atol=1e-15)


def test_ones_own_drift_forgets_the_run():
    result = ma.simulate(OWN_POLICY, OWN_WORLD, 120, replications=3, seed=1, checkpoints=[120], threads=1)
    alone = [run_log(OWN_POLICY, OWN_WORLD, 120, seed=1, replication=number)[1][-1] for number in range(3)]
    np.testing.assert_array_equal(result["Subsample"][:, 0], alone)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "world",
    [
        OWN_WORLD,
        # Inside the package's own states, too.
        ma.World(
            ma.Mixture([Shelf(0.9, 0.5), ma.Uniform()]),
            ma.Phases([ma.Still(), Weary(2.0**-10)], ends=[40]),
            ma.Bernoulli(),
        ),
    ],
    ids=lambda world: world.label(),
)
def test_ones_own_world_compiles_and_agrees_and_is_not_cached(world):
    cached = list(play_replications.cached.signatures)
    uncached = list(play_replications.uncached.signatures)
    result = ma.simulate(OWN_POLICY, world, 120, seed=1, checkpoints=120, log=True)
    assert list(play_replications.cached.signatures) == cached
    assert len(play_replications.uncached.signatures) == len(uncached) + 1
    assert play_replications.uncached.stats.cache_path is None
    assert play_replications.cached.stats.cache_path is not None
    log, values = run_log(OWN_POLICY, world, 120, seed=1)
    np.testing.assert_array_equal(result["Subsample"][0].view(np.uint64), values.view(np.uint64))
    for compiled, plain in zip(result.log("Subsample"), log, strict=True):
        np.testing.assert_array_equal(compiled.view(np.uint64), plain.view(np.uint64))
    assert len(set(log.arm.tolist())) == 6


def test_a_state_without_kernels_is_refused_by_name():
    class Orphan(NamedTuple):
        unused: float

    with pytest.raises(TypeError, match=r"'reward_of' for the state type 'Orphan'.*register\(Orphan, reward_of=…\)"):
        reward_of(Orphan(0.0), 0.5, 0)
    with pytest.raises(ValueError, match=r"unknown verb 'reward'; the verbs are .*reward_of"):
        register(Orphan, reward=coarse_reward)


def test_another_spec_of_the_same_name_is_refused():
    with pytest.raises(TypeError, match=r"'Bernoulli' is already defined in manyarms\.noises"):
        dataclasses.make_dataclass("Bernoulli", [], bases=(ma.Noise,), frozen=True)
