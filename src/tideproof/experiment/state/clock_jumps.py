"""Jumps of the system's clock, detected so that the time limits of pulls count the true time.

Somebody who sets the clock a day forward must not end the time limits of all pulls, for conversions that
did not arrive yet would count as 0. A second clock, which nobody can set, shows such jumps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

SMALLEST = 30.0  # seconds; smaller corrections of the clock are not worth remembering
MOST = 1000  # jumps that are remembered; the oldest are forgotten

_steady_clock = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def seconds_running() -> float:
    """Return the seconds since the machine was started, including its sleep if the system counts it."""
    return time.monotonic() if _steady_clock is None else time.clock_gettime(_steady_clock)


class ClockMark(NamedTuple):
    """Readings of two clocks at one moment: the time of day, and a clock that nobody can set.

    Attributes
    ----------
    boot : what identifies the start of the machine, since which the steady clock counts.
    """

    at: float
    steady: float
    boot: str


def boot_id() -> str:
    """Return an identifier of the last start of this machine; empty if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class ClockJumps:
    """Record of the times at which the system's clock was set forward or back.

    Calls are thread-safe.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, steady: Callable[[], float] = seconds_running
    ) -> None:
        self.clock, self._steady = clock, steady
        self._lock = threading.Lock()
        self._before: list[float] = []  # times of the clock just before each jump
        self._sizes: list[float] = []
        self.count = 0  # jumps that were noted
        self._last = self.mark()

    def mark(self) -> ClockMark:
        """Return the current readings of the system's clock and of the clock that nobody can set."""
        return ClockMark(self.clock(), self._steady(), boot_id())

    def resume(self, earlier: ClockMark) -> None:
        """Record a clock jump between a reading by an earlier process on this machine and now.

        After a restart of the machine nothing is known, and nothing is noted.
        """
        with self._lock:
            now = self.mark()
            if earlier.boot and earlier.boot == now.boot and earlier.steady <= now.steady:
                self._note(earlier, now)

    def observe(self, at: float) -> None:
        """Compare the system's clock, which just showed `at`, with the steady clock; record any jump."""
        with self._lock:
            now = ClockMark(at, self._steady(), "")
            self._note(self._last, now)
            self._last = now

    def _note(self, earlier: ClockMark, now: ClockMark) -> None:
        """Record the clock jump between two readings of both clocks, if there was one."""
        size = (now.at - earlier.at) - (now.steady - earlier.steady)
        if abs(size) < SMALLEST:
            return
        self._before.append(earlier.at)
        self._sizes.append(size)
        self.count += 1
        del self._before[:-MOST], self._sizes[:-MOST]

    def end_of(self, begun: float, seconds: float) -> float:
        """Return the clock time at which a number of seconds has truly passed since a start time.

        >>> jumps = ClockJumps(lambda: 0.0, lambda: 0.0)
        >>> jumps.end_of(100.0, 60.0)
        160.0
        """
        if not self._sizes:
            return begun + seconds
        with self._lock:
            jumped = sum(
                size for before, size in zip(self._before, self._sizes, strict=True) if begun <= before
            )
        return begun + seconds + max(0.0, jumped)


SYSTEM_CLOCK = ClockJumps()
