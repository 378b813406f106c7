"""Arms that break down all at once."""

import dataclasses
from typing import Any, NamedTuple, Self

from ..contract import Play, fresh_mean
from ..specs import fraction
from ..streams import bits_at, follow, uniform
from .base import Drift, register_drift


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

    probability: float
    to: float | str = "fresh"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Specs to try promises on."""
        return (cls(probability=0.05),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probability", fraction("Crash", "probability", self.probability))
        if isinstance(self.to, str):
            if self.to != "fresh":
                raise ValueError(f"Crash: to must be 'fresh' or a level in [0, 1], not {self.to!r}")
        else:
            object.__setattr__(self, "to", fraction("Crash", "to", self.to))

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
