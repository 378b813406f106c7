"""Arms that break down all at once."""

import dataclasses
from typing import Annotated, Any, ClassVar, NamedTuple

from ..contract import Play, fresh_mean
from ..specs import Fraction, fraction
from ..streams import bits_at, follow, uniform
from .base import Drift, register_drift

FRESH = "fresh"


def fresh_or_level(owner: str, name: str, value: Any) -> float | str:
    """Where an arm crashes to, as the spec keeps it."""
    if not isinstance(value, str):
        return fraction(owner, name, value)
    if value != FRESH:
        raise ValueError(f"{owner}: {name} must be {FRESH!r} or a level in [0, 1], not {value!r}")
    return value


class CrashState(NamedTuple):
    """How often, and where to."""

    probability: float
    level: float  # below 0: to a fresh mean of the reservoir


@dataclasses.dataclass(frozen=True)
class Crash(Drift):
    """After each play, with some probability, the arm gets a new mean.

    Parameters
    ----------
    probability
        Of a crash at each play.
    to
        ``"fresh"`` for a mean newly drawn from the reservoir (which may be better), or the
        level the mean drops to, in [0, 1].

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Crash(probability=0.001, to=0.0)
    Crash(probability=0.001, to=0.0)
    """

    tried_with: ClassVar = ({"probability": 0.05},)

    probability: Fraction
    to: Annotated[float | str, fresh_or_level] = FRESH

    def start(self) -> CrashState:
        """The state that the compiled loop carries."""
        return CrashState(probability=self.probability, level=-1.0 if isinstance(self.to, str) else self.to)


def moved(drift: CrashState, play: Play, reservoir: Any) -> tuple[CrashState, float]:
    """The same mean, or the one after the crash."""
    bits = bits_at(play.key, play.arm, play.plays)
    mean = play.mean
    if uniform(bits) < drift.probability:
        mean = drift.level
        if drift.level < 0.0:
            mean = fresh_mean(reservoir, follow(bits, 1))
    return drift, mean


register_drift(CrashState, moved)
