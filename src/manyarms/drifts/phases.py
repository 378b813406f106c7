"""Different drifts in different spans of rounds."""

import dataclasses
import itertools
from typing import Annotated, Any, ClassVar, NamedTuple

from ..compiled import replaced
from ..contract import Play, begin, moved
from ..specs import Count, two_or_more
from .adversary import Adversary
from .base import Drift, register_drift
from .memoryless import Still
from .trend import Rotting


class PhasesState(NamedTuple):
    """One span and what comes after it; more spans are nested to the right."""

    until: int  # the last round of the span
    now: Any
    later: Any


@dataclasses.dataclass(frozen=True)
class Phases(Drift):
    """One drift after another.

    Parameters
    ----------
    drifts
        Two or more drifts, in order.
    ends
        The last round of each but the last, increasing.

    Examples
    --------
    Calm, then rot, then calm again:

    >>> import manyarms as ma
    >>> ma.Phases([ma.Still(), ma.Rotting(0.01), ma.Still()], ends=[1000, 2000]).ends
    (1000, 2000)
    """

    tried_with: ClassVar = ({"drifts": (Still(), Rotting(0.01), Adversary(patience=5, size=0.2)), "ends": (50, 100)},)

    drifts: Annotated[tuple[Drift, ...], two_or_more(Drift)]
    ends: tuple[Count, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        drifts, ends = len(self.drifts), len(self.ends)
        if ends != drifts - 1:
            raise ValueError(f"Phases: {drifts} drifts need {drifts - 1} ends (one for each but the last), not {ends}")
        if any(later <= earlier for earlier, later in itertools.pairwise(self.ends)):
            raise ValueError(f"Phases: ends must increase, not {list(self.ends)}")

    def start(self) -> Any:
        """The state that the compiled loop carries."""
        state = self.drifts[-1].start()
        for drift, end in zip(self.drifts[-2::-1], self.ends[::-1], strict=True):
            state = PhasesState(until=end, now=drift.start(), later=state)
        return state


def begin_phases(drift: PhasesState, key: int) -> PhasesState:
    """Begin every phase's drift."""
    return replaced(drift, now=begin(drift.now, key), later=begin(drift.later, key))


def moved_in_phase(drift: PhasesState, play: Play, reservoir: Any) -> tuple[PhasesState, float]:
    """Ask the drift whose span this round belongs to."""
    if play.round <= drift.until:
        now, mean = moved(drift.now, play, reservoir)
        return replaced(drift, now=now), mean
    later, mean = moved(drift.later, play, reservoir)
    return replaced(drift, later=later), mean


register_drift(PhasesState, moved_in_phase, begin_phases)
