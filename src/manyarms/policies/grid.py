"""A grid of means, fine where it matters, and what is believed of an arm as masses on it.

Points are log-odds: means from 6 in a million to as near to 1. Around the centre they lie a given spacing apart, and
further and further away from it (a hyperbolic sine): so 32 of them tell apart two good arms that are much alike, and
yet know a bad arm at once. When centre or spacing change, masses are spread over their cells and collected in the new
ones.

A reward y of an arm with the mean p has the likelihood (p^y (1 - p)^(1 - y))^(1 / dispersion): that of a coin where the
dispersion is 1; where rewards vary less than coins do, by that factor in their variance, the curve is as much sharper.
But one reward in twenty is taken for as noisy as a coin, since many have a small variance and yet a long tail.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..apart import apart
from ..arithmetic import exponential, natural_log
from ..compiled import kernel, rarely, replaced
from ..lanes import LENGTH, meet, places
from ..row_functions import likelihoods
from ..rows import copy_row, excess, filter_row, shift

POINTS = LENGTH
"""So many."""

BELOW = 18
"""Of these below the centre: a search meets more bad arms than good ones."""

EDGE = 12.0
"""The largest log-odds."""

WIDEST = 0.5
"""The spacing that the grid begins with, and the largest that it has."""

FINEST = 0.02
"""No finer than that: a hundred thousand plays of an arm."""

OUTLIERS = 0.05
"""The share of rewards that are as noisy as coins."""

NOTHING = 1e-250
"""A likelihood below this says that all that was believed is wrong."""


class Grid(NamedTuple):
    """The points, and what is computed from them."""

    points: NDArray[np.float64]  # log-odds, from small to large
    means: NDArray[np.float64]
    misses: NDArray[np.float64]  # 1 - mean
    logs: NDArray[np.float64]  # of the misses
    nearness: NDArray[np.float64]  # 1 / (distance from the point below), 0 for the first; and one 0 more
    draft: NDArray[np.float64]  # for the next points
    cells: NDArray[np.float64]  # for masses on their way
    likelihood: NDArray[np.float64]  # of the last reward
    belief: NDArray[np.float64]  # masses for a moment
    centre: float = 0.0
    spacing: float = WIDEST


class Change(NamedTuple):
    """How arms are believed to change with a play."""

    resets: float = 0.0  # the probability that the arm is drawn anew
    falls: float = 0.0  # by so much its log-odds fall
    rises: float = 0.0


NO_CHANGE = Change()


def new_grid() -> Grid:
    """Room for one."""
    names = [name for name in Grid._fields if name not in Grid._field_defaults]
    arrays: Any = (np.zeros(POINTS + 1 if name == "nearness" else POINTS) for name in names)
    return Grid(*arrays)


# ---------------------------------------------------------------- points


@kernel
def mean_at(point: float) -> float:
    """The mean with these log-odds."""
    return 1.0 / (1.0 + exponential(-point))


@kernel
def point_at(mean: float) -> float:
    """The log-odds of a mean."""
    return natural_log(mean / (1.0 - mean))


@apart
def compute_means(grid: Grid) -> None:
    """All that follows from the points."""
    for k in places():
        point = grid.points[k]
        mean = mean_at(point)
        grid.means[k] = mean
        grid.misses[k] = 1.0 - mean
        grid.logs[k] = -natural_log(1.0 + exponential(point))
        grid.nearness[k] = 1.0 / (point - grid.points[k - 1]) if k > 0 else 0.0
    grid.nearness[POINTS] = 0.0
    meet()


@kernel
def stretched(curvature: float, count: float) -> float:
    """How many spacings lie ``count`` points away: sinh(curvature count) / curvature."""
    grown = exponential(curvature * count)
    return (grown - 1.0 / grown) / (2.0 * curvature)


@kernel
def curvature_for(spacings: float, count: int) -> float:
    """That so many points reach so many spacings away; 0 if an even grid is as fine."""
    if count >= spacings:
        return 0.0
    low, high = 1e-6, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if stretched(middle, count) < spacings:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@apart
def draft_side(grid: Grid, centre: float, spacing: float, count: int, side: float) -> None:
    """So many points on one side of the centre, the last at the edge."""
    distance = EDGE - side * centre
    curvature = curvature_for(distance / spacing, count)
    for j in range(1, count + 1):
        away = spacing * stretched(curvature, j) if curvature > 0.0 else distance / count * j
        grid.draft[BELOW + j if side > 0.0 else BELOW - j] = centre + side * away


@kernel
def spread_cell(grid: Grid, mass: float, start: float, end: float, cell: int) -> int:
    """Spread a mass evenly over an interval, into the new cells from ``cell`` on; return the last it reaches."""
    at = start
    while at < end:
        border = 0.5 * (grid.draft[cell] + grid.draft[cell + 1]) if cell < POINTS - 1 else end
        reached = min(border, end)
        if reached > at:
            grid.cells[cell] += mass * (reached - at) / (end - start)
            at = reached
        if at < end:
            cell += 1
    return cell


@apart
def carry_over(grid: Grid, masses: Any, offset: int) -> None:
    """Masses from the points to the draft."""
    for k in range(POINTS):
        grid.cells[k] = 0.0
    cell = 0
    for k in range(POINTS):
        left = grid.points[k] - 0.5 * (grid.points[max(k, 1)] - grid.points[max(k, 1) - 1])
        right = grid.points[k] + 0.5 * (grid.points[min(k, POINTS - 2) + 1] - grid.points[min(k, POINTS - 2)])
        while cell > 0 and 0.5 * (grid.draft[cell - 1] + grid.draft[cell]) > left:
            cell -= 1
        cell = spread_cell(grid, masses[offset + k], left, right, cell)
    for k in range(POINTS):
        masses[offset + k] = grid.cells[k]


@kernel
def draft_grid(grid: Grid, centre: float, spacing: float) -> None:
    """The next points."""
    grid.draft[BELOW] = centre
    draft_side(grid, centre, spacing, BELOW, -1.0)
    draft_side(grid, centre, spacing, POINTS - 1 - BELOW, 1.0)


@kernel
def redrawn(grid: Grid, centre: float, spacing: float) -> Grid:
    """The draft is the grid from now on."""
    for k in range(POINTS):
        grid.points[k] = grid.draft[k]
    compute_means(grid)
    return replaced(grid, centre=centre, spacing=spacing)


@kernel
def opened_grid(grid: Grid) -> Grid:
    """The first one."""
    draft_grid(grid, 0.0, WIDEST)
    return redrawn(grid, 0.0, WIDEST)


# ---------------------------------------------------------------- beliefs


@kernel
def judge_coin(grid: Grid, reward: float) -> None:
    """The likelihood of one reward, 0 or 1."""
    for k in places():
        grid.likelihood[k] = grid.means[k] if reward == 1.0 else grid.misses[k]
    meet()


@kernel
def judge_rewards(grid: Grid, total: float, plays: float, dispersion: float) -> None:
    """The likelihood of rewards that sum up to ``total``; 1 or a little more where it is largest."""
    outliers = OUTLIERS * math.sqrt(dispersion) if dispersion < 1.0 else 0.0
    likelihoods(grid.points, grid.logs, total, plays, dispersion, outliers, grid.likelihood)


@apart
def update(grid: Grid, masses: Any, offset: int, likelihood: Any, change: Change, steps: int, source: Any) -> float:
    """Multiply masses by a likelihood, and let them change as arms do, in so many steps; how likely that was.

    If nothing is left of them, all that was believed is wrong, and ``source`` takes their place.
    """
    total = filter_row(masses, offset, likelihood, grid.nearness, change.falls, change.rises, source, change.resets)
    for _ in range(steps - 1):
        shift(masses, offset, grid.nearness, change.falls, change.rises)
    if rarely(total < NOTHING):
        copy_row(source, 0, masses, offset)
        return NOTHING
    return total


@kernel
def mean_of(grid: Grid, masses: Any, offset: int) -> float:
    """The mean of masses that sum up to 1."""
    return excess(masses, offset, grid.means, 0.0)


@kernel
def excess_of(grid: Grid, masses: Any, offset: int, level: float) -> float:
    """By how much the mean exceeds the level, on average, where it does."""
    return excess(masses, offset, grid.means, level)


@apart
def believe(grid: Grid, masses: Any, offset: int, total: float, plays: float, dispersion: float) -> None:
    """Into ``grid.belief``: the masses after so many plays with this total."""
    judge_rewards(grid, total, plays, dispersion)
    copy_row(masses, offset, grid.belief, 0)
    if rarely(update(grid, grid.belief, 0, grid.likelihood, NO_CHANGE, 1, grid.belief) == NOTHING):
        copy_row(masses, offset, grid.belief, 0)
