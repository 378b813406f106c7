"""What arms are, learned from arms: masses on a grid of means.

Each arm moves the masses by one step of expectation maximisation, and so do some of those that are remembered: steps
for new arms alone would be too few to find what all arms together say.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import power
from ..compiled import kernel, replaced
from .grid import POINTS, Grid, believe

FORGETTING = 0.7
"""The n-th arm moves the reservoir by n to the power of minus this. A step of 1 / n would never forget the first arms,
which are judged by what arms were thought to be when nothing was known. But where an arm says little (its rewards are
rare), such steps would take for ever: a step of 1 / n over what an arm says is as long as the arms' number allows."""

LONGEST_STEP = 0.3
"""No arm moves the reservoir by more than this."""

PRIOR_ARMS = 4.0
"""An even spread over the grid is where learning begins, as if so many arms had said so;"""

UNSEEN = 1.0
"""and of one arm more, however many were seen, no one knows,"""

LUCK = 4.0
"""but that its log-odds may be larger by this."""


ALIKE = 0.05
"""Such a share of what was learned goes to each neighbour on the grid: arms are like those that were seen, nearly."""

REMEMBERED = 256
"""So many arms are remembered: what they paid. One step for each arm is far from what a likelihood says of all of them:
a few plays of an arm tell little, and what was thought of arms at first would stay for long."""

REPLAYS = 8
"""With each arm that is learned of, steps are made for so many of those that are remembered,"""

LONGEST_REPLAYS = 0.3
"""that move the reservoir by no more than this in all,"""

REPLAYS_AT_FIRST = 4000
"""while there were no more of them than this,"""

ROUNDS_A_REPLAY = 2
"""and one more in so many rounds: what learning may cost."""


class LearnedReservoir(NamedTuple):
    """What a fresh arm is believed to be."""

    masses: NDArray[np.float64]  # point -> mass
    learned: NDArray[np.float64]  # point -> the same, from arms alone
    share_above: NDArray[np.float64]  # point -> mass from there on
    reward_above: NDArray[np.float64]  # point -> the same, times means
    plays: NDArray[np.float64]  # remembered arm -> its plays
    totals: NDArray[np.float64]  # remembered arm -> their rewards
    held: NDArray[np.int64]  # remembered arm -> 1 while it may be played again
    newest: int = -1  # the place where an arm was last remembered
    turn: int = 0  # the place that is looked at next
    replayed: int = 0  # steps made for remembered arms
    judged: float = PRIOR_ARMS  # arms that it has learned of
    said: float = PRIOR_ARMS  # the sum of what they said: how far they are from the reservoir, 1 at most


def new_reservoir() -> LearnedReservoir:
    """Room for one."""
    return LearnedReservoir(
        masses=np.zeros(POINTS),
        learned=np.zeros(POINTS),
        share_above=np.zeros(POINTS + 1),
        reward_above=np.zeros(POINTS + 1),
        plays=np.zeros(REMEMBERED),
        totals=np.zeros(REMEMBERED),
        held=np.zeros(REMEMBERED, dtype=np.int64),
    )


@kernel
def opened_reservoir(reservoir: LearnedReservoir, grid: Grid) -> LearnedReservoir:
    """Nothing is known."""
    for k in range(POINTS):
        reservoir.learned[k] = 1.0 / POINTS
    for place in range(REMEMBERED):
        reservoir.plays[place] = 0.0
        reservoir.totals[place] = 0.0
        reservoir.held[place] = 0
    clean = replaced(reservoir, newest=-1, turn=0, replayed=0, judged=PRIOR_ARMS, said=PRIOR_ARMS)
    sum_up(clean, grid)
    return clean


@kernel
def shift_up(grid: Grid, source: Any, target: Any, share: float) -> None:
    """Add a share of the masses of ``source`` to ``target``, where log-odds are larger by ``LUCK``."""
    above = 0
    for k in range(POINTS):
        point = min(grid.points[k] + LUCK, grid.points[POINTS - 1])
        while grid.points[above] < point:
            above += 1
        lower = (grid.points[above] - point) * grid.nearness[above]
        target[above] += share * source[k] * (1.0 - lower)
        target[max(above - 1, 0)] += share * source[k] * lower


@kernel
def sum_up(reservoir: LearnedReservoir, grid: Grid) -> None:
    """What was learned, and one arm that may be anything; and how much of it is above each point."""
    share = reward = 0.0
    unseen = UNSEEN / (reservoir.judged + UNSEEN)
    for k in range(POINTS):
        below = reservoir.learned[k - 1] if k > 0 else reservoir.learned[0]
        above = reservoir.learned[k + 1] if k + 1 < POINTS else reservoir.learned[k]
        alike = (1.0 - 2.0 * ALIKE) * reservoir.learned[k] + ALIKE * (below + above)
        reservoir.masses[k] = (1.0 - unseen) * alike
    shift_up(grid, reservoir.learned, reservoir.masses, unseen)
    reservoir.share_above[POINTS] = 0.0
    reservoir.reward_above[POINTS] = 0.0
    for i in range(POINTS):
        k = POINTS - 1 - i
        share += reservoir.masses[k]
        reward += reservoir.masses[k] * grid.means[k]
        reservoir.share_above[k] = share
        reservoir.reward_above[k] = reward


