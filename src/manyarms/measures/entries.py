"""Entries: results that are sequences."""

import operator
from collections.abc import Sequence
from typing import ClassVar, TypeVar, overload

Entry = TypeVar("Entry", covariant=True)


class Entries(Sequence[Entry]):
    """A sequence of what is in ``_entries``, or of what ``_entry`` finds one by one; a slice is a tuple of entries."""

    _noun: ClassVar[str]
    _entries: Sequence[Entry]

    def __len__(self) -> int:
        return len(self._entries)

    def _entry(self, number: int) -> Entry:
        """The entry with that number, from 0 to the length less one."""
        return self._entries[number]

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, place: int | slice) -> Entry | tuple[Entry, ...]:
        places = range(len(self))
        if isinstance(place, slice):
            return tuple(self._entry(number) for number in places[place])
        number = operator.index(place)
        try:
            return self._entry(places[number])
        except IndexError:
            raise IndexError(f"no {self._noun} at place {number}; there are {len(self)}") from None
