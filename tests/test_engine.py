"""The simulation: the same to the bit in every way it can be run, and clear about what it cannot do."""

import itertools
import json
import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import manyarms as ma
from manyarms import engine
from manyarms.checks import BUSY_WORLD, examples
from manyarms.engine import DEFAULT_CHECKPOINTS, checkpoint_rounds
from manyarms.policies.elimination import subsample_size
from manyarms.trace import COLUMNS, Log

POLICIES = {spec.label(): spec for spec in examples() if isinstance(spec, ma.Policy)}
QUICK = ma.Elimination(beta=1.0, preset="published", threshold=0.1)
BOX = ma.Blackbox(base=ma.UCB(), beta=1.0, threshold=0.1)


def simulate(policies=QUICK, horizon=200, replications=5, seed=3, **options):
    # One type of world and one type of log for all tests of this file, so that little is compiled.
    options = {"log": True, "threads": 1} | options
    return ma.simulate(policies, BUSY_WORLD, horizon, replications, seed, **options)


def bits(result):
    """Everything a result holds, as bytes."""
    return {
        name: (
            result[name].tobytes(),
            result.replications[name].tolist(),
            {number: [part.tobytes() for part in log] for number, log in sorted(result.logs[name].items())},
        )
        for name in result.policies
    }


# The same in every way.


@pytest.mark.parametrize("threads", [2, 3, 7, 50, None])
def test_threads_change_nothing(threads):
    policies = [QUICK, BOX]
    assert bits(simulate(policies, threads=threads)) == bits(simulate(policies))


def test_threads_change_nothing_without_a_log():
    runs = [simulate([QUICK, BOX], replications=9, threads=threads, log=False) for threads in (1, 2, 4)]
    assert bits(runs[0]) == bits(runs[1]) == bits(runs[2])


def test_a_log_changes_nothing():
    logged, plain = simulate([QUICK, BOX]), simulate([QUICK, BOX], log=False)
    for name in logged.policies:
        assert logged[name].tobytes() == plain[name].tobytes()
    assert plain.logs == {"Elimination": {}, "Blackbox": {}}


def test_progress_changes_nothing():
    assert bits(simulate(progress=lambda done, whole: None)) == bits(simulate())


def test_other_policies_change_nothing():
    alone = bits(simulate({"it": QUICK}))["it"]
    for others in ({"a": BOX, "it": QUICK, "z": ma.UniformPlay()}, {"it": QUICK, "twin": QUICK}):
        together = bits(simulate(others))
        assert together["it"] == alone
    assert together["twin"] == alone


def test_more_replications_change_nothing():
    few, many = simulate(replications=3), simulate(replications=8)
    assert few["Elimination"].tobytes() == many["Elimination"][:3].tobytes()


def test_names_change_nothing():
    assert bits(simulate({"some name": QUICK}))["some name"] == bits(simulate(QUICK))["Elimination"]


def test_a_seed_is_a_seed():
    assert bits(simulate(seed=5)) == bits(simulate(seed=np.uint64(5)))
    assert bits(simulate(seed=5)) != bits(simulate(seed=6))
    assert bits(simulate(seed=2**64 - 1)) != bits(simulate(seed=0))


def test_replications_differ():
    finals = simulate(ma.UniformPlay(), replications=20).final_regret("UniformPlay")
    assert len(set(finals.tolist())) == 20


REPORT = """
import json, sys
import manyarms as ma
from manyarms.checks import BUSY_WORLD, examples
policies = {spec.label(): spec for spec in examples() if isinstance(spec, ma.Policy)}
result = ma.simulate(policies, BUSY_WORLD, 300, replications=2, seed=12, checkpoints=5, log=True, threads=1)
found = {
    name: [[value.hex() for value in result[name].ravel().tolist()]]
    + [[value.hex() for value in part.astype(float).tolist()] for part in result.log(name, 1)]
    for name in policies
}
json.dump(found, sys.stdout)
"""


