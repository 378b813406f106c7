"""Arms that wander."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..contract import Play
from ..specs import Positive
from ..streams import bits_at, uniform
from .base import Drift, register_drift


class RandomWalkState(NamedTuple):
    """The largest move."""

    size: float


@dataclasses.dataclass(frozen=True)
class RandomWalk(Drift):
    """After each play the mean moves by a number uniform on [-size, size], and stops at 0 and 1.

    Parameters
    ----------
    size
        The largest move of one play.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.RandomWalk(size=0.01)
    RandomWalk(size=0.01)
    """

    state_type: ClassVar = RandomWalkState
    tried_with: ClassVar = ({"size": 0.05},)

    size: Positive


def moved(drift: RandomWalkState, play: Play, reservoir: Any) -> tuple[RandomWalkState, float]:
    """One move."""
    return drift, play.mean + drift.size * (2.0 * uniform(bits_at(play.key, play.arm, play.plays)) - 1.0)


register_drift(RandomWalkState, moved)
