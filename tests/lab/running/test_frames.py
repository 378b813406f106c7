"""A study's results as one frame, to group by whatever its policies and worlds differ in."""

import numpy as np
import pytest

import manyarms as ma
from manyarms.lab import CellResult, Study, to_frame
from manyarms.trace import COLUMNS

pytestmark = pytest.mark.once

STUDY = Study.of(
    "grouped",
    policies={"told": ma.Elimination(beta=1.0), "auto": ma.Elimination(beta="auto"), "fresh": ma.UniformPlay()},
    worlds={f"top {top}": ma.World(ma.PowerLaw(1.0, top=top), top=top) for top in (0.5, 1.0)},
    horizons=[100, 200],
    replications=5,
    seed=3,
    checkpoints=[50, 100],
)


def made_up(index, first=0):
    """Three replications of a cell, in which every number says where it stands."""
    checkpoints = STUDY.rounds_kept(STUDY.cells[index]).size
    values = np.arange(3 * checkpoints * len(COLUMNS), dtype=float).reshape(3, checkpoints, -1) + 1000 * index
    return CellResult(STUDY, index, first, values)


def test_a_frame_has_all_cells_with_what_they_are_of():
    results = [made_up(index, first=2) for index in range(len(STUDY.cells))]
    frame = to_frame(results)
    assert list(frame.columns)[:5] == ["policy", "world", "horizon", "replication", "round"]
    assert list(frame.columns)[5:15] == [*COLUMNS, "seed"]
    assert len(frame) == sum(3 * result.rounds.size for result in results)
    for result in results:
        cell = result.cell
        rows = (frame["policy"] == cell.policy_name) & (frame["world"] == cell.world_name)
        part = frame[rows & (frame["horizon"] == cell.horizon)]
        assert (part[list(COLUMNS)].to_numpy() == result.values.reshape(-1, len(COLUMNS))).all()
        assert part["replication"].tolist() == np.repeat([2, 3, 4], result.rounds.size).tolist()
        assert part["round"].tolist() == result.rounds.tolist() * 3
        assert set(part["world.reservoir.top"]) == set(part["world.top"]) == {cell.world.top}
        assert set(part["policy.type"]) == {type(cell.policy).__name__}
        if cell.policy_name != "fresh":
            assert set(part["policy.beta"]) == {cell.policy.beta}
            assert set(part["policy.horizon"]) == {cell.horizon}  # as it was played
    assert frame["policy.beta"].isna().equals(frame["policy"] == "fresh")


def test_a_frame_is_grouped_by_fields():
    results = [made_up(index) for index in range(len(STUDY.cells))]
    frame = to_frame(results)
    last = frame[frame["round"] == frame["horizon"]]
    means = last.groupby(["policy.beta", "world.top", "horizon"])["regret"].mean()
    assert len(means) == 8
    for result in results:
        if result.cell.policy_name != "fresh":
            found = means[result.cell.policy.beta, result.cell.world.top, result.cell.horizon]
            assert found == result.final("regret").mean()
