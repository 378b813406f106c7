"""Asks whose answers are out: how many there are of each arm, and how old.

They are kept in a few groups by age, so that it costs the same however many are out: the newest alone, and the older
ones with others of much the same age. An ask leaves the group that it is in when its answer comes.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from .lateness import Lateness, still_to_come

GROUPS = 6
"""Of so many groups of each arm, the last one takes all that are older,"""

ALIKE = 3.0
"""and two are of much the same age if one is at most so many times as old as the other."""


class OpenAsks(NamedTuple):
    """The open asks of all slots."""

    numbers: NDArray[np.int64]  # slot -> how many
    sizes: NDArray[np.float64]  # slot, group -> how many are in it; from new to old
    rounds: NDArray[np.float64]  # slot, group -> the rounds in which they were made, added up
    firsts: NDArray[np.float64]  # slot, group -> the first of these rounds, answered or not


def new_open_asks(slots: int) -> OpenAsks:
    """Room for those of so many slots."""
    return OpenAsks(
        numbers=np.zeros(slots, dtype=np.int64),
        sizes=np.zeros(slots * GROUPS),
        rounds=np.zeros(slots * GROUPS),
        firsts=np.zeros(slots * GROUPS),
    )


@kernel
def without_asks(asks: OpenAsks, slot: int) -> None:
    """A slot has none."""
    asks.numbers[slot] = 0
    for group in range(slot * GROUPS, (slot + 1) * GROUPS):
        asks.sizes[group] = 0.0
        asks.rounds[group] = 0.0
        asks.firsts[group] = 0.0


@kernel
def age_of(asks: OpenAsks, group: int, now: int) -> Any:
    """Of the asks in a group, on average; it is not empty."""
    return now - asks.rounds[group] / asks.sizes[group]


@kernel
def group_to_join(asks: OpenAsks, newest: int, now: int) -> int:
    """The first that is empty, or that the one before it may join; else the last."""
    group = newest + 1
    while group < newest + GROUPS - 1:
        if asks.sizes[group] == 0.0 or age_of(asks, group, now) <= ALIKE * age_of(asks, group - 1, now):
            return group
        group += 1
    return group


@kernel
def add_ask(asks: OpenAsks, slot: int, round: int) -> None:
    """One more, the newest of its slot."""
    newest = slot * GROUPS
    if asks.sizes[newest] > 0.0:
        group = group_to_join(asks, newest, round)
        asks.sizes[group] += asks.sizes[group - 1]
        asks.rounds[group] += asks.rounds[group - 1]
        if asks.sizes[group] == asks.sizes[group - 1]:
            asks.firsts[group] = asks.firsts[group - 1]
        while group - 1 > newest:
            group -= 1
            asks.sizes[group] = asks.sizes[group - 1]
            asks.rounds[group] = asks.rounds[group - 1]
            asks.firsts[group] = asks.firsts[group - 1]
    asks.sizes[newest] = 1.0
    asks.rounds[newest] = round
    asks.firsts[newest] = round
    asks.numbers[slot] += 1


@kernel
def remove_ask(asks: OpenAsks, slot: int, round: int) -> None:
    """The one of this round is not open any more."""
    group = slot * GROUPS
    while asks.sizes[group] == 0.0 or asks.firsts[group] > round:
        group += 1
    asks.sizes[group] -= 1.0
    asks.rounds[group] -= round
    asks.numbers[slot] -= 1


@kernel
def come_to_nothing(asks: OpenAsks, lateness: Lateness, slot: int, now: int, rounds: int) -> float:
    """How many of a slot are thought to pay nothing: they are out for so long."""
    nothing = 0.0
    if asks.numbers[slot] > 0:
        for group in range(slot * GROUPS, (slot + 1) * GROUPS):
            if asks.sizes[group] > 0.0:
                share = still_to_come(lateness, age_of(asks, group, now), rounds)
                nothing += asks.sizes[group] * (1.0 - share)
    return nothing
