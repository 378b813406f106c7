"""What arms are, learned from arms: masses on a grid of means.

Each arm moves the masses by one step of expectation maximisation. What was made of it before, if the reservoir learned
of it before, is taken out: no arm counts twice.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..apart import apart
from ..arithmetic import power
from ..compiled import kernel, replaced
from ..lanes import meet, places
from ..rows import copy_row
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
"""and of one arm more, however many were seen, no one knows, but that its log-odds may be larger:"""

LUCK = 10.0
"""by so many times as much as those of the best arms differ; but no more than"""

STRANGE = 4.0
"""this, by which they may be larger in any case, as if it were of a kind of which none was seen;"""

STRANGERS = 30.0
"""and that is half as likely when arms have said as much as so many that are known all through."""

BEST = 0.1
"""The best arms: such a share of all."""

FIRST_LOOK = 8
"""The reservoir learns of an arm after so many plays, at the latest; then after four times as many, and so on."""


ALIKE = 0.05
"""Where an arm is believed to be, such a share of what was learned goes to each neighbour on the grid: arms are like
those that were seen, nearly."""


class LearnedReservoir(NamedTuple):
    """What a fresh arm is believed to be."""

    masses: NDArray[np.float64]  # point -> mass
    learned: NDArray[np.float64]  # point -> the same, from arms alone
    share_above: NDArray[np.float64]  # point -> mass from there on that there is to hope for
    reward_above: NDArray[np.float64]  # point -> the same, times means
    blur: float = ALIKE  # such a share of what there is to hope for goes to each neighbour
    judged: float = PRIOR_ARMS  # arms that it has learned of
    said: float = PRIOR_ARMS  # the sum of what they said: how far they are from the reservoir, 1 at most


class Known(NamedTuple):
    """What the reservoir is told of an arm: its rewards so far."""

    plays: float
    total: float


def new_reservoir() -> LearnedReservoir:
    """Room for one."""
    return LearnedReservoir(
        masses=np.zeros(POINTS),
        learned=np.zeros(POINTS),
        share_above=np.zeros(POINTS + 1),
        reward_above=np.zeros(POINTS + 1),
    )


@kernel
def opened_reservoir(reservoir: LearnedReservoir, grid: Grid) -> LearnedReservoir:
    """Nothing is known."""
    for k in range(POINTS):
        reservoir.learned[k] = 1.0 / POINTS
    clean = replaced(reservoir, blur=ALIKE, judged=PRIOR_ARMS, said=PRIOR_ARMS)
    sum_up(clean, grid)
    return clean


@kernel
def spread_of_best(reservoir: LearnedReservoir, grid: Grid) -> Any:
    """By how much the log-odds of the best arms exceed those of the least of them, on average.

    Where log-odds have an exponential tail, the best of all is better than the next by as much, on average.
    """
    share = total = 0.0
    least = POINTS
    while share < BEST and least > 0:
        least -= 1
        mass = min(reservoir.learned[least], BEST - share)
        share += mass
        total += mass * grid.points[least]
    return total / share - grid.points[least]


@kernel
def shift_up(grid: Grid, source: Any, target: Any, share: float, luck: float) -> None:
    """Add a share of the masses of ``source`` to ``target``, where log-odds are larger by so much."""
    above = 0
    for k in range(POINTS):
        point = min(grid.points[k] + luck, grid.points[POINTS - 1])
        while grid.points[above] < point:
            above += 1
        lower = (grid.points[above] - point) * grid.nearness[above]
        target[above] += share * source[k] * (1.0 - lower)
        target[max(above - 1, 0)] += share * source[k] * lower


@kernel
def unseen_share(reservoir: LearnedReservoir) -> float:
    """The probability that the next arm is better than all that were learned of."""
    return UNSEEN / (reservoir.judged + UNSEEN)


@kernel
def draw_unseen(reservoir: LearnedReservoir, grid: Grid) -> None:
    """Into ``grid.cells``: the mass of the arm that may be better than all, a part of it much better."""
    unseen = unseen_share(reservoir)
    strange = unseen * STRANGERS / (reservoir.said + STRANGERS)
    luck = min(LUCK * spread_of_best(reservoir, grid), STRANGE)
    for k in range(POINTS):
        grid.cells[k] = 0.0
    for turn in range(2):
        share, higher = (strange, STRANGE) if turn == 0 else (unseen - strange, luck)
        shift_up(grid, reservoir.learned, grid.cells, share, higher)


@kernel
def spread(reservoir: LearnedReservoir, grid: Grid, blur: float) -> None:
    """Into the masses: what was learned, such a share of it at each neighbour; and the unseen arm."""
    unseen = unseen_share(reservoir)
    for k in places():
        below = reservoir.learned[k - 1] if k > 0 else reservoir.learned[0]
        above = reservoir.learned[k + 1] if k + 1 < POINTS else reservoir.learned[k]
        alike = (1.0 - 2.0 * blur) * reservoir.learned[k] + blur * (below + above)
        reservoir.masses[k] = (1.0 - unseen) * alike + grid.cells[k]
    meet()


@kernel
def add_from_above(reservoir: LearnedReservoir, grid: Grid) -> None:
    """How much of the masses is above each point."""
    share = reward = 0.0
    reservoir.share_above[POINTS] = 0.0
    reservoir.reward_above[POINTS] = 0.0
    for i in range(POINTS):
        k = POINTS - 1 - i
        share += reservoir.masses[k]
        reward += reservoir.masses[k] * grid.means[k]
        reservoir.share_above[k] = share
        reservoir.reward_above[k] = reward


@apart
def sum_up(reservoir: LearnedReservoir, grid: Grid) -> None:
    """What there is to hope for above each point, and what an arm is believed to be."""
    draw_unseen(reservoir, grid)
    spread(reservoir, grid, reservoir.blur)
    add_from_above(reservoir, grid)
    if reservoir.blur != ALIKE:
        spread(reservoir, grid, ALIKE)


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
def step_of(reservoir: LearnedReservoir, is_first: bool) -> float:
    """By how much an arm moves the reservoir, if it is learned of for the first time or not."""
    judged = reservoir.judged + 1.0 if is_first else reservoir.judged
    return min(max(power(judged, -FORGETTING), 1.0 / reservoir.said), LONGEST_STEP)


@apart
def add_step(reservoir: LearnedReservoir, grid: Grid, known: Known, step: float, dispersion: float) -> None:
    """Into ``grid.cells``: a step for an arm, of which ``grid.belief`` is what is believed."""
    believe(grid, reservoir.masses, 0, known.total, float(known.plays), dispersion)
    for k in range(POINTS):
        grid.cells[k] += step * (grid.belief[k] - reservoir.masses[k])


@kernel
def said_by(reservoir: LearnedReservoir, grid: Grid) -> float:
    """How far the arm that was learned of just now is from the reservoir."""
    said = 0.0
    for k in range(POINTS):
        away = grid.belief[k] - reservoir.masses[k]
        said += away * away / (reservoir.masses[k] + 1e-9)
    return said


@kernel
def with_steps(reservoir: LearnedReservoir, grid: Grid, is_first: bool, said: float) -> LearnedReservoir:
    """The reservoir with the steps in ``grid.cells``, for an arm that said so much."""
    total = 0.0
    for k in range(POINTS):
        total += max(grid.cells[k], 0.0)
    for k in places():
        reservoir.learned[k] = max(grid.cells[k], 0.0) / total
    meet()
    learned = replaced(
        reservoir,
        judged=reservoir.judged + 1.0 if is_first else reservoir.judged,
        said=reservoir.said + min(said, 1.0) if is_first else reservoir.said,
    )
    sum_up(learned, grid)
    return learned


@kernel
def with_arm_learned(
    reservoir: LearnedReservoir, grid: Grid, before: Known, now: Known, dispersion: float
) -> LearnedReservoir:
    """One step of expectation maximisation: what is made of an arm now replaces what was made of it before."""
    is_first = before.plays == 0
    step = step_of(reservoir, is_first)
    said = 0.0
    copy_row(reservoir.learned, 0, grid.cells, 0)
    for turn in range(1 if is_first else 0, 2):  # steps are a lot of code, which stands here once
        is_now = turn == 1
        known = Known(now.plays if is_now else before.plays, now.total if is_now else before.total)
        add_step(reservoir, grid, known, step if is_now else -step, dispersion)
        if is_now:
            said = said_by(reservoir, grid)
    return with_steps(reservoir, grid, is_first, said)
