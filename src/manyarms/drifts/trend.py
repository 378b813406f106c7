"""Arms that wear out, or improve, a little with every play."""

import dataclasses
import math
import re
from typing import Annotated, Any, ClassVar, NamedTuple

from ..arithmetic import power
from ..compiled import replaced
from ..specs import number
from .base import Drift, register_drift


# One state type for each kind of rate: the choice is made while compiling, not in every round.
class ConstantTrendState(NamedTuple):
    """The same amount at every play."""

    size: float  # signed: below 0 for rotting


class InverseTrendState(NamedTuple):
    """Size / t at round t."""

    size: float


class PowerTrendState(NamedTuple):
    """Size * t^-power at round t."""

    size: float
    power: float


class ShareTrendState(NamedTuple):
    """A share of the present mean."""

    size: float


TrendState = ConstantTrendState | InverseTrendState | PowerTrendState | ShareTrendState

_NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_FORMS = (
    re.compile(rf"(?P<size>{_NUMBER})\s*(?P<share>%)"),
    re.compile(rf"(?P<size>{_NUMBER})\s*/\s*t(?:\s*(?:\^|\*\*)\s*(?P<over>{_NUMBER}))?"),
    re.compile(rf"(?:(?P<size>{_NUMBER})\s*\*?\s*)?t\s*(?:\^|\*\*)\s*-\s*(?P<power>{_NUMBER})"),
)


def parse_rate(owner: str, rate: object) -> TrendState:
    """The state of a trend upwards at this rate.

    Examples
    --------
    >>> parse_rate("Rotting", "5/t")
    InverseTrendState(size=5.0)
    >>> parse_rate("Rotting", "1%")
    ShareTrendState(size=0.01)
    """
    if not isinstance(rate, str):
        size = number(owner, "rate", rate)
        if size < 0.0:
            raise ValueError(f"{owner}: rate must not be negative, not {rate!r}; Rising is the opposite of Rotting")
        return ConstantTrendState(size)
    for form in _FORMS:
        found = form.fullmatch(rate.strip())
        if found is not None:
            parts = found.groupdict()
            size = float(parts["size"] or 1.0)
            if math.isinf(size):
                break
            if parts.get("share"):
                if size > 100.0:
                    raise ValueError(f"{owner}: rate {rate!r} is more than the whole mean")
                return ShareTrendState(size / 100.0)
            exponent = float(parts.get("power") or parts.get("over") or 1.0)
            if math.isinf(exponent):
                break
            return InverseTrendState(size) if exponent == 1.0 else PowerTrendState(size, exponent)
    raise ValueError(
        f"{owner}: cannot read the rate {rate!r}; give a number, 'c/t', 't^-0.7', 'c*t^-0.7' or a share like '1%'"
    )


def checked_rate(owner: str, name: str, rate: Any) -> float | str:
    """A rate as its spec keeps it: a text that can be read, or a number."""
    state = parse_rate(owner, rate)
    return rate if isinstance(rate, str) else state.size


@dataclasses.dataclass(frozen=True)
class Trend(Drift, abstract=True):
    """Abstract: the played arm's mean moves one way at every play."""

    sign: ClassVar[float]

    rate: Annotated[str | float, checked_rate] = "1/t"

    def start(self) -> Any:
        """The state that the compiled loop carries."""
        state = parse_rate(type(self).__name__, self.rate)
        return replaced(state, size=self.sign * state.size)


@dataclasses.dataclass(frozen=True)
class Rotting(Trend):
    """The played arm's mean falls at every play.

    Parameters
    ----------
    rate
        How far: a number; ``"c/t"`` or ``"c*t^-p"`` with t the round; or ``"1%"``, a share of
        the present mean. Means stop at 0.

    Examples
    --------
    The world of the paper's figure:

    >>> import manyarms as ma
    >>> ma.Rotting(rate="1/t")
    Rotting(rate='1/t')
    """

    sign: ClassVar[float] = -1.0
    tried_with: ClassVar = ({"rate": "1/t"},)


@dataclasses.dataclass(frozen=True)
class Rising(Trend):
    """The played arm's mean rises at every play.

    Parameters
    ----------
    rate
        How far: as for `Rotting`. Means stop at 1.

    Examples
    --------
    >>> import manyarms as ma
    >>> ma.Rising(rate="t^-0.7")
    Rising(rate='t^-0.7')
    """

    sign: ClassVar[float] = 1.0
    tried_with: ClassVar = ({"rate": 0.01},)


register_drift(ConstantTrendState, lambda drift, play, reservoir: (drift, play.mean + drift.size))
register_drift(InverseTrendState, lambda drift, play, reservoir: (drift, play.mean + drift.size / play.round))
register_drift(ShareTrendState, lambda drift, play, reservoir: (drift, play.mean + drift.size * play.mean))
register_drift(
    PowerTrendState,
    lambda drift, play, reservoir: (drift, play.mean + drift.size * power(float(play.round), -drift.power)),
)
