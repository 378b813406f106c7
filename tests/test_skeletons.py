"""The skeletons of docs/skeletons: each keeps every promise, and the policy plays as the twin beside it."""

import ast

import numpy as np
import pytest

import manyarms as ma
from manyarms.checks import LATE_WORLD, checks
from tests.reference.loop import play
from tests.reference.squares import POLICY_STREAM, bits_at, replication_key, stream_key, uniform
from tests.reference.world import NaiveWorld
from tests.skeletons import FOLDER, skeleton
from tests.twinned import FLIPS, check_columns, check_log, played_plainly


def world():
    """Of a reservoir, a drift and a noise: together, so that less is compiled."""
    parts = [skeleton(file) for file in ("reservoir.py", "drift.py", "noise.py")]
    return ma.World(parts[0].Shelves(), parts[1].Gusts(), parts[2].Grades())


@pytest.mark.compiled
@pytest.mark.parametrize(
    "spec",
    [skeleton("policy.py").Auditions.examples()[0], skeleton("base.py").Curious(epsilon=0.3), world()],
    ids=["policy", "base", "world"],
)
def test_skeletons_keep_every_promise(spec):
    for _, check in checks(spec):
        check()


def twin_played(spec, world, rounds, seed, ignored=None):
    key = stream_key(replication_key(seed, 0), POLICY_STREAM, spec.digest())
    numbers = (lambda t: uniform(bits_at(key, t, 0))), spec.arms, spec.length
    twin = skeleton("twin.py").auditions
    return play(lambda counts: twin(counts, *numbers), NaiveWorld(world, seed, 0), rounds, ignored)


@pytest.mark.parametrize(("arms", "length"), [(1, 1), (2, 3), (3, 20), (7, 50)])
def test_the_policy_plays_as_its_twin(arms, length):
    spec, seed, rounds = skeleton("policy.py").Auditions(arms, length), 5, 400
    log, columns = twin_played(spec, FLIPS, rounds, seed)
    result = ma.simulate({"it": spec}, FLIPS, rounds, seed=seed, log=True)
    check_log(result.logs["it"][0], log)
    check_columns(result["it"][0], result.checkpoints, columns)


@pytest.mark.once
@pytest.mark.parametrize(("arms", "length"), [(1, 1), (2, 3), (3, 20), (7, 50)])
def test_the_policy_hears_of_late_answers_what_its_twin_hears(arms, length):
    spec, seed, rounds = skeleton("policy.py").Auditions(arms, length), 5, 400
    ignored = []
    log, _ = twin_played(spec, LATE_WORLD, rounds, seed, ignored)
    played = list(played_plainly(spec, LATE_WORLD, rounds, seed, 0))
    assert [row for row, _ in played] == log
    assert [counts[3] for _, counts in played] == ignored
    assert (ignored[-1] > 0) == (arms > 1)  # a single arm always stays


@pytest.mark.once
def test_every_kind_has_a_skeleton():
    kinds = {path.stem for path in FOLDER.glob("*.py")} - {"twin"}
    assert kinds == {"policy", "base", "reservoir", "drift", "noise"}


@pytest.mark.once
def test_skeletons_show_the_rules_that_are_easy_to_miss():
    called = {
        path.stem: {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        for path in FOLDER.glob("*.py")
    }
    assert {"bits_at", "UNSET_KEY", "NDArray", "replaced", "kernel", "defer", "settle"} <= called["policy"]
    assert {"bits_at", "follow", "Rewards", "replaced", "kernel", "expected_in", "revise"} <= called["base"]
    assert {"follow", "NDArray"} <= called["reservoir"]
    assert {"bits_at", "follow", "replaced"} <= called["drift"]
    assert "uniform" in called["noise"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("file", "name", "values", "message"),
    [
        ("policy.py", "Auditions", {"arms": 0}, "Auditions: arms must be a whole number of at least 1, not 0"),
        ("base.py", "Curious", {"epsilon": 2}, r"Curious: epsilon must lie in \[0, 1\], not 2"),
        ("reservoir.py", "Shelves", {"means": ()}, "Shelves: means is empty; give at least one number"),
        ("reservoir.py", "Shelves", {"means": (0.5, 2)}, r"Shelves: each of the means must lie in \[0, 1\], not 2"),
        ("drift.py", "Gusts", {"size": 0}, "Gusts: size must be above 0, not 0"),
        ("noise.py", "Grades", {"grades": 1}, "Grades: grades must be a whole number of at least 2, not 1"),
    ],
)
def test_their_fields_check_themselves(file, name, values, message):
    with pytest.raises(ValueError, match=message):
        getattr(skeleton(file), name)(**values)


@pytest.mark.once
def test_the_noise_has_the_grades_beside_the_mean():
    module = skeleton("noise.py")
    state = module.Grades(5).start()
    bits = np.random.default_rng(1).integers(2**64, size=200, dtype=np.uint64)
    assert {module.reward_of(state, 0.6, int(word)) for word in bits} == {0.5, 0.75}
    assert {module.reward_of(state, 0.75, int(word)) for word in bits} == {0.75}
