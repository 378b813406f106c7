"""The catalogue: all items of a live bandit, those that wait, and the arms that stand for some of them.

Fresh items wait in the stock, in the order in which they were given. When a policy asks for an arm that it never asked
for before, the first of them becomes that arm's item. An item whose arm the policy has let go waits again, behind the
fresh ones, with what is known of it. Without items, arms stand for themselves, and there is no end of them.
"""

import collections
import itertools
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from ..snapshots import SnapshotError, rows_from_json
from ..specs import count, number
from .items import (
    ABSENT,
    AFTER_FRESH,
    HERE,
    PAUSED,
    STATES,
    Item,
    Pool,
    Predicate,
    Queue,
    entries_of,
    in_short,
    is_finite,
    key_and_payload,
    key_from_json,
    key_to_json,
    kind_of,
)
from .wishes import Wish

FIRST_PRUNING = 1000
"""A bandit that remembers this many arms looks for those let go; the next time at twice what is left."""

LOOK_AHEAD = 1000
"""So many items of an iterator, at most, are looked at for one that a visitor may see."""

LET_GO = 100_000
"""So many items of iterators that the policy has let go are remembered; those of lists all are."""

FINISHED_FOR_GOOD: tuple[type, ...] = (
    type(iter([])),
    type(iter(())),
    type(iter({})),
    type(iter(range(0))),
    types.GeneratorType,
)
"""Iterators that have nothing more, once they have had nothing more."""


