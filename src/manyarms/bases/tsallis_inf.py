"""Tsallis-INF: draw arms by weights that fall with the square of the losses estimated for them.

The weights are those of follow the regularised leader with the Tsallis entropy of power 1/2. It is told nothing, not
even the horizon, and has the best rates there are both where arms stand still and where an adversary chooses all
rewards; what lies between, arms that stand still and rewards some of which are forged, costs it little more.

Source: Zimmert & Seldin, "Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits" (JMLR 22, 2021;
arXiv:1807.07623), Algorithm 1 with alpha = 1/2 and a symmetric regulariser, and both of its estimators.

Symbols: L-hat_i -> losses; eta_t -> rate; x -> normaliser; w_i -> weight; B_t(i) -> baseline; K -> arms; t -> told + 1.

Deviations: a round is an answer: t counts those that were learned. The baselines of an answer are of the weights that
there are when it comes, not of those at the ask: they may be any numbers that do not depend on which arm was drawn.
Rewards beyond [0, 1] count as the end they are beyond. The source finds x by Newton's method on the sum of the weights,
from the x of the round before; here it is on the sum to the power -1/2, which is concave, so that no start can fail.
The full text was not at hand: rates and estimators are as public code has them, and as remembered.
"""

import dataclasses
import math
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..compiled import kernel, replaced
from ..contract import Choice
from ..specs import among
from .drawn import Drawn, register_drawn, within

MOST_STEPS = 12
"""Of Newton's method; tests/bases/test_tsallis_inf.py has what is needed at most: 6."""

NEAR_ENOUGH = 1e-9
"""A relative step this small is the last one: steps shrink quadratically, so what is left is rounding."""


class TsallisINFState(NamedTuple):
    """A run over one subsample."""

    losses: NDArray[np.float64]  # slot -> the sum of its estimated losses
    plays: NDArray[np.int64]
    is_reduced: bool  # whether the estimator is that of reduced variance
    arms: int = 0
    told: int = 0  # answers so far
    rate: float = 1.0
    normaliser: float = 0.0


@dataclasses.dataclass(frozen=True)
class TsallisINF(Drawn):
    """Draw arm i with probability 4 / (rate · (estimated losses of i - x))^2 (Zimmert & Seldin 2021).

    Parameters
    ----------
    estimator
        How the loss of a play, 1 - reward, becomes an estimate for all arms: ``"IW"``, loss / probability for the
        played arm and 0 for the others, with the rate 2 / sqrt(t); or ``"RV"``, of reduced variance, which takes 1/2
        for the loss of arms that are played often and weighs only the difference, with the rate 4 / sqrt(t).

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Subsample(base=ma.TsallisINF(), beta=1.0).base
    TsallisINF(estimator='RV')
    """

    about: ClassVar = About(
        told=(),
        rate="log(T) / gap for each arm; sqrt(K T) against anybody",
        made_for=("still", "lies", "adversaries"),
        cost="O(arms)",
    )
    tried_with: ClassVar = ({}, {"estimator": "IW"})

    estimator: Annotated[str, among(("RV", "IW"))] = "RV"

    def start(self, slots: int) -> TsallisINFState:
        """A state with arrays for ``slots`` arms."""
        return TsallisINFState(
            losses=np.zeros(slots), plays=np.zeros(slots, dtype=np.int64), is_reduced=self.estimator == "RV"
        )


@kernel
def learning_rate(is_reduced: bool, round: int) -> float:
    """Eta of round t: 2 / sqrt(t), or twice that with reduced variance."""
    return (4.0 if is_reduced else 2.0) / math.sqrt(float(round))


@kernel
def weight(rate: float, loss: float, normaliser: float) -> float:
    """The probability of an arm with these estimated losses; above 1 by rounding only."""
    root = rate * (loss - normaliser)
    return min(4.0 / (root * root), 1.0)


@kernel
def normaliser_for(losses: Any, arms: int, rate: float) -> float:
    """The x below all losses with which the weights sum to 1.

    Let z be the distance of x from the least loss. The sum, to the power -1/2, is an increasing and concave function of
    z: from below the solution Newton's steps rise towards it and never pass it. Below it is 2 / rate, where the weight
    of the least loss alone is 1. With q_i = 1 / (loss_i - x) the sum is (2 / rate)^2 times that of the q_i^2.
    """
    least = losses[0]
    for slot in range(1, arms):
        least = min(least, losses[slot])
    scale = 2.0 / rate
    gap = scale
    for _ in range(MOST_STEPS):
        squares = 0.0
        cubes = 0.0
        for slot in range(arms):
            q = 1.0 / (losses[slot] - least + gap)
            squares += q * q
            cubes += q * q * q
        step = squares * (scale * math.sqrt(squares) - 1.0) / cubes
        gap += step
        if step <= NEAR_ENOUGH * gap:
            break
    return float(least - gap)


@kernel
def baseline(is_reduced: bool, rate: float, chance: float) -> float:
    """B: what is taken for the loss of an arm that was not played."""
    return 0.5 if is_reduced and chance >= rate * rate else 0.0


@kernel
def chance_in(base: TsallisINFState, slot: int) -> float:
    """The weight of a slot."""
    return weight(base.rate, base.losses[slot], base.normaliser)


@kernel
def weighed(base: TsallisINFState) -> TsallisINFState:
    """With the rate of the coming round, and weights that sum to 1."""
    rate = learning_rate(base.is_reduced, base.told + 1)
    return replaced(base, rate=rate, normaliser=normaliser_for(base.losses, base.arms, rate))


def renew(base: TsallisINFState, arms: int, horizon: float, log_horizon: float) -> TsallisINFState:
    """Nothing has been lost: all arms weigh the same."""
    for slot in range(arms):
        base.losses[slot] = 0.0
        base.plays[slot] = 0
    return weighed(replaced(base, arms=arms, told=0))


def learn(base: TsallisINFState, choice: Choice, reward: float) -> TsallisINFState:
    """Estimate the losses of all arms, with the probability that the played one had when it was asked for."""
    loss = 1.0 - within(reward)
    base.plays[choice.slot] += 1
    for slot in range(base.arms):
        assumed = baseline(base.is_reduced, base.rate, chance_in(base, slot))
        seen = (loss - assumed) / choice.probability if slot == choice.slot else 0.0
        base.losses[slot] += seen + assumed
    return weighed(replaced(base, told=base.told + 1))


register_drawn(TsallisINFState, renew=renew, learn=learn, chance_in=chance_in)
