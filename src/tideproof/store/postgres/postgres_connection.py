"""Connection of one experiment to a PostgreSQL database, which is opened again if it is lost.

It takes a connection from the pool of the process for each transaction or statement, and gives it back.
"""

from __future__ import annotations

import os
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
from tideproof.store.postgres.postgres_errors import explain_error, is_stopping, one_line
from tideproof.store.postgres.postgres_pool import shared_pool
from tideproof.store.postgres.postgres_schema import LOCK, TABLES
from tideproof.text import public_url

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import ExecStatus, TransactionStatus
except ImportError:
    raise MissingExtra.for_module("psycopg", "postgres", "an experiment in PostgreSQL") from None

# Connection parameters unless the URL sets them: a dead peer is noticed within half a minute
CALLER: dict[str, str | int] = {
    "connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
    "application_name": "tideproof",
}  # fmt: skip

_OURS = (
    b"SELECT to_regclass('tideproof.store_version') IS NOT NULL, "
    b"EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('tideproof'))"
)

T = TypeVar("T")
Rows = list[Any]
# Connections of the parent process. They stay referenced, because closing them here would end its sessions.
_inherited: list[Any] = []


class PostgresConnection:
    """Connection to a PostgreSQL database, which a forked child process never shares with its parent.

    Outside of transactions it is in the pool of the process, where others may use it. Within a transaction a
    lost connection raises `ConnectionLost`. Outside of one the statement is sent again over a new connection,
    which is safe for statements that only read.
    """

    def __init__(self, url: str, read_only: bool = False, connections: int | None = None) -> None:
        self.name, self._read_only = public_url(url), read_only
        try:
            self.conninfo = make_conninfo(
                url, **{k: v for k, v in CALLER.items() if k not in conninfo_to_dict(url)}
            )
        except psycopg.Error as error:
            raise InputError(f"{self.name!r} is not a valid PostgreSQL URL: {one_line(error)}") from None
        self._pool = shared_pool(self.conninfo, self.name, read_only, connections)
        self._connection: psycopg.Connection[Any] | None = None  # taken from the pool
        self._process = 0
        self._checked = False  # whether the tables were found or created
        self._inside = False  # whether a transaction is open
        self._lock = ""  # the statement with which the last transaction took its lock
        self._uncertain_lock = (
            ""  # the same statement if it is unknown whether that transaction was committed
        )
        self._status: str | None = None  # the server's status message for the last statement

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Database connection of this process; it is taken from the pool if necessary."""
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
            self._connection = self._pool.take(self)
            self._prepare(self._connection)
        return self._connection

    @property
    def is_open(self) -> bool:
        """Whether a database connection is open; if not, the next use opens a new connection."""
        return self._connection is not None or self._pool.idle > 0

    def close(self) -> None:
        """End the use of the pool; the next use takes a new connection from it."""
        self.roll_back()
        self._checked = False
        self._pool.leave(self)

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
        try:
            return self.retry(lambda: self.send_statements(psycopg.Cursor, sql, values, binary=True))
        finally:
            if not self._inside:
                self.roll_back()

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
        self.roll_back()
        if self._status != "COMMIT":
            raise StoreError(f"{self.name!r} did not commit the transaction (status {self._status})")

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one, and give the connection back to the pool.

        A broken connection is closed.
        """
        self._inside = False
        connection = self._connection
        if connection is None or self._process != os.getpid():
            return
        status = connection.info.transaction_status
        if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            try:
                connection.execute(b"ROLLBACK")
                status = connection.info.transaction_status
            except psycopg.Error:
                pass
        if status != TransactionStatus.IDLE:
            self.drop_connection()
        else:
            self._connection = None
            self._pool.give_back(self, connection)

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
        if self._connection is None or self._connection.closed or is_stopping(error):
            self.drop_connection()
            return ConnectionLost(f"the connection to {self.name!r} was lost: {one_line(error)}")
        return explain_error(self.name, error)

    # -- the connection

    def drop_connection(self) -> None:
        """Close a database connection whose transaction may or may not have been committed."""
        self._uncertain_lock = self._lock
        connection, self._connection = self._connection, None
        self._pool.discard(self, connection)

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Check or create the tables at the first use, and wait for the end of an interrupted transaction."""
        try:
            if not self._checked:
                version = _version(connection, self.name)
                if version == NO_TABLES and not self._read_only:
                    version = _create_tables(connection, self.name)
                check_schema_version(self.name, version)
                self._checked = True
            if self._uncertain_lock:  # wait until the server has committed or rolled back the transaction
                connection.execute(f"BEGIN; {self._uncertain_lock}; ROLLBACK".encode())
                self._uncertain_lock = ""
        except psycopg.Error as error:
            found = self._translate_error(error)
            self.roll_back()
            raise found from None
        except BaseException:
            self.roll_back()
            raise


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