@kernel
def first_above(grid: Grid, level: float) -> int:
    """The first point whose mean is above a level."""
    low, high = 0, POINTS
    while low < high:
        middle = (low + high) // 2
        if grid.means[middle] > level:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def fresh_excess(reservoir: LearnedReservoir, grid: Grid, level: float) -> Any:
    """By how much a fresh arm exceeds a level on average, where it does."""
    k = first_above(grid, level)
    return max(reservoir.reward_above[k] - level * reservoir.share_above[k], 0.0)


@kernel
def mean_above(reservoir: LearnedReservoir, grid: Grid, level: float) -> Any:
    """What fresh arms above a level are worth."""
    k = first_above(grid, level)
    if reservoir.share_above[k] <= 1e-12:
        return grid.means[POINTS - 1]
    return reservoir.reward_above[k] / reservoir.share_above[k]


@kernel
def remembered(reservoir: LearnedReservoir) -> int:
    """How many arms."""
    return min(int(reservoir.judged - PRIOR_ARMS), REMEMBERED)


@kernel
def next_place(reservoir: LearnedReservoir) -> int:
    """Where to remember one more arm: in place of the oldest that will not be played again; -1 if all may."""
    place = reservoir.newest
    for _ in range(REMEMBERED):
        place = place + 1 if place + 1 < REMEMBERED else 0
        if reservoir.held[place] == 0:
            return place
    return -1


@kernel
def let_go(reservoir: LearnedReservoir, place: int) -> None:
    """The arm that is remembered there will not be played again."""
    if place >= 0:
        reservoir.held[place] = 0


@kernel
def affordable_replays(reservoir: LearnedReservoir, rounds: int) -> int:
    """How many steps to make for remembered arms, after so many rounds."""
    is_affordable = reservoir.replayed < REPLAYS_AT_FIRST + rounds / ROUNDS_A_REPLAY
    return min(REPLAYS, remembered(reservoir)) if is_affordable else 0


@kernel
def add_step(reservoir: LearnedReservoir, grid: Grid, place: int, step: float, dispersion: float) -> float:
    """Into ``grid.cells``: a step for a remembered arm; and how far it is from the reservoir."""
    believe(grid, reservoir.masses, 0, reservoir.totals[place], reservoir.plays[place], dispersion)
    said = 0.0
    for k in range(POINTS):
        away = grid.belief[k] - reservoir.masses[k]
        grid.cells[k] += step * away
        said += away * away / (reservoir.masses[k] + 1e-9)
    return said


@kernel
def with_arm_learned(
    reservoir: LearnedReservoir, grid: Grid, place: int, plays: int, total: float, replays: int, dispersion: float
) -> tuple[LearnedReservoir, int]:
    """Steps of expectation maximisation for an arm and for some that are remembered; and where it is remembered now.

    What was made of the arm before, if it is known already, is taken out.

    ``place`` is where it was before, or -1. An arm for which there is no place teaches nothing.
    """
    is_first = place < 0
    if is_first:
        place = next_place(reservoir)
        if place < 0:
            return reservoir, place
        reservoir.held[place] = 1
    judged = reservoir.judged + 1.0 if is_first else reservoir.judged
    step = min(max(power(judged, -FORGETTING), 1.0 / reservoir.said), LONGEST_STEP)
    for k in range(POINTS):
        grid.cells[k] = reservoir.learned[k]
    if not is_first:
        add_step(reservoir, grid, place, -step, dispersion)
    reservoir.plays[place] = plays
    reservoir.totals[place] = total
    said = add_step(reservoir, grid, place, step, dispersion)
    arms = remembered(reservoir)
    # One that is still held when others of its time are forgotten is one of all arms, not one of those remembered.
    share = arms / (judged - PRIOR_ARMS)
    turn = reservoir.turn
    again = min(step, LONGEST_REPLAYS / REPLAYS)
    for _ in range(replays):
        add_step(reservoir, grid, turn, again * share if reservoir.held[turn] == 1 else again, dispersion)
        turn = turn + 1 if turn + 1 < arms else 0
    summed = 0.0
    for k in range(POINTS):
        summed += max(grid.cells[k], 0.0)
    for k in range(POINTS):
        reservoir.learned[k] = max(grid.cells[k], 0.0) / summed
    learned = replaced(
        reservoir,
        newest=place if is_first else reservoir.newest,
        turn=turn,
        replayed=reservoir.replayed + replays,
        judged=judged,
        said=reservoir.said + min(said, 1.0) if is_first else reservoir.said,
    )
    sum_up(learned, grid)
    return learned, place
