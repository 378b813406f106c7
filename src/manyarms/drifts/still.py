"""Arms that never change."""

import dataclasses
from typing import Any, ClassVar

from ..contract import Nothing, Play
from .base import Drift, register_drift


class StillState(Nothing):
    """Nothing to carry."""


@dataclasses.dataclass(frozen=True)
class Still(Drift):
    """The stationary world: an arm keeps its first mean for ever.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Still().to_json()
    {'type': 'Still'}
    """

    state_type: ClassVar = StillState


def moved(drift: StillState, play: Play, reservoir: Any) -> tuple[StillState, float]:
    """The same mean."""
    return drift, play.mean


register_drift(StillState, moved)
