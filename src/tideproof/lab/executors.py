"""Executors on which simulations run: threads of this process, other processes, or a Dask cluster.

Simulations also accept any other `concurrent.futures.Executor`. Compiling and drawing are pure Python and
would block each other in threads, so they run in other processes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from tideproof.errors import InputError, MissingExtra


def threads() -> ThreadPoolExecutor:
    """Return a pool with one thread per core; compiled simulations release the GIL and run in parallel."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="tideproof")


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def worker_count() -> int:
    """Return the number of worker processes for pure Python work such as compiling and drawing.

    It is at most half the number of cores, because more processes would delay the first results, and at most
    8, because each process that compiles for a GPU takes some memory of the GPU.
    """
    return min(8, max(2, cores() // 2))


@contextmanager
def processes(count: int | None = None) -> Iterator[Executor]:
    """Yield a pool of worker processes; tasks that have not begun when the context ends are cancelled.

    By default `worker_count` processes are started. They import the main script of this process, which must
    therefore do its work under `if __name__ == "__main__":`.
    """
    fresh = get_context("spawn")  # a forked process would share the GPU of this one
    pool = ProcessPoolExecutor(count or worker_count(), fresh, initializer=_leave_quietly)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_quietly() -> None:
    """Make Ctrl-C end a worker process without a traceback; the terminal sends Ctrl-C to all processes."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit())


@contextmanager
def dask(address: str, patience: float = 10.0) -> Iterator[Executor]:
    """Connect to the Dask scheduler at `address` and yield an executor that runs simulations on its cluster.

    The scheduler must answer within `patience` seconds. The workers need numba and the same version of
    tideproof.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtra.for_module("distributed", "dask", "a Dask cluster") from None
    try:
        client: Any = distributed.Client(address, timeout=patience)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from None
    with client, client.get_executor() as executor:
        yield executor
