"""Successive elimination: play the active arms in turn, drop those that are surely worse.

Source: Even-Dar, Mannor & Mansour, "Action Elimination and Stopping Conditions for the
Multi-Armed Bandit and Reinforcement Learning Problems" (JMLR 2006). Suk & Kim name it as a
second base for their Algorithm 1.

Symbols: A -> the first ``active`` entries of ``order``; K -> arms; T -> horizon;
radius -> confidence_radius. A phase plays each active arm once; after it, an arm is dropped
when the best mean exceeds its own by two radii or more.

Deviations: the radius is that of a fixed horizon. By Hoeffding's inequality and a union over
arms and rounds, all means lie within sqrt(log(2 K T^2) / (2 n)) of their estimates with
probability at least 1 - 1/T.
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
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base


class SuccessiveEliminationState(NamedTuple):
    """A run over one subsample."""

    order: NDArray[np.uint32]  # the active slots, in the order they are played
    rewards: Rewards
    log_term: float = 0.0  # log(2 K T^2)
    active: int = 0
    told: int = 0  # rewards in this phase


@dataclasses.dataclass(frozen=True)
class SuccessiveElimination(Base):
    """Play active arms in turn; drop those two confidence radii below the best.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Blackbox(base=ma.SuccessiveElimination(), beta=1.0).base
    SuccessiveElimination()
    """

    about: ClassVar = About(
        told=("T",),
        rate="log(T) / gap for each arm",
        made_for=("still",),
        cost="O(1) on average",
    )

    def start(self, slots: int) -> SuccessiveEliminationState:
        """A state with arrays for ``slots`` arms."""
        return SuccessiveEliminationState(order=np.zeros(slots, dtype=np.uint32), rewards=new_rewards(slots))


@kernel
def confidence_radius(log_term: float, plays: int) -> float:
    """Hoeffding's radius after this many plays."""
    return math.sqrt(log_term / (2.0 * plays))


def renew(
    base: SuccessiveEliminationState, arms: int, horizon: float, log_horizon: float
) -> SuccessiveEliminationState:
    """All arms are active, none has been played."""
    forget(base.rewards, arms)
    for slot in range(arms):
        base.order[slot] = slot
    return replaced(base, log_term=natural_log(2.0 * arms * horizon * horizon), active=arms, told=0)


def pick(base: SuccessiveEliminationState, key: int, round: int) -> tuple[int, float]:
    """The active arm whose turn it is."""
    return int(base.order[base.told]), 1.0


def learn(base: SuccessiveEliminationState, choice: Choice, reward: float) -> SuccessiveEliminationState:
    """Count the reward; at the end of a phase, drop the arms that are surely worse than the best."""
    earn(base.rewards, choice.slot, reward)
    told = base.told + 1
    active = base.active
    if told >= active:
        told = 0
        active = drop_the_worse(base)
    return replaced(base, active=active, told=told)


@kernel
def drop_the_worse(base: SuccessiveEliminationState) -> int:
    """Keep, in order, the active arms within two radii of the best; return how many.

    An arm whose reward is still under way at the end of its first phase stays.
    """
    plays, sums = base.rewards.plays, base.rewards.sums
    best = -math.inf
    for place in range(base.active):
        slot = base.order[place]
        if plays[slot] > 0:
            best = max(best, sums[slot] / plays[slot])
    kept = 0
    for place in range(base.active):
        slot = base.order[place]
        played = plays[slot]
        if played == 0 or best - sums[slot] / played < 2.0 * confidence_radius(base.log_term, played):
            base.order[kept] = slot
            kept += 1
    return kept


def revise(base: SuccessiveEliminationState, slot: int, plays: int, total: float) -> SuccessiveEliminationState:
    """Count otherwise what was counted; what was dropped stays dropped."""
    add_to(base.rewards, slot, plays, total)
    return base


register_base(SuccessiveEliminationState, renew=renew, pick=pick, learn=learn, revise=revise)
