"""EpsilonGreedy: now and then any arm, else the one with the best mean reward.

Copy this file to write a base: a finite-armed policy that ``Blackbox``, ``Subsample`` and others run on the arms they
have drawn. It speaks of slots 0 … arms - 1 and knows nothing of arms, blocks and restarts.

Source: Sutton & Barto, "Reinforcement Learning" (1998), Section 2.2.

Symbols: epsilon -> epsilon; Q(a) -> sums / plays.

Deviations: every arm is played once first.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from manyarms.bases import Base
from manyarms.bases.base import Rewards, earn, forget, new_rewards, next_untried, plays_in
from manyarms.compiled import kernel, replaced
from manyarms.contract import Choice, register
from manyarms.specs import Fraction
from manyarms.streams import bits_at, follow, index_below, uniform


class EpsilonGreedyState(NamedTuple):
    """A run over one subsample: numbers and arrays."""

    epsilon: float
    arms: int
    tried: int  # how many arms have been played
    rewards: Rewards  # two arrays: slot -> plays, slot -> sum of rewards


@dataclasses.dataclass(frozen=True)
class EpsilonGreedy(Base):
    """Any arm with probability epsilon, else the best so far.

    Parameters
    ----------
    epsilon
        How often any arm is played, in [0, 1].
    """

    epsilon: Fraction = 0.1  # a type that checks its values; others are in manyarms.specs

    def start(self, slots: int) -> EpsilonGreedyState:
        """Room for ``slots`` arms; first values are the business of ``renew``."""
        return EpsilonGreedyState(
            epsilon=self.epsilon,
            arms=0,
            tried=0,
            rewards=new_rewards(slots),
        )


def renew(base: EpsilonGreedyState, arms: int, horizon: float, log_horizon: float) -> EpsilonGreedyState:
    """A new problem of so many arms; nothing of the one before may be left. There may be room for more arms."""
    forget(base.rewards, arms)
    return replaced(base, arms=arms, tried=0)


@kernel  # helpers that kernels call are marked
def best_slot(base: EpsilonGreedyState) -> int:
    """The slot with the best mean reward; the first of several."""
    best = 0
    largest = -np.inf
    for slot in range(base.arms):
        plays = base.rewards.plays[slot]
        if plays > 0 and base.rewards.sums[slot] / plays > largest:
            best = slot
            largest = base.rewards.sums[slot] / plays
    return best


def pick(base: EpsilonGreedyState, key: int, round: int) -> tuple[int, float]:
    """A slot, and the probability of choosing it. Changes nothing.

    ``waiting`` asks have no answer yet: the first sweep goes on where they end. Random numbers belong to the number of
    the ask; the second one for the same ask follows the first.
    """
    slot = next_untried(base.rewards, base.arms, base.tried, waiting)
    if slot >= 0:
        return slot, 1.0
    best = best_slot(base)
    bits = bits_at(key, round, 0)
    slot = index_below(follow(bits, 1), base.arms) if uniform(bits) < base.epsilon else best
    probability = base.epsilon / base.arms
    if slot == best:
        probability += 1.0 - base.epsilon
    return slot, probability


def learn(base: EpsilonGreedyState, choice: Choice, reward: float) -> EpsilonGreedyState:
    """Whoever runs the base has seen to it that the choice is of this problem."""
    plays, _ = earn(base.rewards, choice.slot, reward)
    return replaced(base, tried=base.tried + (1 if plays == 1 else 0))


# plays_in tells policies with a warm start how often a slot was played; it reads ``rewards``.
register(EpsilonGreedyState, renew=renew, pick=pick, learn=learn, plays_of=plays_in)
