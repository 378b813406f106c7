"""Drifts that remember nothing of a run: what a play does follows from the arm, its plays and the round alone."""

import dataclasses
from typing import Annotated, Any, ClassVar, NamedTuple

from ..contract import Play, fresh_mean_in
from ..specs import Count, Fraction, Number, Positive, fraction
from ..streams import bits_at, follow, uniform
from .base import Drift, register_drift


@dataclasses.dataclass(frozen=True)
class Still(Drift):
    """The stationary world: an arm keeps its first mean for ever."""


def unmoved(drift: Still, play: Play, reservoir: Any) -> tuple[Still, float]:
    """The same mean."""
    return drift, play.mean


register_drift(Still.state_type, unmoved)


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

    tried_with: ClassVar = ({"size": 0.05},)

    size: Positive


def walked(drift: RandomWalk, play: Play, reservoir: Any) -> tuple[RandomWalk, float]:
    """One move."""
    return drift, play.mean + drift.size * (2.0 * uniform(bits_at(play.key, play.arm, play.plays)) - 1.0)


register_drift(RandomWalk.state_type, walked)


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

    tried_with: ClassVar = ({"play": 3, "size": -0.3},)

    play: Count
    size: Number


def jumped(drift: JumpAt, play: Play, reservoir: Any) -> tuple[JumpAt, float]:
    """The jump, if this was the play."""
    return drift, play.mean + (drift.size if play.plays + 1 == drift.play else 0.0)


register_drift(JumpAt.state_type, jumped)


@dataclasses.dataclass(frozen=True)
class Fatigue(Drift):
    """An arm keeps its mean for a number of plays, then loses the same amount at every further play.

    It pleases for a while and then tires, as an advertisement does. Hard for whoever judges an arm by all that it has
    ever earned: a long honeymoon speaks for the arm long after it has gone bad.

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

    tried_with: ClassVar = ({"after": 4, "rate": 0.05},)

    after: Count
    rate: Number

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate < 0.0:
            raise ValueError(f"Fatigue: rate must not be negative, not {self.rate!r}; arms that tire lose")


def tired(drift: Fatigue, play: Play, reservoir: Any) -> tuple[Fatigue, float]:
    """The same mean during the honeymoon, less after it."""
    return drift, play.mean - (drift.rate if play.plays >= drift.after else 0.0)


register_drift(Fatigue.state_type, tired)


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


def crashed(drift: CrashState, play: Play, reservoir: Any) -> tuple[CrashState, float]:
    """The same mean, or the one after the crash."""
    bits = bits_at(play.key, play.arm, play.plays)
    mean = play.mean
    if uniform(bits) < drift.probability:
        mean = drift.level
        if drift.level < 0.0:
            mean = fresh_mean_in(reservoir, follow(bits, 1), play.round)
    return drift, mean


register_drift(CrashState, crashed)
