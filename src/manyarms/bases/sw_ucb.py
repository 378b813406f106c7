"""SW-UCB: UCB of what happened within the last rounds, whichever arms they went to.

An arm that has not been played within the window is as good as untried. So every arm is played again about once in a
window, for ever: that is how a change of an arm in waiting would be noticed.

Source: Garivier & Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems" (ALT 2011;
arXiv:0805.3415).

Symbols: tau -> window; xi -> width (with B = 1); N_t(tau, i), X_t(tau, i) -> plays and sums of ``rewards``;
Upsilon_T -> changes; T -> horizon.

Deviations: all rounds of a run get the confidence of its last one, log(min(T, tau)), where the paper has
log(min(t, tau)) in round t; the two are the same from round tau on. So only two indices move in a round, that of the
played arm and that of the arm which was played tau rounds ago, and a tournament finds the largest. The window that
follows from the horizon, 2 sqrt(T log(T) / Upsilon_T), is cut to ``longest``: arrays are made before the horizon is
known. Rewards are rounded down to multiples of 2^-30, so that what leaves the window is exactly what entered it. The
paper itself could not be consulted: the index is as Lattimore & Szepesvári quote it ("Bandit Algorithms", notes of
Chapter 31), the factor 2 of the window and xi = 0.6 (the proof wants more than 1/2) are as remembered.

An open ask is a play that paid the mean in the window. Its answer is credited to the arm's latest play in the window,
and leaves with that one; a lost one takes that play away. What was seen elsewhere enters the window as one round.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import ceiling, natural_log
from ..compiled import kernel, replaced
from ..contract import Choice, register
from ..specs import Count, Positive
from .base import Base, Rewards, add_to, expected_in, forget, new_rewards
from .indexed import best_among, pick
from .recent import counted_in_grains, in_grains
from .tournament import new_tournament, open_tournament, replay_games, slot_of


class Window(NamedTuple):
    """The last rounds, in a ring: that of round r at (r - 1) modulo the length of the window."""

    slots: NDArray[np.int64]
    plays: NDArray[np.int64]  # 1; 0 if its answer got lost; more if they were made elsewhere
    sums: NDArray[np.float64]
    earlier: NDArray[np.int64]  # the round of the same arm's play before it


class SWUCBState(NamedTuple):
    """A run over one subsample."""

    width: float
    window: int  # as the spec says; 0: from the horizon
    changes: int
    ring: Window
    rewards: Rewards  # within the window
    plays: NDArray[np.int64]  # slot -> all its plays
    latest: NDArray[np.int64]  # slot -> the round of its latest play in the window, or 0
    keys: NDArray[np.int64]  # tournament of the indices
    leaves: int = 1
    leader: int = 0  # the slot with the largest index
    told: int = 0  # rounds so far
    length: int = 1  # of the window
    level: float = 0.0  # width · log(min(T, tau))


@dataclasses.dataclass(frozen=True)
class SWUCB(Base):
    """Mean plus sqrt(width · log(window) / plays), of the last rounds only (Garivier & Moulines 2011).

    Parameters
    ----------
    window
        How many rounds count. None: 2 sqrt(T log(T) / changes). It should be much longer than there are arms: with a
        window of fewer rounds than arms, it is filled with arms that are played once each.
    changes
        How often arms are expected to change in the run, all of them together.
    width
        The factor under the root: above 1/2 in the paper's proof.
    longest
        The most rounds of a window that follows from the horizon: room is made for so many, 32 bytes each.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.SWUCB(window=1000), beta=1.0, arms=20).base
    SWUCB(window=1000, changes=1, width=0.6, longest=16384)
    """

    about: ClassVar = About(
        told=("T", "changes"),
        rate="sqrt(changes · T); about T on a subsample as long as the window",
        made_for=("crashes",),
        cost="O(log arms)",
    )
    is_scattered: ClassVar[bool] = True  # as for other tournaments
    tried_with: ClassVar = ({"window": 40}, {"changes": 20, "width": 0.1})

    window: Count | None = None
    changes: Count = 1
    width: Positive = 0.6
    longest: Count = 16_384

    def start(self, slots: int) -> SWUCBState:
        """A state with arrays for ``slots`` arms and the longest window."""
        room = self.window or self.longest
        return SWUCBState(
            width=self.width,
            window=self.window or 0,
            changes=self.changes,
            ring=Window(
                slots=np.zeros(room, dtype=np.int64),
                plays=np.zeros(room, dtype=np.int64),
                sums=np.zeros(room, dtype=np.float64),
                earlier=np.zeros(room, dtype=np.int64),
            ),
            rewards=new_rewards(slots),
            plays=np.zeros(slots, dtype=np.int64),
            latest=np.zeros(slots, dtype=np.int64),
            keys=new_tournament(slots),
        )


@kernel
def window_for(horizon: float, changes: int) -> int:
    """The window that balances what is known against what is out of date: 2 sqrt(T log(T) / changes)."""
    rounds = max(horizon, 2.0)
    return ceiling(2.0 * math.sqrt(rounds * natural_log(rounds) / changes))


@kernel
def windowed_index(level: float, plays: int, total: float) -> float:
    """Mean reward in the window plus the width of its confidence interval; infinite if it was not played there."""
    return total / plays + math.sqrt(level / plays) if plays > 0 else math.inf


def renew(base: SWUCBState, arms: int, horizon: float, log_horizon: float) -> SWUCBState:
    """No arm has been played: every index is infinite."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.plays[slot] = 0
        base.latest[slot] = 0
    length = base.window if base.window > 0 else min(window_for(horizon, base.changes), base.ring.slots.size)
    return replaced(
        base,
        leaves=open_tournament(base.keys, arms, math.inf),
        leader=0,
        told=0,
        length=length,
        level=base.width * natural_log(max(min(horizon, float(length)), 2.0)),
    )