def in_another_process(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def here():
    result = ma.simulate(POLICIES, BUSY_WORLD, 300, replications=2, seed=12, checkpoints=5, log=True, threads=1)
    return {
        name: [[value.hex() for value in result[name].ravel().tolist()]]
        + [[value.hex() for value in part.astype(float).tolist()] for part in result.log(name, 1)]
        for name in POLICIES
    }


def test_another_process_finds_the_same(here):
    there = in_another_process(REPORT, PYTHONHASHSEED="5")
    assert there == here


@pytest.fixture(scope="module")
def uncompiled():
    return in_another_process(REPORT, NUMBA_DISABLE_JIT="1")


@pytest.mark.compiled
@pytest.mark.parametrize("name", list(POLICIES))
def test_compiled_equals_uncompiled(name, here, uncompiled):
    for part, compiled, plain in zip(("columns", *Log._fields), here[name], uncompiled[name], strict=True):
        assert compiled == plain, part


# Checkpoints.


def test_checkpoints_by_number():
    assert checkpoint_rounds(4, 1000).tolist() == [250, 500, 750, 1000]
    assert checkpoint_rounds(3, 10).tolist() == [4, 7, 10]
    assert checkpoint_rounds(1, 10).tolist() == [10]
    assert checkpoint_rounds(50, 10).tolist() == list(range(1, 11))
    assert checkpoint_rounds(np.int64(2), 10).tolist() == [5, 10]
    assert checkpoint_rounds(None, 10**6).size == DEFAULT_CHECKPOINTS
    assert checkpoint_rounds(None, 1).tolist() == [1]


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 10, 63, 64, 65, 99, 1000, 1001, 2**31 - 1])
@pytest.mark.parametrize("number", [1, 2, 3, 7, 10, 64, 100])
def test_checkpoints_by_number_are_as_many_and_end_at_the_end(number, horizon):
    rounds = checkpoint_rounds(number, horizon)
    assert rounds.size == min(number, horizon)
    assert rounds[-1] == horizon
    assert rounds[0] >= 1
    assert (np.diff(rounds) >= 1).all()
    if rounds.size > 1:
        assert np.ptp(np.diff(np.concatenate([[0], rounds]))) <= 1


@pytest.mark.parametrize("given", [[5, 1, 5], (1, 5), np.array([5, 1]), [1.0, 5.0, 10], range(1, 6, 4)], ids=repr)
def test_checkpoints_by_list_are_sorted_and_the_last_round_is_added(given):
    assert checkpoint_rounds(given, 10).tolist() == [1, 5, 10]
    assert simulate(horizon=10, checkpoints=given).checkpoints.tolist() == [1, 5, 10]
    assert checkpoint_rounds([], 10).tolist() == [10]


@pytest.mark.parametrize("policy", [QUICK, BOX, ma.SSUCB(beta=1.0)], ids=lambda spec: type(spec).__name__)
def test_a_checkpoint_is_a_run_that_stops_there(policy):
    policy = policy.replace(horizon=400)
    long = simulate({"it": policy}, horizon=400, checkpoints=[1, 2, 17, 100, 399])
    assert long.checkpoints.tolist() == [1, 2, 17, 100, 399, 400]
    for place, round in enumerate([1, 2, 17, 100, 399, 400]):
        short = simulate({"it": policy}, horizon=round, checkpoints=1)
        assert short["it"][:, -1].tobytes() == long["it"][:, place].tobytes()
    every = simulate({"it": policy}, horizon=400, checkpoints=400)
    assert every["it"][:, [0, 1, 16, 99, 398, 399]].tobytes() == long["it"].tobytes()


def test_policies_are_told_the_horizon():
    result = simulate({"told": QUICK, "own": QUICK.replace(horizon=50), "none": QUICK.replace(horizon="doubling")})
    assert [spec.horizon for spec in result.policies.values()] == [200, 50, "doubling"]


# Progress and interruption.


