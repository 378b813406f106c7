"""Thompson sampling for coins: draw a mean for every arm from what is known of it, play the largest.

What is known of an arm after S successes and F failures is Beta(1 + S, 1 + F), if all means were equally
likely at first. An arm is thus played as often as it is likely to be the best.

Source: Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence of two
samples" (Biometrika 1933); for more arms Agrawal & Goyal, "Analysis of Thompson Sampling for the Multi-armed
Bandit Problem" (COLT 2012), Algorithm 1. On a subsample it is SS-TS of Bayati, Hamidi, Johari & Khosravi
(NeurIPS 2020).

Symbols: S_i, F_i -> sums, plays - sums; theta_i -> drawn_mean.

Deviations: rewards between 0 and 1 count as that part of a success (fractional counts), where Agrawal & Goyal
throw a coin for them, which their proof needs: for coins the two are the same. Rewards beyond [0, 1] count as
the end they are beyond. There is no closed form for the probability of a choice, and 1 is stated
instead: do not weigh rewards by it.

Every arm's mean is drawn anew in every round, which takes O(arms) time: only then are the draws of different rounds
independent. Draws are addressed by (number of the ask, slot).
"""

import dataclasses
from typing import NamedTuple

from ..arithmetic import power
from ..compiled import kernel, load_both, replaced
from ..contract import Choice, counted
from ..streams import beta_draw, bits_at, uniform
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base


class ThompsonState(NamedTuple):
    """A run over one subsample."""

    rewards: Rewards
    arms: int = 0


@dataclasses.dataclass(frozen=True)
class Thompson(Base):
    """The largest of one draw for each arm, from Beta(1 + successes, 1 + failures).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.Thompson(), beta=1.0).base
    Thompson()
    """

    def start(self, slots: int) -> ThompsonState:
        """A state with arrays for ``slots`` arms."""
        return ThompsonState(rewards=new_rewards(slots))


@kernel
def drawn_mean(base: ThompsonState, slot: int, bits: int) -> float:
    """A mean from Beta(1 + successes, 1 + failures).

    An arm that has only failed, or only succeeded, has a distribution function that is a power. To invert it takes less
    time, and such are most arms of a large subsample: 16 instead of 27 µs a round with 100 arms.
    """
    plays, successes = load_both(base.rewards.plays, base.rewards.sums, slot)
    failures = plays - successes
    if successes == 0.0:
        return 1.0 - power(1.0 - uniform(bits), 1.0 / (1.0 + failures))
    if failures == 0.0:
        return power(1.0 - uniform(bits), 1.0 / (1.0 + successes))
    return beta_draw(bits, 1.0 + successes, 1.0 + failures)


def renew(base: ThompsonState, arms: int, horizon: float, log_horizon: float) -> ThompsonState:
    """Nothing is known of any arm."""
    forget(base.rewards, arms)
    return replaced(base, arms=arms)


def pick(base: ThompsonState, key: int, round: int) -> tuple[int, float]:
    """The arm with the largest draw; ties go to the lower slot."""
    best = 0
    largest = drawn_mean(base, 0, bits_at(key, round, 0))
    for slot in range(1, base.arms):
        mean = drawn_mean(base, slot, bits_at(key, round, slot))
        if mean > largest:
            best = slot
            largest = mean
    return best, 1.0


def part_of_success(base: ThompsonState, reward: float) -> float:
    """A success, a failure, or a part of each."""
    return min(max(reward, 0.0), 1.0)


def learn(base: ThompsonState, choice: Choice, reward: float) -> ThompsonState:
    """Count it."""
    earn(base.rewards, choice.slot, counted(base, reward))
    return base


def revise(base: ThompsonState, slot: int, plays: int, total: float) -> ThompsonState:
    """Count otherwise what was counted."""
    add_to(base.rewards, slot, plays, total)
    return base


register_base(ThompsonState, renew=renew, pick=pick, learn=learn, counted=part_of_success, revise=revise)
