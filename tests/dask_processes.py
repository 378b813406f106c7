"""A Dask scheduler and workers as processes of their own, each with the sources one wants; all end with the block."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import manyarms

SOURCES = Path(manyarms.__file__).parent.parent

CHANGED = ("MIX_1 = 0xBF58476D1CE4E5B9", "MIX_1 = 0xBF58476D1CE4E5BB")
"""One bit of streams.py, and every number drawn is another."""


def other_sources(folder):
    """A copy of the package with one number changed."""
    shutil.copytree(SOURCES / "manyarms", folder / "manyarms", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "manyarms" / "streams.py"
    before = path.read_text(encoding="utf-8")
    assert CHANGED[0] in before
    path.write_text(before.replace(*CHANGED), encoding="utf-8")
    return folder


def without_package(folder):
    """A folder in which the package cannot be imported."""
    folder.mkdir()
    (folder / "manyarms.py").write_text("raise ImportError('there is none')\n")
    return folder


def environment(sources=SOURCES, **variables):
    """The environment of a process that has these sources, and keeps what it compiles of others to itself."""
    if sources != SOURCES:
        variables["MANYARMS_CACHE_DIR"] = str(sources / "cache")
    return os.environ | {"PYTHONPATH": str(sources)} | variables


def until(condition, seconds=60.0):
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.02)


class DaskProcesses(contextlib.ExitStack):
    """A scheduler on a free port of this machine, at ``address``, and its workers."""

    def __init__(self, folder, sources=SOURCES, protocol="tcp", **variables):
        super().__init__()
        self.folder, self.sources, self.protocol, self.variables = folder, sources, protocol, variables
        self.address, self.port = "", 0

    def __enter__(self):
        self.start_scheduler()
        return super().__enter__()

    def start_scheduler(self):
        """Start it; again, if it was killed, where it was."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        where = [
            "--protocol",
            self.protocol,
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--scheduler-file",
            str(file),
        ]
        self.scheduler = self._started(["dask_scheduler", *where, "--no-dashboard"], self.sources)
        until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        self.address = json.loads(file.read_text())["address"]
        self.port = int(self.address.rpartition(":")[2])

    def start_worker(self, sources=SOURCES, *options):
        """Start a worker with these sources."""
        own = ["--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder), *(options or ["--no-nanny"])]
        return self._started(["dask_worker", self.address, *own], sources)

    def _started(self, words, sources):
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{words[0]}", *words[1:]],
            env=environment(sources, **self.variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.callback(ended, process)
        return process


def ended(process):
    """End a process, and all that it started, without ceremony: to say goodbye takes Dask up to ten seconds."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
