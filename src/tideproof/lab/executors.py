"""Where chunks run: threads of this process, or a Dask cluster. Any other executor does as well.

What is Python's work, compiling and drawing, goes to processes beside this one.
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
    """Return one thread for each core this process may use; compiled kernels release the GIL."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="tideproof")


def cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def side_by_side() -> int:
    """Return how many processes to have beside this one, for work that is all Python's.

    Two to a core slow each other down, and the first results are wanted first; where they compile for a
    GPU, each takes some of its memory.
    """
    return min(8, max(2, cores() // 2))


@contextmanager
def processes(count: int | None = None) -> Iterator[Executor]:
    """Yield processes for what would hold this one's lock; what they have not begun at the end is left out.

    As many as `side_by_side` says, if no `count` is given. They import the script that began all this: it
    must do its work under `if __name__ == "__main__":`.
    """
    fresh = get_context("spawn")  # a copy of this process would share its GPU
    pool = ProcessPoolExecutor(count or side_by_side(), fresh, initializer=_leave_quietly)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_quietly() -> None:
    """Let Ctrl-C, which reaches all processes, end this one as if it were done, tidying up."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit())


@contextmanager
def dask(address: str, patience: float = 10.0) -> Iterator[Executor]:
    """Connect to the Dask scheduler at `address` within `patience` seconds, and run chunks there.

    Its workers need tideproof, in the same version, with numba.
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
