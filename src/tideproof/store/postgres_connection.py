"""Connection to a PostgreSQL database, which is opened again if it is lost."""

from __future__ import annotations

import contextlib
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from tideproof.errors import InputError, MissingExtra, StoreError, TideproofError
from tideproof.store.backend import (
    MAX_CONNECTION_LOSSES,
    NO_TABLES,
    SCHEMA_VERSION,
    ConnectionLost,
    check_schema_version,
)
from tideproof.store.postgres_schema import LOCK, TABLES
from tideproof.text import public_url

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import ExecStatus, TransactionStatus
except ImportError:
    raise MissingExtra.for_module("psycopg", "postgres", "an experiment in PostgreSQL") from None

PATIENCE = 60  # seconds to wait for other writers, and seconds that a writer may be idle in a transaction
TRIES = 80  # attempts to connect again after a lost connection, for about half a minute
_PAUSES = 0.025, 0.5  # seconds between two attempts: the first, doubled each time, and the longest
# Connection parameters unless the URL sets them: a dead peer is noticed within half a minute
CALLER: dict[str, str | int] = {
    "connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "application_name": "tideproof",
}  # fmt: skip

_SET = f"""
SET client_encoding = 'UTF8';
SET lock_timeout = '{PATIENCE}s';
SET idle_in_transaction_session_timeout = '{PATIENCE}s';
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
""".encode()
_PROMISES = b"SELECT current_setting('fsync'), current_setting('synchronous_commit')"
_OURS = (
    b"SELECT to_regclass('tideproof.store_version') IS NOT NULL, "
    b"EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('tideproof'))"
)
_GONE = "57P"  # prefix of the error codes with which a stopping server ends connections

T = TypeVar("T")
Rows = list[Any]
# Connections of the parent process. They stay referenced, because closing them here would end its sessions.
_inherited: list[Any] = []


class _Connection(psycopg.Connection[Any]):
    """PostgreSQL connection that causes no warning if it is garbage-collected while it is open."""

    def __del__(self, *_: Any) -> None:
        pass


