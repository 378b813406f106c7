"""Arms that wear out, or improve, a little with every play."""

import dataclasses
import re
from typing import Any, NamedTuple

from ..contract import Play
from ..specs import number
from .base import Drift, register_drift

CONSTANT = 0  # the same amount at every play
POWER = 1  # size * t^-power at round t
SHARE = 2  # a share of the present mean


class TrendState(NamedTuple):
    """How far one play moves an arm."""

    sign: float  # -1: rotting, +1: rising
    kind: int
    size: float
    power: float


_NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_FORMS = (
    (re.compile(rf"(?P<size>{_NUMBER})\s*%"), SHARE),
    (re.compile(rf"(?P<size>{_NUMBER})\s*/\s*t(?:\s*(?:\^|\*\*)\s*(?P<over>{_NUMBER}))?"), POWER),
    (re.compile(rf"(?:(?P<size>{_NUMBER})\s*\*?\s*)?t\s*(?:\^|\*\*)\s*-\s*(?P<power>{_NUMBER})"), POWER),
)


def parse_rate(owner: str, rate: object) -> tuple[int, float, float]:
    """A rate as (kind, size, power).

    Examples
    --------
    >>> parse_rate("Rotting", "5/t") == (POWER, 5.0, 1.0)
    True
    >>> parse_rate("Rotting", "1%") == (SHARE, 0.01, 0.0)
    True
    """
    if not isinstance(rate, str):
        size = number(owner, "rate", rate)
        if size < 0.0:
            raise ValueError(f"{owner}: rate must not be negative, not {rate!r}; Rising is the opposite of Rotting")
        return CONSTANT, size, 0.0
    for form, kind in _FORMS:
        found = form.fullmatch(rate.strip())
        if found is not None:
            parts = found.groupdict()
            size = float(parts["size"] or 1.0)
            if kind == SHARE:
                if size > 100.0:
                    raise ValueError(f"{owner}: rate {rate!r} is more than the whole mean")
                return SHARE, size / 100.0, 0.0
            return POWER, size, float(parts.get("power") or parts.get("over") or 1.0)
    raise ValueError(
        f"{owner}: cannot read the rate {rate!r}; give a number, 'c/t', 't^-0.7', 'c*t^-0.7' or a share like '1%'"
    )


@dataclasses.dataclass(frozen=True)
class Rotting(Drift):
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

    rate: str | float = "1/t"

    def __post_init__(self) -> None:
        parse_rate("Rotting", self.rate)

    def start(self) -> TrendState:
        """The state that the compiled loop carries."""
        kind, size, power = parse_rate("Rotting", self.rate)
        return TrendState(sign=-1.0, kind=kind, size=size, power=power)


@dataclasses.dataclass(frozen=True)
class Rising(Drift):
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

    rate: str | float = "1/t"

    def __post_init__(self) -> None:
        parse_rate("Rising", self.rate)

    def start(self) -> TrendState:
        """The state that the compiled loop carries."""
        kind, size, power = parse_rate("Rising", self.rate)
        return TrendState(sign=1.0, kind=kind, size=size, power=power)


def moved(drift: TrendState, play: Play, reservoir: Any) -> tuple[TrendState, float]:
    """One play's worth of the trend."""
    if drift.kind == CONSTANT:
        amount = drift.size
    elif drift.kind == SHARE:
        amount = drift.size * play.mean
    elif drift.power == 1.0:
        amount = drift.size / play.round
    else:
        amount = drift.size * float(play.round) ** -drift.power
    return drift, play.mean + drift.sign * amount


register_drift(TrendState, moved)
