"""Ctrl-C at the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_LOOK = 0.1  # seconds between two looks whether Ctrl-C was pressed


@contextmanager
def ctrl_c_waits() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C raise KeyboardInterrupt only where what is yielded is called; pressed twice, at once.

    Raised anywhere, it may hit a method of `concurrent.futures` that has just taken a lock and would give it
    back: the threads then wait for that lock, and Python for the threads, for ever.
    """
    pressed = False

    def note(number: int, frame: Any) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def look() -> None:
        if pressed:
            raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield look  # somebody else takes care of it
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def awaited(future: Future[T], look: Callable[[], None]) -> T:
    """Return the result of a task, looking up for Ctrl-C meanwhile."""
    while True:
        look()
        try:
            result = future.result(timeout=_LOOK)
        except TimeoutError:
            if future.done():  # it was the task's own
                return future.result()
        else:
            look()  # the last task may be shorter than the time between two looks
            return result
