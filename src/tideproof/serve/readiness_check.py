"""Check that the store of a service can be read and written."""

from __future__ import annotations

import threading
import time

from tideproof.store.store_urls import open_backend

WRITE_SECONDS = 5.0  # seconds for which a successful write is not repeated, because anybody may ask


class ReadinessCheck:
    """Check of a store by reading from it and writing to it.

    It has a connection of its own, so that a store that blocks writers does not block other requests.
    Calls block, and are thread-safe.
    """

    def __init__(self, url: str) -> None:
        self._backend = open_backend(url)
        self._lock = threading.Lock()
        self._written_at = float("-inf")  # time of the last successful write, on the monotonic clock

    def check(self) -> None:
        """Raise `StoreError` if the store cannot be read, or could not be written in the last seconds."""
        with self._lock:
            self._backend.execute("SELECT count(*) FROM ~api_keys", ())
            if time.monotonic() < self._written_at + WRITE_SECONDS:
                return
            self._backend.execute(
                "INSERT INTO ~write_checks VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at",
                (time.time(),),
            )
            self._written_at = time.monotonic()

    def close(self) -> None:
        """Close the connection to the store."""
        with self._lock:
            self._backend.close()
