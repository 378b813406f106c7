"""What all bases share."""

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import floor
from ..compiled import kernel, load_both, store_both
from ..contract import register
from ..specs import Spec


class Base(Spec, abc.ABC, abstract=True):
    """Abstract: a finite-armed policy that another policy runs on a subsample of arms.

    A base speaks of slots 0 … arms - 1. Whoever runs it decides which arms they are, and
    calls ``renew`` for each new subsample.
    """

    kind: ClassVar[str] = "base"
    about: ClassVar[About | None] = None  # as for policies
    is_scattered: ClassVar[bool] = False  # as for policies
    takes_corrections: ClassVar[bool] = True  # as for policies: there is a kernel ``revise``
    is_random: ClassVar[bool] = False  # as for policies: it draws, with probabilities that it states
    most_arms: ClassVar[float] = math.inf  # with more of them it does not start

    @abc.abstractmethod
    def start(self, slots: int) -> Any:
        """A state with arrays for ``slots`` arms. ``renew`` it before the first pick."""

    def chance_among(self, state: Any, slot: int, allowed: NDArray[np.bool_]) -> float:
        """Of one that is random: the probability of a slot, if the allowed ones may be picked."""
        return 0.0


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


def plays_in(base: Any, slot: int) -> int:
    """For ``plays_of``: what a state with ``rewards`` has counted."""
    return base.rewards.plays[slot]  # type: ignore[no-any-return]


@kernel
def add_to(rewards: Rewards, slot: int, plays: int, total: float) -> tuple[int, float]:
    """Add to the plays and rewards of a slot; return what they are now."""
    plays += rewards.plays[slot]
    total = total + rewards.sums[slot] if plays > 0 else 0.0
    store_both(rewards.plays, rewards.sums, slot, plays, total)
    return plays, total


GRAIN = 2.0**-20


def expected_in(base: Any, slot: int) -> float:
    """For ``expected``, of a state with ``rewards``: the mean reward of a slot; nothing, of an arm nothing is known of.

    Such an arm loses its promise with the first ask, and the next ask goes on to another. The mean is rounded down to
    a multiple of 2^-20, so that sums of coins can be taken back without a trace.
    """
    plays, total = load_both(base.rewards.plays, base.rewards.sums, slot)
    return floor(total / plays / GRAIN) * GRAIN if plays > 0 else 0.0


def register_base(state_type: type, **kernels: Callable[..., Any]) -> None:
    """Give the state of a base with ``rewards`` its kernels: ``renew``, ``pick``, ``learn`` and ``revise``."""
    register(state_type, expected=expected_in, plays_of=plays_in, **kernels)
