"""A connection to PostgreSQL: opened as it must be, by who uses it, and again when it is lost."""

from __future__ import annotations

import contextlib
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from tideproof._version import __version__
from tideproof.errors import InputError, MissingExtra, StoreError, TideproofError
from tideproof.store.backend import LOSSES, OLDER, Lost
from tideproof.store.postgres_schema import LOCK, STEPS
from tideproof.store.store_urls import public

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.pq import ExecStatus, TransactionStatus
except ImportError:
    raise MissingExtra.for_module("psycopg", "postgres", "an experiment in PostgreSQL") from None

PATIENCE = 60  # seconds that others may write before nobody waits any longer, and that a writer may be silent
TRIES = 80  # to connect again after a loss: half a minute in all
_PAUSES = 0.025, 0.5  # seconds between two tries: at first, twice as many each time, and at most
# What a connection is asked for unless the URL says otherwise: half a minute until an end is known to be gone
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
_GONE = "57P"  # how the codes of errors begin with which a server that stops ends connections

T = TypeVar("T")
Rows = list[Any]
_inherited: list[Any] = []  # of another process: to close them here would end its sessions


class _Connection(psycopg.Connection[Any]):
    """One that is closed without a warning when nobody has its experiment any more."""

    def __del__(self, *_: Any) -> None:
        pass


