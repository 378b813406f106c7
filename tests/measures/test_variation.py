"""Variation: V, V_R, L and L_R from a log are those of the definition, and to the bit those that a simulation keeps."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manyarms as ma
from manyarms.checks import examples
from manyarms.measures import Variation, realized_variation
from manyarms.replication import play_replications, replicate
from manyarms.trace import COLUMNS
from tests.reference import variation as reference

MEASURES = tuple(COLUMNS.index(name) for name in ("V", "V_R", "L", "L_R"))

exactly = settings(derandomize=True, deadline=None, max_examples=150)


def played(policy, world, horizon, seed=3):
    """A log, and the columns of a run at every round: the loop as plain Python."""
    rounds, plain = np.arange(1, horizon + 1), play_replications.function
    run = replicate(policy, world, horizon, 1, seed, checkpoints=rounds, log=True, loop=plain)
    return run.logs[0], run.out[0]


def check_columns(found, columns):
    """The same bits in every column and round."""
    for array, column in zip(found, MEASURES, strict=True):
        assert array.astype(float).tobytes() == np.ascontiguousarray(columns[:, column]).tobytes()


WORLDS = [spec for spec in examples() if spec.kind == "world"]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.label()[:60])
def test_a_log_of_every_kind_of_world_has_the_columns_of_its_run_to_the_bit(world):
    for policy in (ma.Elimination(beta=1.0), ma.UniformPlay(), ma.Subsample(base=ma.Greedy(), beta=1.0, arms=7)):
        log, columns = played(policy, world, 250)
        check_columns(realized_variation(log.arm, log.mean, log.next_mean), columns)


def test_the_worlds_above_move_in_every_way():
    moved = {"rise": 0, "fall": 0, "both": 0, "stand still": 0}
    for world in WORLDS:
        log, _ = played(ma.Subsample(base=ma.Greedy(), beta=1.0, arms=7), world, 250)
        found = realized_variation(log.arm, log.mean, log.next_mean)
        total, rotting = found.variation[-1], found.rotting_variation[-1]
        kind = "stand still" if total == 0 else "rise" if rotting == 0 else "fall" if rotting == total else "both"
        moved[kind] += 1
    assert all(moved.values()), moved


@pytest.mark.compiled
def test_a_compiled_run_keeps_the_same_numbers_at_its_checkpoints():
    world = ma.World(ma.PowerLaw(beta=1.0), ma.RandomWalk(size=0.05))
    result = ma.simulate(ma.Elimination(beta=1.0), world, horizon=20_000, replications=2, seed=5, log=True)
    for replication in range(2):
        log = result.log("Elimination", replication)
        found = realized_variation(log.arm, log.mean, log.next_mean)
        at_checkpoints = Variation(*(array[result.checkpoints - 1] for array in found))
        check_columns(at_checkpoints, result["Elimination"][replication])


@st.composite
def runs(draw):
    """Short runs, some of them of restless worlds; means are often equal, so that nothing changes."""
    means = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.0, 1.0))
    rounds = draw(st.integers(1, 25))
    arms = draw(st.lists(st.integers(-2, 3), min_size=rounds, max_size=rounds))
    now, run = {}, ([], [], [])
    is_restless = draw(st.booleans())
    for arm in arms:
        mean = draw(means) if arm not in now or is_restless else now[arm]
        now[arm] = draw(st.one_of(st.just(mean), means))
        for column, value in zip(run, (arm, mean, now[arm]), strict=True):
            column.append(value)
    return run


@exactly
@given(runs(), st.sampled_from(["round", "play"]))
def test_every_round_is_that_of_the_twin_to_the_bit(run, until):
    found = realized_variation(*run, until=until)
    for t in range(1, len(run[0]) + 1):
        assert tuple(array[t - 1] for array in found) == reference.measures(*run, 1, t, until)


@exactly
@given(runs())
def test_what_must_be_true_of_the_four(run):
    found = realized_variation(*run)
    for array in found:
        assert array[0] == 0
        assert (np.diff(array) >= 0).all()
    slack = 1e-12
    assert (found.rotting_variation <= found.variation + slack).all()
    assert (found.variation <= found.changes + slack).all()
    assert (found.rotting_variation <= found.rotting_changes + slack).all()
    assert (found.rotting_changes <= found.changes).all()
    # Rises less falls are the signed changes.
    signed = np.concatenate([[0.0], np.cumsum(np.subtract(run[2], run[1])[:-1])])
    np.testing.assert_allclose(found.variation - 2 * found.rotting_variation, signed, atol=1e-12)


def test_the_change_after_the_last_play_is_not_counted_and_the_one_before_is():
    found = realized_variation([1, 1, 2, 1], [0.9, 0.7, 0.8, 0.7], [0.7, 0.7, 1.0, 0.2])
    assert found.variation.tolist() == pytest.approx([0.0, 0.2, 0.2, 0.4])
    assert found.rotting_variation.tolist() == pytest.approx([0.0, 0.2, 0.2, 0.2])
    assert found.changes.tolist() == [0, 1, 1, 2]
    assert found.rotting_changes.tolist() == [0, 1, 1, 1]


def test_until_play_sees_what_moves_at_rest_and_changes_nothing_else():
    # Arm 0 falls by 0.5 while arm 1 is played: only the way to its next play shows it.
    restless = ([0, 1, 0, 0], [1.0, 0.5, 0.5, 0.5], [1.0, 0.5, 0.5, 0.5])
    assert realized_variation(*restless).variation.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert realized_variation(*restless, until="play").rotting_variation.tolist() == [0.0, 0.5, 0.5, 0.5]
    log, _ = played(ma.Elimination(beta=1.0), ma.World(ma.PowerLaw(1.0), ma.RandomWalk(size=0.05)), 300)
    rested = (log.arm, log.mean, log.next_mean)
    for by_round, by_play in zip(realized_variation(*rested), realized_variation(*rested, until="play"), strict=True):
        assert by_round.tobytes() == by_play.tobytes()


def test_an_empty_run_and_a_single_round():
    for rounds in (0, 1):
        found = realized_variation(np.zeros(rounds, dtype=int), np.zeros(rounds), np.ones(rounds))
        assert [array.tolist() for array in found] == [[0.0] * rounds] * 2 + [[0] * rounds] * 2


def test_long_runs_are_summed_round_by_round():
    # A pairwise sum would differ from the loop's in the last bits.
    source = random.Random(4)
    means = [source.random() for _ in range(5000)]
    total = 0.0
    for mean, after in itertools.pairwise(means):
        total += abs(mean - after)
    found = realized_variation([0] * 5000, means, [*means[1:], 0.5])
    assert found.variation[-1] == total
    assert total != np.abs(np.diff(means)).sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"until": "never"}, "realized_variation: until must be one of 'round', 'play', not 'never'"),
        ({"until": None}, "until must be one of 'round', 'play', not None"),
        ({"arms": [0.5, 1.0]}, "arms must hold whole numbers, not float64"),
        ({"means": [0.5, 1.5]}, r"means must lie in \[0, 1\], not 1.5 in round 2; scale rewards"),
        ({"next_means": [0.5]}, "arms has 2 rounds but next_means has 1; give one entry for each round"),
    ],
)
def test_bad_runs_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        realized_variation(**{"arms": [0, 1], "means": [0.5, 0.5], "next_means": [0.5, 0.5]} | change)
