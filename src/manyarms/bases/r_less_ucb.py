"""R-less-UCB: what an arm would pay by now if it had gone on rising, round by round, as it did lately.

The sibling of `RisingUCB` for arms that rise whether they are played or not. The slope between two rewards is their
difference over the rounds between them, not over the plays; and the line is drawn from the round of each reward.

Source: Metelli, Trovò, Pirola & Restelli, "Stochastic Rising Bandits" (ICML 2022): R-less-UCB, for restless arms.

Symbols: h -> the window; epsilon -> share; N_i -> taken; t_(i, l) -> rounds; alpha, sigma -> width = 10 alpha sigma^2;
mu-hat + beta -> rising_index.

Deviations: h is floor(epsilon n) of an arm's n rewards, as in the paper, but at most ``longest``: each pair of rewards
h apart has a slope of its own, so that sums do not do, and the last 2 · ``longest`` rewards of every arm are kept, with
their rounds (16 bytes each). From longest / share rewards on, a window therefore stays as long as it is. An arm without
a window is untried. Rounds are counted by what was learned, presumed answers too. Ties go to the lower slot. Rewards
are rounded down to multiples of 2^-30. The paper's text was not at hand: sum and bound are as remembered; those of
R-ed-UCB, of which they are this if all plays go to one arm, are confirmed by the authors' code.

Open asks are as for `RAWUCB`. Every index moves in every round, which takes O(arms) time, two multiplications each; the
line of the played arm is drawn anew, which takes O(h).
"""

import dataclasses
import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import Choice
from ..specs import Count, Positive
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base
from .recent import MOST_NEWS, counted_in_grains, in_grains
from .rising_ucb import checked_share
from .scanning import best_among_by_scan, pick_by_scan


class RLessUCBState(NamedTuple):
    """A run over one subsample. An arm's n-th reward, from 0 on, is at ``slot · 2 longest + n % (2 longest)``."""

    share: float
    width: float
    longest: int
    rewards: Rewards
    paid: NDArray[np.float64]
    rounds: NDArray[np.int64]  # of the rewards
    taken: NDArray[np.int64]  # slot -> rewards so far
    levels: NDArray[np.float64]  # slot -> the mean of its lines in the round of its latest reward; infinite: no window
    slopes: NDArray[np.float64]  # slot -> the mean of its slopes
    spreads: NDArray[np.float64]  # slot -> h^(-3/2)
    lasts: NDArray[np.int64]  # slot -> the round of its latest reward
    firsts: NDArray[np.int64]  # slot -> the round of the first reward in its window
    arms: int = 0
    told: int = 0  # rounds so far


@dataclasses.dataclass(frozen=True)
class RLessUCB(Base):
    """R-less-UCB: lines through pairs of an arm's rewards, drawn to the coming round, and a bound for their noise.

    Parameters
    ----------
    share
        The window as a share of an arm's rewards, at most 1/2; 1/4 in the authors' code.
    width
        10 alpha sigma^2, as for `RisingUCB`.
    longest
        The most rewards that a window may have; room is made for twice as many of every arm.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.RLessUCB(), beta=1.0, arms=10).base
    RLessUCB(share=0.25, width=0.4, longest=64)
    """

    about: ClassVar = About(
        told=("noise",),
        rate="about T in short runs",
        made_for=("rising",),
        cost="O(arms + window)",
    )
    tried_with: ClassVar = ({"width": 0.01, "longest": 8},)

    share: Annotated[float, checked_share] = 0.25
    width: Positive = 0.4
    longest: Count = 64

    def start(self, slots: int) -> RLessUCBState:
        """A state with arrays for ``slots`` arms and their latest rewards."""
        room = slots * 2 * self.longest
        return RLessUCBState(
            share=self.share,
            width=self.width,
            longest=self.longest,
            rewards=new_rewards(slots),
            paid=np.zeros(room),
            rounds=np.zeros(room, dtype=np.int64),
            taken=np.zeros(slots, dtype=np.int64),
            levels=np.zeros(slots),
            slopes=np.zeros(slots),
            spreads=np.zeros(slots),
            lasts=np.zeros(slots, dtype=np.int64),
            firsts=np.zeros(slots, dtype=np.int64),
        )