class PostgresConnection:
    """Connection to a PostgreSQL database, which a forked child process never shares with its parent.

    Within a transaction a lost connection raises `ConnectionLost`. Outside of one the statement is sent again
    over a new connection, which is safe for statements that only read.
    """

    def __init__(self, url: str, read_only: bool = False) -> None:
        self.name, self._read_only = public_url(url), read_only
        try:
            self.conninfo = make_conninfo(
                url, **{k: v for k, v in CALLER.items() if k not in conninfo_to_dict(url)}
            )
        except psycopg.Error as error:
            raise InputError(f"{self.name!r} is not a valid PostgreSQL URL: {_one_line(error)}") from None
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self._tries, self._warned = 1, False
        self._inside = False  # whether a transaction is open
        self._lock = ""  # the statement with which the last transaction took its lock
        self._uncertain_lock = (
            ""  # the same statement if it is unknown whether that transaction was committed
        )
        self._status: str | None = None  # the server's status message for the last statement

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Database connection of this process; it is opened if necessary."""
        if self._process != os.getpid() and self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            raise StoreError(
                f"the connection to {self.name!r} belongs to the parent process and cannot be used in "
                f"this one: open the experiment in this process"
            )
        if self._connection is None or self._connection.closed:
            if self._inside:
                raise ConnectionLost(f"the connection to {self.name!r} was lost")
            self._process = os.getpid()
            self._connection = self._open()
        return self._connection

    @property
    def is_open(self) -> bool:
        """Whether a database connection is open; if not, the next use opens a new connection."""
        return self._connection is not None

    def close(self) -> None:
        """Close the database connection; the next use opens a new one."""
        self._inside = False
        if self._process == os.getpid():
            connection, self._connection = self._connection, None
            _close(connection)

    # -- statements

    def retry(self, work: Callable[[], T]) -> T:
        """Call the function `work`, and repeat it if the connection is lost outside of a transaction."""
        losses = 0
        while True:
            try:
                return work()
            except ConnectionLost:
                losses += 1
                if self._inside or losses == MAX_CONNECTION_LOSSES:
                    raise

    def run(self, sql: str, values: Any = None) -> Rows:
        """Run one SQL statement and return its rows."""
        return self.retry(lambda: self.send_statements(psycopg.Cursor, sql, values, binary=True))

    def begin(self, lock: str, then: str = "") -> Rows:
        """Begin a database transaction that holds a lock.

        The SQL `lock` takes the lock. Then run the SQL `then`, and return its rows.
        """
        self.roll_back()
        self._lock = lock
        found = self.retry(
            lambda: self.send_statements(
                psycopg.ClientCursor, f"BEGIN ISOLATION LEVEL READ COMMITTED; {lock}; {then}"
            )
        )
        self._inside = True
        return found

    def send(self, sql: str, values: Any = None) -> Rows:
        """Run SQL statements in the open transaction, and return the rows of the last one.

        All are sent in one round trip.
        """
        return self.send_statements(psycopg.ClientCursor, sql, values)

    def commit(self, sql: str = "", values: Any = None) -> None:
        """Run SQL statements and commit the transaction in one round trip."""
        self.send(f"{sql}; COMMIT", values)
        self._inside = False
        if self._status != "COMMIT":
            raise StoreError(f"{self.name!r} did not commit the transaction (status {self._status})")

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one; a broken connection is closed."""
        self._inside = False
        connection = self._connection
        if connection is None or self._process != os.getpid():
            return
        status = connection.info.transaction_status
        if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            try:
                connection.execute(b"ROLLBACK")
                return
            except psycopg.Error:
                pass
        if status != TransactionStatus.IDLE:
            self.drop_connection()

    def send_statements(self, kind: Any, sql: str, values: Any = None, **how: Any) -> Rows:
        """Run SQL statements, and return the rows of the last statement that has any."""
        connection = self.connection
        found: Rows = []
        try:
            cursor = kind(connection)
            cursor.execute(sql.encode(), values, **how)
            while True:
                if cursor.pgresult.status == ExecStatus.TUPLES_OK:
                    found = cursor.fetchall()
                self._status = cursor.statusmessage
                if not cursor.nextset():
                    return found
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise self._translate_error(error) from error

    def _translate_error(self, error: Exception) -> TideproofError:
        """Convert an error of the database to an error of tideproof.

        If the connection was lost, it is closed.
        """
        if self._connection is None or self._connection.closed or _code(error).startswith(_GONE):
            self.drop_connection()
            return ConnectionLost(f"the connection to {self.name!r} was lost: {_one_line(error)}")
        return self.explain_error(error)

    def explain_error(self, error: Exception) -> TideproofError:
        """Convert an error of the database to an error of tideproof with an explanation."""
        name, code = repr(self.name), _code(error)
        if isinstance(error, (psycopg.DataError, UnicodeEncodeError)):
            return InputError(f"{name} cannot store this value: {_one_line(error)}")
        if code == "55P03":
            return StoreError(
                f"{name} has been locked by other processes for {PATIENCE} s: nothing was saved"
            )
        if code == "53100":
            return StoreError(f"the disk of {name} is full: nothing was saved")
        if code == "25006":
            return StoreError(f"{name} cannot be written: the server or the user is read-only")
        return StoreError(f"{name} could not be read or written: {_one_line(error)}")

    # -- the connection

    def drop_connection(self) -> None:
        """Close a database connection whose transaction may or may not have been committed."""
        self._uncertain_lock = self._lock
        connection, self._connection = self._connection, None
        _close(connection)

    def _open(self) -> psycopg.Connection[Any]:
        """Open a database connection, trying several times if an earlier one was lost."""
        failed: Exception | None = None
        for each in range(self._tries):
            if each:
                time.sleep(min(_PAUSES[0] * 2.0**each, _PAUSES[1]) * random.uniform(0.5, 1.0))
            connection = None
            try:
                connection = _Connection.connect(self.conninfo, autocommit=True)
                self._prepare(connection)
                self._tries = TRIES
                return connection
            except BaseException as error:
                _close(connection)
                if not isinstance(error, psycopg.Error):
                    raise
                if not _is_loss(error):
                    raise self.explain_error(error) from None
                failed = error
        self._tries = 1  # the next call fails at once instead of waiting again
        raise StoreError(f"cannot connect to {self.name!r}: {_one_line(failed)}") from None

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Check the durability settings of the server, and create missing tables."""
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
        version = _version(connection, self.name)
        if version == NO_TABLES and not self._read_only:
            version = _create_tables(connection, self.name)
        check_schema_version(self.name, version)
        if self._read_only:
            connection.execute(b"SET default_transaction_read_only = on")
        if self._uncertain_lock:  # wait until the server has committed or rolled back the lost transaction
            connection.execute(f"BEGIN; {self._uncertain_lock}; ROLLBACK".encode())
            self._uncertain_lock = ""


def _version(connection: psycopg.Connection[Any], name: str) -> int:
    """Return the schema version of a database, or `NO_TABLES` if it has no tables of tideproof."""
    ours, anything = connection.execute(_OURS).fetchone() or (False, False)
    if not ours:
        if anything:
            raise InputError(
                f"{name!r} is not a tideproof store: its schema 'tideproof' belongs to another program"
            )
        return NO_TABLES
    (version,) = connection.execute(b"SELECT version FROM tideproof.store_version").fetchone() or (0,)
    return int(version)


def _create_tables(connection: psycopg.Connection[Any], name: str) -> int:
    """Create the tables of a store, unless another process did, and return their schema version."""
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})".encode())
        version = _version(connection, name)
        if version == NO_TABLES:
            connection.execute(TABLES.encode())
            connection.execute(f"INSERT INTO tideproof.store_version VALUES ({SCHEMA_VERSION})".encode())
            version = SCHEMA_VERSION
    return version


def _close(connection: psycopg.Connection[Any] | None) -> None:
    """Close a database connection, unless it is None."""
    if connection is not None:
        with contextlib.suppress(psycopg.Error):
            connection.close()


def _code(error: Exception) -> str:
    """Return the SQLSTATE code of an error, or an empty string if the server did not raise it."""
    return getattr(error, "sqlstate", None) or ""


def _is_loss(error: Exception) -> bool:
    """Return whether an error means a lost connection, so that a new connection may succeed."""
    return isinstance(error, psycopg.OperationalError) and (
        not _code(error) or _code(error).startswith(_GONE)
    )


def _one_line(error: object) -> str:
    """Return the text of an error in one line."""
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip()) or type(error).__name__