def test_progress_counts_rounds_up_to_all_of_them():
    calls = []
    simulate([QUICK, BOX], replications=4, progress=lambda done, whole: calls.append((done, whole)))
    assert calls == [(200 * number, 1600) for number in range(1, 9)]


def interrupted_after(calls, error):
    seen = []

    def progress(done, whole):
        seen.append(done)
        if len(seen) == calls:
            raise error

    return progress


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_gives_back_what_is_finished(threads, monkeypatch):
    whole = simulate(replications=40)
    interrupted = threading.Event()
    starts = itertools.count(1)
    start = ma.Elimination.start

    def held_back(self, rounds):
        # Small replications would all be over before the interruption reaches the main thread.
        if next(starts) > 10:
            interrupted.wait()
            time.sleep(0.3)
        return start(self, rounds)

    def progress(done, whole):
        if done == 3 * 200:
            interrupted.set()
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ma.Elimination, "start", held_back)
        part = simulate(replications=40, threads=threads, progress=progress)
    assert whole.is_complete
    assert not part.is_complete
    finished = part.replications["Elimination"]
    assert 3 <= len(finished) <= 10
    assert part["Elimination"].tobytes() == whole["Elimination"][finished].tobytes()
    assert sorted(part.logs["Elimination"]) == finished.tolist()
    for number in finished:
        assert part.log("Elimination", number).arm.tobytes() == whole.log("Elimination", number).arm.tobytes()
    assert part.summary().rows[0]["replications"] == len(finished)
    assert bits(simulate(replications=40)) == bits(whole)


@pytest.mark.parametrize("error", [RuntimeError("full"), SystemExit(3)], ids=repr)
def test_an_exception_in_progress_is_raised_and_leaves_no_thread(error):
    before = set(threading.enumerate())
    with pytest.raises(type(error)) as raised:
        simulate(replications=40, threads=3, progress=interrupted_after(2, error))
    assert raised.value is error
    assert set(threading.enumerate()) == before


def test_an_exception_in_a_run_is_raised_and_leaves_no_thread(monkeypatch):
    before = set(threading.enumerate())

    def fails(self, rounds):
        raise MemoryError("too large")

    monkeypatch.setattr(ma.Elimination, "start", fails)
    with pytest.raises(MemoryError, match="too large"):
        simulate(replications=40, threads=3)
    assert set(threading.enumerate()) == before


@pytest.mark.compiled
def test_a_signal_stops_a_long_run_and_the_next_is_unaffected():
    code = """
import json, os, signal, sys, threading
import manyarms as ma
world = ma.World(ma.PowerLaw(beta=1.0))
ma.simulate(ma.UniformPlay(), world, 10)  # compile
calls = []
def progress(done, whole):
    calls.append(done)
    if len(calls) == 2:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
result = ma.simulate(ma.UniformPlay(), world, 5_000_000, replications=2000, seed=1, checkpoints=1000, threads=2,
                     progress=progress)
after = ma.simulate(ma.UniformPlay(), world, 5_000_000, replications=2, seed=1, checkpoints=1, threads=2)
finished = result.replications["UniformPlay"].tolist()
json.dump({
    "complete": [result.is_complete, after.is_complete],
    "finished": finished,
    "first": result.final_regret("UniformPlay")[:2].tolist(),
    "again": after.final_regret("UniformPlay").tolist(),
    "threads": threading.active_count(),
}, sys.stdout)
"""
    found = in_another_process(code)
    assert found["complete"] == [False, True]
    assert 2 <= len(found["finished"]) < 2000
    assert found["finished"][:2] == [0, 1]
    assert found["first"] == found["again"]
    assert found["threads"] <= 2  # the main one, and the timer's if it is still ending


