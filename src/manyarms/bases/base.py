"""What all bases share."""

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel, load_both, rarely, store_both
from ..specs import Spec


class Base(Spec, abc.ABC, abstract=True):
    """Abstract: a finite-armed policy that another policy runs on a subsample of arms.

    A base speaks of slots 0 … arms - 1. Whoever runs it decides which arms they are, and
    calls ``renew`` for each new subsample.
    """

    kind: ClassVar[str] = "base"
    is_scattered: ClassVar[bool] = False  # as for policies

    @abc.abstractmethod
    def start(self, slots: int) -> Any:
        """A state with arrays for ``slots`` arms. ``renew`` it before the first pick."""


class Rewards(NamedTuple):
    """What the slots have earned."""

    plays: NDArray[np.int64]
    sums: NDArray[np.float64]


def new_rewards(slots: int) -> Rewards:
    """Arrays for ``slots`` arms."""
    return Rewards(plays=np.zeros(slots, dtype=np.int64), sums=np.zeros(slots, dtype=np.float64))


@kernel
def forget(rewards: Rewards, arms: int) -> None:
    """None of the first ``arms`` slots has been played."""
    for slot in range(arms):
        store_both(rewards.plays, rewards.sums, slot, 0, 0.0)


@kernel
def earn(rewards: Rewards, slot: int, reward: float) -> tuple[int, float]:
    """One more play of a slot; its plays and the sum of its rewards."""
    plays, total = load_both(rewards.plays, rewards.sums, slot)
    plays += 1
    total += reward
    store_both(rewards.plays, rewards.sums, slot, plays, total)
    return plays, total


@kernel
def next_untried(rewards: Rewards, arms: int, tried: int, waiting: int) -> int:
    """The slot whose turn it is in the first sweep, or -1 when the sweep is over.

    With answers outstanding the sweep goes on: ``tried`` slots have been answered for and
    ``waiting`` more are under way, so the next one in order has not been asked for yet.
    """
    slot = tried + waiting
    if rarely(slot < arms) and rewards.plays[slot] == 0:
        return slot
    return -1
