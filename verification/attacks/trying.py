"""One try of an attack: whatever is done ends, and an error that nobody was meant to see is named."""

import contextlib
import signal
from collections.abc import Callable, Iterator

TOO_LONG = 200.0
"""Seconds after which something counts as hung; the longest takes less than one, but more where the machine is busy."""


class Hung(BaseException):
    """Something was waited for in vain. Not an error that anybody catches."""


@contextlib.contextmanager
def soon() -> Iterator[None]:
    """While this lasts, it does not last for ever."""

    def stop(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, TOO_LONG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(do: Callable[[], str]) -> str:
    """What was wrong; an error that nobody was meant to see is."""
    try:
        return do()
    except Hung:
        return "hung"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
