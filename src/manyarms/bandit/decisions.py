"""Decisions: what a bandit answers, what becomes of them, those that await a reward, and those that had one."""

import collections
import dataclasses
import enum
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..contract import Choice
from ..snapshots import SnapshotError, rows_from_json, state_from_json, state_to_json
from ..specs import Check, count, number, positive


class Told(enum.StrEnum):
    """What became of a tell, or of a correction."""

    COUNTED = "counted"
    REPEATED = "repeated"  # this decision had its reward already, or was forgotten
    IGNORED = "ignored"  # the policy has let the arm go
    TIMED_OUT = "timed_out"  # the time for the rewards of this decision and all before it is over
    CORRECTED = "corrected"  # another reward than was told before


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


class Limits(NamedTuple):
    """What a saved choice cannot exceed."""

    slots: int
    blocks: int
    asked: int


def choice_from_json(parts: Sequence[Any], where: str, limits: Limits) -> Choice:
    """A choice that a policy within these limits can have made."""
    checked = zip(CHOICE_CHECKS, Choice._fields, parts, strict=True)
    choice = Choice(*(check("snapshot", f"{where}.{name}", part) for check, name, part in checked))
    if choice.slot >= limits.slots or choice.block > limits.blocks or choice.probability > 1.0:
        raise SnapshotError(f"{where}: the policy makes no such choice: {choice!r}")
    return choice


class Deferred(NamedTuple):
    """A choice of which the policy knows that it is open."""

    choice: Choice
    presumed: float  # what the policy takes the reward to be, or was told it is
    since: float  # when it was asked for


class OpenDecisions:
    """The choices without a reward, by the ids of their decisions, in the order of their ids."""

    def __init__(self) -> None:
        self.newest: Choice | None = None  # if nothing has happened since
        self.newest_since = 0.0
        # In dictionaries of Python's own it takes long to find the first after many have gone.
        self.deferred: collections.OrderedDict[int, Deferred] = collections.OrderedDict()

    def __len__(self) -> int:
        return len(self.deferred) + (self.newest is not None)

    def __iter__(self) -> Iterator[int]:
        yield from self.deferred
        if self.newest is not None:
            yield self.newest.round

    def choice_of(self, identity: int) -> Choice | None:
        """The choice of a decision, if it is open."""
        if self.newest is not None and self.newest.round == identity:
            return self.newest
        deferred = self.deferred.get(identity)
        return None if deferred is None else deferred.choice

    def add(self, choice: Choice, since: float) -> None:
        """Await a reward for this choice; the one before it is deferred by now."""
        self.newest, self.newest_since = choice, since

    def take_newest(self) -> Choice:
        """Its reward is here."""
        assert self.newest is not None
        choice, self.newest = self.newest, None
        return choice

    def defer_newest(self, presumed: float) -> None:
        """Something else comes before its reward."""
        choice = self.take_newest()
        self.deferred[choice.round] = Deferred(choice, presumed, self.newest_since)

    def oldest(self) -> tuple[int, float] | None:
        """The first of them, and since when it is open."""
        for identity, deferred in self.deferred.items():
            return identity, deferred.since
        return None if self.newest is None else (self.newest.round, self.newest_since)

    def to_json(self) -> list[list[Any]]:
        """All of them as plain JSON values; the newest has no presumed reward yet, which is null."""
        rows: list[list[Any]] = [
            [identity, *choice, state_to_json(presumed), since]
            for identity, (choice, presumed, since) in self.deferred.items()
        ]
        if self.newest is not None:
            rows.append([self.newest.round, *self.newest, None, self.newest_since])
        return rows

    def read(self, saved: Any, limits: Limits) -> None:
        """Take over what ``to_json`` gave."""
        last = 0
        for place, (identity, *parts, presumed, since) in enumerate(rows_from_json(saved, "open", 8)):
            where = f"open[{place}]"
            choice = choice_from_json(parts, where, limits)
            is_newest = presumed is None
            is_in_order = last < choice.round <= limits.asked and self.newest is None
            if identity != choice.round or not is_in_order or (is_newest and identity != limits.asked):
                raise SnapshotError(f"{where}: {identity!r} is not the id of an open decision")
            last = choice.round
            self.add(choice, number("snapshot", f"{where}.since", since))
            if not is_newest:
                self.defer_newest(state_from_json(presumed, 0.0, f"{where}.presumed"))


class Remembered:
    """The last decisions whose reward was told, so many at most: their choices and what was told."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.told: collections.OrderedDict[int, tuple[Choice, float]] = collections.OrderedDict()

    def add(self, choice: Choice, reward: float) -> None:
        """The reward of this choice was told."""
        if self.most == 0:
            return
        self.told[choice.round] = choice, reward
        if len(self.told) > self.most:
            self.told.popitem(last=False)

    def to_json(self) -> list[list[Any]]:
        """All of them as plain JSON values."""
        return [[identity, *choice, reward] for identity, (choice, reward) in self.told.items()]

    def read(self, saved: Any, limits: Limits) -> None:
        """Take over what ``to_json`` gave."""
        rows = rows_from_json(saved, "remembered", 7)
        if len(rows) > self.most:
            raise SnapshotError(f"remembered: {len(rows)} decisions are more than the {self.most} to be remembered")
        for place, (identity, *parts, reward) in enumerate(rows):
            where = f"remembered[{place}]"
            choice = choice_from_json(parts, where, limits)
            if identity != choice.round or choice.round > limits.asked or choice.round in self.told:
                raise SnapshotError(f"{where}: {identity!r} is not the id of a decision")
            self.add(choice, number("snapshot", f"{where}.reward", reward))
