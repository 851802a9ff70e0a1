"""Thread that stores readings of the clocks, so that a restarted service notices that the clock was set."""

from __future__ import annotations

import logging
import threading

from tideproof.errors import TideproofError
from tideproof.experiment.state.clock_jumps import SYSTEM_CLOCK, ClockJumps, ClockMark, boot_id
from tideproof.store.store_urls import open_backend

LOG = logging.getLogger("tideproof.serve")
PAUSE = 20.0  # seconds between two marks


class ClockKeeper:
    """Thread that regularly compares the system's clock with one that nobody can set, and stores both.

    It has a connection of its own. After a restart of the machine nothing is known about the time before.
    """

    def __init__(self, url: str, jumps: ClockJumps = SYSTEM_CLOCK) -> None:
        self._backend, self._jumps = open_backend(url), jumps
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Check whether the clock was set since an earlier process stored its time, and start the thread."""
        self.resume()
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread that checks the clock, and close its database connection."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(10.0)
        self._backend.close()

    def resume(self) -> None:
        """Check whether the clock was set since an earlier process on this machine stored its time."""
        boot = boot_id()
        try:
            rows = self._backend.execute("SELECT at, steady FROM ~clock_marks WHERE boot = ?", (boot,))
        except TideproofError:  # the store cannot be read now; requests say so, too
            return
        for at, steady in rows:
            self._jumps.resume(ClockMark(at, steady, boot))

    def keep(self) -> None:
        """Compare the system's clock with one that nobody can set, and store the readings of both."""
        mark = self._jumps.mark()
        self._jumps.observe(mark.at)
        if mark.boot:
            self._backend.execute(
                "INSERT INTO ~clock_marks VALUES (?, ?, ?) "
                "ON CONFLICT (boot) DO UPDATE SET at = excluded.at, steady = excluded.steady",
                (mark.boot, mark.at, mark.steady),
            )

    def _run(self) -> None:
        """Check and store the clocks at regular intervals until the thread is stopped."""
        while not self._stopping.wait(PAUSE):
            try:
                self.keep()
            except TideproofError as error:  # the store cannot be written; a later mark will do
                fields = {"reason": type(error).__name__}
                LOG.warning("the time could not be noted in the store", extra={"fields": fields})
            except Exception as error:  # an unexpected error must not end the thread
                LOG.error("unexpected error while noting the time", exc_info=error, extra={"fields": {}})