class Server:
    """One database, and a connection to it that does not outlive a fork.

    In a transaction a lost connection raises `Lost`. Otherwise it is opened again, and what was asked is
    asked again, which is right for what only reads.
    """

    def __init__(self, url: str, read_only: bool = False) -> None:
        self.name, self._read_only = public(url), read_only
        try:
            self._where = make_conninfo(
                url, **{k: v for k, v in CALLER.items() if k not in conninfo_to_dict(url)}
            )
        except psycopg.Error as error:
            raise InputError(
                f"{self.name!r} is not the URL of a PostgreSQL database: {_line(error)}"
            ) from None
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self._tries, self._warned = 1, False
        self._inside = False  # whether a transaction is open
        self._lock = ""  # what the last transaction began with
        self._doubt = ""  # the same if its end is not known
        self._status: str | None = None  # what the server said of the last statement

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection of this process, opened if it is not."""
        if self._process != os.getpid() and self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            raise StoreError(
                f"{self.name!r} was open while this process was forked by something else than Python"
            )
        if self._connection is None or self._connection.closed:
            if self._inside:
                raise Lost(f"the connection to {self.name!r} was lost")
            self._process = os.getpid()
            self._connection = self._opened()
        return self._connection

    def close(self) -> None:
        """Close it; the next use opens it again."""
        self._inside = False
        if self._process == os.getpid():
            connection, self._connection = self._connection, None
            _close(connection)

    # -- statements

    def again(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, done again if the connection is lost outside a transaction."""
        losses = 0
        while True:
            try:
                return work()
            except Lost:
                losses += 1
                if self._inside or losses == LOSSES:
                    raise

    def run(self, sql: str, values: Any = None) -> Rows:
        """Return the rows of one statement, which may be many."""
        return self.again(lambda: self._call(psycopg.Cursor, sql, values, binary=True))

    def begin(self, lock: str, then: str = "") -> Rows:
        """Begin a transaction by a statement that locks, and return the rows of another one in it."""
        self.roll_back()
        self._lock = lock
        found = self.again(
            lambda: self._call(psycopg.ClientCursor, f"BEGIN ISOLATION LEVEL READ COMMITTED; {lock}; {then}")
        )
        self._inside = True
        return found

    def send(self, sql: str, values: Any = None) -> Rows:
        """Run statements in the transaction, in one go; return the rows of the last that has any."""
        return self._call(psycopg.ClientCursor, sql, values)

    def commit(self, sql: str = "", values: Any = None) -> None:
        """Run statements and make the transaction last, in one go."""
        self.send(f"{sql}; COMMIT", values)
        self._inside = False
        if self._status != "COMMIT":
            raise StoreError(f"{self.name!r} did not keep a transaction: {self._status}")

    def roll_back(self) -> None:
        """End a transaction without a trace, if there is one; a connection that fails is let go of."""
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
            self._let_go()

    def _call(self, kind: Any, sql: str, values: Any = None, **how: Any) -> Rows:
        """Run statements, and return the rows of the last that has any."""
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
            raise self._said(error) from error

    def _said(self, error: Exception) -> TideproofError:
        """Return an error of PostgreSQL in words; after the loss of a connection, let go of it."""
        if self._connection is None or self._connection.closed or _code(error).startswith(_GONE):
            self._let_go()
            return Lost(f"the connection to {self.name!r} was lost: {_line(error)}")
        return self._in_words(error)

    def _in_words(self, error: Exception) -> TideproofError:
        name, code = repr(self.name), _code(error)
        if isinstance(error, (psycopg.DataError, UnicodeEncodeError)):
            return InputError(f"{name} cannot keep this: {_line(error)}")
        if code == "55P03":
            return StoreError(f"others have been writing to {name} for {PATIENCE} s: nothing was kept")
        if code == "53100":
            return StoreError(f"the disk of {name} is full: nothing of this call was kept")
        if code == "25006":
            return StoreError(f"{name} cannot be written: the server or the user is read-only")
        return StoreError(f"{name} could not be read or written: {_line(error)}")

    # -- the connection

    def _let_go(self) -> None:
        """Drop a connection whose transaction may or may not have been kept."""
        self._doubt = self._lock
        connection, self._connection = self._connection, None
        _close(connection)

    def _opened(self) -> psycopg.Connection[Any]:
        failed: Exception | None = None
        for each in range(self._tries):
            if each:
                time.sleep(min(_PAUSES[0] * 2.0**each, _PAUSES[1]) * random.uniform(0.5, 1.0))
            connection = None
            try:
                connection = _Connection.connect(self._where, autocommit=True)
                self._prepare(connection)
                self._tries = TRIES
                return connection
            except BaseException as error:
                _close(connection)
                if not isinstance(error, psycopg.Error):
                    raise
                if not _is_loss(error):
                    raise self._in_words(error) from None
                failed = error
        self._tries = 1  # who comes next waits no longer
        raise StoreError(f"cannot connect to {self.name!r}: {_line(failed)}") from None

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Check what the server promises, and that the tables are there."""
        connection.execute(_SET)
        fsync, kept = connection.execute(_PROMISES).fetchone() or ("", "")
        if kept == "off":
            raise InputError(f"{self.name!r} has synchronous_commit = off, and does not let it be turned on")
        if fsync == "off" and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name!r} runs with fsync = off: when its machine fails, it loses what it has "
                f"acknowledged, and may be damaged",
                stacklevel=2,
            )
        version = _version(connection, self.name)
        if version != len(STEPS):
            if self._read_only:
                raise InputError(OLDER.format(self.name, version))
            _migrate(connection, self.name)
        if self._read_only:
            connection.execute(b"SET default_transaction_read_only = on")
        if self._doubt:  # wait until the server has ended, in one way or the other, what was lost
            connection.execute(f"BEGIN; {self._doubt}; ROLLBACK".encode())
            self._doubt = ""


def _version(connection: psycopg.Connection[Any], name: str) -> int:
    """Return how many steps of the schema a database has."""
    ours, anything = connection.execute(_OURS).fetchone() or (False, False)
    if not ours:
        if anything:
            raise InputError(f"{name!r} is not a tideproof store: its schema 'tideproof' is something else's")
        return 0
    (version,) = connection.execute(b"SELECT version FROM tideproof.store_version").fetchone() or (0,)
    if version > len(STEPS):
        raise InputError(
            f"{name!r} has schema {version}; tideproof {__version__} knows {len(STEPS)}: "
            f"a newer version made it"
        )
    return int(version)


def _migrate(connection: psycopg.Connection[Any], name: str) -> None:
    """Make the tables that are missing."""
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})".encode())
        for step in STEPS[_version(connection, name) :]:
            connection.execute(step.encode())
        connection.execute(f"UPDATE tideproof.store_version SET version = {len(STEPS)}".encode())


def _close(connection: psycopg.Connection[Any] | None) -> None:
    if connection is not None:
        with contextlib.suppress(psycopg.Error):
            connection.close()


def _code(error: Exception) -> str:
    """Return the code of an error that the server raised, empty for others."""
    return getattr(error, "sqlstate", None) or ""


def _is_loss(error: Exception) -> bool:
    """Tell whether another connection may do better."""
    return isinstance(error, psycopg.OperationalError) and (
        not _code(error) or _code(error).startswith(_GONE)
    )


def _line(error: object) -> str:
    """Return what an error says in one line."""
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip()) or type(error).__name__
