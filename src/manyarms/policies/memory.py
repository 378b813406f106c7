"""Arms that are remembered, so that the reservoir can learn of them again.

One step of expectation maximisation for each arm is far from what a likelihood says of all arms together: a few plays
of an arm tell little, and what was thought of arms at first would stay for long. So arms are remembered by their plays
and rewards, and each arm that is learned of is followed by steps for some of them, in turn.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, replaced
from ..rows import copy_row
from .grid import Grid
from .learned_reservoir import PRIOR_ARMS, Known, LearnedReservoir, add_step, said_by, step_of, with_steps

REMEMBERED = 256
"""So many arms are remembered."""

REPLAYS = 8
"""With each arm that is learned of, steps are made for so many of them,"""

LONGEST_REPLAYS = 0.3
"""that move the reservoir by no more than this in all,"""

REPLAYS_AT_FIRST = 4000
"""while there were no more of them than this,"""

ROUNDS_A_REPLAY = 2
"""and one more in so many rounds: what learning may cost."""


BEFORE, NOW = -2, -1
"""The steps for an arm come before those for the remembered ones: what was made of it is taken out, and put in."""


class Memory(NamedTuple):
    """The remembered arms."""

    plays: NDArray[np.float64]  # place -> plays of an arm
    totals: NDArray[np.float64]  # place -> their rewards
    held: NDArray[np.int64]  # place -> the arm's number, from 1, while it may be played again; then 0
    arms: int = 0  # how many are remembered
    newest: int = -1  # the place where an arm was last remembered
    turn: int = 0  # the place that is looked at next
    replayed: int = 0  # steps made for remembered arms


def new_memory() -> Memory:
    """Room for one."""
    return Memory(plays=np.zeros(REMEMBERED), totals=np.zeros(REMEMBERED), held=np.zeros(REMEMBERED, dtype=np.int64))


@kernel
def opened_memory(memory: Memory) -> Memory:
    """Nothing is remembered."""
    for place in range(REMEMBERED):
        memory.plays[place] = 0.0
        memory.totals[place] = 0.0
        memory.held[place] = 0
    return replaced(memory, arms=0, newest=-1, turn=0, replayed=0)


@kernel
def next_place(memory: Memory) -> int:
    """Where to remember one more arm: in place of the oldest that will not be played again, or else of the oldest."""
    place = memory.newest
    for _ in range(REMEMBERED):
        place = place + 1 if place + 1 < REMEMBERED else 0
        if memory.held[place] == 0:
            return place
    return memory.newest + 1 if memory.newest + 1 < REMEMBERED else 0


@kernel
def is_remembered(memory: Memory, place: int, arm: int) -> Any:
    """Whether an arm that was remembered there still is."""
    return memory.held[place] == arm + 1


@kernel
def let_go(memory: Memory, place: int, arm: int) -> None:
    """The arm that was remembered there will not be played again."""
    if place >= 0 and is_remembered(memory, place, arm):
        memory.held[place] = 0


@kernel
def affordable_replays(memory: Memory, rounds: int) -> int:
    """How many steps to make for remembered arms, after so many rounds."""
    is_affordable = memory.replayed < REPLAYS_AT_FIRST + rounds / ROUNDS_A_REPLAY
    return min(REPLAYS, memory.arms) if is_affordable else 0


@kernel
def with_arm_remembered(
    memory: Memory,
    reservoir: LearnedReservoir,
    grid: Grid,
    place: int,
    arm: int,
    now: Known,
    replays: int,
    dispersion: float,
) -> tuple[Memory, LearnedReservoir, int]:
    """Let the reservoir learn of an arm, and of some that are remembered; where the arm is remembered now.

    ``place`` is where it was before, and is still; or -1.
    """
    is_first = place < 0
    if is_first:
        place = next_place(memory)
        memory.held[place] = arm + 1
        memory.plays[place] = 0.0
    step = step_of(reservoir, is_first)
    again = min(step, LONGEST_REPLAYS / REPLAYS)
    # One that is still held when others of its time are forgotten is one of all arms, not one of those remembered.
    share = memory.arms / (reservoir.judged + (1.0 if is_first else 0.0) - PRIOR_ARMS)
    turn = memory.turn
    said = 0.0
    copy_row(reservoir.learned, 0, grid.cells, 0)
    for number in range(BEFORE if not is_first else NOW, replays):  # steps are a lot of code, which stands here once
        at = turn if number >= 0 else place
        if number == NOW:
            memory.plays[place] = now.plays
            memory.totals[place] = now.total
        known = Known(plays=memory.plays[at], total=memory.totals[at])
        length = again * share if memory.held[at] > 0 else again
        if number < 0:
            length = step if number == NOW else -step
        add_step(reservoir, grid, known, length, dispersion)
        if number == NOW:
            said = said_by(reservoir, grid)
        if number >= 0:
            turn = turn + 1 if turn + 1 < memory.arms else 0
    remembering = replaced(
        memory,
        arms=min(memory.arms + 1, REMEMBERED) if is_first else memory.arms,
        newest=place if is_first else memory.newest,
        turn=turn,
        replayed=memory.replayed + replays,
    )
    return remembering, with_steps(reservoir, grid, is_first, said), place
