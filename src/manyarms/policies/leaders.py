"""Who leads among many values of which one changes at a time, without a tree.

The leader is remembered, and a bound on all others. While it stays above the bound, or another overtakes it, that is
one comparison; only when it falls below the bound are all values looked at.
"""

from typing import Any, NamedTuple

from ..apart import apart
from ..compiled import kernel


class Leader(NamedTuple):
    """The slot with the largest value, and a bound: no other has more than that."""

    slot: int = 0
    others: float = -1.0


NO_LEADER = Leader()
"""While no slot has an arm."""


@kernel
def led(leader: Leader, values: Any, used: int, slot: int) -> Leader:
    """Who leads after the value of a slot has changed. The leader stays until another has more."""
    value = values[slot]
    if slot != leader.slot:
        ahead = values[leader.slot]
        if value > ahead:
            return Leader(slot=slot, others=max(ahead, leader.others))
        return Leader(slot=leader.slot, others=max(value, leader.others))
    if value >= leader.others:
        return leader
    return searched(values, used, slot)


@apart
def searched(values: Any, used: int, slot: int) -> Leader:
    """The first of the largest values, but the one in ``slot`` if none is larger; and the largest of the others."""
    first = slot
    most = values[slot]
    others = -1.0
    for other in range(used):
        value = values[other]
        if value > most:
            others = most
            most = value
            first = other
        elif other != first and value > others:
            others = value
    return Leader(slot=first, others=others)
