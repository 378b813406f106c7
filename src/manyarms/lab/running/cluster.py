"""A Dask cluster as an executor: an existing one by its address, or one of this machine's processes.

Install it with ``pip install 'manyarms[cluster]'``. The scheduler and the workers need the same version of the package.
Only workers that were asked for their sources, and have the same, are handed anything; who joins later is asked then.
And each chunk compares them once more, where it is played.
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

SECONDS_TO_ANSWER = 60.0
"""How long the workers that are there at the start may take to say what they have. Who takes longer comes later."""

WAIT = 600.0
"""Seconds without a worker that can be used until a run ends, if nothing else is asked for."""

LOOK_EVERY = 1.0
"""Seconds between two looks at who is there."""

SAY_AFTER, SAY_EVERY = 5.0, 60.0
"""Seconds without a worker until that is said, and until it is said again."""

PASSED_ON = f"{__package__}.runner"
"""The module of the function that workers are handed: Dask's scheduler reads its name, and imports it."""

CERTIFICATES = ("ca_file", "cert", "key")
"""What Dask's setting distributed.comm.tls names for a client."""

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
def cluster_executor(
    where: str, modules: Mapping[str, str] | None = None, wait: float = WAIT
) -> Iterator["ClusterExecutor"]:
    """An executor on ``"tcp://host:port"`` (or ``tls://``), or on ``"local:N"``: N processes of this machine.

    Parameters
    ----------
    where
        The address of a scheduler, or how many processes.
    modules
        Those of one's own that the workers need (see ``needed_modules``). A worker that lacks them, or has other
        sources, is left out with a warning, whenever it comes; if all that are there at the start are so, it is an
        error.
    wait
        For how many seconds there may be no worker that can be used; then a run ends with an error.
    """
    if not wait >= 0.0:
        raise ValueError(f"the seconds to wait for a worker must be at least 0, not {wait}")
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
        stack.enter_context(without_log("distributed.client"))
        try:
            client = stack.enter_context(dask.Client(address, timeout=SECONDS_TO_REACH))
        except Exception as error:  # of many kinds
            reason = " ".join(str(error).split()) or type(error).__name__
            raise OSError(f"the cluster {where} cannot be reached: {reason}") from None
        check_scheduler(client, where)
        executor = ClusterExecutor(client, where, modules or {}, wait)
        try:
            executor.ask_those_there()
            yield executor
        finally:
            executor.shutdown()


