"""Which items may be asked for: what one visitor may see."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .decisions import Decision
from .items import Item, Pool, Predicate, in_short, kind_of

if TYPE_CHECKING:
    from .catalogue import Catalogue


LATER_THAN_ALL = 2**62


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
        self.arms_among: list[int] = []  # the arms of those that it is among, when ``first`` last looked

    @property
    def is_narrow(self) -> bool:
        """Whether the items that may be asked for have to be looked up one by one."""
        return self.among is not None or self.where is not None

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
        first, earliest = None, LATER_THAN_ALL
        self.arms_among = arms = []
        for key in self.among:
            item = known(key)
            if item is None:
                continue
            if item.arm is not None:
                arms.append(item.arm)
            elif item.is_waiting and item.turn < earliest and item.is_here and self.admits(item):
                first, earliest = item, item.turn
        return first

    def all(self, here: Pool, known: Callable[[Hashable], Item | None]) -> Iterator[Item]:
        """Every item that may be asked for, of those that are here."""
        some: Iterable[Item] = here.items
        if self.among is not None:  # in the same order in all processes, which sets are not
            found = (item for key in self.among if (item := known(key)) is not None)
            some = sorted(found, key=lambda item: item.pool)
        return (item for item in some if item.is_here and self.admits(item))

    def excluded(self, here: Pool, known: Callable[[Hashable], Item | None]) -> Iterator[Item]:
        """Those that are here, in the segment, and may not be asked for."""
        found = (item for key in self.exclude if (item := known(key)) is not None)
        return (item for item in found if item.is_here and (self.segment is None or self.segment in item.segments))


def wish_for(among: Any, exclude: Any, where: Any, segment: Any, catalogue: "Catalogue") -> Wish | None:
    """The conditions of an ask, checked; None if there are none."""
    if among is None and exclude is None and where is None and segment is None:
        return None
    if where is not None and not callable(where):
        raise TypeError(f"Bandit.ask: where must be a function of an item, not {where!r:.80}")
    if segment is not None and segment not in catalogue.segments:
        known = ", ".join(map(repr, catalogue.segments)) or "none: give Bandit(…, segments={name: function of an item})"
        raise KeyError(f"Bandit.ask: there is no segment {segment!r}; there are {known}")
    return Wish(
        None if among is None else _keys("among", among, catalogue.kinds),
        frozenset() if exclude is None else _keys("exclude", exclude, catalogue.kinds),
        where,
        segment,
    )


def _keys(name: str, keys: Any, kinds: Collection[str]) -> Collection[Hashable]:
    """Keys that can be looked up in; the first of them, for speed not all, is of a kind that keys can be."""
    if isinstance(keys, (str, bytes, Decision)):
        raise TypeError(f"Bandit.ask: {name} must be several keys, such as [{keys!r:.60}], not one")
    if not isinstance(keys, frozenset):  # a copy: others may change it meanwhile
        try:
            keys = list(keys)
            is_of_decisions = bool(keys) and isinstance(keys[0], Decision)
            keys = frozenset(one.key for one in keys) if is_of_decisions else frozenset(keys)
        except (TypeError, AttributeError) as error:
            raise TypeError(f"Bandit.ask: {name} must be keys of items, not {in_short(keys)} ({error})") from None
    first = next(iter(keys), None)
    if first is not None and kinds and kind_of(first) not in kinds:
        raise TypeError(
            f"Bandit.ask: {name} holds {in_short(first)}, a {kind_of(first)}, but keys of this bandit are of another "
            f"type ({', '.join(sorted(kinds))}): it could never be one of them. Nothing was changed"
        )
    found: Collection[Hashable] = keys
    return found
