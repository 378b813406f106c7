"""Curious: now and then any arm, else the one with the best mean reward.

Copy this file to write a base: a finite-armed policy that ``Blackbox``, ``Subsample`` and others run on the arms they
have drawn. It speaks of slots 0 … arms - 1 and knows nothing of arms, blocks and restarts.

Source: Sutton & Barto, "Reinforcement Learning" (1998), Section 2.2.

Symbols: epsilon -> epsilon; Q(a) -> sums / plays.

Deviations: every arm is played once first.

The package's own `EpsilonGreedy` makes the same choices, and finds the best arm in a tree.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from manyarms.about import About
from manyarms.bases import Base
from manyarms.bases.base import Rewards, add_to, earn, expected_in, forget, new_rewards, plays_in
from manyarms.compiled import kernel, replaced
from manyarms.contract import Choice, register
from manyarms.specs import Fraction
from manyarms.streams import bits_at, follow, index_below, uniform


class CuriousState(NamedTuple):
    """A run over one subsample: numbers and arrays."""

    epsilon: float
    arms: int
    rewards: Rewards  # two arrays: slot -> plays, slot -> sum of rewards


@dataclasses.dataclass(frozen=True)
class Curious(Base):
    """Any arm with probability epsilon, else the best so far.

    Parameters
    ----------
    epsilon
        How often any arm is played, in [0, 1].
    """

    # For those who must choose: `manyarms policies --table` shows it. May be left out.
    about: ClassVar = About(told=(), rate="epsilon T", made_for=("still",), cost="O(arms)")

    epsilon: Fraction = 0.1  # a type that checks its values; others are in manyarms.specs

    def start(self, slots: int) -> CuriousState:
        """Room for ``slots`` arms; first values are the business of ``renew``."""
        return CuriousState(
            epsilon=self.epsilon,
            arms=0,
            rewards=new_rewards(slots),
        )


def renew(base: CuriousState, arms: int, horizon: float, log_horizon: float) -> CuriousState:
    """A new problem of so many arms; nothing of the one before may be left. There may be room for more arms."""
    forget(base.rewards, arms)
    return replaced(base, arms=arms)


@kernel  # helpers that kernels call are marked
def best_slot(base: CuriousState) -> int:
    """The slot with the best mean reward; the first of several. Arms that were not played come before all others."""
    best = 0
    largest = -np.inf
    for slot in range(base.arms):
        plays = base.rewards.plays[slot]
        mean = base.rewards.sums[slot] / plays if plays > 0 else np.inf
        if mean > largest:
            best = slot
            largest = mean
    return best


def pick(base: CuriousState, key: int, round: int) -> tuple[int, float]:
    """A slot, and the probability of choosing it. Changes nothing.

    Random numbers belong to the number of the ask; the second one for the same ask follows the first.
    """
    best = best_slot(base)
    if base.rewards.plays[best] == 0:
        return best, 1.0
    bits = bits_at(key, round, 0)
    slot = index_below(follow(bits, 1), base.arms) if uniform(bits) < base.epsilon else best
    probability = base.epsilon / base.arms
    if slot == best:
        probability += 1.0 - base.epsilon
    return slot, probability


def learn(base: CuriousState, choice: Choice, reward: float) -> CuriousState:
    """Whoever runs the base has seen to it that the choice is of this problem."""
    earn(base.rewards, choice.slot, reward)
    return base


def revise(base: CuriousState, slot: int, plays: int, total: float) -> CuriousState:
    """Late answers: an open ask was learned as a play that paid ``expected``, and here that is put right."""
    add_to(base.rewards, slot, plays, total)
    return base


# plays_in and expected_in read ``rewards``: how often a slot was played, and its mean reward, 0 before the first.
register(CuriousState, renew=renew, pick=pick, learn=learn, revise=revise, expected=expected_in, plays_of=plays_in)