# What is refused.


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"horizon": 0}, ValueError, "simulate: horizon must be a whole number of at least 1, not 0"),
        ({"horizon": 1.5}, ValueError, r"simulate: horizon must be a whole number of at least 1, not 1\.5"),
        ({"horizon": "long"}, ValueError, "simulate: horizon must be a finite number, not 'long'"),
        ({"horizon": None}, ValueError, "simulate: horizon must be a finite number, not None"),
        ({"horizon": True}, ValueError, "simulate: horizon must be a finite number, not True"),
        ({"horizon": 2**31}, ValueError, r"horizon must be at most 2147483647 \(2\^31 - 1\), not 2147483648"),
        ({"horizon": 10**400}, ValueError, "horizon must be a finite number"),
        ({"replications": 0}, ValueError, "simulate: replications must be a whole number of at least 1, not 0"),
        ({"replications": -2}, ValueError, "replications must be a whole number of at least 1, not -2"),
        ({"seed": -1}, ValueError, r"seed must be a whole number from 0 to 2\^64 - 1, not -1"),
        ({"seed": 2**64}, ValueError, "seed must be a whole number .*, not 18446744073709551616"),
        ({"seed": None}, ValueError, "seed must be a whole number .*, not None"),
        ({"seed": 1.0}, ValueError, r"seed must be a whole number .*, not 1\.0"),
        ({"threads": 0}, ValueError, "simulate: threads must be a whole number of at least 1, not 0"),
        ({"threads": "all"}, ValueError, "simulate: threads must be a finite number, not 'all'"),
        ({"checkpoints": 0}, ValueError, "simulate: checkpoints must be a whole number of at least 1, not 0"),
        ({"checkpoints": True}, ValueError, "simulate: checkpoints must be a finite number, not True"),
        ({"checkpoints": 2.5}, TypeError, r"checkpoints must be a number of them or a list of rounds, not 2\.5"),
        ({"checkpoints": [0]}, ValueError, "each of the checkpoints must be a whole number of at least 1, not 0"),
        ({"checkpoints": [1.5]}, ValueError, r"each of the checkpoints must be a whole number .*, not 1\.5"),
        ({"checkpoints": ["a"]}, ValueError, "each of the checkpoints must be a finite number, not 'a'"),
        ({"checkpoints": [1, 201]}, ValueError, "simulate: checkpoint 201 lies beyond the horizon 200"),
        ({"policies": []}, ValueError, "simulate: no policy was given"),
        ({"policies": {}}, ValueError, "simulate: no policy was given"),
        ({"policies": ma.UniformPlay}, TypeError, r"UniformPlay'> is not a policy; write ma\.UniformPlay\(…\)"),
        ({"policies": [ma.UniformPlay]}, TypeError, r"is not a policy; write ma\.UniformPlay\(…\)"),
        ({"policies": {"a": ma.UCB()}}, TypeError, r"simulate: UCB\(width=2\.0\) is not a policy"),
        ({"policies": [ma.UniformPlay, ma.Oracle]}, TypeError, r"is not a policy; write ma\.UniformPlay\(…\)"),
        ({"policies": [QUICK, 3]}, TypeError, "simulate: 3 is not a policy"),
        ({"policies": 7}, TypeError, "simulate: 7 is not a policy"),
        ({"policies": "ab"}, TypeError, "simulate: 'ab' is not a policy"),
        ({"policies": [QUICK, QUICK]}, ValueError, r"the policy Elimination\(.*\) is given twice; name them"),
    ],
)
def test_bad_input_is_named(options, error, match):
    with pytest.raises(error, match=match):
        simulate(**options)


@pytest.mark.parametrize("world", [None, ma.World, ma.PowerLaw(beta=1.0), "world"], ids=repr)
def test_a_world_must_be_a_world(world):
    with pytest.raises(TypeError, match=r"simulate: world must be a World such as .*, not"):
        ma.simulate(QUICK, world, 10)


