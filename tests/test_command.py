"""The command itself: Ctrl-C while everything is imported."""

import signal
import subprocess
import sys

import pytest

import manyarms.cli
import manyarms_command

pytestmark = pytest.mark.once

STOPPED_AT = """
import os, signal, sys
class Stop:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
import manyarms_command
sys.exit(manyarms_command.main())
"""


@pytest.mark.parametrize("name", ["manyarms", "numba.core.types"])
def test_ctrl_c_while_importing_ends_in_one_line(name):
    done = subprocess.run([sys.executable, "-c", STOPPED_AT.format(name=name)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "manyarms: stopped by Ctrl-C\n")


def test_then_ctrl_c_is_what_it_was(monkeypatch):
    seen = []
    monkeypatch.setattr(manyarms.cli, "main", lambda: seen.append(signal.getsignal(signal.SIGINT)) or 0)
    try:
        for handler in (signal.default_int_handler, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            assert manyarms_command.main() == 0
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.default_int_handler, signal.SIG_IGN]


def test_ctrl_c_before_a_command_has_begun(monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(manyarms.cli, "main", stopped)
    assert manyarms_command.main() == 130
    assert capsys.readouterr().err == "manyarms: stopped by Ctrl-C\n"
