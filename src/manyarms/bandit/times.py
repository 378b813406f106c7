"""The time that passes for open decisions."""

from collections.abc import Callable
from typing import Any

from ..specs import number

Clock = Callable[[], float]


class Timeline:
    """The time by a clock that may be set back: it then goes on from where it was.

    Examples
    --------
    >>> readings = iter([100.0, 107.0, 5.0, 6.0])
    >>> timeline = Timeline(lambda: next(readings))
    >>> [timeline.at(None) for _ in range(4)]
    [100.0, 107.0, 107.0, 108.0]
    """

    def __init__(self, clock: Clock) -> None:
        if not callable(clock):
            raise TypeError(f"Bandit: clock must be a function that returns the time, such as time.time, not {clock!r}")
        self.clock = clock
        self.time = 0.0  # never goes back
        self.lost = 0.0  # by how much the clock was set back, in all

    def at(self, now: Any) -> float:
        """The time at this reading of the clock, or at that of the moment."""
        time = number("Bandit", "now", self.clock() if now is None else now) + self.lost
        if time < self.time:
            self.lost += self.time - time
            time = self.time
        self.time = time
        return time

    def to_json(self) -> dict[str, float]:
        """All but the clock, as plain JSON values."""
        return {"time": self.time, "lost": self.lost}

    def read(self, values: dict[str, Any]) -> None:
        """Take over what ``to_json`` gave."""
        self.time, self.lost = (number("snapshot", f"clock.{name}", values[name]) for name in ("time", "lost"))