def test_names_of_policies():
    assert list(simulate([ma.UniformPlay(), QUICK]).policies) == ["UniformPlay", "Elimination"]
    other = QUICK.replace(threshold=0.2)
    assert list(simulate([QUICK, ma.UniformPlay(), other]).policies) == [QUICK.label(), "UniformPlay", other.label()]
    assert list(simulate(policy for policy in [BOX]).policies) == ["Blackbox"]
    assert list(simulate({"b": QUICK, "a": BOX}).policies) == ["b", "a"]


def test_one_round_is_a_simulation():
    result = simulate(POLICIES, horizon=1, replications=2)
    for name in result.policies:
        assert result[name].shape == (2, 1, len(COLUMNS))
        log = result.log(name, 1)
        assert 0 <= log.arm[0] < result.final(name, "arms")[1]
        assert result.final_regret(name)[1] == 1.0 - log.mean[0]
        assert (result.final(name, "V") == 0.0).all()


@pytest.mark.compiled
def test_compiled_and_plain_sizes_agree_where_powers_are_close_to_whole():
    # At this beta, the two forms of 2^x that a compiler may choose round to different sizes: one slot too few
    # would be written to. Both now come from the same four operations.
    spec = ma.Elimination(
        beta=9.004388907788188, log_factor=False, cap=False, warm_start=False, threshold=1e9, horizon=65534
    )
    result = ma.simulate(spec, ma.World(ma.Uniform()), 65534, seed=1, checkpoints=1)
    sizes = [subsample_size(spec.settings(), spec.beta, rank, 65534.0) for rank in range(1, 17)]
    assert result.final("Elimination", "arms")[0] == sum(sizes)
    assert spec.slots(65534) >= max(sizes)


@pytest.mark.parametrize(
    "spec", [ma.SSUCB(beta=50.0), ma.Elimination(beta=50.0, preset="paper", cap=False), ma.Subsample(ma.UCB(), 50.0)]
)
def test_too_many_slots_are_refused_before_anything_is_allocated(spec):
    with pytest.raises(
        ValueError, match=r"would keep [\d,]+ arms at a time within 2,000,000,000 rounds, some [\d,]+ GiB"
    ):
        ma.simulate(spec, ma.World(ma.Uniform()), 2_000_000_000)


def test_too_many_replications_are_refused_in_words():
    with pytest.raises(MemoryError, match=r"1,000,000,000,000 replications with 64 checkpoints, .* take [\d,]+ GB"):
        ma.simulate(QUICK, ma.World(ma.Uniform()), 100, 10**12)


def test_another_top_than_the_worlds_is_warned_of():
    with pytest.warns(UserWarning, match="Elimination counts losses from top=1, but the world .* top=0.3"):
        ma.simulate(ma.Elimination(beta=1.0), ma.World(ma.PowerLaw(1.0, top=0.3), top=0.3), 10)


def test_equal_specs_have_equal_streams():
    for one, other in [
        (ma.Elimination(beta=1, threshold=1, log_base=2), ma.Elimination(beta=1.0, threshold=1.0, log_base=2.0)),
        (ma.SSUCB(beta=1, sigma=np.float32(0.5)), ma.SSUCB(beta=1.0, sigma=0.5)),
        (ma.Blackbox(ma.UCB(), 1, log_power=3), ma.Blackbox(ma.UCB(), 1.0, log_power=3.0)),
        (ma.Elimination(beta=1.0, top=-0.0), ma.Elimination(beta=1.0, top=0.0)),
    ]:
        assert one == other
        assert one.digest() == other.digest()


def test_names_of_policies_are_text():
    with pytest.raises(TypeError, match="the names of policies must be text, not 1"):
        ma.simulate({1: QUICK}, ma.World(ma.Uniform()), 10)


