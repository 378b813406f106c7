"""A catalogue that turns over: what was known yesterday is worth nothing today.

The hard world of the lower bound in the number of changes: rounds are cut into seasons, and with
each new one a policy has to search again from nothing.
"""

import dataclasses
from typing import Any, ClassVar, NamedTuple

from ..compiled import replaced
from ..contract import Play
from ..specs import Count, Fraction
from .base import Drift, register_drift


class TurnoverState(NamedTuple):
    """Which arms are old."""

    length: int
    to: float
    season: int = 0  # of the last play, counted from 0
    old: int = 0  # arms below this number are from earlier seasons
    seen: int = 0  # arms below this number have been played, or passed over


@dataclasses.dataclass(frozen=True)
class Turnover(Drift):
    """Every ``length`` rounds a new season begins; arms from earlier ones break down with their next play.

    Parameters
    ----------
    length
        Of a season, in rounds.
    to
        The mean that such an arm falls to, if it is above it.

    Notes
    -----
    An arm is taken to be from the season in which a higher-numbered arm or itself was first played.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Turnover(length=1000)
    Turnover(length=1000, to=0.0)
    """

    state_type: ClassVar = TurnoverState
    tried_with: ClassVar = ({"length": 40, "to": 0.1},)

    length: Count
    to: Fraction = 0.0


def begin(drift: TurnoverState, key: int) -> TurnoverState:
    """No arm has been seen."""
    return replaced(drift, season=0, old=0, seen=0)


def moved(drift: TurnoverState, play: Play, reservoir: Any) -> tuple[TurnoverState, float]:
    """The same mean, or the end of an old arm."""
    season = (play.round - 1) // drift.length
    old = drift.old if season == drift.season else drift.seen
    mean = min(play.mean, drift.to) if play.arm < old else play.mean
    seen = max(drift.seen, play.arm + 1)
    return replaced(drift, season=season, old=old, seen=seen), mean


register_drift(TurnoverState, moved, begin)
