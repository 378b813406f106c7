"""The arms that a bandit has asked for, and the items that they stand for."""

import collections
from collections.abc import Iterable, Iterator
from typing import Any

from ..snapshots import rows_from_json
from ..specs import count
from .decisions import NoMoreItems

FIRST_PRUNING = 1000
"""A bandit that remembers this many arms forgets those let go; the next time at twice what is left."""


class KnownArms:
    """The arms that were asked for and may be asked for again, each with its item if there are items."""

    def __init__(self, items: Iterable[Any] | None) -> None:
        # Items still to be taken: one source after another.
        self.sources: collections.deque[Iterator[Any]] | None = (
            None if items is None else collections.deque([_iterator(items)])
        )
        self.positions: dict[int, int] = {}  # arm -> how many arms had been asked for before it
        self.taken: dict[int, Any] = {}  # arm -> its item
        self.fresh = 0  # arms asked for so far, those forgotten included
        self.pruning = FIRST_PRUNING  # prune when this many arms are remembered

    def add(self, arm: int) -> None:
        """Remember that this arm was asked for, with the next item if there are any."""
        if self.sources is not None:
            self.taken[arm] = self._next_item()
        self.positions[arm] = self.fresh
        self.fresh += 1

    def _next_item(self) -> Any:
        """The next item of the first source that has one."""
        assert self.sources is not None
        while self.sources:
            try:
                return next(self.sources[0])
            except StopIteration:
                self.sources.popleft()
        raise NoMoreItems(
            f"a fresh arm is needed, but all {self.fresh:,} items are used up; add items with add_items, or "
            "choose a policy that draws fewer arms. Nothing is lost: ask again then"
        )

    def add_items(self, items: Iterable[Any]) -> None:
        """More items, after all that were given before."""
        more = _iterator(items)
        if self.sources is None:
            if self.fresh:
                raise ValueError(
                    f"Bandit.add_items: this bandit has no items, and {self.fresh:,} arms have been asked for "
                    "without one; give items from the start"
                )
            self.sources = collections.deque()
        self.sources.append(more)

    def keep_only(self, kept: set[int], awaited: int) -> None:
        """Forget all other arms, while so many decisions are open."""
        self.positions = {arm: position for arm, position in self.positions.items() if arm in kept}
        self.taken = {arm: item for arm, item in self.taken.items() if arm in kept}
        # Looking through arms and open decisions is dear: it waits until as many arms have come as were looked at.
        known = len(self.positions)
        self.pruning = max(FIRST_PRUNING, known + max(known, awaited))

    def to_json(self) -> dict[str, Any]:
        """All but the items, as plain JSON values."""
        return {
            "fresh": self.fresh,
            "has_items": self.sources is not None,
            "pruning": self.pruning,
            "positions": [[arm, position] for arm, position in self.positions.items()],
        }

    def read(self, values: dict[str, Any]) -> None:
        """Take over what ``to_json`` gave."""
        self.fresh = count("snapshot", "fresh", values["fresh"], least=0)
        self.pruning = count("snapshot", "pruning", values["pruning"], least=FIRST_PRUNING)
        for place, entry in enumerate(rows_from_json(values["positions"], "positions", 2)):
            arm, position = (count("snapshot", f"positions[{place}]", part, least=0) for part in entry)
            self.positions[arm] = position

    def take_again(self, has_items: bool, items: Iterable[Any] | None) -> None:
        """Take the items that were taken before the snapshot, and keep those whose arms are remembered."""
        if items is None:
            if has_items:
                raise ValueError("this bandit has items; give the same ones to load, from the first")
            return
        if not has_items:
            raise ValueError("this bandit was saved without items; load it without items")
        self.sources = collections.deque([_iterator(items)])
        arms = {position: arm for arm, position in self.positions.items()}
        for position in range(self.fresh):
            try:
                item = self._next_item()
            except NoMoreItems:
                raise ValueError(
                    f"only {position:,} items were given, but {self.fresh:,} had been used when the bandit was "
                    "saved; give the same items, from the first"
                ) from None
            if position in arms:
                self.taken[arms[position]] = item


def _iterator(items: Iterable[Any]) -> Iterator[Any]:
    try:
        return iter(items)
    except TypeError:
        raise TypeError(f"Bandit: items must be a list or something else to iterate over, not {items!r:.80}") from None
