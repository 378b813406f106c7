"""Decisions: what a bandit answers, what becomes of them, those that await a reward, and those that had one."""

import collections
import dataclasses
import enum
import functools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from ..contract import Choice
from ..snapshots import SnapshotError, rows_from_json, state_from_json, state_to_json
from ..specs import Check, count, number, positive
from .items import key_from_json, key_to_json


class Told(enum.StrEnum):
    """What became of a tell, or of a correction."""

    COUNTED = "counted"
    REPEATED = "repeated"  # this decision had its reward already, or was forgotten
    IGNORED = "ignored"  # the policy has let the arm go
    TIMED_OUT = "timed_out"  # the time for the rewards of this decision and all before it is over
    CORRECTED = "corrected"  # another reward than was told before


class How(enum.StrEnum):
    """How a decision came about."""

    PLANNED = "planned"  # the policy's own choice
    ELIGIBLE = "eligible"  # its best choice among what may be asked for
    DRAWN = "drawn"  # a fresh item that it took in, because nothing it knows may be asked for or is good enough
    OUTSIDE = "outside"  # an item that the policy has no arm for
    HOLDOUT = "holdout"  # any item, at random, to compare with


@dataclasses.dataclass(frozen=True)
class Decision:
    """An answer to ``ask``, awaiting its reward."""

    id: str  # unlike all others, of whatever bandit
    number: int  # the asks of this bandit, counted from 1
    arm: int  # the policy's; -1 if it has none for this item
    is_new: bool  # whether this was never asked for before
    probability: float  # with which this item was chosen
    key: Any = None  # the key of the item; without items, the arm
    item: Any = None  # what the arm stands for, if items were given: its payload, or its key
    how: How = How.PLANNED
    is_out_of_stock: bool = False  # whether the policy would rather have had a fresh item, and there was none


class NoMoreItems(LookupError):
    """No item may be asked for; or a fresh one is needed, if that was asked for, and there is none."""

    def __init__(self, message: str = "", decisions: Sequence[Decision] = ()) -> None:
        super().__init__(message)
        self.decisions = list(decisions)  # those that the same ask had made before


FROM_ZERO = functools.partial(count, least=0)

FROM_NONE = functools.partial(count, least=-1)

CHOICE_CHECKS: tuple[Check, ...] = (FROM_NONE, FROM_NONE, positive, count, count)
"""What the fields of a saved choice must be."""


class Asked(NamedTuple):
    """What is decided: all that it takes to do the same again."""

    how: How
    choice: Choice  # the policy's; its plan, if that was passed over
    key: Hashable  # of the item
    probability: float  # with which it was chosen
    is_out_of_stock: bool


class Limits(NamedTuple):
    """What a saved choice cannot exceed."""

    slots: int
    blocks: int
    asked: int


def choice_from_json(parts: Sequence[Any], where: str, limits: Limits) -> Choice:
    """A choice that a policy within these limits can have made."""
    checked = zip(CHOICE_CHECKS, Choice._fields, parts, strict=True)
    choice = Choice(*(check("snapshot", f"{where}.{name}", part) for check, name, part in checked))
    is_known = (choice.slot < 0) == (choice.arm < 0) and choice.slot < limits.slots
    if not is_known or choice.block > limits.blocks or choice.probability > 1.0:
        raise SnapshotError(f"{where}: the policy makes no such choice: {choice!r}")
    return choice


class Open(NamedTuple):
    """A decision without a reward."""

    choice: Choice  # slot -1: none of the policy's
    key: Hashable
    how: How
    since: float  # when it was asked for
    presumed: float = math.nan  # what the policy takes the reward to be, or was told it is, once it knows it is open

    @property
    def is_outside(self) -> bool:
        """Whether the policy knows nothing of it."""
        return self.choice.slot < 0


