"""Frames: the results of a study's cells as one table of pandas."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...results import Played, fields_of, frame_of
from .files import CellResult


def to_frame(results: Iterable[CellResult]) -> Any:
    """A tidy pandas frame: one row for each cell, replication and checkpoint.

    The numbers are followed by the seed and all fields of the policy, as it was played, and of the world, such as
    ``policy.type``, ``policy.beta`` and ``world.reservoir.beta``, to group by.
    """
    return frame_of(map(played, results))


def played(result: CellResult) -> Played:
    """A cell's part of the frame."""
    cell = result.cell
    policy = cell.policy.with_horizon(cell.horizon)
    return Played(
        names={"policy": cell.policy_name, "world": cell.world_name, "horizon": cell.horizon},
        facts={"seed": result.study.seed} | fields_of("policy", policy) | fields_of("world", cell.world),
        replications=np.arange(result.first, result.first + len(result.values)),
        rounds=result.rounds,
        values=result.values,
    )
