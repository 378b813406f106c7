"""Decisions: what a bandit answers, what becomes of them, and those that await a reward."""

import dataclasses
import enum
import functools
from collections.abc import Sequence
from typing import Any

from ..contract import Choice
from ..snapshots import SnapshotError, rows_from_json
from ..specs import Check, count, positive


class Told(enum.StrEnum):
    """What became of a tell."""

    COUNTED = "counted"
    REPEATED = "repeated"  # this decision had its reward already, or was forgotten
    IGNORED = "ignored"  # its block is closed


@dataclasses.dataclass(frozen=True)
class Decision:
    """An answer to ``ask``, awaiting its reward."""

    id: int
    arm: int
    is_new: bool  # whether this arm was never asked for before
    probability: float  # with which the arm was chosen
    item: Any = None  # what the arm stands for, if items were given


class NoMoreItems(LookupError):
    """A fresh arm is needed, but the items are used up."""

    def __init__(self, message: str = "", decisions: Sequence[Decision] = ()) -> None:
        super().__init__(message)
        self.decisions = list(decisions)  # those that the same ask had made before


FROM_ZERO = functools.partial(count, least=0)

CHOICE_CHECKS: tuple[Check, ...] = (FROM_ZERO, FROM_ZERO, positive, count, count)
"""What the fields of a saved choice must be."""


class OpenDecisions:
    """The choices without a reward, by the ids of their decisions."""

    def __init__(self) -> None:
        self.choices: dict[int, Choice] = {}
        self.waiting: dict[int, int] = {}  # block -> its open decisions

    def __len__(self) -> int:
        return len(self.choices)

    def add(self, identity: int, choice: Choice) -> None:
        """Await a reward for this choice."""
        self.choices[identity] = choice
        self.waiting[choice.block] = self.waiting.get(choice.block, 0) + 1

    def close(self, identity: int) -> Choice | None:
        """Take a decision off, if it is an open one."""
        choice = self.choices.pop(identity, None)
        if choice is not None:
            self.waiting[choice.block] -= 1
            if self.waiting[choice.block] == 0:
                del self.waiting[choice.block]
        return choice

    def to_json(self) -> list[list[Any]]:
        """All of them as plain JSON values."""
        return [[identity, *choice] for identity, choice in self.choices.items()]

    def read(self, saved: Any, slots: int, blocks: int, asked: int) -> None:
        """Take over what ``to_json`` gave, of a policy with so many slots and blocks that was asked so often."""
        for place, (identity, *parts) in enumerate(rows_from_json(saved, "open", 1 + len(Choice._fields))):
            where = f"open[{place}]"
            checked = zip(CHOICE_CHECKS, Choice._fields, parts, strict=True)
            choice = Choice(*(check("snapshot", f"{where}.{name}", part) for check, name, part in checked))
            if choice.slot >= slots or choice.block > blocks or choice.probability > 1.0:
                raise SnapshotError(f"{where}: the policy makes no such choice: {choice!r}")
            if choice.round > asked or identity != choice.round or choice.round in self.choices:
                raise SnapshotError(f"{where}: {identity!r} is not the id of an open decision")
            self.add(choice.round, choice)
