"""Bases that draw every pick, with probabilities that they state, and weigh its reward by 1 / probability.

So weighed, what the played arm paid stands for all that the others would have paid, and is right on average whoever
decides the rewards. The state has ``arms`` and ``plays``; its type says by the kernel ``chance_in`` with what
probability a slot is drawn. All else is common.

Late answers: the weight of a reward belongs to its ask, whose probability is in the choice. Nothing is known of a
reward before it comes, so open asks teach nothing (``expected`` is nan), and are learned when the answer is there; a
lost one never was. Corrections are refused, and plays from elsewhere teach nothing: neither says with what probability
its play was drawn.

Among some of the arms, probabilities are to each other as before, and sum to 1. The estimates are then of these arms
only: where they are of losses, those that could not be had have lost less than they would have, and are tried again.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..contract import register, verb
from ..streams import bits_at, uniform
from .base import Base

# chance_in(base, slot) -> the probability with which it picks a slot.
chance_in = verb("chance_in")


class Drawn(Base, abstract=True):
    """Abstract: a base that draws its picks with stated probabilities."""

    is_random: ClassVar[bool] = True
    takes_corrections: ClassVar[bool] = False

    def chance_among(self, state: Any, slot: int, allowed: NDArray[np.bool_]) -> float:
        """Its probability, of those of all allowed slots."""
        if not allowed[slot]:
            return 0.0
        return float(chance_in(state, slot) / chance_of_any(state, allowed, len(allowed)))


@kernel
def within(reward: float) -> float:
    """A reward in [0, 1]; one beyond it counts as the end that it is beyond."""
    return min(max(reward, 0.0), 1.0)


@kernel
def chance_of_any(base: Any, allowed: Any, arms: int) -> float:
    """The probability of all allowed slots together."""
    total = 0.0
    for slot in range(arms):
        if allowed[slot]:
            total += chance_in(base, slot)
    return total


def pick(base: Any, key: int, round: int) -> tuple[int, float]:
    """Go through the slots until their probabilities have reached a random number."""
    left = uniform(bits_at(key, round, 0))
    slot = 0
    chance = chance_in(base, 0)
    while left >= chance and slot < base.arms - 1:  # by rounding, they may sum to less than 1
        left -= chance
        slot += 1
        chance = chance_in(base, slot)
    return slot, chance


def best_among(base: Any, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The same with the allowed slots only; -1 if there is none."""
    total = chance_of_any(base, allowed, arms)
    left = uniform(bits_at(key, round, 1)) * total
    drawn = -1
    chance = total
    for slot in range(arms):
        if allowed[slot] and left >= 0.0:
            drawn = slot
            chance = chance_in(base, slot)
            left -= chance
    return drawn, chance / total if drawn >= 0 else 1.0


def register_drawn(state_type: type, **kernels: Callable[..., Any]) -> None:
    """Give the state of such a base its kernels: ``renew``, ``learn`` and ``chance_in``."""
    register(state_type, pick=pick, best_among=best_among, plays_of=lambda base, slot: base.plays[slot], **kernels)
