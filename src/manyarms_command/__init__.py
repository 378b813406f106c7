"""The command ``manyarms``: Ctrl-C ends it in one line, also in the second in which the package is imported.

It lies beside the package, because to import anything of a package is to import what that imports.
"""

import os
import signal
import sys
from types import FrameType

STOPPED = 130
"""The exit code of a program that Ctrl-C has ended: 128 and the number of the signal."""


def main() -> int:
    """Run one command; return its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody wants it to be ignored
        signal.signal(signal.SIGINT, _stop_importing)
    from manyarms.cli import main as run

    try:
        if signal.getsignal(signal.SIGINT) is _stop_importing:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:  # before a command has begun
        _say_so()
        return STOPPED


def _stop_importing(_number: int, _frame: FrameType | None) -> None:
    """Nothing is begun yet, and modules that are half imported may make anything of an exception."""
    _say_so()
    os._exit(STOPPED)


def _say_so() -> None:
    if sys.stderr is not None:  # a shell may have closed it
        sys.stderr.write("manyarms: stopped by Ctrl-C\n")
        sys.stderr.flush()
