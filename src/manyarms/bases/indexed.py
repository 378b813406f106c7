"""Bases that play the arm with the largest index, where only the played arm's index moves.

The formula of the index, with the numbers that all arms have in common, is a state of its own. Its type says which
index it is, by the kernels ``renew``, for a new subsample, and ``index_of``. All else is common: a tournament tree
finds the argmax in O(log arms), ties go to the lower slot, and arms that have not been played come first.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, replaced
from ..contract import Choice, index_of
from ..contract import renew as renew_formula
from ..specs import filled
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base
from .tournament import new_tournament, open_tournament, replay_games, slot_of


class IndexedState(NamedTuple):
    """A run over one subsample."""

    formula: Any  # of the index (a field of that name would hide a method of tuples)
    rewards: Rewards
    keys: NDArray[np.int64]  # tournament of the indices
    leaves: int = 1
    leader: int = 0  # the slot with the largest index


class Indexed(Base, abstract=True):
    """Abstract: a base with an index that moves for the played arm only."""

    is_scattered: ClassVar[bool] = True  # every round walks up a tree, mostly from another arm

    formula_type: ClassVar[type]

    def formula(self) -> Any:
        """That of the index, before the first ``renew``: by default one with the spec's own fields, or what follows."""
        return filled(self.formula_type, self)

    def start(self, slots: int) -> IndexedState:
        """A state with arrays for ``slots`` arms."""
        return IndexedState(formula=self.formula(), rewards=new_rewards(slots), keys=new_tournament(slots))


def renew(base: IndexedState, arms: int, horizon: float, log_horizon: float) -> IndexedState:
    """No arm has been played: every index is infinite."""
    forget(base.rewards, arms)
    return replaced(
        base,
        formula=renew_formula(base.formula, arms, horizon, log_horizon),
        leaves=open_tournament(base.keys, arms, math.inf),
        leader=0,
    )


def pick(base: IndexedState, key: int, round: int) -> tuple[int, float]:
    """The argmax of the index; untried arms have an infinite one."""
    return base.leader, 1.0


def learn(base: IndexedState, choice: Choice, reward: float) -> IndexedState:
    """Only the played arm's index moves."""
    plays, total = earn(base.rewards, choice.slot, reward)
    return with_index(base, choice.slot, index_of(base.formula, plays, total))


def revise(base: IndexedState, slot: int, plays: int, total: float) -> IndexedState:
    """An arm without plays is untried again."""
    plays, total = add_to(base.rewards, slot, plays, total)
    return with_index(base, slot, index_of(base.formula, plays, total) if plays > 0 else math.inf)


@kernel
def with_index(base: IndexedState, slot: int, index: float) -> IndexedState:
    """Give a slot its index."""
    leader = replay_games(base.keys, base.leaves, slot, index)
    return replaced(base, leader=slot_of(leader, base.leaves))


def best_among(base: IndexedState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The argmax of the index over the allowed slots. A leaf holds it in order, beside the slot."""
    best = -1
    for slot in range(arms):
        if allowed[slot] and (best < 0 or base.keys[base.leaves + slot] > base.keys[base.leaves + best]):
            best = slot
    return best, 1.0


register_base(IndexedState, renew=renew, pick=pick, learn=learn, revise=revise, best_among=best_among)
