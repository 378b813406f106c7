"""A Dask cluster as an executor: an existing one by its address, or one of this machine's processes.

Install it with ``pip install 'manyarms[cluster]'``. The scheduler and the workers need the same version of the package.
Only workers that were asked for their sources, and have the same, are handed anything; who joins later is asked then.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import importlib
import importlib.util
import logging
import math
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

from ... import sources
from ...compiled import LOADED_SOURCES
from ..studies.modules import import_same

SECONDS_TO_REACH = 20.0
"""How long a scheduler may take to answer, at the start and when it was lost."""

LOOK_EVERY = 1.0
"""Seconds between two looks at who is there."""

SAY_AFTER, SAY_EVERY = 5.0, 60.0
"""Seconds without a worker until that is said, and until it is said again."""

PASSED_ON = f"{__package__}.runner"
"""The module of the function that workers are handed: Dask's scheduler reads its name, and imports it."""

KEPT = "what was finished is kept, and the same run goes on where it stopped"


def local_processes(where: str) -> int | None:
    """How many processes ``"local:N"`` asks for; None for the address of a cluster; an error for anything else.

    Examples
    --------
    >>> local_processes("local:4"), local_processes("tcp://host:8786")
    (4, None)
    """
    local = re.fullmatch(r"local:(\d+)", where)
    if local and int(local[1]) < 1:
        raise ValueError(f"a local cluster needs at least one process, not {where!r}")
    if local:
        return int(local[1])
    address = re.fullmatch(r"(tcp|tls|ucx|ws|wss)://.+:(\d{1,5})", where)
    if not address or not 0 < int(address[2]) < 2**16:
        raise ValueError(f"the cluster must be an address such as tcp://host:8786, or local:N, not {where!r}")
    return None


@contextlib.contextmanager
def cluster_executor(where: str, modules: Mapping[str, str] | None = None) -> Iterator["ClusterExecutor"]:
    """An executor on ``"tcp://host:port"`` (or ``tls://``), or on ``"local:N"``: N processes of this machine.

    ``modules`` are those of one's own that the workers need (see ``needed_modules``). A worker that is there and lacks
    them, or has other sources, is an error; one that comes later is left out, with a warning. Where there is none it
    waits, and says so.
    """
    processes = local_processes(where)
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        raise ImportError("a cluster needs Dask; run pip install 'manyarms[cluster]'") from None
    with contextlib.ExitStack() as stack:
        address = where
        if processes:
            with ctrl_c_for_this_process_alone():
                cluster = dask.LocalCluster(
                    n_workers=processes,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any free port: two clusters on one machine are no error
                    silence_logs=logging.CRITICAL,  # what matters comes back as an exception
                )
                address = stack.enter_context(cluster)
        else:
            check_transport(dask, where)
        try:
            client = stack.enter_context(dask.Client(address, timeout=SECONDS_TO_REACH))
        except Exception as error:  # of many kinds
            raise OSError(f"the cluster {where} cannot be reached: {str(error) or type(error).__name__}") from None
        check_scheduler(client, where)
        executor = ClusterExecutor(client, where, modules or {})
        for worker, reason in executor.look().items():
            raise ImportError(f"the worker {worker} cannot be used: {reason}")
        yield executor


def check_transport(dask: Any, where: str) -> None:
    """An error if what a kind of address needs is missing here."""
    if where.startswith("ucx:") and not any(map(importlib.util.find_spec, ("distributed_ucxx", "ucp"))):
        raise ImportError(f"the cluster {where} needs UCX for Dask; install distributed-ucxx, or give a tcp:// address")
    if where.startswith("tls:") and dask.Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError(
            f"the cluster {where} needs certificates; tell Dask where they are, by its setting distributed.comm.tls or "
            "by DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and …__CLIENT__KEY"
        )


def check_scheduler(client: Any, where: str) -> None:
    """An error if the scheduler cannot read what it passes on."""
    try:
        client.run_on_scheduler(importlib.import_module, PASSED_ON)
    except Exception as error:  # of any kind: it comes from there
        raise ImportError(
            f"the scheduler of the cluster {where} cannot import {PASSED_ON} ({error}); install the same version "
            "of manyarms there, with what the lab needs: pip install 'manyarms[lab,cluster]'"
        ) from None


class Handed(NamedTuple):
    """A call that is under way."""

    call: Any  # Dask's future
    worker: str


