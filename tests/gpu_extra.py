"""What the tests of the GPU's part need: the extra ``gpu``, and processes with settings of their own."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def needs_the_extra():
    """Skip where the extra is not installed. Where changes are judged, fail instead: there it has to be."""
    if importlib.util.find_spec("numba_cuda") is None:
        if os.environ.get("CI"):
            pytest.fail("numba-cuda is not installed; run pip install 'manyarms[gpu]'")
        pytest.skip("needs the extra manyarms[gpu]")


def in_another_process(*arguments, **environment):
    """What a Python prints that is started next to the package, as JSON. Settings of None leave its environment."""
    settings = {name: value for name, value in (os.environ | environment).items() if value is not None}
    run = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=settings,
        cwd=Path(__file__).parent.parent,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