@kernel
def with_rewards(base: SWUCBState, slot: int, plays: int, total: float) -> SWUCBState:
    """Add to the plays and rewards of a slot within the window."""
    plays, total = add_to(base.rewards, slot, plays, total)
    leader = replay_games(base.keys, base.leaves, slot, windowed_index(base.level, plays, total))
    return replaced(base, leader=slot_of(leader, base.leaves))


@kernel
def without_oldest(base: SWUCBState) -> SWUCBState:
    """The round that a full window gives up for the next one is that of whoever was played then, not of who is now."""
    oldest = base.told + 1 - base.length
    if oldest < 1:
        return base
    ring = base.ring
    place = (oldest - 1) % base.length
    if ring.plays[place] == 0:
        return base
    slot = ring.slots[place]
    if base.latest[slot] == oldest:
        base.latest[slot] = 0
    return with_rewards(base, slot, -ring.plays[place], -ring.sums[place])


@kernel
def after_plays(base: SWUCBState, slot: int, plays: int, total: float) -> SWUCBState:
    """One more round, with so many plays of an arm."""
    base = without_oldest(base)
    ring = base.ring
    place = base.told % base.length
    ring.slots[place] = slot
    ring.plays[place] = plays
    ring.sums[place] = total
    ring.earlier[place] = base.latest[slot]
    base.latest[slot] = base.told + 1
    base.plays[slot] += plays
    return with_rewards(replaced(base, told=base.told + 1), slot, plays, total)


def learn(base: SWUCBState, choice: Choice, reward: float) -> SWUCBState:
    """One more play."""
    return after_plays(base, choice.slot, 1, in_grains(reward))


def revise(base: SWUCBState, slot: int, plays: int, total: float) -> SWUCBState:
    """Change the latest play of the arm in the window, if there is one; plays elsewhere are a round of their own."""
    if plays > 0:
        return after_plays(base, slot, plays, in_grains(total))
    base.plays[slot] += plays
    latest = base.latest[slot]
    if latest == 0:
        return base
    place = (latest - 1) % base.length
    base.ring.plays[place] += plays
    base.ring.sums[place] += total
    if base.ring.plays[place] <= 0:
        take_out(base, slot, place)
    return with_rewards(base, slot, plays, total)


@kernel
def take_out(base: SWUCBState, slot: int, place: int) -> None:
    """An arm's latest round in the window was no play; what it was credited with is passed on to the one before."""
    ring = base.ring
    ring.plays[place] = 0
    earlier = ring.earlier[place]
    if earlier <= max(base.told - base.length, 0):  # out of the window, or there is none
        base.latest[slot] = 0
        return
    base.latest[slot] = earlier
    ring.sums[(earlier - 1) % base.length] += ring.sums[place]


register(
    SWUCBState,
    renew=renew,
    pick=pick,
    learn=learn,
    counted=counted_in_grains,
    revise=revise,
    best_among=best_among,
    expected=expected_in,
    plays_of=lambda base, slot: base.plays[slot],
)