class ClusterExecutor(concurrent.futures.Executor):
    """Hands calls to workers of a Dask cluster that have the same sources, and to no others.

    Each call is for one worker, and is cancelled when that is lost: so it is known whose worker was lost, and what is
    finished has been fetched before its worker is given anything else.
    """

    def __init__(self, client: Any, where: str, modules: Mapping[str, str]) -> None:
        self.client = client
        self._where = where
        self._modules = {sources.PACKAGE: LOADED_SOURCES, **modules}
        self._threads: dict[str, int] = {}  # of each worker that is used
        self._left_out: set[str] = set()
        self._handed: dict[concurrent.futures.Future[Any], Handed] = {}
        self._looked_at = -math.inf
        self._alone_since = math.inf
        self._words = 0

    def ahead(self) -> int:
        """How many calls may be under way: one for each thread."""
        return max(1, sum(self._threads.values()))

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Hand out a call, as soon as there is a worker to take it."""
        self.watch()
        while not self._threads or self.client.status != "running":
            time.sleep(LOOK_EVERY / 10.0)
            self.watch()
        self._forget_finished()
        busy = collections.Counter(handed.worker for handed in self._handed.values())
        worker = max(self._threads, key=lambda worker: self._threads[worker] - busy[worker])
        only = {"workers": [worker], "allow_other_workers": False, "pure": False}
        call = self.client.submit(function, *args, **kwargs, **only)
        # Not by Dask's own executor: its future never ends if a result is lost with its worker and then called off.
        loop = self.client.loop.asyncio_loop
        future = asyncio.run_coroutine_threadsafe(self.client.gather(call, asynchronous=True), loop)
        self._handed[future] = Handed(call, worker)
        return future

    def _forget_finished(self) -> None:
        self._handed = {future: handed for future, handed in self._handed.items() if not future.done()}

    def watch(self) -> None:
        """Look who is there, at most once a second: ask those who are new, and call off what only lost ones had."""
        if self.client.status in ("closing", "closed"):
            raise ConnectionError(f"the cluster {self._where} has lost its scheduler; start it again: {KEPT}")
        if time.monotonic() - self._looked_at < LOOK_EVERY:
            return
        for worker, reason in self.look().items():
            warnings.warn(f"the worker {worker} is left out: {reason}", stacklevel=2)
        self._looked_at = time.monotonic()
        self._say_if_alone()
        self._forget_finished()
        stranded = [handed.call for handed in self._handed.values() if handed.worker not in self._threads]
        if stranded:  # nobody will ever take them; whoever handed them out hears that they were cancelled
            self.client.cancel(stranded)

    def look(self) -> dict[str, str]:
        """Find out who is there, and ask those who are new for their sources; give back who is left out, and why."""
        if self.client.status != "running":  # while the scheduler is lost, so are its workers
            self._threads = {}
            return {}
        try:
            there = self.client.nthreads()
            new = [worker for worker in there if worker not in self._threads and worker not in self._left_out]
            said = self.client.run(import_same, self._modules, workers=new, on_error="return") if new else {}
        except OSError:  # the next look will tell
            return {}
        same = {worker for worker, error in said.items() if error is None}
        # Those that were lost before they could answer are neither.
        wrong = {worker: why_not(said[worker]) for worker in said if not isinstance(said[worker], OSError | None)}
        self._left_out = (self._left_out & there.keys()) | wrong.keys()
        self._threads = {worker: there[worker] for worker in there if worker in self._threads or worker in same}
        return wrong

    def _say_if_alone(self) -> None:
        """Warn when there has been no worker for some time, and again now and then."""
        now = time.monotonic()
        if self._threads:
            self._alone_since, self._words = math.inf, 0
            return
        self._alone_since = min(self._alone_since, now)
        if now - self._alone_since >= SAY_AFTER + self._words * SAY_EVERY:
            self._words += 1
            left_out = f" ({len(self._left_out)} left out)" if self._left_out else ""
            is_lost = self.client.status != "running"
            what = "its scheduler does not answer" if is_lost else f"it has no worker that can be used{left_out}"
            warnings.warn(
                f"the cluster {self._where}: {what}, for {now - self._alone_since:.0f} seconds now; waiting. Ctrl-C "
                "ends that, and nothing is lost",
                stacklevel=2,
            )


def why_not(error: BaseException) -> str:
    """Why a worker cannot be used, and what to do."""
    has_remedy = isinstance(error, ImportError) and "install" in str(error)  # it comes from import_same
    return str(error) if has_remedy else f"{error}; install the same version of manyarms there"


def deaths(error: BaseException) -> int:
    """How many workers died over a call, if that is what an error of Dask says; else 0."""
    dask: Any = sys.modules.get("distributed")
    return int(error.allowed_failures) + 1 if dask and isinstance(error, dask.KilledWorker) else 0


@contextlib.contextmanager
def ctrl_c_for_this_process_alone() -> Iterator[None]:
    """Threads and processes started in here never see Ctrl-C, nor do those that they start; it comes at the end.

    A terminal sends Ctrl-C to all processes, and each worker would print a traceback of its own. Blocked
    signals are inherited; handlers are not.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    resource_tracker.ensure_running()  # it would unblock signals when the first process starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
