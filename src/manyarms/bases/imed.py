"""IMED: play the arm that the rewards speak against least.

That an arm is the best after all, although its mean reward is below that of the leader, becomes less likely with every
play, by the factor exp(-kl). The index is the logarithm of that, and of how often the arm was tried already: no
confidence level, no horizon, and no equation to solve.

Source: Honda & Takemura, "Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded Rewards" (JMLR 2015),
IMED.

Symbols: T_i -> plays; mu-hat* -> the best mean reward; D_inf -> the divergence of coins; I_i -> imed_index.

Deviations: D_inf of the source is the least divergence of any distribution with the best mean from all rewards of an
arm. Here it is that of coins, from their mean: for coins the same, for other rewards in [0, 1] less, so that they are
explored longer. A mean outside [0, 1] counts as the end it is beyond.

With S successes and F failures in n plays, n kl(S/n, q) + log n = c - S log q - F log(1 - q), where c does not depend
on q, the best mean. Every index moves when q does, so a round takes O(arms) time; but c is kept, and a round takes two
logarithms for q and three for c, however many arms there are.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..arithmetic import natural_log
from ..compiled import kernel, replaced
from ..contract import Choice
from .base import Base, Rewards, add_to, earn, forget, new_rewards, register_base

LEAST_SHARE = 1e-300
"""Has a logarithm; less counts as 0."""

TIE = 1e-9
"""Indices that are no further apart are a tie. Those of coins often are one (a failure beside a mean of 1/2 after two
plays: log 2), which rounding should not decide."""


class IMEDState(NamedTuple):
    """A run over one subsample."""

    rewards: Rewards
    constants: NDArray[np.float64]  # the part of a slot's index that does not depend on the best mean
    arms: int = 0


class Surprise(NamedTuple):
    """What a success and a failure say against an arm with the best mean: -log q and -log(1 - q)."""

    success: float
    failure: float


@dataclasses.dataclass(frozen=True)
class IMED(Base):
    """The least plays · kl(mean, best mean) + log(plays) (Honda & Takemura 2015).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.IMED(), beta=1.0).base
    IMED()
    """

    about: ClassVar = About(
        told=(),
        rate="for coins the least in the long run",
        made_for=("still",),
        cost="O(arms)",
    )

    def start(self, slots: int) -> IMEDState:
        """A state with arrays for ``slots`` arms."""
        return IMEDState(rewards=new_rewards(slots), constants=np.zeros(slots))


@kernel
def successes_in(plays: int, total: float) -> float:
    """The sum of rewards, as far as coins could have brought it."""
    return min(max(total, 0.0), float(plays))


@kernel
def surprise_at(share: float) -> float:
    """Minus the logarithm of a share; infinite at 0."""
    return -natural_log(share) if share > LEAST_SHARE else math.inf


@kernel
def weighed(number: float, surprise: float) -> float:
    """Their product, with 0 · infinity = 0."""
    return number * surprise if number > 0.0 else 0.0


@kernel
def constant_part(plays: int, total: float) -> float:
    """What no other arm has a part in: log n + S log(S/n) + F log(F/n)."""
    successes = successes_in(plays, total)
    failures = plays - successes
    own = weighed(successes, surprise_at(successes / plays)) + weighed(failures, surprise_at(failures / plays))
    return natural_log(float(plays)) - own


@kernel
def imed_index(base: IMEDState, slot: int, surprise: Surprise) -> float:
    """Plays · kl(mean, best mean) + log(plays); of an untried arm less than any other."""
    plays = base.rewards.plays[slot]
    if plays == 0:
        return -math.inf
    successes = successes_in(plays, base.rewards.sums[slot])
    against = weighed(successes, surprise.success) + weighed(plays - successes, surprise.failure)
    return float(base.constants[slot] + against)


@kernel
def mean_of(base: IMEDState, slot: int) -> float:
    """The mean reward of a slot, within [0, 1]; -1 before its first."""
    plays = base.rewards.plays[slot]
    return successes_in(plays, base.rewards.sums[slot]) / plays if plays > 0 else -1.0


@kernel
def surprise_of(base: IMEDState, leader: int) -> Surprise:
    """With the mean of the leader as the best one; nothing is surprising if it is untried.

    1 - q is taken from its failures: close to 1, the mean is too coarse a float for that.
    """
    plays = base.rewards.plays[leader]
    if plays == 0:
        return Surprise(success=0.0, failure=0.0)
    successes = successes_in(plays, base.rewards.sums[leader])
    return Surprise(success=surprise_at(successes / plays), failure=surprise_at((plays - successes) / plays))


def renew(base: IMEDState, arms: int, horizon: float, log_horizon: float) -> IMEDState:
    """No arm has been played."""
    forget(base.rewards, arms)
    return replaced(base, arms=arms)


def pick(base: IMEDState, key: int, round: int) -> tuple[int, float]:
    """The arm with the least index; ties go to the lower slot."""
    leader = 0
    highest = mean_of(base, 0)
    for slot in range(1, base.arms):
        mean = mean_of(base, slot)
        if mean > highest:
            leader = slot
            highest = mean
    surprise = surprise_of(base, leader)
    best = 0
    least = imed_index(base, 0, surprise)
    for slot in range(1, base.arms):
        index = imed_index(base, slot, surprise)
        if index < least - TIE:
            best = slot
            least = index
    return best, 1.0


def best_among(base: IMEDState, key: int, round: int, allowed: Any, arms: int) -> tuple[int, float]:
    """The allowed arm with the least index, as if there were no others; -1 if none is allowed."""
    leader = -1
    for slot in range(arms):
        if allowed[slot] and (leader < 0 or mean_of(base, slot) > mean_of(base, leader)):
            leader = slot
    if leader < 0:
        return -1, 1.0
    surprise = surprise_of(base, leader)
    best = -1
    least = math.inf
    for slot in range(arms):
        if allowed[slot]:
            index = imed_index(base, slot, surprise)
            if best < 0 or index < least - TIE:
                best = slot
                least = index
    return best, 1.0


def learn(base: IMEDState, choice: Choice, reward: float) -> IMEDState:
    """Count it."""
    plays, total = earn(base.rewards, choice.slot, reward)
    base.constants[choice.slot] = constant_part(plays, total)
    return base


def revise(base: IMEDState, slot: int, plays: int, total: float) -> IMEDState:
    """Count otherwise what was counted; an arm without plays is untried again."""
    plays, total = add_to(base.rewards, slot, plays, total)
    if plays > 0:
        base.constants[slot] = constant_part(plays, total)
    return base


register_base(IMEDState, renew=renew, pick=pick, learn=learn, revise=revise, best_among=best_among)
