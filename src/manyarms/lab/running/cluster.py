"""A Dask cluster as an executor: an existing one by its address, or one of this machine's processes.

Install it with ``pip install 'manyarms[cluster]'``. The workers need the same version of the package.
"""

import concurrent.futures
import contextlib
import importlib
import logging
import re
import signal
from collections.abc import Iterator, Mapping
from multiprocessing import resource_tracker
from typing import Any

from ..studies.modules import import_same, loaded_sources


def local_processes(where: str) -> int | None:
    """How many processes ``"local:N"`` asks for; None for the address of a cluster; an error for anything else.

    Examples
    --------
    >>> local_processes("local:4"), local_processes("tcp://host:8786")
    (4, None)
    """
    local = re.fullmatch(r"local:(\d+)", where)
    if not local and not re.match(r"(tcp|tls|ucx|ws|wss)://", where):
        raise ValueError(f"the cluster must be an address such as tcp://host:8786, or local:N, not {where!r}")
    if local and int(local[1]) < 1:
        raise ValueError(f"a local cluster needs at least one process, not {where!r}")
    return int(local[1]) if local else None


@contextlib.contextmanager
def cluster_executor(where: str, modules: Mapping[str, str] | None = None) -> Iterator[concurrent.futures.Executor]:
    """An executor on ``"tcp://host:port"`` (or ``tls://``), or on ``"local:N"``: N processes of this machine.

    ``modules`` are those of one's own that the workers need (see ``needed_modules``).
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
        try:
            client = stack.enter_context(dask.Client(address, timeout="20s"))
        except OSError as error:
            raise OSError(f"the cluster {where} cannot be reached: {error}") from None
        for worker, digest in client.run(loaded_sources).items():
            if digest != loaded_sources():
                raise RuntimeError(f"the worker {worker} has other sources of manyarms; install the same version there")
        client.run(import_same, dict(modules or {}))
        yield client.get_executor()


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
