"""Where blocks run: threads of this process, or a Dask cluster. Any other executor does as well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
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
