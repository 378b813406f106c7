"""Arms that jump once, at a given play."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..contract import Play
from ..specs import Count, Number
from .base import Drift, register_drift


class JumpAtState(NamedTuple):
    """When, and how far."""

    play: int
    size: float


@dataclasses.dataclass(frozen=True)
class JumpAt(Drift):
    """Every arm's mean jumps once, right after a given play of it.

    Parameters
    ----------
    play
        After which play of an arm: 1 is its first.
    size
        How far; negative for a fall.

    Examples
    --------
    An arm loses 0.3 at its 2,000th play:

    >>> import manyarms as ma
    >>> ma.JumpAt(play=2000, size=-0.3)
    JumpAt(play=2000, size=-0.3)
    """

    state_type: ClassVar = JumpAtState
    tried_with: ClassVar = ({"play": 3, "size": -0.3},)

    play: Count
    size: Number


def moved(drift: JumpAtState, play: Play, reservoir: Any) -> tuple[JumpAtState, float]:
    """The jump, if this was the play."""
    return drift, play.mean + (drift.size if play.plays + 1 == drift.play else 0.0)


register_drift(JumpAtState, moved)
