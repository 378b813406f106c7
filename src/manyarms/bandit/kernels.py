"""The kernels of a policy as a live bandit calls them: plain Python, or compiled once somebody has asked for that.

Both take and return states, and the numbers are the same to the bit, so a bandit may go from the one to the other at
any moment. What they cost differs: plain kernels cost what Python does; a compiled one takes a state of thirty numbers
and arrays apart and puts it together again, 3 to 4 microseconds, and next to nothing beyond that.
"""

import os
import threading
from typing import Any, NamedTuple

import numpy as np

from ..compiled import IS_COMPILING, Loop, compile_errors, compiled_type
from ..contract import Choice, ask, ask_among, correct, defer, lose, settle, tell
from ..states import mapped


class Kernels(NamedTuple):
    """Whatever is done with the state of a live policy, by verb."""

    ask: Any
    ask_among: Any
    tell: Any
    defer: Any
    settle: Any
    lose: Any
    correct: Any


PLAIN = Kernels(ask, ask_among, tell, defer, settle, lose, correct)


class Compiled(NamedTuple):
    """Compiled kernels for states of one type."""

    kernels: Kernels
    kinds: Any  # a state with the Python types of all leaves in their place

    def read(self, state: Any) -> Any:
        """A state that they returned as it would be without them: they make Python's own numbers of all numbers."""
        return mapped(lambda kind, leaf: leaf if isinstance(leaf, kind) else kind(leaf), self.kinds, state)


# Choices are returned as bare tuples. To make a named one, compiled code calls Python, where a signal's handler may
# raise; it does not look whether that went well, and the process is gone. What returns states is called in deeds only.


def _ask(state: Any, round: int) -> Any:
    choice = ask(state, round)
    return choice.slot, choice.arm, choice.probability, choice.block, choice.round


def _ask_among(state: Any, round: int, allowed: Any, has_fresh: bool) -> Any:
    choice = ask_among(state, round, allowed, has_fresh)
    return choice.slot, choice.arm, choice.probability, choice.block, choice.round


def _tell(state: Any, choice: Choice, reward: float) -> Any:
    return tell(state, choice, reward)


def _defer(state: Any, choice: Choice) -> Any:
    return defer(state, choice)


def _settle(state: Any, choice: Choice, presumed: float, reward: float) -> Any:
    return settle(state, choice, presumed, reward)


def _lose(state: Any, choice: Choice, presumed: float) -> Any:
    return lose(state, choice, presumed)


def _correct(state: Any, choice: Choice, told: float, reward: float) -> Any:
    return correct(state, choice, told, reward)


# They keep the GIL: they are done long before another thread would have given it back.
_LOOPS = Kernels(
    *(Loop(function, nogil=False) for function in (_ask, _ask_among, _tell, _defer, _settle, _lose, _correct))
)

_READY: dict[Any, Compiled] = {}
"""What has been compiled or loaded in this process, by the compiler's type of the state."""

_WARMING = threading.RLock()

if hasattr(os, "register_at_fork"):
    # Whoever forks waits until nothing is being compiled: in the child, nobody would open the compiler's lock again.
    os.register_at_fork(before=_WARMING.acquire, after_in_parent=_WARMING.release, after_in_child=_WARMING.release)


def ready_for(state: Any) -> Compiled | None:
    """The compiled kernels for a state, if they are there already."""
    return _READY.get(compiled_type(state)) if _READY else None


def make_ready(state: Any, name: str) -> bool:
    """Compile the kernels for states of this type, or load them; False if the compiler is switched off."""
    if not IS_COMPILING:
        return False
    kind = compiled_type(state)
    if kind is None:
        raise TypeError(f"{_refusal(name)}: its state holds something else than numbers, arrays and states")
    with _WARMING:
        if kind not in _READY:
            _READY[kind] = Compiled(_compiled_kernels(state, name), mapped(type, state))
    return True


def _refusal(name: str) -> str:
    return f"Bandit.warm: {name} cannot be compiled and stays plain Python"


def _compiled_kernels(state: Any, name: str) -> Kernels:
    round, choice, reward = 1, Choice(slot=0, arm=0, probability=1.0, block=1, round=1), 0.0
    # Arguments of the right types, and something of the type that has to be returned.
    ways = Kernels(
        ask=((round,), tuple(choice)),
        ask_among=((round, np.zeros(1, dtype=np.bool_), True), tuple(choice)),
        tell=((choice, reward), state),
        defer=((choice,), (state, reward)),
        settle=((choice, reward, reward), state),
        lose=((choice, reward), state),
        correct=((choice, reward, reward), state),
    )
    with compile_errors(name, "and stays plain Python", caller="Bandit.warm"):
        entries = [loop.entry(state, *arguments) for loop, (arguments, _) in zip(_LOOPS, ways, strict=True)]
    for verb, entry, (_, wanted) in zip(Kernels._fields, entries, ways, strict=True):
        # Nobody looks at types after this: a float would be cut off where a whole number was.
        if entry.returns != compiled_type(wanted):
            raise TypeError(
                f"{_refusal(name)}: its kernel {verb!r} returns {entry.returns}, not {compiled_type(wanted)}; a field "
                "keeps the type that it has at the start"
            )
    return Kernels(*(entry.call for entry in entries))
