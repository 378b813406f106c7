"""UniformPlay: a fresh arm every round.

The policy that learns nothing: its regret is the horizon times the reservoir's mean gap, and
no arm is played twice, so no drift matters. The floor of every comparison.

Source: none needed.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..about import About
from ..compiled import kernel, replaced
from ..contract import Choice, Counts
from .base import Policy
from .blocks import NO_COUNTS, register_policy, with_block


class UniformPlayState(NamedTuple):
    """Nothing but what it counts."""

    counts: Counts = NO_COUNTS  # one block; as many arms as asks


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

    about: ClassVar = About(
        told=(),
        rate="T",
        made_for=("comparison",),
        cost="O(1)",
    )

    def start(self, rounds: int) -> UniformPlayState:
        """Nothing to allocate."""
        return UniformPlayState()

    def slots(self, rounds: int) -> int:
        """One: the arm of this round."""
        return 1

    def kept_arms(self, state: UniformPlayState) -> NDArray[np.int64]:
        """None."""
        return np.zeros(0, dtype=np.int64)


def begin(state: UniformPlayState, key: int) -> UniformPlayState:
    """Nothing told."""
    return UniformPlayState(counts=with_block(NO_COUNTS, 0))


def ask(state: UniformPlayState, round: int) -> Choice:
    """The next arm of the reservoir."""
    return Choice(slot=0, arm=round - 1, probability=1.0, block=1, round=round)


@kernel
def tell(state: UniformPlayState, choice: Choice, reward: float) -> UniformPlayState:
    """One arm for each ask; rewards may come in any order, and change nothing."""
    return UniformPlayState(counts=replaced(state.counts, arms=max(state.counts.arms, choice.round)))


def defer(state: UniformPlayState, choice: Choice) -> tuple[UniformPlayState, float]:
    """Its arm is drawn, whatever it will pay."""
    return tell(state, choice, 0.0), math.nan


register_policy(UniformPlayState, begin=begin, ask=ask, tell=tell, defer=defer)
