"""Arms that please for a while and then tire: the fatigue of an advertisement.

A honeymoon of some plays, then a steady fall. Hard for whoever judges an arm by all that it has ever earned: a long
honeymoon speaks for the arm long after it has gone bad.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..contract import Play
from ..specs import Count, Number
from .base import Drift, register_drift


class FatigueState(NamedTuple):
    """When, and how fast."""

    after: int
    rate: float


@dataclasses.dataclass(frozen=True)
class Fatigue(Drift):
    """An arm keeps its mean for a number of plays, then loses the same amount at every further play.

    Parameters
    ----------
    after
        The last play of an arm that leaves its mean as it is.
    rate
        What every later play takes. Means stop at 0.

    Examples
    --------
    A creative whose first 5,000 showings do it no harm:

    >>> import manyarms as ma
    >>> ma.Fatigue(after=5000, rate=0.0001)
    Fatigue(after=5000, rate=0.0001)
    """

    state_type: ClassVar = FatigueState
    tried_with: ClassVar = ({"after": 4, "rate": 0.05},)

    after: Count
    rate: Number

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate < 0.0:
            raise ValueError(f"Fatigue: rate must not be negative, not {self.rate!r}; arms that tire lose")


def moved(drift: FatigueState, play: Play, reservoir: Any) -> tuple[FatigueState, float]:
    """The same mean during the honeymoon, less after it."""
    return drift, play.mean - (drift.rate if play.plays >= drift.after else 0.0)


register_drift(FatigueState, moved)