class Catalogue:
    """The items by key, and the arms that stand for some of them."""

    def __init__(self, items: Any, segments: Mapping[str, Predicate] | None, same_key: str) -> None:
        self.segments = checked_segments(segments)
        self.same_key = checked_same_key(same_key)
        self.has_items = items is not None
        self.items: dict[Hashable, Item] = {}
        self.kinds: set[str] = set()  # of keys that were ever here
        self.arms: dict[int, Item] = {}  # arms that were asked for and may be asked for again
        self.sources: list[Iterator[Any]] = []  # items that are not taken yet
        self.waiting = Queue()
        self.waiting_in: dict[str, Queue] = {name: Queue() for name in self.segments}
        self.here = Pool()
        self.front = 0  # places in the stock: the first one given away in front, and the last one behind
        self.behind = 0
        self.let_go: collections.OrderedDict[Hashable, Item] = collections.OrderedDict()  # the last one last
        self.pruning = FIRST_PRUNING  # look for arms let go when this many are remembered
        self.on_taken: Callable[[Hashable], None] = lambda key: None  # hears of each key of an iterator
        self.version = 0  # another one whenever an arm or what may be asked for is another
        self.missing: dict[Hashable, None] = {}  # keys of a snapshot that were not among the items given with it
        self.news: dict[Hashable, tuple[int, float]] = {}  # plays and rewards that others have not been told of
        self.early_news: list[tuple[int, Hashable, int, float]] = []  # by decision, while older ones are still open
        if items is not None:
            self.add(items, first=False, merges=self.same_key == "merge")

    # ------------------------------------------------------------ what is there

    def find(self, key: Hashable, by: str) -> Item:
        """The item with this key, or an error."""
        if not self.has_items:
            raise ValueError(f"{by}: this bandit has no items; give them from the start: Bandit(…, items=…)")
        try:
            return self.items[key]
        except KeyError:
            raise KeyError(f"{by}: no item has the key {in_short(key)}; nothing was changed") from None
        except TypeError:
            raise TypeError(f"{by}: give the key of one item, not {in_short(key)}; nothing was changed") from None

    def add(
        self, items: Any, first: bool, merges: bool, before: Callable[[list[Any]], None] = lambda keys: None
    ) -> None:
        """More items, in front of all that wait or behind them; ``before`` hears of their keys, if all are there."""
        entries = entries_of(items)
        if not is_finite(items):
            before([])
            self.sources.append(iter(entries))
            self.has_items = True
            return
        pairs = [key_and_payload(entry) for entry in entries]
        if not merges:
            self._refuse_repeats(key for key, _ in pairs)
        for key, payload in pairs:
            self.segments_of(key if payload is None else payload)  # or an error, before anything is changed
        before([key_to_json(key) for key, _ in pairs])
        self.has_items = True
        for key, payload in reversed(pairs) if first else pairs:
            self.enter(key, payload, first)

    def _refuse_repeats(self, keys: Iterable[Hashable]) -> None:
        def is_there(key: Hashable) -> bool:
            return key in self.items and not self.items[key].is_gone and key not in self.missing

        self._refuse_twice(keys, is_there)

    def _refuse_twice(self, keys: Iterable[Hashable], is_there: Callable[[Hashable], bool] = lambda key: False) -> None:
        seen: set[Hashable] = set()
        for key in keys:
            if key in seen or is_there(key):
                is_paused = key in self.items and self.items[key].state == PAUSED
                raise ValueError(
                    f"Bandit: the key {in_short(key)} is there already, and nothing was added; "
                    + ("that item is paused: Bandit.restore brings it back. Else " if is_paused else "")
                    + "give each item a key of its own, or say same_key='merge' (to Bandit, or to add): then the same "
                    "key is the same item"
                )
            seen.add(key)

    def enter(self, key: Hashable, payload: Any, first: bool = False) -> None:
        """One item of a list; if its key is known, that one, which is here now unless it was paused by hand."""
        item = self.items.get(key)
        if item is None:
            self._enter_new(Item(key, payload), first)
            return
        item.is_lasting = True
        if item.is_gone or key in self.missing:
            self._enter_known(item, payload, first)
            return
        self.show(item, payload)
        if first and item.is_waiting:
            self.put(item, first)

    def enter_taken(self, key: Hashable, payload: Any) -> None:
        """One item of an iterator, which does not bring back what was withdrawn."""
        item = self.items.get(key)
        if item is None:
            item = Item(key, payload)
            item.is_lasting = False
            self._enter_new(item, first=False)
        elif self.is_new(key):
            if item.state == ABSENT:
                item.is_lasting = False
            self._enter_known(item, payload, first=False)
        else:
            self.show(item, payload)

    def enter_absent(self, key: Hashable) -> None:
        """One item of the past, or of the news of others, that is not here: nobody knows what it stands for."""
        self.items[key] = Item(key)
        self.items[key].state = ABSENT
        self.kinds.add(kind_of(key))

    def is_new(self, key: Hashable) -> bool:
        """Whether an iterator's item with this key is one that was not here yet, or has been missing."""
        return key not in self.items or key in self.missing or self.items[key].state == ABSENT

    def _enter_known(self, item: Item, payload: Any, first: bool) -> None:
        """One that is here from now on, with what is known of it; until now, it may have been in no segment."""
        item.payload = item.payload if payload is None else payload
        self.sort_in(item)
        self.bring_back(item, first)

    def _enter_new(self, item: Item, first: bool) -> None:
        if self.segments:
            self.version += 1
            item.segments = self.segments_of(item.shown)  # first, because it may fail
        self.items[item.key] = item
        self.kinds.add(kind_of(item.key))
        self.here.add(item)
        self.put(item, first)

    def show(self, item: Item, payload: Any) -> None:
        """An item stands for this from now on; for the same as before, if it is None."""
        if payload is not None:
            item.payload = payload
            self.sort_in(item)

    def sort_in(self, item: Item) -> None:
        """Find out in which segments an item is."""
        if self.segments:
            self.version += 1
            before = item.segments
            self.here.resort(item, self.segments_of(item.shown))
            if item.is_waiting:
                for name in set(item.segments).difference(before).intersection(self.waiting_in):
                    self.waiting_in[name].add(item, first=False)

    def segments_of(self, shown: Any) -> tuple[str, ...]:
        """The names of the segments of an item, or an error that says which one cannot be told."""
        found = []
        for name, is_in in self.segments.items():
            try:
                if is_in(shown):
                    found.append(name)
            except Exception as error:
                raise ValueError(
                    f"Bandit: whether the item {shown!r:.80} is in the segment {name!r} cannot be told: its function "
                    f"raises {type(error).__name__} ({error}). Nothing was changed; give items with what it looks at"
                ) from error
        return tuple(found)

    def put(self, item: Item, first: bool) -> None:
        """Let an item wait, in front or behind."""
        if first:
            self.front -= 1
        else:
            self.behind += 1
        item.place = self.front if first else self.behind
        item.is_waiting = True
        item.waits_again = item.asks > 0 and not first
        item.turn = item.place + AFTER_FRESH if item.waits_again else item.place
        self.waiting.add(item, first)
        for name in item.segments:
            if name in self.waiting_in:
                self.waiting_in[name].add(item, first)

    # ------------------------------------------------------------ fresh ones

    def take(self, source: Iterator[Any]) -> Item | None:
        """The next new item of a source, which waits now; None if there is none at the moment."""
        for entry in itertools.islice(source, LOOK_AHEAD):
            key, payload = key_and_payload(entry)
            is_new = self.is_new(key)
            if not is_new and self.same_key == "refuse":
                self._refuse_repeats([key])
            self.segments_of(key if payload is None else payload)  # or an error, before anything is changed
            self.on_taken(key)
            self.enter_taken(key, payload)
            item = self.items[key]
            if is_new and item.is_waiting and not item.asks:
                return item
        return None

    def has_waiting(self) -> bool:
        """Whether an item waits that may be asked for; or without items, always."""
        return not self.has_items or next(iter(self.waiting), None) is not None

    def first_waiting(self, wish: Wish | None) -> Item | None:
        """The first item of the stock that may be asked for, or of those that are not taken yet; it stays there."""
        queue = self.waiting
        if wish is not None and wish.segment is not None:
            queue = self.waiting_in[wish.segment]
        found = next(iter(queue), None) if wish is None else wish.first(queue, self.items.get)
        if not self.sources or (found is not None and not found.asks):
            return found
        if self._are_all_here(wish):
            return found
        return self._first_taken(wish) or found  # items that come round again do so behind fresh ones

    def _are_all_here(self, wish: Wish | None) -> bool:
        """Whether no iterator can have one of the few items that are wanted."""
        return wish is not None and wish.among is not None and not any(map(self.is_new, wish.among))

    def _first_taken(self, wish: Wish | None) -> Item | None:
        """The first item of those that are not taken yet that may be asked for; those before it wait."""
        for source in list(self.sources):
            while len(self.waiting.fresh.places) < LOOK_AHEAD and not self._are_all_here(wish):
                item = self.take(source)
                if item is None:  # an iterator that had an end may have more later, but for those of Python's own
                    if isinstance(source, FINISHED_FOR_GOOD):
                        self.sources.remove(source)
                    break
                if wish is None or wish.admits(item):
                    return item
        return None

    # ------------------------------------------------------------ arms

    def bind(self, arm: int, key: Hashable) -> Item:
        """Let an arm stand for an item that waits; without items, for itself."""
        self.version += 1
        item = self.items[key] if self.has_items else Item(key)
        item.arm = arm
        item.is_waiting = False
        self.let_go.pop(item.key, None)
        self.arms[arm] = item
        return item

    def keep_only(self, kept: set[int], awaited: int) -> None:
        """The policy has let all other arms go: their items wait again."""
        gone = sorted(arm for arm in self.arms if arm not in kept)
        for arm in gone:
            self.unbind(self.arms[arm])
        # Looking through arms and open decisions is dear: it waits until as many arms have come as were looked at.
        known = len(self.arms)
        self.pruning = max(FIRST_PRUNING, known + max(known, awaited))

    def unbind(self, item: Item) -> None:
        """No arm stands for an item any more; if it may be asked for, it waits behind all others."""
        self.version += 1
        assert item.arm is not None
        del self.arms[item.arm]
        item.arm = None
        if not self.has_items:
            return
        if not item.is_gone:
            self.put(item, first=False)
        if not item.is_lasting:
            self.let_go[item.key] = item
        while len(self.let_go) > LET_GO:
            self.forget(self.let_go.popitem(last=False)[1])

    def forget(self, item: Item) -> None:
        """Nothing is known of an item of an iterator any more, unless it was withdrawn or an answer is to come."""
        if item.open == 0 and item.is_here and self.items.get(item.key) is item:
            del self.items[item.key]
            item.is_waiting = False
            self.here.discard(item)
            self.missing.pop(item.key, None)
            self.news.pop(item.key, None)

    def withdraw(self, item: Item, state: str) -> None:
        """Ask no more for an item: for a while, or for good."""
        self.version += 1
        item.state = state
        self.here.discard(item)
        self.missing.pop(item.key, None)

    def bring_back(self, item: Item, first: bool = False) -> None:
        """Ask for it again: as the arm that it is, or as one of those that wait."""
        if item.state != HERE:
            self.version += 1
            item.state = HERE
            self.here.add(item)
            if item.arm is None:
                self.put(item, first)
        self.missing.pop(item.key, None)

    # ------------------------------------------------------------ snapshots

    def to_json(self) -> dict[str, Any]:
        """Keys and what is known of them, as plain JSON values; no payloads."""
        known = self.items.values() if self.has_items else self.arms.values()
        return {
            "has_items": self.has_items,
            "same_key": self.same_key,
            "pruning": self.pruning,
            "items": [item_to_json(item) for item in known],
            "here": self._places_here(),
            "waiting": [key_to_json(item.key) for item in self.waiting.fresh],
            "again": [key_to_json(item.key) for item in self.waiting.again],
            "let_go": [key_to_json(key) for key in self.let_go],
            "missing": [key_to_json(key) for key in self.missing],
        }

    def _places_here(self) -> list[int] | None:
        """Where among all items those are that are here, in the order in which chance finds them; None if in theirs."""
        places = {key: place for place, key in enumerate(self.items)}
        found = [places[item.key] for item in self.here.items]
        return None if found == sorted(found) else found

    def read(self, values: dict[str, Any]) -> None:
        """Take over what ``to_json`` gave."""
        self.pruning = count("snapshot", "pruning", values["pruning"], least=FIRST_PRUNING)
        self.has_items = bool(values["has_items"])
        for place, row in enumerate(rows_from_json(values["items"], "items", ITEM_FIELDS)):
            item = item_from_json(row, f"items[{place}]")
            if item.key in self.items or (item.arm is not None and item.arm in self.arms):
                raise SnapshotError(f"items[{place}]: the key {item.key!r:.60} or its arm is there twice")
            if self.has_items:
                self.items[item.key] = item
                self.kinds.add(kind_of(item.key))
            if item.arm is not None:
                self.arms[item.arm] = item
        for item in self._here_from_json(values["here"]):
            self.here.add(item)
        for name in ("waiting", "again"):
            waiting = [item for item in self._items_from_json(values[name], name) if item.arm is None]
            for item in reversed(waiting) if name == "waiting" else waiting:
                self.put(item, first=name == "waiting")
        self.let_go.update((item.key, item) for item in self._items_from_json(values["let_go"], "let_go"))
        self.missing = {item.key: None for item in self._items_from_json(values["missing"], "missing")}

    def _here_from_json(self, saved: Any) -> list[Item]:
        known = list(self.items.values())
        here = [place for place, item in enumerate(known) if item.is_here]
        if saved is not None and (not isinstance(saved, list) or sorted(map(str, saved)) != sorted(map(str, here))):
            raise SnapshotError(f"here: expected the places of items that are here, not {saved!r:.60}")
        return [known[place] for place in (here if saved is None else saved)]

    def _items_from_json(self, saved: Any, name: str) -> list[Item]:
        if not isinstance(saved, list):
            raise SnapshotError(f"{name}: expected a list, not {saved!r:.60}")
        keys = [key_from_json(key, f"{name}[{place}]") for place, key in enumerate(saved)]
        unknown = [key for key in keys if key not in self.items]
        if unknown:
            raise SnapshotError(f"{name}: there is no item {unknown[0]!r:.60}")
        return [self.items[key] for key in keys]

    def take_again(self, items: Any) -> None:
        """The items of a bandit that was saved: those it knows are found by their keys, others are new.

        Items that it knows and is not given, if all are there to be looked at, are missing: paused until they are
        added.
        """
        if not self.has_items:
            raise ValueError("this bandit was saved without items; load it without items")
        is_list = items is not None and is_finite(items)
        pairs = [key_and_payload(entry) for entry in entries_of(items)] if is_list else []
        given = dict(pairs)
        if len(given) < len(pairs) and self.same_key == "refuse":
            self._refuse_twice(key for key, _ in pairs)
        for key, item in self.items.items():
            if given.get(key) is not None:
                item.payload = given[key]
            if items is None or key in given:  # of others nobody knows, or not yet, what they stand for
                self.sort_in(item)
        self.waiting_in = {name: Queue() for name in self.segments}
        for item in self.waiting:
            for name in item.segments:
                self.waiting_in[name].add(item, first=False)
        if items is None:
            return
        if not is_list:
            self.sources.append(KnownAgain(self, iter(entries_of(items))))
            return
        for key, payload in pairs:
            if self.is_new(key):
                self.enter(key, payload)
        missing = [
            key for key, item in self.items.items() if key not in given and (item.is_here or key in self.missing)
        ]
        for key in missing:
            self.withdraw(self.items[key], PAUSED)
        self.missing = dict.fromkeys(missing)


