"""For tests of policies by hand: asks that stay open, and their answers."""

from typing import NamedTuple

from manyarms.contract import Choice, ask, defer, lose, settle


class Open(NamedTuple):
    choice: Choice
    presumed: float


def left_open(state, *rounds):
    """Ask in these rounds, and answer none of them: the state then, and the open asks."""
    asks = []
    for round in rounds:
        choice = ask(state, round)
        state, presumed = defer(state, choice)
        asks.append(Open(choice, presumed))
    return state, *asks


def settled(state, open_ask, reward):
    return settle(state, *open_ask, reward)


def lost(state, open_ask):
    return lose(state, *open_ask)