@kernel
def window_for(share: float, taken: int, longest: int) -> int:
    """H = floor(epsilon n), at most ``longest``."""
    return min(int(share * taken), longest)


@kernel
def no_line(base: RLessUCBState, slot: int) -> None:
    """An arm without a window comes first."""
    base.levels[slot] = math.inf
    base.slopes[slot] = 0.0
    base.spreads[slot] = 0.0
    base.lasts[slot] = 0
    base.firsts[slot] = 0


@kernel
def draw_line(base: RLessUCBState, slot: int) -> None:
    """The mean over l of x_l + (t - t_l) (x_l - x_(l-h)) / (t_l - t_(l-h)), by its value at t_n and its slope."""
    taken = base.taken[slot]
    h = window_for(base.share, taken, base.longest)
    if h == 0:
        no_line(base, slot)
        return
    room = 2 * base.longest
    first = slot * room
    last = base.rounds[first + (taken - 1) % room]
    level = 0.0
    slope = 0.0
    for number in range(taken - h, taken):
        place = first + number % room
        before = first + (number - h) % room
        rise = (base.paid[place] - base.paid[before]) / (base.rounds[place] - base.rounds[before])
        level += base.paid[place] + (last - base.rounds[place]) * rise
        slope += rise
    base.levels[slot] = level / h
    base.slopes[slot] = slope / h
    base.spreads[slot] = 1.0 / math.sqrt(float(h) * h * h)
    base.lasts[slot] = last
    base.firsts[slot] = base.rounds[first + (taken - h) % room]


def rising_index(base: RLessUCBState, slot: int, deviation: float) -> float:
    """What the arm may pay by now; infinite without a window.

    The bound is (t - t_(n-h+1)) sqrt(width · log(t) / h^3).
    """
    round = base.told + 1
    line = base.levels[slot] + (round - base.lasts[slot]) * base.slopes[slot]
    return float(line + (round - base.firsts[slot]) * (deviation * base.spreads[slot]))


def deviation_in(base: RLessUCBState) -> float:
    """What all bounds of the coming round have in common."""
    return math.sqrt(base.width * natural_log(base.told + 1.0))


def renew(base: RLessUCBState, arms: int, horizon: float, log_horizon: float) -> RLessUCBState:
    """No arm has been played."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.taken[slot] = 0
        no_line(base, slot)
    return replaced(base, arms=arms, told=0)


@kernel
def take(base: RLessUCBState, slot: int, round: int, reward: float) -> None:
    """One more reward of an arm."""
    room = 2 * base.longest
    place = slot * room + base.taken[slot] % room
    base.paid[place] = reward
    base.rounds[place] = round
    base.taken[slot] += 1


def learn(base: RLessUCBState, choice: Choice, reward: float) -> RLessUCBState:
    """One more round."""
    counted = in_grains(reward)
    earn(base.rewards, choice.slot, counted)
    take(base, choice.slot, base.told + 1, counted)
    draw_line(base, choice.slot)
    return replaced(base, told=base.told + 1)


def revise(base: RLessUCBState, slot: int, plays: int, total: float) -> RLessUCBState:
    """An answer changes the latest reward, a lost one stays what was presumed, plays elsewhere are rounds."""
    left, _ = add_to(base.rewards, slot, plays, total)
    if left <= 0:
        base.taken[slot] = 0
    elif plays == 0:
        room = 2 * base.longest
        base.paid[slot * room + (base.taken[slot] - 1) % room] += total
    news = min(max(plays, 0), MOST_NEWS)
    for number in range(news):
        take(base, slot, base.told + 1 + number, in_grains(total / plays))
    draw_line(base, slot)
    return replaced(base, told=base.told + news)


register_base(
    RLessUCBState,
    renew=renew,
    pick=pick_by_scan,
    learn=learn,
    counted=counted_in_grains,
    revise=revise,
    best_among=best_among_by_scan,
    level_of=deviation_in,
    current_index=rising_index,
)
