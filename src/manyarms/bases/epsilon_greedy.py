"""Epsilon-greedy: mostly the best mean reward so far, now and then any arm.

What most people would write first. The share epsilon of all rounds goes to arms at random for ever, which costs a
constant part of what could be earned, and notices a change only of arms that are in the pool.

Source: Sutton & Barto, "Reinforcement Learning" (1998), Section 2.2.

Symbols: epsilon -> epsilon; Q(a) -> the index of `Greedy`.

Deviations: every arm is played once first. Probabilities are stated: epsilon / arms, and 1 - epsilon more for the best.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..compiled import kernel, replaced
from ..contract import Choice, expected, plays_of, register
from ..contract import best_among as best_among_greedily
from ..contract import learn as greedy_learns
from ..contract import renew as renew_greedy
from ..contract import revise as revise_greedy
from ..specs import Fraction
from ..streams import bits_at, follow, index_below, uniform
from .base import Base
from .indexed import IndexedState
from .ucb import Greedy


class EpsilonGreedyState(NamedTuple):
    """A run over one subsample."""

    greedy: IndexedState
    epsilon: float
    arms: int = 0


@dataclasses.dataclass(frozen=True)
class EpsilonGreedy(Base):
    """With probability epsilon any arm, else the one with the best mean reward so far.

    Parameters
    ----------
    epsilon
        The share of plays at random, in [0, 1]; with 0 it is `Greedy`.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.EpsilonGreedy(epsilon=0.05), beta=1.0, arms=100).base
    EpsilonGreedy(epsilon=0.05)
    """

    about: ClassVar = About(
        told=(),
        rate="epsilon T",
        made_for=("still",),
        cost="O(log arms)",
    )
    is_random: ClassVar[bool] = True
    tried_with: ClassVar = ({"epsilon": 0.2},)

    epsilon: Fraction = 0.1

    def start(self, slots: int) -> EpsilonGreedyState:
        """A state with arrays for ``slots`` arms."""
        return EpsilonGreedyState(greedy=Greedy().start(slots), epsilon=self.epsilon)

    def chance_among(self, state: EpsilonGreedyState, slot: int, allowed: NDArray[np.bool_]) -> float:
        """Its share of the plays at random, and all others if it is the best."""
        if not allowed[slot]:
            return 0.0
        best, _ = best_among_greedily(state.greedy, 0, 1, allowed, len(allowed))
        if plays_of(state.greedy, best) == 0:
            return 1.0 if slot == best else 0.0
        return float(state.epsilon / allowed.sum() + (1.0 - state.epsilon if slot == best else 0.0))


def renew(base: EpsilonGreedyState, arms: int, horizon: float, log_horizon: float) -> EpsilonGreedyState:
    """No arm has been played."""
    return replaced(base, greedy=renew_greedy(base.greedy, arms, horizon, log_horizon), arms=arms)


def pick(base: EpsilonGreedyState, key: int, round: int) -> tuple[int, float]:
    """Any arm, or the best."""
    best = base.greedy.leader
    if plays_of(base.greedy, best) == 0:
        return best, 1.0
    bits = bits_at(key, round, 0)
    slot = index_below(follow(bits, 1), base.arms) if uniform(bits) < base.epsilon else best
    return slot, base.epsilon / base.arms + (1.0 - base.epsilon if slot == best else 0.0)


@kernel
def nth_allowed(allowed: Any, arms: int, n: int) -> int:
    """The n-th of the allowed slots, counted from 0."""
    for slot in range(arms):
        if allowed[slot]:
            n -= 1
            if n < 0:
                return slot
    return -1


def best_among(base: EpsilonGreedyState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """Any of the allowed arms, or the best of them."""
    best, _ = best_among_greedily(base.greedy, key, round, allowed, arms)
    if best < 0 or plays_of(base.greedy, best) == 0:
        return best, 1.0
    number = 0
    for slot in range(arms):
        number += 1 if allowed[slot] else 0
    bits = bits_at(key, round, 1)
    slot = best
    if uniform(bits) < base.epsilon:
        slot = nth_allowed(allowed, arms, index_below(follow(bits, 1), number))
    return slot, base.epsilon / number + (1.0 - base.epsilon if slot == best else 0.0)


def learn(base: EpsilonGreedyState, choice: Choice, reward: float) -> EpsilonGreedyState:
    """As greedy learns."""
    return replaced(base, greedy=greedy_learns(base.greedy, choice, reward))


def revise(base: EpsilonGreedyState, slot: int, plays: int, total: float) -> EpsilonGreedyState:
    """As greedy revises."""
    return replaced(base, greedy=revise_greedy(base.greedy, slot, plays, total))


register(
    EpsilonGreedyState,
    renew=renew,
    pick=pick,
    learn=learn,
    revise=revise,
    best_among=best_among,
    expected=lambda base, slot: expected(base.greedy, slot),
    plays_of=lambda base, slot: plays_of(base.greedy, slot),
)
