"""Items: what arms stand for, each with a key; and those of them that wait to be asked for."""

import collections
import math
import numbers
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..snapshots import SnapshotError

HERE, PAUSED, WITHDRAWN, ABSENT = "here", "paused", "withdrawn", "absent"
"""What may become of an item: only those that are here are asked for.

One that is absent was never given as an item: it is known from the past or from news alone, until it is.
"""

STATES = (HERE, PAUSED, WITHDRAWN, ABSENT)

AFTER_FRESH = 2**61
"""Those that wait again have their turn so much later."""

FEW = 64
"""Fewer that wait are not worth tidying up."""

DEEPEST_KEY = 20
"""Tuples in tuples of a key go no deeper."""

RECENTLY = 1000
"""Recent asks are so many, or so: the weight of an older one falls by a thousandth with each."""


class Item:
    """One thing that can be asked for, and what came of it."""

    __slots__ = (
        "arm", "asks", "first_ask", "had_arm", "is_lasting", "is_waiting", "key", "last_ask", "open", "payload",
        "place", "plays", "pool", "recent", "reward", "segments", "squares", "state", "turn", "waits_again",
    )  # fmt: skip

    def __init__(self, key: Hashable, payload: Any = None) -> None:
        self.key = key
        self.payload = payload  # None: the key is all there is
        self.state = HERE
        self.is_lasting = True  # given in a list, and not by an iterator, which may have no end
        self.segments: tuple[str, ...] = ()
        self.arm: int | None = None  # the policy's, while it has one
        self.had_arm = False  # now or once
        self.is_waiting = False  # in the stock
        self.waits_again = False  # and behind those that are fresh, or were put in front
        self.place = 0  # where in the stock
        self.turn = 0  # when it is its turn: the less, the sooner
        self.pool = -1  # where in the list of all that are here
        self.asks = 0
        self.open = 0  # of which without a reward
        self.recent = 0.0  # of the last RECENTLY asks or so, when it was last asked for
        self.first_ask = 0  # numbers of asks; 0 for none
        self.last_ask = 0
        self.plays = 0  # rewards that are known, wherever they come from
        self.reward = 0.0  # their sum
        self.squares = 0.0  # the sum of their squares

    @property
    def shown(self) -> Any:
        """What a decision says: the payload, or the key if there is none."""
        return self.key if self.payload is None else self.payload

    @property
    def is_here(self) -> bool:
        """Whether it may be asked for."""
        return self.state == HERE

    @property
    def is_gone(self) -> bool:
        """Whether no arm need be kept for it: it is here no more, or not yet."""
        return self.state in (WITHDRAWN, ABSENT)

    def asked_for(self, decision: int) -> None:
        """It is the item of this decision."""
        self.recent = self.recently(decision) + 1.0
        self.first_ask = self.first_ask or decision
        self.last_ask = decision
        self.asks += 1
        self.open += 1

    def recently(self, decision: int) -> float:
        """How many of the last asks before this decision were for it; older ones count less and less."""
        return float(self.recent * (1.0 - 1.0 / RECENTLY) ** (decision - self.last_ask))

    def add(self, plays: int, reward: float, squares: float) -> None:
        """So many more rewards are known; taken back if their number is negative."""
        self.plays += plays
        self.reward += reward
        self.squares += squares

    def __repr__(self) -> str:
        return f"<Item {self.key!r}: {self.plays} plays>"


def key_and_payload(entry: Any) -> tuple[Hashable, Any]:
    """An item as it was given: a key, or a tuple of a key and its payload."""
    key, payload = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)
    if hasattr(key, "dtype") and hasattr(key, "item") and not getattr(key, "shape", ()):
        key = key.item()  # NumPy's numbers and texts as Python's own, which JSON can hold
    check_key(key)
    return key, payload


def in_short(value: Any) -> str:
    """The beginning of what Python writes for a value, whatever it is.

    Examples
    --------
    >>> in_short("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    """
    try:
        return f"{value!r:.80}"
    except RecursionError:
        return f"a {type(value).__name__} with too much inside each other"


def check_key(key: Any) -> None:
    """Refuse what could not be found again."""
    _check_parts(key)
    try:
        hash(key)
    except TypeError:
        raise TypeError(
            f"Bandit: an item needs a key that can be looked up, such as text or a number, not {in_short(key)}; give "
            "pairs of a key and the item: (key, item)"
        ) from None
    key_to_json(key)  # or an error, long before a snapshot or a journal needs it


def _check_parts(key: Any, depth: int = 0) -> None:
    if depth > DEEPEST_KEY:
        raise ValueError(
            f"Bandit: a key of an item holds tuples in tuples, more than {DEEPEST_KEY} deep; use text, whole "
            "numbers, or tuples of these for keys, and give what they stand for as pairs: (key, item)"
        )
    for part in key if isinstance(key, tuple) else ():
        _check_parts(part, depth + 1)
    if isinstance(key, float) and math.isnan(key):
        raise ValueError("Bandit: nan cannot be the key of an item, because it does not equal itself")
    if isinstance(key, str) and not key.isascii():
        try:
            key.encode()
        except UnicodeEncodeError:
            raise ValueError(f"Bandit: {key!r:.80} cannot be the key of an item: it has half of a character") from None


