"""Gusts: the played arm moves with the wind, and the wind turns at random.

Copy this file to write a drift: what a play does to the arm that was played.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from manyarms.compiled import replaced
from manyarms.contract import Play
from manyarms.drifts import Drift, register_drift
from manyarms.specs import Fraction, Positive
from manyarms.streams import bits_at, follow, uniform


class GustsState(NamedTuple):
    """What the compiled loop carries: numbers and arrays."""

    size: float
    turning: float
    wind: float = 1.0  # upwards, -1.0: downwards


@dataclasses.dataclass(frozen=True)
class Gusts(Drift):
    """At each play the mean moves by a number between 0 and size, upwards or downwards as the wind blows.

    Parameters
    ----------
    size
        The largest move of one play.
    turning
        How likely the wind is to turn before a play.
    """

    # Of the state that ``start`` makes, which has the fields of the spec. What needs more is a ``start`` of its own.
    state_type: ClassVar = GustsState

    size: Positive = 0.02
    turning: Fraction = 0.05


def begin(drift: GustsState, key: int) -> GustsState:
    """A new replication: a drift that remembers something forgets it. One that does not needs no ``begin``."""
    return replaced(drift, wind=1.0)


def moved(drift: GustsState, play: Play, reservoir: Any) -> tuple[GustsState, float]:
    """The drift and the arm's mean from now on, which the world clips to [0, 1].

    Random numbers belong to the play: (arm, how often it was played before).
    """
    bits = bits_at(play.key, play.arm, play.plays)
    wind = -drift.wind if uniform(bits) < drift.turning else drift.wind
    return replaced(drift, wind=wind), play.mean + wind * drift.size * uniform(follow(bits, 1))


register_drift(GustsState, moved, begin)
