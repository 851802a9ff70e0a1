"""Delay Ctrl-C until a point at which a running simulation can be interrupted safely."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_CHECK_INTERVAL = 0.1  # seconds between two checks whether Ctrl-C was pressed


@contextmanager
def delay_ctrl_c() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C: yield a function that raises KeyboardInterrupt if Ctrl-C was pressed in the meantime.

    Pressing Ctrl-C twice raises KeyboardInterrupt immediately. Without this delay, the exception might
    interrupt a method of `concurrent.futures` that holds a lock. The lock would never be released, and the
    program would never end.
    """
    pressed = False

    def record_press(number: int, frame: Any) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check  # the program has its own handler of Ctrl-C, or this is not the main thread
        return
    signal.signal(signal.SIGINT, record_press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for_result(future: Future[T], check: Callable[[], None]) -> T:
    """Wait for a task and return its result, calling `check` regularly so that Ctrl-C can interrupt."""
    while True:
        check()
        try:
            result = future.result(timeout=_CHECK_INTERVAL)
        except TimeoutError:
            if future.done():  # the task itself raised the TimeoutError
                return future.result()
        else:
            check()  # a task may be shorter than the time between two checks
            return result
