"""A Dask cluster as an executor: an existing one by its address, or one of this machine's processes.

Install it with ``pip install 'manyarms[cluster]'``. The workers need the same version of the package.
"""

import concurrent.futures
import contextlib
import importlib
import re
from collections.abc import Iterator
from typing import Any

from ..compiled import source_digest


@contextlib.contextmanager
def cluster_executor(where: str) -> Iterator[concurrent.futures.Executor]:
    """An executor on ``"tcp://host:port"`` (or ``tls://``), or on ``"local:N"``: N processes of this machine."""
    local = re.fullmatch(r"local:(\d+)", where)
    if not local and not re.match(r"(tcp|tls|ucx|ws|wss)://", where):
        raise ValueError(f"the cluster must be an address such as tcp://host:8786, or local:N, not {where!r}")
    if local and int(local[1]) < 1:
        raise ValueError(f"a local cluster needs at least one process, not {where!r}")
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        raise ImportError("a cluster needs Dask; run pip install 'manyarms[cluster]'") from None
    with contextlib.ExitStack() as stack:
        address = where
        if local:
            address = stack.enter_context(
                dask.LocalCluster(n_workers=int(local[1]), threads_per_worker=1, dashboard_address=None)
            )
        try:
            client = stack.enter_context(dask.Client(address, timeout="20s"))
        except OSError as error:
            raise OSError(f"the cluster {where} cannot be reached: {error}") from None
        for worker, digest in client.run(source_digest).items():
            if digest != source_digest():
                raise RuntimeError(f"the worker {worker} has other sources of manyarms; install the same version there")
        yield client.get_executor()
