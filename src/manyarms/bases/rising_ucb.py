"""R-ed-UCB: what an arm would pay by now if it had been played all the time, and gone on rising as it did lately.

Arms may get better with practice, and then the best is not the one that pays most today. Where the gains of an arm only
shrink, a straight line through its recent past overestimates its future. Such a line, with a confidence bound for the
noise, is the index.

Source: Metelli, Trovò, Pirola & Restelli, "Stochastic Rising Bandits" (ICML 2022): R-ed-UCB, for rested arms.

Symbols: h -> 2^level, the window; epsilon -> share; N_i -> taken; alpha, sigma -> width = 10 alpha sigma^2;
mu-hat + beta -> rising_index.

Deviations: the paper's windows have floor(epsilon n) of an arm's n rewards and end with the latest. Here they have the
power of two below that, and end where a block of that length does, e, fewer than h rewards ago
(`manyarms.bases.recent`), so that memory is bounded. The line is drawn from e, which is no less optimistic where gains
shrink, and the bound has t - e in place of t - n: the squares of the line's coefficients add up to at most
5 (t - e + h - 1)^2 / h^3, as for n. No window is longer than 2^19 rewards. An arm that has none yet is untried; the
authors' code gives it the index 1. The sum is as remembered from the paper: the closed form in the authors' code is
another one, which for h = 1 draws the line one round too far. Bound, epsilon, alpha and sigma are as in that code.

For arms that rise whether they are played or not there is `RLessUCB`.

Open asks are as for `RAWUCB`. Every index moves in every round, which takes O(arms) time.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import Choice
from ..specs import Positive, positive
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base
from .recent import (
    LEVELS,
    MOST_NEWS,
    Recent,
    amend,
    counted_in_grains,
    forget_recent,
    in_grains,
    new_recent,
    remember,
)
from .scanning import best_among_by_scan, pick_by_scan


class RisingUCBState(NamedTuple):
    """A run over one subsample."""

    share: float
    width: float
    rewards: Rewards
    recent: Recent
    moments: Recent  # of rewards times their numbers: x_l · l
    arms: int = 0
    told: int = 0  # rounds so far


def checked_share(owner: str, name: str, value: Any) -> float:
    """Above 0 and at most 1/2: a window and the one before it are to fit in."""
    result = positive(owner, name, value)
    if result > 0.5:
        raise ValueError(f"{owner}: {name} must be at most 1/2, not {value!r}")
    return result


@dataclasses.dataclass(frozen=True)
class RisingUCB(Base):
    """R-ed-UCB: the line through an arm's last two windows, drawn to the coming round, and a bound for its noise.

    Parameters
    ----------
    share
        The window as a share of an arm's rewards, at most 1/2; 1/4 in the authors' code.
    width
        10 alpha sigma^2. 0.4 by default, which is alpha = 4 and sigma = 0.1 as in the authors' code; 10 would be
        sigma = 1/2, which holds for all rewards in [0, 1]. The smaller, the less the noise of the slope is feared.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.RisingUCB(), beta=1.0, arms=10).base
    RisingUCB(share=0.25, width=0.4)
    """

    about: ClassVar = About(
        told=("noise",),
        rate="about T in short runs; T^(2/3) for arms that soon stop rising",
        made_for=("rising",),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({"width": 0.01},)

    share: Annotated[float, checked_share] = 0.25
    width: Positive = 0.4

    def start(self, slots: int) -> RisingUCBState:
        """A state with arrays for ``slots`` arms."""
        return RisingUCBState(
            share=self.share,
            width=self.width,
            rewards=new_rewards(slots),
            recent=new_recent(slots),
            moments=new_recent(slots),
        )


@kernel
def window_level(share: float, taken: int) -> int:
    """The level of the longest block with at most this share of an arm's rewards; -1 if there is none."""
    level = -1
    while level + 1 < LEVELS and float(1 << (level + 1)) <= share * taken:
        level += 1
    return level


@kernel
def line_to(base: RisingUCBState, slot: int, level: int, round: int) -> float:
    """The mean over l of x_l + (t - l) (x_l - x_(l-h)) / h, for the newer of the last two blocks of h rewards."""
    place = slot * LEVELS + level
    h = 1 << level
    newer, older = base.recent.newer[place], base.recent.older[place]
    above = round * newer - base.moments.newer[place]
    below = (round - h) * older - base.moments.older[place]
    return float((newer + (above - below) / h) / h)


@kernel
def noise_bound(level: int, distance: int, confidence: float) -> float:
    """The confidence bound of a line: (t - e + h - 1) sqrt(width · log(t) / h^3)."""
    h = float(1 << level)
    return (distance + h - 1.0) * math.sqrt(confidence / (h * h * h))


def rising_index(base: RisingUCBState, slot: int, confidence: float) -> float:
    """What the arm may pay by now; infinite without a window."""
    round = base.told + 1
    taken = base.recent.taken[slot]
    level = window_level(base.share, taken)
    if level < 0:
        return math.inf
    distance = round - ((taken >> level) << level)
    return line_to(base, slot, level, round) + noise_bound(level, distance, confidence)


def renew(base: RisingUCBState, arms: int, horizon: float, log_horizon: float) -> RisingUCBState:
    """No arm has been played."""
    forget(base.rewards, arms)
    forget_recent(base.recent, arms)
    forget_recent(base.moments, arms)
    return replaced(base, arms=arms, told=0)


def confidence_in(base: RisingUCBState) -> float:
    """What all bounds of the coming round have in common."""
    return base.width * natural_log(base.told + 1.0)


@kernel
def take(base: RisingUCBState, slot: int, reward: float) -> None:
    """One more reward of an arm."""
    remember(base.recent, slot, reward)
    remember(base.moments, slot, base.recent.taken[slot] * reward)


def learn(base: RisingUCBState, choice: Choice, reward: float) -> RisingUCBState:
    """One more round."""
    earn(base.rewards, choice.slot, in_grains(reward))
    take(base, choice.slot, in_grains(reward))
    return replaced(base, told=base.told + 1)


def revise(base: RisingUCBState, slot: int, plays: int, total: float) -> RisingUCBState:
    """As for rotting arms, and the moments with it. Plays elsewhere are rounds: no arm has more plays than those."""
    left, _ = add_to(base.rewards, slot, plays, total)
    if left <= 0:
        base.recent.taken[slot] = 0
        base.moments.taken[slot] = 0
    elif plays == 0:
        amend(base.recent, slot, total)
        amend(base.moments, slot, base.recent.taken[slot] * total)
    news = min(max(plays, 0), MOST_NEWS)
    for _ in range(news):
        take(base, slot, in_grains(total / plays))
    return replaced(base, told=base.told + news)


register_base(
    RisingUCBState,
    renew=renew,
    pick=pick_by_scan,
    learn=learn,
    counted=counted_in_grains,
    revise=revise,
    best_among=best_among_by_scan,
    level_of=confidence_in,
    current_index=rising_index,
)
