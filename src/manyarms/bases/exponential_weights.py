"""Exponential weights: what `Exp3S` and `Rexp3` share, which is EXP3 but for its pace.

An arm's weight is multiplied by exp(gamma / K · reward / probability) when it was played. An arm is drawn by its share
of all weights with probability 1 - gamma, else any arm. To keep up with changes, weights can be evened out: a little in
every round (``share``), or wholly once in a while (``batch``).

Source: Auer, Cesa-Bianchi, Freund & Schapire, "The Nonstochastic Multiarmed Bandit Problem" (SIAM Journal on Computing
32, 2002): Exp3 and Exp3.S.

Symbols: gamma -> pace.mixing; e alpha -> pace.share; w_i -> weights; W -> total; p_i -> chance_in; K -> arms.

Deviations: a round is an answer. Rewards beyond [0, 1] count as the end they are beyond. All weights are divided by a
power of two before they overflow, which changes no probability; none falls below `LEAST_WEIGHT` then, or an arm could
be lost for good.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import exponential
from ..compiled import kernel, rarely, replaced
from ..contract import Choice, verb
from .drawn import Drawn, register_drawn, within

LARGEST_TOTAL = 2.0**200
"""Beyond it, all weights are divided by it."""

LEAST_WEIGHT = 2.0**-800


class Pace(NamedTuple):
    """What follows from the horizon."""

    mixing: float  # the part of all plays that goes to any arm
    share: float  # the part of all weights that is added to them in every round, to each arm's as much
    batch: int  # after so many answers all arms weigh the same again; 0: never


NO_PACE = Pace(mixing=0.0, share=0.0, batch=0)
"""Before the first ``renew``."""

# pace_for(tuning, arms, horizon) -> Pace.
pace_for = verb("pace_for")


class ExponentialState(NamedTuple):
    """A run over one subsample."""

    tuning: Any  # how the pace follows from the horizon
    weights: NDArray[np.float64]
    plays: NDArray[np.int64]
    arms: int = 0
    told: int = 0  # answers of this batch
    total: float = 0.0  # the sum of the weights
    pace: Pace = NO_PACE


class ExponentialWeights(Drawn, abstract=True):
    """Abstract: EXP3 at some pace."""

    def tuning(self) -> Any:
        """How its pace follows from the horizon: a state with a kernel ``pace_for``."""
        raise NotImplementedError

    def start(self, slots: int) -> ExponentialState:
        """A state with arrays for ``slots`` arms."""
        return ExponentialState(tuning=self.tuning(), weights=np.zeros(slots), plays=np.zeros(slots, dtype=np.int64))


@kernel
def chance_in(base: ExponentialState, slot: int) -> float:
    """(1 - gamma) w / W + gamma / K; above 1 by rounding only."""
    mixing = base.pace.mixing
    chance = (1.0 - mixing) * base.weights[slot] / base.total + mixing / base.arms
    return min(float(chance), 1.0)


@kernel
def levelled(base: ExponentialState) -> ExponentialState:
    """All arms weigh the same."""
    for slot in range(base.arms):
        base.weights[slot] = 1.0
    return replaced(base, told=0, total=float(base.arms))


@kernel
def lightened(base: ExponentialState) -> ExponentialState:
    """Divide all weights by the largest total."""
    for slot in range(base.arms):
        base.weights[slot] = max(base.weights[slot] / LARGEST_TOTAL, LEAST_WEIGHT)
    return replaced(base, total=base.total / LARGEST_TOTAL)


def renew(base: ExponentialState, arms: int, horizon: float, log_horizon: float) -> ExponentialState:
    """Nothing has been earned."""
    for slot in range(arms):
        base.plays[slot] = 0
    return levelled(replaced(base, arms=arms, pace=pace_for(base.tuning, arms, horizon)))


def learn(base: ExponentialState, choice: Choice, reward: float) -> ExponentialState:
    """Reward the played arm by the probability that it had when it was asked for, and even out the weights."""
    pace = base.pace
    told = base.told + 1
    base.plays[choice.slot] += 1
    if told == pace.batch:
        return levelled(base)
    gain = within(reward) / choice.probability
    base.weights[choice.slot] *= exponential(pace.mixing * gain / base.arms)
    shared = pace.share / base.arms * base.total
    total = 0.0
    for slot in range(base.arms):
        base.weights[slot] += shared
        total += base.weights[slot]
    learned = replaced(base, told=told, total=total)
    return lightened(learned) if rarely(total > LARGEST_TOTAL) else learned


register_drawn(ExponentialState, renew=renew, learn=learn, chance_in=chance_in)


@kernel
def mixing_for(squared: float) -> float:
    """The gamma that a bound asks for, at most 1."""
    return min(math.sqrt(squared), 1.0)
