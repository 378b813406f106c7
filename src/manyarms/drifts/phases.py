"""Different drifts in different spans: of rounds, or of the life of an arm."""

import dataclasses
import itertools
from typing import Annotated, Any, ClassVar, NamedTuple

from ..compiled import kernel, replaced
from ..contract import Play, begin, moved
from ..nesting import check_nesting
from ..specs import Count, two_or_more
from .adversary import Adversary
from .base import Drift, register_drift
from .memoryless import Still
from .trend import Rising, Rotting


class PhasesState(NamedTuple):
    """One span and what comes after it; more spans are nested to the right."""

    until: int  # the last round of the span
    now: Any
    later: Any


class StagesState(NamedTuple):
    """As for phases."""

    until: int  # the last play of an arm in the span
    now: Any
    later: Any


@dataclasses.dataclass(frozen=True)
class Spans(Drift, abstract=True):
    """Abstract: one drift after another."""

    drifts: Annotated[tuple[Drift, ...], two_or_more(Drift)]
    ends: tuple[Count, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        owner, drifts, ends = type(self).__name__, len(self.drifts), len(self.ends)
        if ends != drifts - 1:
            raise ValueError(f"{owner}: {drifts} drifts need {drifts - 1} ends (one for each but the last), not {ends}")
        if any(later <= earlier for earlier, later in itertools.pairwise(self.ends)):
            raise ValueError(f"{owner}: ends must increase, not {list(self.ends)}")
        # The compiler gives up at some 15.
        check_nesting(self, "drifts", _inside, deepest=12, remedy="spans in spans may stand in one list")

    def start(self) -> Any:
        """The state that the compiled loop carries."""
        state = self.drifts[-1].start()
        for drift, end in zip(self.drifts[-2::-1], self.ends[::-1], strict=True):
            state = self.state_type(until=end, now=drift.start(), later=state)
        return state


def _inside(drift: Any) -> tuple[Any, ...]:
    """The drifts of the spans."""
    return drift.drifts if isinstance(drift, Spans) else ()


@dataclasses.dataclass(frozen=True)
class Phases(Spans):
    """One drift after another, by rounds.

    Parameters
    ----------
    drifts
        Two to 13 drifts, in order.
    ends
        The last round of each but the last, increasing.

    Examples
    --------
    Calm, then rot, then calm again:

    >>> import manyarms as ma
    >>> ma.Phases([ma.Still(), ma.Rotting(0.01), ma.Still()], ends=[1000, 2000]).ends
    (1000, 2000)
    """

    state_type: ClassVar = PhasesState
    tried_with: ClassVar = ({"drifts": (Still(), Rotting(0.01), Adversary(patience=5, size=0.2)), "ends": (50, 100)},)


@dataclasses.dataclass(frozen=True)
class Stages(Spans):
    """One drift after another in the life of an arm, by its own plays.

    Parameters
    ----------
    drifts
        Two to 13 drifts, in order.
    ends
        The last play of an arm in each stage but the last, increasing.

    Examples
    --------
    Novelty: an item gains for its first 100 plays, then people tire of it:

    >>> import manyarms as ma
    >>> ma.Stages([ma.Rising("0.7%"), ma.Rotting("0.1%")], ends=[100]).ends
    (100,)
    """

    state_type: ClassVar = StagesState
    tried_with: ClassVar = ({"drifts": (Rising(0.02), Rotting("5%"), Still()), "ends": (3, 12)},)


def begin_spans(drift: Any, key: int) -> Any:
    """Begin the drift of every span."""
    return replaced(drift, now=begin(drift.now, key), later=begin(drift.later, key))


@kernel
def moved_in_span(drift: Any, is_now: bool, play: Play, reservoir: Any) -> tuple[Any, float]:
    """Ask the drift of the span, or those after it."""
    if is_now:
        now, mean = moved(drift.now, play, reservoir)
        return replaced(drift, now=now), mean
    later, mean = moved(drift.later, play, reservoir)
    return replaced(drift, later=later), mean


register_drift(
    PhasesState,
    lambda drift, play, reservoir: moved_in_span(drift, play.round <= drift.until, play, reservoir),
    begin_spans,
)
register_drift(
    StagesState,
    lambda drift, play, reservoir: moved_in_span(drift, play.plays < drift.until, play, reservoir),
    begin_spans,
)
