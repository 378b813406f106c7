"""How a bandit has been doing: rewards over time, and what random items earn beside it."""

import dataclasses
import math
from typing import Any

from ..snapshots import SnapshotError, rows_from_json
from ..specs import count, number

MOST_SPANS = 512
"""Asks are summed up in so many spans at most; when there are more, two become one."""


MOST_LOOKS = 64
"""How many arms are alive is remembered of so many decisions at most; when there are more, every second is."""

FIRST_STEP = 100
"""At first, of one in so many decisions: to count arms takes some microseconds, and more where there are many."""


@dataclasses.dataclass
class Span:
    """Some asks in a row."""

    asks: int = 0
    search: int = 0  # of which for the first time
    plays: int = 0  # rewards that are known
    reward: float = 0.0  # their sum

    def row(self) -> list[Any]:
        """Its numbers; a snapshot has hundreds of them, for which what the standard library has is slow."""
        return [self.asks, self.search, self.plays, self.reward]


@dataclasses.dataclass
class Tally:
    """Rewards of one kind of decisions."""

    plays: int = 0
    reward: float = 0.0
    squares: float = 0.0

    def row(self) -> list[Any]:
        """Its numbers."""
        return [self.plays, self.reward, self.squares]

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


ENDLESS = 2**63
"""The last of decisions that go on."""


class Progress:
    """Spans of asks, and tallies of what was chosen by the policy and at random while there was a holdout.

    Only decisions with the same holdout are compared: with another share, those at random would be of other times than
    those that were chosen. So tallies begin anew with another holdout; without one, they stay those of the last.
    """

    def __init__(self, has_holdout: bool) -> None:
        self.width = 1  # asks of a span
        self.spans: list[Span] = []
        self.chosen = Tally()
        self.held_out = Tally()
        self.first = 1  # of the decisions that are compared
        self.last = ENDLESS if has_holdout else 0
        self.step = FIRST_STEP
        self.alive: list[int | None] = []  # arms after decisions 1, 1 + step, …; None where nobody looked
        self.next_look = 1

    def change_holdout(self, asked: int, has_holdout: bool) -> None:
        """The holdout is another one after so many decisions."""
        if has_holdout:
            self.chosen, self.held_out = Tally(), Tally()
            self.first, self.last = asked + 1, ENDLESS
        else:
            self.last = min(self.last, asked)

    def add_ask(self, decision: int, is_search: bool) -> bool:
        """One more ask; whether it is time to look how many arms are alive."""
        span = self._span_of(decision)
        span.asks += 1
        span.search += is_search
        return decision >= self.next_look

    def look(self, decision: int, alive: int) -> None:
        """So many arms are alive after this decision."""
        while (place := (decision - 1) // self.step) >= MOST_LOOKS:
            self.step *= 2
            self.alive = self.alive[::2]
        self.alive += [None] * (place - len(self.alive))
        self.alive.append(alive)
        self.next_look = 1 + len(self.alive) * self.step

    def add_reward(self, decision: int, is_held_out: bool, plays: int, reward: float, squares: float) -> None:
        """The reward of an ask."""
        span = self._span_of(decision)
        span.plays += plays
        span.reward += reward
        if decision <= self.last and decision >= self.first:  # mostly there is no holdout: one look is enough
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
        """As plain JSON values; which decisions are compared only where the holdout was ever another one."""
        values: dict[str, Any] = {
            "width": self.width,
            "spans": [span.row() for span in self.spans],
            "chosen": self.chosen.row(),
            "held_out": self.held_out.row(),
        }
        if self.alive:
            values["alive"] = [self.step, list(self.alive)]
        if self.first != 1 or self.last not in (0, ENDLESS):
            values["compared"] = [self.first, None if self.last == ENDLESS else self.last]
        return values

    def read(self, saved: Any) -> None:
        """Take over what ``to_json`` gave; where it does not say which decisions are compared, it is all or none."""
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
        if "alive" in saved:
            self._read_alive(saved["alive"])
        if "compared" in saved:
            ((first, last),) = rows_from_json([saved["compared"]], "progress.compared", 2)
            self.first = count("snapshot", "progress.compared", first)
            self.last = ENDLESS if last is None else count("snapshot", "progress.compared", last, least=0)

    def _read_alive(self, saved: Any) -> None:
        ((step, alive),) = rows_from_json([saved], "progress.alive", 2)
        self.step = count("snapshot", "progress.alive", step, least=FIRST_STEP)
        if not isinstance(alive, list) or len(alive) > MOST_LOOKS:
            raise SnapshotError(f"progress.alive: expected a list of at most {MOST_LOOKS} numbers, not {alive!r:.60}")
        self.alive = [None if one is None else count("snapshot", "progress.alive", one, least=0) for one in alive]
        self.next_look = 1 + len(self.alive) * self.step


def _joined(spans: list[Span]) -> Span:
    parts = zip(*(span.row() for span in spans), strict=True)
    return Span(*(sum(part) for part in parts))
