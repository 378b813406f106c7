"""Arms that never change."""

import dataclasses
from typing import Any, NamedTuple

from ..contract import Play
from .base import Drift, register_drift


class StillState(NamedTuple):
    """Nothing to carry."""

    unused: float


@dataclasses.dataclass(frozen=True)
class Still(Drift):
    """The stationary world: an arm keeps its first mean for ever.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Still().to_json()
    {'type': 'Still'}
    """

    def start(self) -> StillState:
        """The state that the compiled loop carries."""
        return StillState(unused=0.0)


def moved(drift: StillState, play: Play, reservoir: Any) -> tuple[StillState, float]:
    """The same mean."""
    return drift, play.mean


register_drift(StillState, moved)
