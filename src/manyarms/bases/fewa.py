"""FEWA: compare the arms by their last reward, then by their last 2, 4, …; drop who falls short on the way.

Source: Seznec, Locatelli, Carpentier, Lazaric & Valko, "Rotting bandits are no harder than stochastic ones" (AISTATS
2019, arXiv:1811.11043): filtering on expanding window averages, in its efficient version.

Symbols: h -> 2^number, a window; K_h -> the slots ``in_play``; 2 c(h, delta_t) -> tolerance;
alpha, sigma -> width = 2 alpha sigma^2.

Deviations: windows of 1, 2, 4, … rewards only, which lag behind by up to half their length (`manyarms.bases.recent`),
as in the authors' own EFF_FEWA with m = 2, whose filter this is. All rounds of a run get the confidence of its last
one, log T, where the paper has log t. No window is longer than 2^20 rewards. Rewards are rounded down to multiples of
2^-30, so that sums are exact. Where only some arms may be played, that with the best mean of all its rewards is.

Open asks are as for `RAWUCB`. Every round goes through all arms, and through the windows of those that stay.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import Choice
from ..specs import Positive
from .base import Base, Rewards, earn, forget, new_rewards, register_base
from .recent import (
    LEVELS,
    Recent,
    counted_in_grains,
    forget_recent,
    in_grains,
    new_recent,
    remember,
    revise_recent,
    window_mean,
)


class FEWAState(NamedTuple):
    """A run over one subsample."""

    width: float
    rewards: Rewards
    recent: Recent
    in_play: NDArray[np.uint32]  # the slots that no window has dropped, in order; for the time of one search
    arms: int = 0
    leader: int = 0  # the slot that is to be played
    level: float = 0.0  # width · log T


@dataclasses.dataclass(frozen=True)
class FEWA(Base):
    """Drop the arms whose mean over h = 1, 2, 4, … rewards is more than 2 sqrt(width · log(T) / h) below the best.

    The first window that an arm in play has not filled yet says who is played: that arm, the least played of several.

    Parameters
    ----------
    width
        The factor under the root, 2 alpha sigma^2. Rewards in [0, 1] have sigma = 1/2: then 2 is the alpha = 4 of the
        proof, and 0.03, the default, the alpha = 0.06 of the authors' efficient version.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.FEWA(), beta=1.0).base
    FEWA(width=0.03)
    """

    about: ClassVar = About(
        told=("T", "noise"),
        rate="sqrt(K T)",
        made_for=("still", "wear"),
        cost="O(arms · log plays)",
    )
    tried_with: ClassVar = ({},)

    width: Positive = 0.03

    def start(self, slots: int) -> FEWAState:
        """A state with arrays for ``slots`` arms."""
        return FEWAState(
            width=self.width,
            rewards=new_rewards(slots),
            recent=new_recent(slots),
            in_play=np.zeros(slots, dtype=np.uint32),
        )


@kernel
def tolerance(level: float, number: int) -> float:
    """How far an arm may fall short of the best, by means of 2^number rewards: two confidence radii."""
    return 2.0 * math.sqrt(level / (1 << number))


def renew(base: FEWAState, arms: int, horizon: float, log_horizon: float) -> FEWAState:
    """No arm has been played."""
    forget(base.rewards, arms)
    forget_recent(base.recent, arms)
    return replaced(base, arms=arms, leader=0, level=base.width * natural_log(max(horizon, 2.0)))


def pick(base: FEWAState, key: int, round: int) -> tuple[int, float]:
    """Whom the filter has found."""
    return base.leader, 1.0


@kernel
def least_played(base: FEWAState, number: int, below: int) -> int:
    """Of the first ``number`` slots in play with fewer than ``below`` rewards, that with the fewest; -1 without any."""
    least = -1
    fewest = below
    for place in range(number):
        slot = int(base.in_play[place])
        if base.recent.taken[slot] < fewest:
            least = slot
            fewest = base.recent.taken[slot]
    return least


@kernel
def stay_in_play(base: FEWAState, playing: int, number: int) -> int:
    """Keep, in order, those that the window of 2^number rewards does not drop; return how many."""
    best = -math.inf
    for place in range(playing):
        best = max(best, window_mean(base.recent, int(base.in_play[place]), number))
    least = best - tolerance(base.level, number)
    kept = 0
    for place in range(playing):
        slot = base.in_play[place]
        if window_mean(base.recent, int(slot), number) >= least:
            base.in_play[kept] = slot
            kept += 1
    return kept


@kernel
def filtered(base: FEWAState) -> FEWAState:
    """Look for who is to be played."""
    playing = base.arms
    for slot in range(playing):
        base.in_play[slot] = slot
    found = least_played(base, playing, 1)
    number = 0
    while found < 0 and playing > 1 and number <= LEVELS:
        playing = stay_in_play(base, playing, number)
        number += 1
        found = least_played(base, playing, 1 << number)
    if found < 0:  # one is left; or several, after more rewards than the longest window has
        found = least_played(base, playing, 1 << 62)
    return replaced(base, leader=found)


def learn(base: FEWAState, choice: Choice, reward: float) -> FEWAState:
    """One more play; whom to play next."""
    earn(base.rewards, choice.slot, in_grains(reward))
    remember(base.recent, choice.slot, in_grains(reward))
    return filtered(base)


def revise(base: FEWAState, slot: int, plays: int, total: float) -> FEWAState:
    """Rewards were others; whom to play then."""
    revise_recent(base.rewards, base.recent, slot, plays, total)
    return filtered(base)


register_base(FEWAState, renew=renew, pick=pick, learn=learn, counted=counted_in_grains, revise=revise)
