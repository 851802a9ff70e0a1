"""Where blocks run: threads of this process, or a Dask cluster. Any other executor does as well.

What is Python's work, compiling and drawing, goes to processes beside this one.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from tideproof.errors import InputError, MissingExtra


def threads() -> ThreadPoolExecutor:
    """Return one thread for each core this process may use; compiled kernels release the GIL."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="tideproof")


def cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


@contextmanager
def beside(most: int = 8) -> Iterator[Executor]:
    """Yield processes for what would hold this one's lock, on half of the cores and at most so many.

    Ctrl-C, which reaches them all, ends them at once; what was not begun when this ends is left out.
    """
    count = min(most, max(2, cores() // 2))
    fresh = get_context("spawn")  # a copy of this process would share its GPU
    stops = (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(count, fresh, initializer=signal.signal, initargs=stops) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def dask(address: str, patience: float = 10.0) -> Iterator[Executor]:
    """Connect to the Dask scheduler at `address` within `patience` seconds, and run blocks there.

    Its workers need tideproof, in the same version, with numba.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtra.of("distributed", "dask", "a Dask cluster") from None
    try:
        client: Any = distributed.Client(address, timeout=patience)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from None
    with client, client.get_executor() as executor:
        yield executor
