"""Pool of connections to a PostgreSQL database, which all open experiments of a process share."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
import warnings
from collections import deque
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from tideproof.errors import InputError, MissingExtra, StoreError
from tideproof.store.postgres.postgres_errors import PATIENCE, explain_error, is_loss, one_line

try:
    import psycopg
except ImportError:
    raise MissingExtra.for_module("psycopg", "postgres", "an experiment in PostgreSQL") from None

DEFAULT_SIZE = 20  # maximum number of connections of a pool
TRIES = 80  # attempts to connect again after a lost connection, for about half a minute
_PAUSES = 0.025, 0.5  # seconds between two attempts: the first, doubled each time, and the longest
_CHECK = 1.0  # seconds after which a waiting thread checks for connections whose users no longer exist

_SET = f"""
SET client_encoding = 'UTF8';
SET lock_timeout = '{PATIENCE}s';
SET idle_in_transaction_session_timeout = '{PATIENCE}s';
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
""".encode()
_PROMISES = b"SELECT current_setting('fsync'), current_setting('synchronous_commit')"

# Connections of the parent process. They stay referenced, because closing them here would end its sessions.
_inherited: list[Any] = []


class _Connection(psycopg.Connection[Any]):
    """PostgreSQL connection that causes no warning if it is garbage-collected while it is open."""

    def __del__(self, *_: Any) -> None:
        pass


class PostgresPool:
    """Connections to one PostgreSQL database, at most `size` of them.

    Thread safety: all methods may be called from several threads. A user of the pool is any object; it has at
    most one connection at a time, which only one thread may use. A user that is garbage-collected with a
    connection does not reduce the size of the pool.

    Attributes
    ----------
    conninfo : connection string.
    name : URL of the database without its password, for messages.
    size : maximum number of connections.
    """

    def __init__(self, conninfo: str, name: str, read_only: bool) -> None:
        self.conninfo, self.name, self.size = conninfo, name, DEFAULT_SIZE
        self._read_only = read_only
        self._tries, self._warned = 1, False
        self.forget()

    def forget(self) -> None:
        """Forget all connections without closing them, because they belong to the parent process."""
        _inherited.extend(getattr(self, "_idle", ()))
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._busy: WeakSet[object] = WeakSet()  # users that have a connection, or are opening one
        self._users: WeakSet[object] = WeakSet()  # users that have not closed the pool since their last use
        self._waiting: deque[threading.Event] = deque()

    @property
    def idle(self) -> int:
        """Number of open connections that nobody uses."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """Number of threads that wait for a connection."""
        return len(self._waiting)

    def take(self, user: object) -> psycopg.Connection[Any]:
        """Return a connection for a user of the pool; wait while all connections are in use."""
        if self._process != os.getpid():  # the process was forked without Python's knowledge
            inherited = self._idle
            self.forget()
            if inherited:
                raise StoreError(
                    f"the connection to {self.name!r} belongs to the parent process and cannot be used in "
                    f"this one: open the experiment in this process"
                )
        self._wait_for_turn(user)
        try:
            return self._pop_idle() or self._open()
        except BaseException:
            self.discard(user, None)
            raise

    def _pop_idle(self) -> psycopg.Connection[Any] | None:
        """Return an open connection that nobody uses, or None if there is none."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _wait_for_turn(self, user: object) -> None:
        """Wait until fewer connections than `size` are in use, and count one more for this user."""
        deadline, waiter = time.monotonic() + PATIENCE, threading.Event()
        with self._lock:
            self._users.add(user)
            if not self._waiting and self._may_take(user):
                return
            self._waiting.append(waiter)
        try:
            while True:
                waiter.wait(_CHECK)
                with self._lock:
                    waiter.clear()
                    if self._waiting[0] is waiter and self._may_take(user):
                        return
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"all {self.size} connections to {self.name!r} have been in use for {PATIENCE} s: "
                        f"nothing was saved"
                    )
        finally:
            with self._lock:
                self._waiting.remove(waiter)
                self._wake_next()

    def _may_take(self, user: object) -> bool:
        """Count one more connection in use and return True, unless `size` of them are in use already."""
        if user not in self._busy and len(self._busy) >= self.size:
            return False
        self._busy.add(user)
        return True

    def _wake_next(self) -> None:
        """Wake the thread that has waited longest for a connection."""
        if self._waiting:
            self._waiting[0].set()

    def give_back(self, user: object, connection: psycopg.Connection[Any]) -> None:
        """Let others use a connection, which must be outside of transactions."""
        with self._lock:
            is_kept = len(self._idle) + len(self._busy) <= self.size
            if is_kept:
                self._idle.append(connection)
            self._busy.discard(user)
            self._wake_next()
        if not is_kept:
            close_connection(connection)

    def discard(self, user: object, connection: psycopg.Connection[Any] | None) -> None:
        """Close a broken connection, and the idle ones, which have probably failed as well."""
        with self._lock:
            broken, self._idle = [connection, *self._idle], []
            self._busy.discard(user)
            self._wake_next()
        for each in broken:
            close_connection(each)

    def leave(self, user: object) -> None:
        """End the use of the pool by a user that has no connection; the last one closes all connections."""
        with self._lock:
            self._users.discard(user)
            self._busy.discard(user)
            self._wake_next()
            unused: list[psycopg.Connection[Any]] = []
            if not self._users:
                unused, self._idle = self._idle, []
        for each in unused:
            close_connection(each)

    def _open(self) -> psycopg.Connection[Any]:
        """Open a database connection, trying several times if an earlier one was opened.

        Meanwhile, another thread may give one back, which is all there is if the server accepts no more.
        """
        failed: Exception | None = None
        for each in range(self._tries):
            if each:
                time.sleep(min(_PAUSES[0] * 2.0**each, _PAUSES[1]) * random.uniform(0.5, 1.0))
                if (idle := self._pop_idle()) is not None:
                    return idle
            connection = None
            try:
                connection = _Connection.connect(self.conninfo, autocommit=True)
                self._check_durability(connection)
                if self._read_only:
                    connection.execute(b"SET default_transaction_read_only = on")
                self._tries = TRIES
                return connection
            except BaseException as error:
                close_connection(connection)
                if not isinstance(error, psycopg.Error):
                    raise
                if not is_loss(error):
                    raise explain_error(self.name, error) from None
                failed = error
        self._tries = 1  # the next call fails at once instead of waiting again
        raise StoreError(f"cannot connect to {self.name!r}: {one_line(failed)}") from None

    def _check_durability(self, connection: psycopg.Connection[Any]) -> None:
        """Set the options of a connection, and check that acknowledged commits survive a crash."""
        connection.execute(_SET)
        fsync, kept = connection.execute(_PROMISES).fetchone() or ("", "")
        if kept == "off":
            raise InputError(
                f"{self.name!r} has synchronous_commit = off and does not allow a connection to turn it on. "
                f"Acknowledged data could be lost: allow synchronous_commit = on for this user"
            )
        if fsync == "off" and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name!r} runs with fsync = off: if its machine fails, it loses acknowledged data and "
                f"the database may be damaged",
                stacklevel=2,
            )


_pools: WeakValueDictionary[tuple[str, bool], PostgresPool] = WeakValueDictionary()
_pools_lock = threading.Lock()


def shared_pool(conninfo: str, name: str, read_only: bool, size: int | None) -> PostgresPool:
    """Return the pool of this process for a database; it exists as long as somebody refers to it.

    With `size`, also set the maximum number of its connections.
    """
    with _pools_lock:
        pool = _pools.get((conninfo, read_only))
        if pool is None:
            pool = _pools[conninfo, read_only] = PostgresPool(conninfo, name, read_only)
        if size is not None:
            pool.size = size
        return pool


def close_connection(connection: psycopg.Connection[Any] | None) -> None:
    """Close a database connection, unless it is None."""
    if connection is not None:
        with contextlib.suppress(psycopg.Error):
            connection.close()


def _after_fork_in_child() -> None:
    """Forget the connections of the parent process, and replace locks that its threads may have held."""
    global _pools_lock
    _pools_lock = threading.Lock()
    for pool in list(_pools.values()):
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
