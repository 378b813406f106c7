"""States taken apart and put together again.

A state is a named tuple of numbers, arrays and further states. Its *leaves* are the numbers and the arrays, and a
leaf's *path* is how code would reach it: ``state.block.length``. A plain tuple of states is taken for a state as well,
with the numbers of its parts for names.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

Columns = TypeVar("Columns")


def folded(state: Any, leaf: Callable[..., Any], join: Callable[[Any, dict[str, Any]], Any], *others: Any) -> Any:
    """Of a leaf, what ``leaf`` makes of it; of a state, what ``join`` makes of it and of its folded parts by name.

    ``others`` are states with the same fields: ``leaf`` is given their leaves too.

    Examples
    --------
    >>> from manyarms.contract import Counts
    >>> folded(Counts(restarts=0, blocks=3, arms=8, ignored=1), str, lambda state, parts: parts)
    {'restarts': '0', 'blocks': '3', 'arms': '8', 'ignored': '1'}
    """
    if not isinstance(state, tuple):
        return leaf(state, *others)
    parts = zip(names_of(state), state, *others, strict=True)
    return join(state, {name: folded(part, leaf, join, *more) for name, part, *more in parts})


def mapped(function: Callable[..., Any], state: Any, *others: Any) -> Any:
    """The state with ``function(leaf)`` in place of every leaf.

    ``others`` are states with the same fields: the function is given their leaves too.

    Examples
    --------
    >>> from manyarms.contract import Counts
    >>> mapped(float, Counts(restarts=0, blocks=3, arms=8, ignored=1))
    Counts(restarts=0.0, blocks=3.0, arms=8.0, ignored=1.0)
    """
    if not isinstance(state, tuple):
        return function(state, *others)
    return tuple.__new__(type(state), [mapped(function, *parts) for parts in zip(state, *others, strict=True)])


def rebuilt(state: Any, parts: dict[str, Any]) -> Any:
    """A state of the same type with these parts."""
    return type(state)(*parts.values()) if hasattr(state, "_fields") else tuple(parts.values())


def empty(kind: type[Columns], size: int) -> Columns:
    """A state of arrays alone, of the types that its fields are declared with, and of one size."""
    declared = (get_args(get_args(hint)[1])[0] for hint in get_type_hints(kind).values())
    return kind(*(np.zeros(size, dtype=dtype) for dtype in declared))


def grown(columns: Columns, size: int) -> Columns:
    """The array, or each array of a state, with room for that many entries."""
    return cast(Columns, mapped(lambda column: np.pad(column, (0, size - column.size)), columns))


def names_of(state: Any) -> tuple[str, ...]:
    """The names of the fields of a state."""
    return getattr(state, "_fields", None) or tuple(map(str, range(len(state))))


def leaves(state: Any, path: str = "state") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path, in the order of the fields.

    Examples
    --------
    >>> from manyarms.contract import Counts
    >>> list(leaves(Counts(restarts=0, blocks=3, arms=8, ignored=1)))[:2]
    [('state.restarts', 0), ('state.blocks', 3)]
    """
    if not isinstance(state, tuple):
        yield path, state
        return
    for name, part in zip(names_of(state), state, strict=True):
        if isinstance(part, tuple):
            yield from leaves(part, f"{path}.{name}")
        else:  # at once: a generator for each leaf would take longer than all the rest
            yield f"{path}.{name}", part


def arrays(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a state by path."""
    return {path: leaf for path, leaf in leaves(state) if isinstance(leaf, np.ndarray)}


def own_arrays(state: Any) -> list[NDArray[Any]]:
    """The arrays that belong to one replication: those that can be written. All replications share the others."""
    return [array for array in arrays(state).values() if array.flags.writeable]


def states_in(state: Any) -> Iterator[tuple[Any, ...]]:
    """The states inside a state, and then the state itself."""
    if isinstance(state, tuple):
        for part in state:
            yield from states_in(part)
        yield state


def type_of(leaf: Any) -> str:
    """What the compiler sees of a leaf: its type, but no value and no size.

    Examples
    --------
    >>> type_of(3), type_of(np.uint64(3)), type_of(np.zeros(4))
    ('int', 'uint64', '<f8[1]')
    """
    return f"{leaf.dtype.str}[{leaf.ndim}]" if isinstance(leaf, np.ndarray) else type(leaf).__name__


def types_of(state: Any) -> Any:
    """What the compiler sees of a state: its type's name and the types of its parts."""
    return folded(state, type_of, lambda state, parts: (type(state).__name__, *parts.values()))


def copied(state: Any) -> Any:
    """A state that shares no array with this one."""
    return mapped(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, state)


def enlarged(state: Any, larger: Any) -> Any:
    """``larger``, a state started for more rounds, with everything that ``state`` holds.

    Arrays are copied into the beginning of the larger ones; all else is taken over.
    """
    return mapped(_enlarged_leaf, state, larger)


def _enlarged_leaf(leaf: Any, larger: Any) -> Any:
    if not isinstance(leaf, np.ndarray) or leaf.shape == larger.shape:
        return leaf
    larger[tuple(slice(0, size) for size in leaf.shape)] = leaf
    return larger