def entries_of(items: Any) -> Iterable[Any]:
    """What was given as items: keys, pairs, or a mapping of keys to payloads."""
    if isinstance(items, Mapping):
        return items.items()
    if hasattr(items, "columns") and hasattr(items, "iloc"):
        raise TypeError(
            "Bandit: items must be a list or something else to iterate over, not a frame; give its keys, such as "
            "list(frame['id']), or keys with what they stand for: dict(zip(frame['id'], frame['title']))"
        )
    if isinstance(items, (str, bytes)):
        raise TypeError(f"Bandit: items must be a list or something else to iterate over, not the text {items!r:.80}")
    try:
        iter(items)
    except TypeError:
        raise TypeError(f"Bandit: items must be a list or something else to iterate over, not {items!r:.80}") from None
    return items  # type: ignore[no-any-return]


def is_finite(items: Any) -> bool:
    """Whether all items are there already, so that they can be looked at now."""
    return isinstance(items, Collection) and not isinstance(items, Iterator)


# ---------------------------------------------------------------- keys as JSON values


def key_to_json(key: Hashable) -> Any:
    """A key as a JSON value that says of what type it is."""
    if key is None or isinstance(key, (bool, int, str)):
        return key
    if isinstance(key, float) and math.isfinite(key):
        return {"float": key}
    if isinstance(key, tuple):
        return {"tuple": [key_to_json(part) for part in key]}
    if isinstance(key, np.generic) and not isinstance(key.item(), np.generic):
        return key_to_json(key.item())
    raise TypeError(
        f"Bandit: the key {in_short(key)} is of the type {type(key).__name__}, which a snapshot cannot keep; use text, "
        "whole numbers, or tuples of these for keys, such as str(key), and give what they stand for as pairs: "
        "(str(key), item)"
    )


def key_from_json(saved: Any, where: str, depth: int = 0) -> Hashable:
    """The key that ``key_to_json`` wrote."""
    if depth > DEEPEST_KEY:
        raise SnapshotError(f"{where}: a key holds tuples in tuples, more than {DEEPEST_KEY} deep")
    if saved is None or isinstance(saved, (bool, int, str)):
        return saved
    if isinstance(saved, dict) and set(saved) == {"tuple"} and isinstance(saved["tuple"], list):
        return tuple(key_from_json(part, where, depth + 1) for part in saved["tuple"])
    if isinstance(saved, dict) and set(saved) == {"float"} and isinstance(saved["float"], (int, float)):
        return float(saved["float"])
    raise SnapshotError(f"{where}: expected the key of an item, not {saved!r:.60}")


# ---------------------------------------------------------------- those that wait


class Queue:
    """Items in the order in which they are to be asked for: fresh ones, then those that come round again.

    Those that left meanwhile are passed over.
    """

    def __init__(self) -> None:
        self.fresh = Line()
        self.again = Line()

    def add(self, item: Item, first: bool) -> None:
        """Put an item, whose place is set, in front or behind."""
        (self.again if item.waits_again else self.fresh).add(item, first)

    def __iter__(self) -> Iterator[Item]:
        yield from self.fresh
        yield from self.again


class Line:
    """Items one behind the other."""

    def __init__(self) -> None:
        self.places: collections.deque[tuple[int, Item]] = collections.deque()
        self.tidied = 0  # how many there were when it was last tidied

    def add(self, item: Item, first: bool) -> None:
        """Put an item in front or behind."""
        (self.places.appendleft if first else self.places.append)((item.place, item))
        if len(self.places) > 2 * self.tidied + FEW:  # else those that left would stay for ever
            self.places = collections.deque(entry for entry in self.places if _is_current(entry))
            self.tidied = len(self.places)

    def __iter__(self) -> Iterator[Item]:
        while self.places and not _is_current(self.places[0]):
            self.places.popleft()
        for entry in self.places:
            if _is_current(entry):
                yield entry[1]


def _is_current(entry: tuple[int, Item]) -> bool:
    place, item = entry
    return item.is_waiting and item.is_here and item.place == place


class Pool:
    """All items that are here, in any order: the n-th of them is found at once."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.numbers: collections.Counter[str] = collections.Counter()  # how many of them are in a segment

    def add(self, item: Item) -> None:
        """One more."""
        item.pool = len(self.items)
        self.items.append(item)
        self.numbers.update(item.segments)

    def discard(self, item: Item) -> None:
        """One less: the last one takes its place."""
        if item.pool < 0:
            return
        last = self.items.pop()
        if last is not item:
            self.items[item.pool] = last
            last.pool = item.pool
        item.pool = -1
        self.numbers.subtract(item.segments)

    def resort(self, item: Item, segments: tuple[str, ...]) -> None:
        """An item is in other segments now."""
        if item.pool >= 0:
            self.numbers.subtract(item.segments)
            self.numbers.update(segments)
        item.segments = segments


def kind_of(key: Hashable) -> str:
    """What sort of thing a key is: things of different sorts are never equal, those of one may be whatever their types.

    Examples
    --------
    >>> import numpy as np
    >>> kind_of("a") == kind_of(np.str_("a")), kind_of(1) == kind_of(np.int64(1)), kind_of(1) == kind_of("1")
    (True, True, False)
    """
    if isinstance(key, (numbers.Number, np.bool_)):
        return "number"
    return next((kind.__name__ for kind in (str, tuple) if isinstance(key, kind)), type(key).__name__)


Predicate = Callable[[Any], Any]
"""Whether an item, as decisions show it, is one of those that are meant."""
