"""What all bases share."""

import abc
from typing import Any, ClassVar

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


@kernel
def forget_rewards(plays: Any, sums: Any, arms: int) -> None:
    """None of the first ``arms`` slots has been played. Plays and sums are neighbours in their state."""
    for slot in range(arms):
        store_both(plays, sums, slot, 0, 0.0)


@kernel
def count_reward(plays: Any, sums: Any, slot: int, reward: float) -> tuple[int, float]:
    """One more play of a slot; its plays and the sum of its rewards."""
    played, total = load_both(plays, sums, slot)
    played += 1
    total += reward
    store_both(plays, sums, slot, played, total)
    return played, total


@kernel
def next_untried(plays: Any, arms: int, tried: int, waiting: int) -> int:
    """The slot whose turn it is in the first sweep, or -1 when the sweep is over.

    With answers outstanding the sweep goes on: ``tried`` slots have been answered for and
    ``waiting`` more are under way, so the next one in order has not been asked for yet.
    """
    slot = tried + waiting
    if rarely(slot < arms) and plays[slot] == 0:
        return slot
    return -1
