"""Before a fork every connection is closed.

The locks of SQLite are those of one process: a child that inherits a connection would believe in locks that
it has not, even for a connection of its own to the same file.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Watched(Protocol):
    """What must not cross a fork."""

    def before_fork(self) -> None:
        """Close what is open, and let nobody in."""
        ...

    def after_fork_here(self) -> None:
        """Let others in again."""
        ...

    def after_fork(self) -> None:
        """Begin anew in the child."""
        ...


_open: WeakSet[Watched] = WeakSet()
_held: list[Watched] = []
_guard = threading.Lock()


def watch(shared: Watched) -> None:
    """Close it before every fork from now on."""
    with _guard:
        _open.add(shared)


def _before() -> None:
    _guard.acquire()
    for each in list(_open):
        each.before_fork()
        _held.append(each)


def _here() -> None:
    while _held:
        _held.pop().after_fork_here()
    _guard.release()


def _in_child() -> None:
    while _held:
        _held.pop().after_fork()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_here, after_in_child=_in_child)