class KnownAgain:
    """The new ones of some items, from an iterator; those that are here get their payloads as it passes them."""

    def __init__(self, catalogue: Catalogue, entries: Iterator[Any]) -> None:
        self.catalogue, self.entries = catalogue, entries

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            key, payload = key_and_payload(next(self.entries))
            if self.catalogue.is_new(key):
                return key, payload
            self.catalogue.show(self.catalogue.items[key], payload)


def checked_same_key(same_key: Any) -> str:
    """What to do with a key that is there already."""
    if same_key not in ("refuse", "merge"):
        raise ValueError(f"Bandit: same_key must be 'refuse' or 'merge', not {same_key!r}")
    return str(same_key)


def checked_segments(segments: Any) -> dict[str, Predicate]:
    """Names with functions of an item."""
    if segments is None:
        return {}
    if not isinstance(segments, Mapping):
        raise TypeError(
            f"Bandit: segments must be a dictionary of names and functions of an item, not {segments!r:.80}"
        )
    for name, is_in in segments.items():
        if not isinstance(name, str) or not callable(is_in):
            raise TypeError(f"Bandit: segments must be names with functions of an item, not {name!r}: {is_in!r:.60}")
    return dict(segments)


ITEM_FIELDS = 11

NEVER = -1
"""In the place of an arm: there was never one, though the item was asked for or observed."""


