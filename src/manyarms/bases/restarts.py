"""What bases with a detector of change share: an index of the rewards since the last restart, and forced exploration.

The index is that of another base (`manyarms.bases.indexed`), of which a restart takes rewards away: an arm that was
restarted is untried, and comes first.

An arm in waiting is noticed to have changed only if it is played. So the sources play all arms by force now and then.
Where arms change only when they are played, as in all worlds of the package, that detects nothing: with ``rested`` no
arm is forced, and a change restarts the arm in which it was noticed, and no other.

Open asks teach nothing: what a detector has made of a reward could not be taken back. Answers count when they come.
Plays that were seen elsewhere come one after the other, each with their mean.
"""

import math
from typing import Any, ClassVar

from ..compiled import kernel, replaced
from ..contract import Choice, learn, register, revise
from ..specs import Flag, Fraction
from .base import Base, forget
from .indexed import IndexedState
from .indexed import best_among as best_by_index
from .recent import MOST_NEWS
from .tournament import open_tournament


class Restarting(Base, abstract=True):
    """Abstract: a base that restarts when it notices a change."""

    is_scattered: ClassVar[bool] = True  # as for other tournaments
    takes_corrections: ClassVar[bool] = False

    rested: Flag
    exploration: Fraction | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rested and self.exploration is not None:
            raise ValueError(
                f"{type(self).__name__}: exploration is for arms that change in waiting; say rested=False, too"
            )

    @property
    def told_exploration(self) -> float:
        """The share of rounds for forced exploration; -1: what the source has."""
        if self.rested:
            return 0.0
        return -1.0 if self.exploration is None else self.exploration


# ---------------------------------------------------------------- restarts


@kernel
def arm_anew(indexed: IndexedState, slot: int) -> IndexedState:
    """One arm is untried again."""
    return revise(indexed, slot, -indexed.rewards.plays[slot], 0.0)  # type: ignore[no-any-return]


@kernel
def all_anew(indexed: IndexedState, arms: int) -> IndexedState:
    """All arms are."""
    forget(indexed.rewards, arms)
    return replaced(indexed, leaves=open_tournament(indexed.keys, arms, math.inf), leader=0)


# ---------------------------------------------------------------- arms in turn


@kernel
def turn_of(period: int, arms: int, round: int) -> int:
    """The slot whose turn it is: of every ``period`` rounds, some go to all arms in turn; -1 if the index decides."""
    turn = round % period if period > 0 else 0
    return turn - 1 if turn <= arms else -1


LONGEST_PERIOD = 2.0**60


@kernel
def rounds_for_turns(arms: int, share: float) -> float:
    """The period in which so many turns are a share of all rounds, which is above 0."""
    return min(arms / share, LONGEST_PERIOD)


@kernel
def leaving_a_round(period: int, arms: int) -> int:
    """The period, made long enough for all arms and one round by the index."""
    return max(period, arms + 1)


def pick_by_turns(base: Any, key: int, round: int) -> tuple[int, float]:
    """For ``pick``: the arm whose turn it is, or the one with the largest index."""
    slot = turn_of(base.period, base.arms, round)
    return slot if slot >= 0 else base.indexed.leader, 1.0


def best_by_turns(base: Any, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """For ``best_among``: the same of the allowed slots."""
    slot = turn_of(base.period, base.arms, round)
    if 0 <= slot < arms and allowed[slot]:
        return slot, 1.0
    best, chance = best_by_index(base.indexed, key, round, allowed, arms)
    return best, chance


# ---------------------------------------------------------------- kernels that all have


def take_news(base: Any, slot: int, plays: int, total: float) -> Any:
    """For ``revise``: plays that were seen elsewhere, one after the other; nothing is taken back."""
    for _ in range(min(max(plays, 0), MOST_NEWS)):
        base = learn(base, Choice(slot=slot, arm=slot, probability=1.0, block=1, round=0), total / plays)
    return base


def all_plays(base: Any, slot: int) -> int:
    """For ``plays_of``: restarts do not count."""
    return base.plays[slot]  # type: ignore[no-any-return]


def register_restarting(state_type: type, **kernels: Any) -> None:
    """Give the state of a base with ``indexed`` and ``plays`` its kernels: all but ``revise`` and ``plays_of``."""
    register(state_type, revise=take_news, plays_of=all_plays, **kernels)
