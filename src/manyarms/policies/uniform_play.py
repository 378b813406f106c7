"""UniformPlay: a fresh arm every round.

The policy that learns nothing: its regret is the horizon times the reservoir's mean gap, and
no arm is played twice, so no drift matters. The floor of every comparison.

Source: none needed.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract import Choice, Counts, register
from .base import Policy, observe_nothing


class UniformPlayState(NamedTuple):
    """How many rewards have come in."""

    told: int
    ask_of_last: int  # the greatest ask that was answered


@dataclasses.dataclass(frozen=True)
class UniformPlay(Policy):
    """A fresh arm every round.

    Examples
    --------
    >>> import manyarms as ma
    >>> world = ma.World(ma.PowerLaw(beta=1.0))
    >>> result = ma.simulate(ma.UniformPlay(), world, horizon=1000, replications=20, seed=1)
    >>> bool(abs(result.final_regret("UniformPlay").mean() - 500) < 10)
    True
    """

    def start(self, rounds: int) -> UniformPlayState:
        """Nothing to allocate."""
        return UniformPlayState(told=0, ask_of_last=0)

    def slots(self, rounds: int) -> int:
        """One: the arm of this round."""
        return 1

    def kept_arms(self, state: UniformPlayState) -> NDArray[np.int64]:
        """None."""
        return np.zeros(0, dtype=np.int64)


def begin(state: UniformPlayState, key: int) -> UniformPlayState:
    """Nothing told."""
    return UniformPlayState(told=0, ask_of_last=0)


def ask(state: UniformPlayState, round: int, waiting: int) -> Choice:
    """The next arm of the reservoir."""
    return Choice(slot=0, arm=round - 1, probability=1.0, block=1, round=round)


def tell(state: UniformPlayState, choice: Choice, reward: float) -> UniformPlayState:
    """Count it."""
    return UniformPlayState(told=state.told + 1, ask_of_last=max(state.ask_of_last, choice.round))


def counts(state: UniformPlayState) -> Counts:
    """One block, one arm for each ask."""
    return Counts(restarts=0, blocks=1, arms=state.ask_of_last, ignored=0)


register(UniformPlayState, begin=begin, ask=ask, tell=tell, counts=counts, observe=observe_nothing)
