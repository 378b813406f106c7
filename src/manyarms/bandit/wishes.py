"""Which items may be asked for: what one visitor may see."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any

from .items import Item, Predicate


class Wish:
    """The conditions of one ask; all of them must hold."""

    def __init__(
        self,
        among: Collection[Hashable] | None,
        exclude: Collection[Hashable],
        where: Predicate | None,
        segment: str | None,
    ) -> None:
        self.among, self.exclude, self.where, self.segment = among, exclude, where, segment

    def admits(self, item: Item) -> bool:
        """Whether this item may be asked for, if it is here."""
        return (
            (self.among is None or item.key in self.among)
            and item.key not in self.exclude
            and (self.segment is None or self.segment in item.segments)
            and (self.where is None or bool(self.where(item.shown)))
        )

    def first(self, waiting: Iterable[Item], known: Callable[[Hashable], Item | None]) -> Item | None:
        """The first of the waiting items that may be asked for."""
        if self.among is None:
            return next((item for item in waiting if self.admits(item)), None)
        first = None
        for key in self.among:
            item = known(key)
            if item is None or not item.is_waiting or (first is not None and item.place > first.place):
                continue
            if item.is_here and self.admits(item):
                first = item
        return first

    def all(self, here: Iterable[Item], known: Callable[[Hashable], Item | None]) -> Iterator[Item]:
        """Every item that may be asked for, of those that are here."""
        some = here
        if self.among is not None:  # in the same order in all processes, which sets are not
            found = (item for key in self.among if (item := known(key)) is not None)
            some = sorted(found, key=lambda item: item.pool)
        return (item for item in some if item.is_here and self.admits(item))


def wish_for(among: Any, exclude: Any, where: Any, segment: Any, segments: Collection[str]) -> Wish | None:
    """The conditions of an ask, checked; None if there are none."""
    if among is None and exclude is None and where is None and segment is None:
        return None
    if where is not None and not callable(where):
        raise TypeError(f"Bandit.ask: where must be a function of an item, not {where!r:.80}")
    if segment is not None and segment not in segments:
        known = ", ".join(map(repr, segments)) or "none: give Bandit(…, segments={name: function of an item})"
        raise KeyError(f"Bandit.ask: there is no segment {segment!r}; there are {known}")
    return Wish(
        None if among is None else _keys("among", among),
        frozenset() if exclude is None else _keys("exclude", exclude),
        where,
        segment,
    )


def _keys(name: str, keys: Any) -> Collection[Hashable]:
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"Bandit.ask: {name} must be several keys, such as [{keys!r:.60}], not one")
    if isinstance(keys, (set, frozenset, dict)):
        return keys
    try:
        return frozenset(keys)
    except TypeError as error:
        raise TypeError(f"Bandit.ask: {name} must be keys of items, not {keys!r:.80} ({error})") from None
