"""``top="auto"``: the mean from which losses are counted, learned from arms.

What arms are is learned as the Forager learns it (`learned_reservoir`): from every arm, when it has been played 8
times, goes, or its block ends, whichever comes first; and again at 32, 128 and 512 plays. M(K) is the expected maximum
of K arms of that reservoir.

1. *Top.* When a block opens with K arms, its top is M(K s), where s is what an arm says on average, between 0 and 1:
   how far what is believed of it after its plays is from what is believed of any arm. If arms say all, the best arm of
   a block loses nothing on average. If they say little, as single plays of rare rewards do, the far end of the
   reservoir is guessed, and not counted from. A top that is too high leads to a restart, and with it to blocks of few
   arms, whose top is low, while the arms that were played on correct the reservoir.
2. *Size.* With ``beta="auto"`` the reservoir says how many arms are worth it in a block of n rounds. With K arms it
   loses n (B - M(K)) for want of a better one, and K P (B - M(1)) for trying them. P are the plays that a trial takes:
   as many as tell a mean M(1) from 0, and from B. B is M(n), or M of as many arms as have said all, if these are fewer.
   The K at which both losses are the same is passed on as the beta with K = n^(beta / (beta + 1)).
3. *Chance.* A block of `Blackbox` that has earned less than random arms, by more than luck, has lost too much.

Source: ours; docs/theory/learned-top.md derives and measures it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..apart import apart
from ..arithmetic import exponential, natural_log, power
from ..compiled import kernel, rarely, replaced
from ..contract import register
from .dispersion import FIRST_NOISE, Noise, after_difference, dispersion_of
from .grid import EDGE, FINEST, POINTS, Grid, carry_over, draft_grid, mean_at, new_grid, opened_grid, point_at
from .grid import redrawn as redrawn_grid
from .learned_reservoir import (
    FIRST_LOOK,
    PRIOR_ARMS,
    Known,
    LearnedReservoir,
    new_reservoir,
    opened_reservoir,
    sum_up,
    with_arm_learned,
)
from .tail import LEAST_BETA, MOST_BETA, Tail, ToldBeta, new_tail

LAST_LOOK = 512
"""An arm that was played more often may have changed."""

REGRID = 1.2
"""The grid is looked at again when so many times as many arms are known."""

FINER = 1.4
"""And drawn anew if its spacing is off by this factor, or its centre by three spacings."""

LUCK = 2.0
"""A block that earns less than random arms by so many standard deviations has lost too much."""

WIDEST_HERE = 0.25
"""The largest spacing of a grid that was drawn anew: where arms end matters, and many together say more than one."""

HALVINGS = 16
"""So often the interval of sizes is halved: to a share of 1.0002 for a million rounds."""


class LearnedTop(NamedTuple):
    """What is known of arms."""

    beta: float  # as told; 0: it is learned, too
    grid: Grid
    reservoir: LearnedReservoir
    plays: NDArray[np.int64]  # slot -> rewards of its arm
    looks: NDArray[np.int64]  # slot -> the play at which the reservoir learns of it next
    known_plays: NDArray[np.int64]  # slot -> plays that the reservoir knows of
    totals: NDArray[np.float64]  # slot -> the sum of its arm's rewards
    known_totals: NDArray[np.float64]  # slot -> that which the reservoir knows of
    last: NDArray[np.float64]  # slot -> the last reward
    rounds: int = 0  # rewards of all arms
    noise: Noise = FIRST_NOISE
    regrid: float = 2.0 * PRIOR_ARMS  # the number of known arms at which the grid is looked at
    top: float = 1.0  # of the open block
    mean: float = 0.0  # of random arms, when the block was opened
    deviation: float = 0.0  # the standard deviation of rewards with that mean
    is_cramped: bool = False  # whether a subsample did not fit into the arrays


def tail_for(beta: float | str, top: float | str, slots: int) -> ToldBeta | Tail | LearnedTop:
    """What a policy of this beta and top has to know of the reservoir."""
    if not isinstance(top, str):
        return new_tail(beta, slots, top)
    return LearnedTop(
        beta=0.0 if isinstance(beta, str) else beta,
        grid=new_grid(),
        reservoir=new_reservoir(),
        plays=np.zeros(slots, dtype=np.int64),
        looks=np.zeros(slots, dtype=np.int64),
        known_plays=np.zeros(slots, dtype=np.int64),
        totals=np.zeros(slots),
        known_totals=np.zeros(slots),
        last=np.zeros(slots),
    )


# ---------------------------------------------------------------- the best of several arms


@apart
def sum_shares(grid: Grid, masses: Any) -> None:
    """Into ``grid.cells``: the logarithm of the mass at each point or below it."""
    share = 0.0
    for k in range(POINTS):
        share += masses[k]
        grid.cells[k] = natural_log(min(max(share, 1e-300), 1.0))


@apart
def best_of(grid: Grid, arms: float) -> Any:
    """The expected maximum of so many arms, from ``grid.cells``: the largest mean less what it misses by."""
    best = grid.means[POINTS - 1]
    for k in range(POINTS - 1):
        best -= (grid.means[k + 1] - grid.means[k]) * exponential(arms * grid.cells[k])
    return best


@kernel
def telling_arms(reservoir: LearnedReservoir, size: int) -> float:
    """So many of them, if each counts for what arms have said on average; one at least."""
    return max(size * (reservoir.said / reservoir.judged), 1.0)


@kernel
def trial_plays(mean: float, best: float, dispersion: float) -> float:
    """So many plays tell an arm of this mean from none at all, and from the best: variance over squared distance."""
    from_nothing = (1.0 - mean) / mean
    from_best = best * (1.0 - best) / ((best - mean) * (best - mean) + 1e-12)
    return max(dispersion * max(from_nothing, from_best), 1.0)


@apart
def worthwhile_share(grid: Grid, said: float, log_rounds: float, dispersion: float) -> float:
    """Log K / log n for the number of arms K that is worth it in n = 2^log_rounds rounds, from ``grid.cells``."""
    rounds = power(2.0, log_rounds)
    best = best_of(grid, min(rounds, said))
    mean = best_of(grid, 1.0)
    trial = trial_plays(mean, best, dispersion) * (best - mean)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        arms = power(2.0, middle * log_rounds)
        if rounds * (best - best_of(grid, arms)) > arms * trial:
            low = middle
        else:
            high = middle
    return low


# ---------------------------------------------------------------- what it hears


def begin_learning(tail: LearnedTop, key: int) -> LearnedTop:
    """Nothing is known."""
    grid = opened_grid(tail.grid)
    return replaced(
        tail,
        grid=grid,
        reservoir=opened_reservoir(tail.reservoir, grid),
        rounds=0,
        noise=FIRST_NOISE,
        regrid=2.0 * PRIOR_ARMS,
        top=1.0,
        mean=0.0,
        deviation=0.0,
        is_cramped=False,
    )


def watch_fresh(tail: LearnedTop, slot: int) -> None:
    """Nothing has come of its arm."""
    tail.plays[slot] = 0
    tail.looks[slot] = FIRST_LOOK
    tail.known_plays[slot] = 0
    tail.totals[slot] = 0.0
    tail.known_totals[slot] = 0.0
    tail.last[slot] = 0.0


def watch_moved(tail: LearnedTop, source: int, target: int) -> None:
    """What is known of the arm goes with it."""
    tail.plays[target] = tail.plays[source]
    tail.looks[target] = tail.looks[source]
    tail.known_plays[target] = tail.known_plays[source]
    tail.totals[target] = tail.totals[source]
    tail.known_totals[target] = tail.known_totals[source]
    tail.last[target] = tail.last[source]


def watch(tail: LearnedTop, slot: int, reward: float) -> LearnedTop:
    """Count the reward; let the reservoir learn of the arm if a look is due."""
    held = min(max(reward, -1.0), 1.0)  # as for `Tail`
    plays = tail.plays[slot]
    rounds = tail.rounds + 1
    mean = (tail.totals[slot] + 0.5) / (plays + 1.0)
    noise = after_difference(tail.noise, held, tail.last[slot], mean, plays, rounds)
    tail.plays[slot] = plays + 1
    tail.totals[slot] += held
    tail.last[slot] = held
    heard = replaced(tail, rounds=rounds, noise=noise)
    if rarely(plays + 1 == tail.looks[slot]):
        tail.looks[slot] = min(4 * (plays + 1), LAST_LOOK)
        return with_arm(heard, slot)
    return heard


@kernel
def with_arm(tail: LearnedTop, slot: int) -> LearnedTop:
    """Let the reservoir learn of an arm what is known of it now."""
    before = Known(plays=tail.known_plays[slot], total=tail.known_totals[slot])
    now = Known(plays=tail.plays[slot], total=tail.totals[slot])
    tail.known_plays[slot] = now.plays
    tail.known_totals[slot] = now.total
    dispersion = dispersion_of(tail.noise, tail.grid.spacing)
    return replaced(tail, reservoir=with_arm_learned(tail.reservoir, tail.grid, before, now, dispersion))


@kernel
def is_news(tail: LearnedTop, slot: int) -> Any:
    """Whether an arm was played, and the reservoir does not know it."""
    return tail.plays[slot] > 0 and tail.known_plays[slot] == 0


def watch_leaving(tail: LearnedTop, slot: int) -> LearnedTop:
    """The last chance to learn of an arm."""
    return with_arm(tail, slot) if is_news(tail, slot) else tail


# ---------------------------------------------------------------- blocks


def closed_with(tail: LearnedTop, size: int) -> LearnedTop:
    """Learn of the arms that were played and not learned of: they may go."""
    known = tail
    for slot in range(size):
        if is_news(known, slot):
            known = with_arm(known, slot)
    return known


def opened_with(tail: LearnedTop, size: int) -> LearnedTop:
    """The top of a block of so many arms."""
    fine = with_grid(tail, size)
    sum_shares(fine.grid, fine.reservoir.learned)
    mean = best_of(fine.grid, 1.0)
    variance = dispersion_of(fine.noise, fine.grid.spacing) * mean * (1.0 - mean)
    top = best_of(fine.grid, telling_arms(fine.reservoir, size))
    return replaced(fine, top=top, mean=mean, deviation=math.sqrt(variance))


@kernel
def with_grid(tail: LearnedTop, size: int) -> LearnedTop:
    """Draw the grid anew if that is worth it: around the top, as fine as arms are known."""
    judged = tail.reservoir.judged
    if judged < tail.regrid:
        return tail
    grid = tail.grid
    sum_shares(grid, tail.reservoir.learned)
    top = min(max(best_of(grid, float(size)), mean_at(1.0 - EDGE)), mean_at(EDGE - 1.0))
    known = tail.rounds / judged * top * (1.0 - top)
    spacing = 0.5 * math.sqrt(dispersion_of(tail.noise, grid.spacing) / known)
    spacing = min(max(spacing, FINEST), WIDEST_HERE)
    centre = point_at(top)
    later = replaced(tail, regrid=judged * REGRID)
    is_fine = grid.spacing / FINER <= spacing <= grid.spacing * FINER
    if is_fine and abs(centre - grid.centre) <= 3.0 * grid.spacing:
        return later
    draft_grid(grid, centre, spacing)
    carry_over(grid, tail.reservoir.learned, 0)
    fine = replaced(later, grid=redrawn_grid(grid, centre, spacing))
    sum_up(tail.reservoir, fine.grid)
    return fine


def learned_beta(tail: LearnedTop, log_rounds: float) -> float:
    """As told; or that of the size which is worth it."""
    if tail.beta > 0.0:
        return tail.beta
    sum_shares(tail.grid, tail.reservoir.learned)
    share = worthwhile_share(tail.grid, tail.reservoir.said, log_rounds, dispersion_of(tail.noise, tail.grid.spacing))
    return min(max(share / (1.0 - share), LEAST_BETA), MOST_BETA)


def limited_by_chance(tail: LearnedTop, limit: float, rounds: int, length: int) -> float:
    """What random arms would have lost by now, and as much more as luck may cost in the block; or the limit."""
    return min(limit, rounds * (tail.top - tail.mean) + LUCK * tail.deviation * math.sqrt(float(length)))


def fitted_sample(tail: LearnedTop, wanted: int) -> tuple[LearnedTop, int]:
    """Once cramped, always cramped."""
    room = tail.plays.size
    return replaced(tail, is_cramped=tail.is_cramped or wanted > room), min(wanted, room)


register(
    LearnedTop,
    begin=begin_learning,
    is_estimated=lambda tail: tail.beta == 0.0,
    watch_fresh_arm=watch_fresh,
    watch_moved_arm=watch_moved,
    watch_reward=watch,
    watch_leaving_arm=watch_leaving,
    beta_for=learned_beta,
    cautious_beta=learned_beta,
    fitted=fitted_sample,
    opened=opened_with,
    closed=closed_with,
    top_of=lambda tail, told: tail.top,
    limited=limited_by_chance,
)
