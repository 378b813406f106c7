"""For tests of policies and bases: the comparison with their slow twins, and what Hypothesis draws for it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.compiled import IS_COMPILING
from manyarms.contract import Counts, ask, begin, counts, deliver, observe, pull
from manyarms.post import new_post
from manyarms.replication import begun_policy
from manyarms.streams import replication_key
from manyarms.trace import COLUMNS
from tests.reference import loop
from tests.reference.twins import twin_run

# ---------------------------------------------------------------- the comparison


def check_log(fast, slow):
    """All rounds, in order, so that a failure names the first round that differs."""
    fast_rows = zip(*(getattr(fast, name).tolist() for name in loop.LOG), strict=True)
    for t, (fast_row, slow_row) in enumerate(zip(fast_rows, slow, strict=True), start=1):
        assert dict(zip(loop.LOG, fast_row, strict=True)) == dict(zip(loop.LOG, slow_row, strict=True)), f"round {t}"


def check_columns(fast, checkpoints, slow):
    for row, t in zip(fast.tolist(), checkpoints.tolist(), strict=True):
        assert dict(zip(COLUMNS, row, strict=True)) == dict(zip(loop.COLUMNS, slow[t - 1], strict=True)), f"round {t}"


def check_same(spec, world, horizon, seed, replications=1):
    """Play both, compare every round and every checkpoint; return the fast log of the first replication and all."""
    result = ma.simulate({"it": spec}, world, horizon, replications=replications, seed=seed, log=True, threads=1)
    for replication in range(replications):
        log, columns = twin_run(spec, world, horizon, seed, replication)
        check_log(result.logs["it"][replication], log)
        check_columns(result["it"][replication], result.checkpoints, columns)
    return result.logs["it"][0], result


def played_plainly(spec, world, rounds, seed, replication):
    """The fast kernels as plain Python: rows of the log, of the counts, and ignored rewards, after each round."""
    told = spec.with_horizon(rounds)
    key = replication_key(seed, replication)
    policy = begun_policy(told, rounds, seed, replication)
    state, post = begin(world.start(told.slots(rounds)), key), begin(new_post(world.feedback), key)
    for t in range(1, rounds + 1):
        choice, episode = ask(policy, t), counts(policy).restarts + 1
        state, mean, after, reward = pull(state, choice.slot, choice.arm, t)
        post, policy = deliver(post, policy, state, choice, t, reward)
        policy = observe(policy, state, choice)
        row = (choice.arm, mean, after, reward, choice.probability, choice.block, episode)
        yield row, tuple(map(int, counts(policy)))


def check_plainly(spec, world, rounds, seed, replication=0):
    """The same choices and counts in every round, of kernels and twin; returns the counts at the end."""
    ignored = []
    log, columns = twin_run(spec, world, rounds, seed, replication, ignored)
    last = None
    for t, (row, last) in enumerate(played_plainly(spec, world, rounds, seed, replication)):
        assert dict(zip(loop.LOG, row, strict=True)) == dict(zip(loop.LOG, log[t], strict=True)), f"round {t + 1}"
        slow = dict(zip(loop.COLUMNS, columns[t], strict=True)) | {"ignored": ignored[t]}
        assert dict(zip(Counts._fields, last, strict=True)) == {name: slow[name] for name in Counts._fields}, t + 1
    return Counts(*last)


# Arms that break down, arms that wear out, and arms that stand still: of two types, so that less is compiled.
FLIPS = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.01, to=0.0), ma.Bernoulli())
WEAR = ma.World(ma.PowerLaw(beta=1.0), ma.Rotting("1/t"), ma.GapUniform())
COINS = ma.World(ma.PowerLaw(beta=1.0), ma.Crash(probability=0.0), ma.Bernoulli())

# ---------------------------------------------------------------- what is drawn

# Four worlds by the types of their parts: each pair of a policy and one of them is compiled once.
betas = st.one_of(
    st.sampled_from([0.5, 0.8, 1.0, 1.2, 2.0]),
    st.integers(300, 3000).map(lambda thousandths: thousandths / 1000),
)
betas_or_auto = st.one_of(betas, betas, st.just("auto"))
reservoirs = st.builds(ma.PowerLaw, beta=betas, top=st.sampled_from([1.0, 1.0, 0.8]))
tops = st.sampled_from([1.0, 1.0, 0.8])
inverse_trends = st.sampled_from([ma.Rotting("1/t"), ma.Rotting("30/t"), ma.Rising("3/t")])
other_trends = st.sampled_from(
    [ma.Rotting(0.02), ma.Rotting("5%"), ma.Rotting("t^-0.7"), ma.Rising(0.01), ma.Rising("5%"), ma.Rising("t^-0.7")]
)
crashes = st.builds(ma.Crash, probability=st.sampled_from([0.0, 0.01, 0.3]), to=st.sampled_from(["fresh", 0.0, 0.4]))
jumps = st.builds(ma.JumpAt, play=st.sampled_from([1, 2, 7, 30]), size=st.sampled_from([-0.5, -0.1, 0.2]))

still = st.builds(ma.World, reservoirs, st.just(ma.Still()), st.just(ma.Bernoulli()), tops)
trending = st.builds(ma.World, reservoirs, inverse_trends, st.just(ma.GapUniform()), tops)
crashing = st.builds(ma.World, reservoirs, crashes, st.just(ma.Bernoulli()), tops)
jumping = st.builds(ma.World, reservoirs, jumps, st.just(ma.Exact()), tops)
other_trending = st.builds(ma.World, reservoirs, other_trends, st.just(ma.GapUniform()), tops)
all_worlds = st.one_of(still, trending, crashing, jumping)
two_worlds = st.one_of(crashing, trending)
other_worlds = st.one_of(still, jumping)

# At 2^m - 2 rounds a block ends with the run, and the next one is opened and never played.
horizons = st.one_of(
    st.integers(1, 60), st.integers(60, 3000), st.sampled_from([2, 6, 14, 30, 62, 126, 254, 510, 1022, 2046])
)
seeds = st.integers(0, 2**64 - 1)


def maybe(*values):
    return st.sampled_from([None, *values])


told_horizons = st.sampled_from([None, None, "doubling", 50, 4096])

# With beta told or estimated and with a warm start or without, a policy has four types of state. All four are compiled
# in two worlds over one base, and the one that is PLAIN in the others and over other bases (of Subsample's two, the one
# that is TOLD): how a block begins is none of a base's business. As plain Python all are played in all.
PLAIN = {"beta": betas, "warm_start": st.just(False)} if IS_COMPILING else {}
TOLD = {"beta": betas} if IS_COMPILING else {}


def eliminations(**fields):
    fields = {"beta": betas_or_auto, "warm_start": maybe(True, False), "top": tops} | fields
    return st.builds(
        ma.Elimination,
        preset=st.sampled_from(["paper", "published", "calibrated"]),
        threshold=maybe(0.02, 0.1, 0.3),
        log_base=maybe(2, "e", 10.0),
        log_factor=maybe(True, False),
        cap=maybe(True, False),
        horizon=told_horizons,
        **fields,
    )


def blackboxes(base, **fields):
    fields = {"beta": betas_or_auto, "warm_start": maybe(True, False), "top": tops} | fields
    return st.builds(
        ma.Blackbox,
        base=base,
        preset=st.sampled_from(["paper", "published", "calibrated"]),
        threshold=maybe(0.05, 0.2, 0.5),
        log_power=maybe(0.0, 1.0, 1.5),
        log_base=maybe(2, "e", 10.0),
        log_factor=maybe(True, False),
        base_horizon=maybe("block", "run"),
        horizon=told_horizons,
        **fields,
    )


def subsamples(base, **fields):
    fields = {"beta": betas_or_auto} | fields
    return st.builds(ma.Subsample, base=base, arms=maybe(1, 2, 3, 17, 64), horizon=told_horizons, **fields)


ssucbs = st.builds(
    ma.SSUCB,
    beta=betas_or_auto,
    preset=st.sampled_from(["paper", "published", "calibrated"]),
    sigma=maybe(0.1, 0.5),
    arms=maybe(1, 2, 3, 17, 64),
    horizon=told_horizons,
)
ucbs = st.builds(ma.UCB, width=st.sampled_from([2.0, 0.5, 0.1]))
asymptotic_ucbs = st.builds(ma.AsymptoticUCB, sigma=st.sampled_from([1.0, 0.5, 0.1]))

greedies = st.just(ma.Greedy())
successive = st.just(ma.SuccessiveElimination())
k_failures = st.builds(ma.KFailure, failures=st.sampled_from([1, 2, 5, 40]))
oracles = st.builds(ma.Oracle, keep=st.sampled_from([1, 2, 3, 20, 256]))


def plays_as_its_twin(specs, worlds, horizons=horizons, examples=60):
    """A test of what these strategies draw. As plain Python the same kernels make the same choices: fewer cases do."""

    @settings(deadline=None, derandomize=True, max_examples=examples if IS_COMPILING else examples // 3)
    @given(specs, worlds, horizons, seeds)
    def test(spec, world, horizon, seed):
        check_same(spec, world, horizon, seed)

    return test


def plays_plainly_as_its_twin(specs, worlds, horizons=horizons, examples=20):
    """The same of the kernels as plain Python, for types that nothing else plays: to compile them takes too long."""

    @pytest.mark.once
    @settings(deadline=None, derandomize=True, max_examples=examples)
    @given(specs, worlds, horizons, seeds)
    def test(spec, world, horizon, seed):
        check_plainly(spec, world, horizon, seed)

    return test
