"""Parts of a world that hold others, as far as a loop with them can be compiled."""

from collections.abc import Callable, Sequence
from typing import Any

MOST_PARTS = 64
"""Plain parts inside of one: to compile a loop with so many takes 10 s."""


def check_nesting(spec: Any, parts: str, inside: Callable[[Any], Sequence[Any]], deepest: int, remedy: str) -> None:
    """Refuse parts in parts that no compiler could bear.

    Parameters
    ----------
    spec
        What holds others.
    parts
        What they are called.
    inside
        What a part holds, in the order in which the compiled loop asks; nothing for a plain one.
    deepest
        So many questions, at most, come one after the other.
    remedy
        How to say it with fewer.
    """
    depth, number = _depth_and_number(spec, inside)
    if depth > deepest or number > MOST_PARTS:
        raise ValueError(
            f"{type(spec).__name__}: {number} {parts}, {depth} inside each other, are more than can be compiled"
            f"; up to {deepest} go inside each other ({deepest + 1} in one list), and {MOST_PARTS} in all. Put some "
            f"together: {remedy}"
        )


def _depth_and_number(spec: Any, inside: Callable[[Any], Sequence[Any]]) -> tuple[int, int]:
    """How many questions come one after the other, at most, and how many plain parts there are.

    Whether it is the first part is the first question, the last but one and the last are told apart by the last one.
    """
    parts = inside(spec)
    if not parts:
        return 0, 1
    questions = max(1, len(parts) - 1)
    found = [_depth_and_number(part, inside) for part in parts]
    depth = max(min(place + 1, questions) + depth for place, (depth, _) in enumerate(found))
    return depth, sum(number for _, number in found)