def check_transport(dask: Any, where: str) -> None:
    """An error if what a kind of address needs is missing here."""
    if where.startswith("ucx:") and not any(map(importlib.util.find_spec, ("distributed_ucxx", "ucp"))):
        raise ImportError(f"the cluster {where} needs UCX for Dask; install distributed-ucxx, or give a tcp:// address")
    if where.startswith(("tls:", "wss:")):
        try:
            has_certificates = dask.Security().get_connection_args("client").get("ssl_context") is not None
        except OSError as error:
            files = {str(dask.Security().get_tls_config_for_role("client").get(name)) for name in CERTIFICATES}
            those = f"the certificates of Dask ({', '.join(sorted(files))})"
            raise ValueError(f"the cluster {where}: {those} cannot be read: {error}") from None
        if not has_certificates:
            raise ValueError(
                f"the cluster {where} needs certificates; tell Dask where they are, by its setting "
                "distributed.comm.tls or by DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and …__CLIENT__KEY"
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

    def __init__(self, client: Any, where: str, modules: Mapping[str, str], wait: float = WAIT) -> None:
        self.client = client
        self._where = where
        self._modules = {sources.PACKAGE: LOADED_SOURCES, **modules}
        self._wait = wait
        self._asked: dict[str, concurrent.futures.Future[BaseException | None]] = {}  # the answer of each worker
        self._threads: dict[str, int] = {}  # of each worker that is used
        self._left_out: dict[str, str] = {}  # worker -> why
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
        with self._lost_scheduler_told():
            call = self.client.submit(function, *args, **kwargs, **only)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.add_done_callback(lambda future: let_go(call, future))
        asyncio.run_coroutine_threadsafe(fetch(self.client, call, future), self.client.loop.asyncio_loop)
        self._handed[future] = Handed(call, worker)
        return future

    def _forget_finished(self) -> None:
        self._handed = {future: handed for future, handed in self._handed.items() if not future.done()}

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing that is under way."""
        for future in [*self._asked.values(), *self._handed]:
            future.cancel()

    @contextlib.contextmanager
    def _lost_scheduler_told(self) -> Iterator[None]:
        """Once the scheduler is lost for good, all that Dask is asked for fails, in many ways: here in one."""
        try:
            yield
        except Exception:
            self._check_scheduler()
            raise

    def _check_scheduler(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise ConnectionError(f"the cluster {self._where} has lost its scheduler; start it again: {KEPT}") from None

    def ask_those_there(self) -> None:
        """Ask all who are there at the start, and wait for their answers; an error if there are some, and all wrong."""
        with self._lost_scheduler_told():
            self.look()
            concurrent.futures.wait(self._asked.values(), SECONDS_TO_ANSWER)
            wrong = self.look()
        for worker, reason in wrong.items():
            if len(wrong) == len(self._asked):
                raise ImportError(f"no worker of the cluster {self._where} can be used; {worker}: {reason}")
            warnings.warn(f"the worker {worker} is left out: {reason}", stacklevel=2)

    def watch(self) -> None:
        """Look who is there, at most once a second: ask those who are new, and call off what lost ones had."""
        self._check_scheduler()
        if time.monotonic() - self._looked_at < LOOK_EVERY:
            return
        with self._lost_scheduler_told():
            for worker, reason in self.look().items():
                warnings.warn(f"the worker {worker} is left out: {reason}", stacklevel=2)
            self._looked_at = time.monotonic()
            self._end_if_alone()
            self._forget_finished()
            stranded = [handed.call for handed in self._handed.values() if handed.worker not in self._threads]
            if stranded:  # nobody will ever take them; whoever handed them out hears that they were cancelled
                self.client.cancel(stranded)

    def look(self) -> dict[str, str]:
        """Find out who is there, and ask those who are new for their sources; give back who is now left out, and why.

        Nobody's answer is waited for: meanwhile others have chunks.
        """
        if self.client.status != "running":  # while the scheduler is lost, so are its workers
            self._asked, self._threads = {}, {}
            return {}
        try:
            there = self.client.nthreads()
        except OSError:  # the next look will tell
            return {}
        self._asked = {worker: self._asked.get(worker) or ask(self.client, worker, self._modules) for worker in there}
        answers = {worker: answer(future) for worker, future in self._asked.items() if future.done()}
        self._threads = {worker: there[worker] for worker, error in answers.items() if error is None}
        for worker in [worker for worker, error in answers.items() if isinstance(error, OSError)]:
            del self._asked[worker], answers[worker]  # lost before it could answer; if it is still there, ask again
        wrong = {worker: why_not(error) for worker, error in answers.items() if error is not None}
        new = {worker: reason for worker, reason in wrong.items() if worker not in self._left_out}
        self._left_out = wrong
        return new

    def _end_if_alone(self) -> None:
        """Warn when there has been no worker for some time, and again now and then; an error after too long."""
        now = time.monotonic()
        if self._threads:
            self._alone_since, self._words = math.inf, 0
            return
        self._alone_since = min(self._alone_since, now)
        alone = now - self._alone_since
        why = f"the cluster {self._where}: {self._why_alone()}, for {alone:.0f} seconds"
        if alone >= self._wait:
            raise TimeoutError(f"{why}; start one with: dask worker {self._address()} (or wait longer: --wait); {KEPT}")
        if alone >= SAY_AFTER + self._words * SAY_EVERY:
            self._words += 1
            warnings.warn(
                f"{why} now; waiting for {self._wait - alone:.0f} more (--wait). Ctrl-C ends that, and nothing is lost",
                stacklevel=2,
            )

    def _why_alone(self) -> str:
        if self.client.status != "running":
            return "its scheduler does not answer"
        if self._left_out:
            worker, reason = next(iter(self._left_out.items()))
            return f"it has no worker that can be used ({len(self._left_out)} left out; {worker}: {reason})"
        return "it has no worker that has answered" if self._asked else "it has no worker"

    def _address(self) -> str:
        return self._where if "://" in self._where else str(self.client.scheduler.address)


async def fetch(client: Any, call: Any, future: "concurrent.futures.Future[Any]") -> None:
    """Fill a future with what comes of a call.

    Dask's own executor has futures that never end if a result is lost with its worker and then called off. And this
    coroutine must not be cancelled with the future: then Dask would print tracebacks.
    """
    error: BaseException | None = None
    try:
        value = await client.gather(call, asynchronous=True)
    except (asyncio.CancelledError, concurrent.futures.CancelledError):
        error = concurrent.futures.CancelledError()
    except Exception as raised:
        error = raised
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


def let_go(call: Any, future: "concurrent.futures.Future[Any]") -> None:
    """Call off what nobody waits for any more."""
    if future.cancelled():
        with contextlib.suppress(Exception):  # the scheduler may be lost
            call.cancel()


def ask(client: Any, worker: str, modules: Mapping[str, str]) -> "concurrent.futures.Future[BaseException | None]":
    """Ask a worker for its sources. It answers with None if they are the same, else with an error."""

    async def asked() -> BaseException | None:
        how = {"workers": [worker], "on_error": "return", "asynchronous": True}
        try:
            said: dict[str, BaseException | None] = await client.run(import_same, modules, **how)
        except Exception as error:
            return error
        return said.get(worker, OSError(f"{worker} is gone"))

    return asyncio.run_coroutine_threadsafe(asked(), client.loop.asyncio_loop)


def answer(future: "concurrent.futures.Future[BaseException | None]") -> BaseException | None:
    """What was answered."""
    return ConnectionError("it was lost") if future.cancelled() else future.result()


def why_not(error: BaseException) -> str:
    """Why a worker cannot be used, and what to do."""
    reason = str(error) or type(error).__name__
    has_remedy = isinstance(error, ImportError) and "install" in reason  # it comes from import_same
    return reason if has_remedy else f"{reason}; install the same version of manyarms there"


def deaths(error: BaseException) -> int:
    """How many workers died over a call, if that is what an error of Dask says; else 0."""
    dask: Any = sys.modules.get("distributed")
    return int(error.allowed_failures) + 1 if dask and isinstance(error, dask.KilledWorker) else 0


@contextlib.contextmanager
def without_log(name: str) -> Iterator[None]:
    """What is logged here under this name is not printed: what matters comes as an exception."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


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
