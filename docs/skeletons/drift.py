"""Seasons: the played arm's mean swings with the round.

Copy this file to write a drift; reservoirs and noises are shorter still.
"""

import dataclasses
from typing import Any, NamedTuple

from manyarms.arithmetic import cosine_of_turn, floor
from manyarms.contract import Play
from manyarms.drifts import Drift, register_drift
from manyarms.specs import positive


class SeasonsState(NamedTuple):
    """What the compiled loop carries: numbers and arrays."""

    size: float
    period: float


@dataclasses.dataclass(frozen=True)
class Seasons(Drift):
    """At each play the mean moves by size · cos(2 pi t / period).

    Parameters
    ----------
    size
        The largest move of one play.
    period
        Rounds from summer to summer.
    """

    size: float = 0.01
    period: float = 1000.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", positive("Seasons", "size", self.size))
        object.__setattr__(self, "period", positive("Seasons", "period", self.period))

    def start(self) -> SeasonsState:
        """The state that the compiled loop carries."""
        return SeasonsState(size=self.size, period=self.period)


def moved(drift: SeasonsState, play: Play, reservoir: Any) -> tuple[SeasonsState, float]:
    """The drift (which may remember things) and the mean from now on. The world clips it to [0, 1]."""
    turns = play.round / drift.period
    return drift, play.mean + drift.size * cosine_of_turn(turns - floor(turns))


register_drift(SeasonsState, moved)