class OpenDecisions:
    """The decisions without a reward, by their numbers, in order."""

    def __init__(self) -> None:
        self.newest: Open | None = None  # if nothing has happened since
        # In dictionaries of Python's own it takes long to find the first after many have gone.
        self.deferred: collections.OrderedDict[int, Open] = collections.OrderedDict()

    def __len__(self) -> int:
        return len(self.deferred) + (self.newest is not None)

    def __iter__(self) -> Iterator[int]:
        yield from self.deferred
        if self.newest is not None:
            yield self.newest.choice.round

    def get(self, decision: int) -> Open | None:
        """What is known of a decision, if it is open."""
        if self.newest is not None and self.newest.choice.round == decision:
            return self.newest
        return self.deferred.get(decision)

    def all(self) -> Iterator[Open]:
        """All of them."""
        yield from self.deferred.values()
        if self.newest is not None:
            yield self.newest

    def add(self, one: Open) -> None:
        """Await a reward for this; the one before it is deferred by now."""
        self.newest = one

    def take_newest(self) -> Open:
        """Its reward is here."""
        assert self.newest is not None
        one, self.newest = self.newest, None
        return one

    def defer_newest(self, presumed: float) -> None:
        """Something else comes before its reward."""
        one = self.take_newest()
        self.deferred[one.choice.round] = one._replace(presumed=presumed)

    def oldest(self) -> tuple[int, float] | None:
        """The first of them, and since when it is open."""
        for decision, one in self.deferred.items():
            return decision, one.since
        return None if self.newest is None else (self.newest.choice.round, self.newest.since)

    def to_json(self) -> list[list[Any]]:
        """All of them as plain JSON values; the newest has no presumed reward yet, which is null."""
        return [
            [
                *one.choice,
                None if one is self.newest else state_to_json(one.presumed),
                one.since,
                key_to_json(one.key),
                str(one.how),
            ]
            for one in self.all()
        ]

    def read(self, saved: Any, limits: Limits) -> None:
        """Take over what ``to_json`` gave."""
        last = 0
        for place, (*parts, presumed, since, key, how) in enumerate(rows_from_json(saved, "open", 9)):
            where = f"open[{place}]"
            choice = choice_from_json(parts, where, limits)
            is_newest = presumed is None
            is_in_order = last < choice.round <= limits.asked and self.newest is None
            if not is_in_order or (is_newest and choice.round != limits.asked):
                raise SnapshotError(f"{where}: {choice.round!r} is not the number of an open decision")
            last = choice.round
            key = key_from_json(key, f"{where}.key")
            self.add(Open(choice, key, how_from_json(how, where), number("snapshot", f"{where}.since", since)))
            if not is_newest:
                self.defer_newest(state_from_json(presumed, 0.0, f"{where}.presumed"))


class Closed(NamedTuple):
    """A decision whose reward was told."""

    choice: Choice
    key: Hashable
    how: How
    reward: float


class Remembered:
    """The last decisions whose reward was told, so many at most."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.told: collections.OrderedDict[int, Closed] = collections.OrderedDict()

    def add(self, one: Closed) -> None:
        """The reward of this decision was told."""
        if self.most == 0:
            return
        self.told[one.choice.round] = one
        if len(self.told) > self.most:
            self.told.popitem(last=False)

    def to_json(self) -> list[list[Any]]:
        """All of them as plain JSON values."""
        return [[*one.choice, one.reward, key_to_json(one.key), str(one.how)] for one in self.told.values()]

    def read(self, saved: Any, limits: Limits) -> None:
        """Take over what ``to_json`` gave."""
        rows = rows_from_json(saved, "remembered", 8)
        if len(rows) > self.most:
            raise SnapshotError(f"remembered: {len(rows)} decisions are more than the {self.most} to be remembered")
        for place, (*parts, reward, key, how) in enumerate(rows):
            where = f"remembered[{place}]"
            choice = choice_from_json(parts, where, limits)
            if choice.round > limits.asked or choice.round in self.told:
                raise SnapshotError(f"{where}: {choice.round!r} is not the number of a decision")
            told = number("snapshot", f"{where}.reward", reward)
            self.add(Closed(choice, key_from_json(key, f"{where}.key"), how_from_json(how, where), told))


def how_from_json(how: Any, where: str) -> How:
    """How a decision came about."""
    try:
        return How(how)
    except ValueError:
        raise SnapshotError(f"{where}.how: expected one of {', '.join(How)}, not {how!r:.60}") from None
