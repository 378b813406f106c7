"""The time that passes for open decisions."""

import time
from collections.abc import Callable
from typing import Any

from ..snapshots import SnapshotError
from ..specs import number

Clock = Callable[[], float]


FURTHEST = 1e100
"""No clock shows more, and sums of such times are still numbers."""


class Timeline:
    """The time, which never goes back.

    Readings may come a little out of order, by less than ``patience``: time stands still meanwhile. A clock that is
    further behind was set back, or is another one: time goes on from where it was.

    Examples
    --------
    >>> readings = iter([100.0, 107.0, 104.0, 108.0, 5.0, 6.0])
    >>> timeline = Timeline(lambda: next(readings))
    >>> [timeline.at(timeline.reading(None), patience=60.0) for _ in range(6)]
    [100.0, 107.0, 107.0, 108.0, 108.0, 109.0]
    """

    def __init__(self, clock: Clock) -> None:
        if not callable(clock):
            raise TypeError(f"Bandit: clock must be a function that returns the time, such as time.time, not {clock!r}")
        self.clock = clock
        self.time = 0.0  # never goes back
        self.lost = 0.0  # by how much the clock was set back, in all
        self.is_told: bool | None = None  # whether the time is given with every call, or the clock is read

    def reading(self, now: Any) -> float:
        """What the clock shows, or what it is said to: always the one or the other, but for a clock of one's own."""
        if self.clock is time.time and self.is_told is not None and self.is_told != (now is not None):
            before, here = ("given", "left out") if self.is_told else ("left out", "given")
            raise ValueError(
                f"Bandit: now was {before} in earlier calls, and is {here} in this one: two clocks would be mixed up. "
                "Give it always or never, or a clock that goes with it (clock=…). Nothing was changed"
            )
        reading = checked_time(self.clock() if now is None else now)
        self.is_told = now is not None
        return reading

    @property
    def goes_by_itself(self) -> bool:
        """Whether time passes without being told."""
        return self.clock is not time.time or self.is_told is False

    def at(self, reading: float, patience: float) -> float:
        """The time at this reading of the clock."""
        behind = self.time - (reading + self.lost)
        if behind >= patience:
            self.lost += behind
        self.time = max(self.time, reading + self.lost)
        return self.time

    @property
    def source(self) -> bool | None:
        """Where times come from, if others can be mixed up with them: ``is_told``, but for a clock of one's own."""
        return self.is_told if self.clock is time.time else None

    def to_json(self) -> dict[str, Any]:
        """All but the clock, as plain JSON values."""
        is_known = self.source is not None
        return {"time": self.time, "lost": self.lost} | ({"is_told": self.source} if is_known else {})

    def read(self, values: dict[str, Any]) -> None:
        """Take over what ``to_json`` gave."""
        self.time, self.lost = (checked_time(values[name], "snapshot", f"clock.{name}") for name in ("time", "lost"))
        self.is_told = checked_source(values.get("is_told"), "clock.is_told")


def checked_source(is_told: Any, where: str) -> bool | None:
    """Whether times were told, as it was saved; None if that is not known."""
    if is_told is not None and not isinstance(is_told, bool):
        raise SnapshotError(f"{where}: expected true or false, not {is_told!r:.60}")
    return is_told


def checked_time(value: Any, owner: str = "Bandit", name: str = "now") -> float:
    """A reading of a clock."""
    reading = number(owner, name, value)
    if abs(reading) > FURTHEST:
        raise ValueError(f"{owner}: {name} must be a time, in seconds for example, not {reading!r}")
    return reading
