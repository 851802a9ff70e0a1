"""Close every open database connection before the process forks (`os.fork`).

SQLite's locks belong to one process. A child process that inherits a connection would assume locks that it
does not hold, even for a connection of its own to the same file.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class ForkParticipant(Protocol):
    """Object with a database connection that must not be inherited by a child process."""

    def before_fork(self) -> None:
        """Close the database connection, and make other threads wait until the process has forked."""
        ...

    def after_fork_in_parent(self) -> None:
        """Let the other threads of the parent process continue after the fork."""
        ...

    def after_fork_in_child(self) -> None:
        """Reset locks and database connections in the child process after the fork."""
        ...


_participants: WeakSet[ForkParticipant] = WeakSet()
_locked: list[ForkParticipant] = []
_guard = threading.Lock()


def register(participant: ForkParticipant) -> None:
    """Register an object whose database connection is closed whenever the process forks."""
    with _guard:
        _participants.add(participant)


def _before_fork() -> None:
    """Close the database connections of all registered objects before the process forks."""
    _guard.acquire()
    for each in list(_participants):
        each.before_fork()
        _locked.append(each)


def _after_fork_in_parent() -> None:
    """Let threads of the parent process use all database connections again after a fork."""
    while _locked:
        _locked.pop().after_fork_in_parent()
    _guard.release()


def _after_fork_in_child() -> None:
    """Reset all locks and database connections in the child process after a fork."""
    while _locked:
        _locked.pop().after_fork_in_child()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
