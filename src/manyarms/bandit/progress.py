"""How a bandit has been doing: rewards over time, and what random items earn beside it."""

import dataclasses
import math
from typing import Any

from ..snapshots import SnapshotError, rows_from_json
from ..specs import count, number

MOST_SPANS = 512
"""Asks are summed up in so many spans at most; when there are more, two become one."""


@dataclasses.dataclass
class Span:
    """Some asks in a row."""

    asks: int = 0
    search: int = 0  # of which for the first time
    plays: int = 0  # rewards that are known
    reward: float = 0.0  # their sum


@dataclasses.dataclass
class Tally:
    """Rewards of one kind of decisions."""

    plays: int = 0
    reward: float = 0.0
    squares: float = 0.0

    def add(self, plays: int, reward: float, squares: float) -> None:
        """So many more; a correction adds none, but changes their sum."""
        self.plays += plays
        self.reward += reward
        self.squares += squares

    @property
    def mean(self) -> float:
        """Reward a decision."""
        return self.reward / self.plays if self.plays else math.nan

    @property
    def error(self) -> float:
        """The standard error of the mean; with few rewards, of one more success and failure each."""
        if not self.plays:
            return math.inf
        mean = (self.reward + 1.0) / (self.plays + 2.0)
        spread = (self.squares + 1.0) / (self.plays + 2.0) - mean * mean
        return math.sqrt(max(spread, 0.0) / self.plays)


class Progress:
    """Spans of asks, and tallies of what was chosen by the policy and at random while there was a holdout."""

    def __init__(self) -> None:
        self.width = 1  # asks of a span
        self.spans: list[Span] = []
        self.chosen = Tally()
        self.held_out = Tally()

    def add_ask(self, decision: int, is_search: bool) -> None:
        """One more ask."""
        span = self._span_of(decision)
        span.asks += 1
        span.search += is_search

    def add_reward(
        self, decision: int, is_held_out: bool, has_holdout: bool, plays: int, reward: float, squares: float
    ) -> None:
        """The reward of an ask."""
        span = self._span_of(decision)
        span.plays += plays
        span.reward += reward
        if has_holdout:
            (self.held_out if is_held_out else self.chosen).add(plays, reward, squares)

    def _span_of(self, decision: int) -> Span:
        place = (decision - 1) // self.width
        while place >= MOST_SPANS:
            self.width *= 2
            self.spans = [_joined(self.spans[two : two + 2]) for two in range(0, len(self.spans), 2)]
            place = (decision - 1) // self.width
        while len(self.spans) <= place:
            self.spans.append(Span())
        return self.spans[place]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "width": self.width,
            "spans": [list(dataclasses.astuple(span)) for span in self.spans],
            "chosen": list(dataclasses.astuple(self.chosen)),
            "held_out": list(dataclasses.astuple(self.held_out)),
        }

    def read(self, saved: Any) -> None:
        """Take over what ``to_json`` gave."""
        if not isinstance(saved, dict):
            raise SnapshotError(f"progress: expected an object, not {saved!r:.60}")
        self.width = count("snapshot", "progress.width", saved["width"])
        for row in rows_from_json(saved["spans"], "progress.spans", 4):
            asks, search, plays = (count("snapshot", "progress.spans", part, least=0) for part in row[:3])
            self.spans.append(Span(asks, search, plays, number("snapshot", "progress.spans", row[3])))
        for name in ("chosen", "held_out"):
            (row,) = rows_from_json([saved[name]], f"progress.{name}", 3)
            plays = count("snapshot", f"progress.{name}", row[0], least=0)
            setattr(self, name, Tally(plays, *(number("snapshot", f"progress.{name}", part) for part in row[1:])))


def _joined(spans: list[Span]) -> Span:
    parts = zip(*(dataclasses.astuple(span) for span in spans), strict=True)
    return Span(*(sum(part) for part in parts))
