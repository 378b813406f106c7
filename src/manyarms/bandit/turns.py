"""Turns: the calls of a bandit, one at a time, and what is done in them, all of it or nothing.

Threads that share a bandit wait for each other. Python lets signals in between any two steps of the main thread, so
that Ctrl-C, or whatever else a handler raises, could come when half of a thing is done: they wait until it is done.
Whoever forks waits, too; in the child, a bandit begins with a lock of its own, gives out other ids, and has no journal.
"""

import functools
import importlib
import os
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

HELD_BACK = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP") if hasattr(signal, name)]
"""Signals whose handlers, if they are Python's, may raise something."""

_SIGNAL: Any = importlib.import_module("_signal")
getsignal, set_signal = _SIGNAL.getsignal, _SIGNAL.signal
"""Those of the module ``signal`` without its names for numbers, which take ten times as long."""

PATIENCE = 10.0
"""Seconds that a fork waits for the call of another thread; after that the child's copy is of no use."""


Given = ParamSpec("Given")
Done = TypeVar("Done")


class TakesTurns:
    """Something whose methods are called by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caller = 0  # the thread whose turn it is, or, if it is nobody's, perhaps was
        self._deed = Deed()
        self._broken = ""  # why it is of no use any more
        _ALL.add(self)

    def _forked(self) -> None:
        """Be the copy of a child process."""


def one_at_a_time(method: Callable[..., Any]) -> Any:
    """Let threads take turns, and refuse a call from within another one, such as from a segment's function."""

    @functools.wraps(method)
    def turn(self: TakesTurns, *args: Any, **kwargs: Any) -> Any:
        caller = threading.get_ident()
        if self._caller == caller and self._lock.locked():
            raise RuntimeError(
                f"Bandit.{method.__name__}: this bandit is in the middle of another call; nothing was changed"
            )
        with self._lock:
            try:
                self._caller = caller
                if self._broken:
                    raise RuntimeError(self._broken)
                return method(self, *args, **kwargs)
            finally:
                self._caller = 0

    return turn


def deed(method: Callable[Given, Done]) -> Callable[Given, Done]:
    """What changes a bandit: if it fails half-way, the bandit is of no use any more. Callers hold signals back."""

    @functools.wraps(method)
    def done(*args: Given.args, **kwargs: Given.kwargs) -> Done:
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            self: Any = args[0]
            self._broken = (
                f"a call of this bandit failed half-way ({type(error).__name__}: {error}); go on from its last "
                "snapshot (Bandit.load) or its journal (Bandit.recover)"
            )
            raise

    return done


class Deed:
    """Signals wait while it goes on; it may be entered again inside."""

    def __init__(self) -> None:
        self.depth = 0
        self.handlers: list[tuple[int, Any]] = []
        self.came: list[tuple[int, Any]] = []

    def __enter__(self) -> Self:
        if self.depth == 0 and threading.get_ident() == threading.main_thread().ident:
            try:
                for number in HELD_BACK:
                    handler = getsignal(number)
                    if callable(handler):
                        set_signal(number, self._note)
                        self.handlers.append((number, handler))
            except BaseException:  # a handler that was not replaced yet
                self._let_in()
                raise
        self.depth += 1
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.came.append((number, frame))

    def __exit__(self, *why: object) -> None:
        self.depth -= 1
        if self.depth == 0 and self.handlers:
            handlers = dict(self.handlers)
            self._let_in()
            came, self.came = self.came, []
            for number, frame in came:
                handlers[number](number, frame)

    def _let_in(self) -> None:
        handlers, self.handlers = self.handlers, []
        for number, handler in handlers:
            set_signal(number, handler)


# ---------------------------------------------------------------- forks

_ALL: "weakref.WeakSet[TakesTurns]" = weakref.WeakSet()

_WAITED_FOR: list[tuple[TakesTurns, bool]] = []
"""While a process forks: whose turn it is not, and whether that could be had."""


def _wait_for_all() -> None:
    for one in list(_ALL):
        is_own = one._lock.locked() and one._caller == threading.get_ident()  # it would wait for itself
        _WAITED_FOR.append((one, not is_own and one._lock.acquire(timeout=PATIENCE)))


def _go_on() -> None:
    while _WAITED_FOR:
        one, is_locked = _WAITED_FOR.pop()
        if is_locked:
            one._lock.release()


def _begin_anew() -> None:
    while _WAITED_FOR:
        one, is_locked = _WAITED_FOR.pop()
        one._lock = threading.Lock()
        if not is_locked:
            one._broken = (
                "this process was forked in the middle of a call of this bandit; load it here from a snapshot instead"
            )
        one._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all, after_in_parent=_go_on, after_in_child=_begin_anew)