def item_to_json(item: Item) -> list[Any]:
    """What is known of an item."""
    arm = NEVER if (item.asks or item.plays) and not item.had_arm else item.arm
    return [
        key_to_json(item.key), item.state, arm, item.asks, item.first_ask, item.last_ask, item.plays, item.reward,
        item.squares, item.recent, item.is_lasting,
    ]  # fmt: skip


def item_from_json(row: list[Any], where: str) -> Item:
    """The item that ``item_to_json`` wrote."""
    key, state, arm, asks, first, last, plays, reward, squares, recent, is_lasting = row
    item = Item(key_from_json(key, f"{where}.key"))
    if state not in STATES:
        raise SnapshotError(f"{where}.state: expected one of {', '.join(STATES)}, not {state!r:.60}")
    item.state = state
    item.arm = None if arm is None or arm == NEVER else count("snapshot", f"{where}.arm", arm, least=0)
    names: Iterable[tuple[str, Any]] = (("asks", asks), ("first_ask", first), ("last_ask", last), ("plays", plays))
    for name, value in names:
        setattr(item, name, count("snapshot", f"{where}.{name}", value, least=0))
    item.had_arm = item.arm is not None or (arm is None and bool(item.asks or item.plays))
    item.reward = number("snapshot", f"{where}.reward", reward)
    item.squares = number("snapshot", f"{where}.squares", squares)
    item.recent = number("snapshot", f"{where}.recent", recent)
    _check_sums(item, where)
    if not isinstance(is_lasting, bool):
        raise SnapshotError(f"{where}.is_lasting: expected true or false, not {is_lasting!r:.60}")
    item.is_lasting = is_lasting
    return item


def _check_sums(item: Item, where: str) -> None:
    """Refuse sums that so many rewards from 0 to 1 cannot have; corrections leave rounding errors."""
    slack = 1e-9 * (1.0 + item.plays)
    for name, total in (("reward", item.reward), ("squares", item.squares)):
        if not -slack <= total <= item.plays + slack:
            raise SnapshotError(f"{where}.{name}: {total} is not the sum of {item.plays} rewards")
