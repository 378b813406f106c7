"""What the tests of the GPU's part need: the extra ``gpu``, and processes with settings of their own."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyarms import gpu


def needs_the_extra():
    """Skip where the extra is not installed. Where changes are judged, fail instead: there it has to be."""
    if importlib.util.find_spec("numba_cuda") is None:
        if os.environ.get("CI"):
            pytest.fail("numba-cuda is not installed; run pip install 'manyarms[gpu]'")
        pytest.skip("needs the extra manyarms[gpu]")


def check_ptx(ptx):
    """It is a kernel, rounds as a processor does, and writes a visit and a mean in one go."""
    assert ".visible .entry" in ptx
    assert ".rn.f64" in ptx  # rounded to nearest, and said so
    assert gpu.cuda_module().inexact_instructions(ptx) == []
    assert "st.v2.u64" in ptx or "st.global.v2.u64" in ptx


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