@pytest.mark.compiled
def test_a_long_run_with_one_checkpoint_stops_soon():
    # Without a look at the flag between checkpoints, this would take minutes.
    program = (
        "import os, signal, threading, time, manyarms as ma\n"
        "world = ma.World(ma.Uniform(), noise=ma.Exact())\n"
        "ma.simulate(ma.UniformPlay(), world, 100)\n"
        "threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "result = ma.simulate(ma.UniformPlay(), world, 2_000_000_000, 40, checkpoints=1)\n"
        "print(result.is_complete, 'interrupted' in repr(result))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["False", "True"]


def test_more_arms_than_addresses_are_an_error(monkeypatch):
    monkeypatch.setattr(engine, "MOST_ARMS", 40)
    assert simulate(ma.UniformPlay(), horizon=40).final("UniformPlay", "arms")[0] == 40
    with pytest.raises(OverflowError, match="UniformPlay drew more than 40 arms"):
        simulate(ma.UniformPlay(), horizon=41)


@pytest.mark.once
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"replications": 10**10},
            "10,000,000,000 replications with 64 checkpoints, for each of 1 policies, take .* GB; ask",
        ),
        ({"horizon": 10**7, "replications": 10**6, "checkpoints": np.int64(10**7)}, "10,000,000 checkpoints, for"),
        ({"replications": 10**9, "checkpoints": range(1, 1000)}, "with 1,000 checkpoints, for"),
        ({"horizon": 10**9, "replications": 100, "log": True}, "a log of every round, for"),
    ],
)
def test_what_memory_cannot_hold_is_refused_before_anything_is_played(asked, words):
    with pytest.raises(MemoryError, match=words):
        ma.simulate(ma.UniformPlay(), ma.World(ma.PowerLaw(1.0)), **({"horizon": 1000} | asked))


@pytest.mark.once
@pytest.mark.parametrize(
    ("groups", "limits", "least"),
    [
        ("0::/", {"memory.max": "max\n"}, math.inf),
        ("0::/", {"memory.max": "3000\n"}, 3000),
        ("0::/jobs/7\n", {"memory.max": "9000", "jobs/memory.max": "2000", "jobs/7/memory.max": "max"}, 2000),
        ("4:cpu:/x\n3:memory:/x\n0::/", {"memory/x/memory.limit_in_bytes": "5", "x/memory.max": "1"}, 5),
        ("3:cpu,memory:/of the host", {"memory/memory.limit_in_bytes": "7"}, 7),
        ("2:cpu:/x", {"x/memory.max": "1", "memory/x/memory.limit_in_bytes": "1"}, math.inf),
        (None, {"memory.max": "1"}, math.inf),
    ],
)
def test_what_a_container_or_a_batch_system_allows_is_all_the_memory_there_is(tmp_path, groups, limits, least):
    if groups is not None:
        (tmp_path / "cgroup").write_text(groups)
    for name, limit in limits.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(limit)
    assert min(engine.memory_limits(tmp_path / "cgroup", tmp_path / "root"), default=math.inf) == least


@pytest.mark.once
def test_the_least_limit_counts(monkeypatch):
    before = engine.memory()
    monkeypatch.setattr(engine, "memory_limits", lambda: [5.0, 7.0])
    assert engine.memory() == 5.0 < before
    monkeypatch.setattr(engine, "memory_limits", lambda: [1e30])
    assert engine.memory() < 1e30


@pytest.mark.once
@pytest.mark.parametrize("checkpoints", [2 * 10**8, np.int64(2 * 10**8), range(2 * 10**8)])
def test_more_checkpoints_than_anybody_looks_at_are_refused_before_they_are_listed(checkpoints):
    with pytest.raises(ValueError, match="checkpoints must be at most 10,000,000, not 200,000,000"):
        ma.simulate(ma.UniformPlay(), ma.World(ma.PowerLaw(1.0)), 2 * 10**8, checkpoints=checkpoints)


@pytest.mark.once
def test_regret_from_less_than_the_best_is_warned_of():
    with pytest.warns(
        UserWarning, match=r"regret from top=0\.2, but fresh arms have means of up to 1: regret will be neg"
    ):
        ma.simulate(ma.UniformPlay(), ma.World(ma.PowerLaw(1.0), top=0.2), 10)
