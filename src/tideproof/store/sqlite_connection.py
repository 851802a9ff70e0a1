"""Connection to a SQLite store: opens the file with safe settings and creates missing tables."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tideproof.errors import InputError, MissingExtra, MissingFile, StoreError, TideproofError
from tideproof.files import check_writable, mark_store_closed, mark_store_open
from tideproof.store.backend import NO_TABLES, SCHEMA_VERSION, check_schema_version
from tideproof.store.sqlite_schema import APPLICATION, TABLES
from tideproof.store.store_urls import warn_if_on_network_drive

try:
    import apsw
except ImportError:
    raise MissingExtra.for_module("apsw", "store", "an experiment in a SQLite file") from None

OLDEST = "3.51.3"  # older versions of SQLite can corrupt a file that several connections write
PATIENCE = 60.0  # seconds to wait for other writers before giving up
_PAUSE, _LONGEST = 0.001, 0.02  # maximum seconds between two attempts to lock: at first, and later
_TURN = 0.2  # seconds after which a waiting writer tries as often as at first, so that it does not starve
_FOLLOW = 0.02  # seconds between two calls of `waiting`; reading each change would waste processor time
_PAGES = 1000  # pages copied between two progress reports
PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: acknowledged commits survive a power failure
    "wal_autocheckpoint": 1000,  # pages in the write-ahead log after which a commit copies them to the file
    "journal_size_limit": 64 * 2**20,
    "mmap_size": 0,
    "trusted_schema": 0,
}

# Connections of the parent process. They stay referenced, because closing them here would drop its locks.
_inherited: list[Any] = []


class FileVersion(NamedTuple):
    """Version of a SQLite file, which changes with every commit of another connection.

    SQLite counts versions for each connection, so a version includes the number of its connection.
    """

    connection: int
    number: int


class SqliteConnection:
    """Connection to a SQLite file, which a forked child process never shares with its parent."""

    def __init__(self, path: str, read_only: bool = False) -> None:
        check_sqlite_version(apsw.sqlite_lib_version())
        self.path, self._read_only = os.path.abspath(path), read_only
        warn_if_on_network_drive(self.path)
        self._connection: apsw.Connection | None = None
        self._process = self._opens = 0

    @property
    def connection(self) -> apsw.Connection:
        """Database connection of this process; it is opened if necessary."""
        if self._process != os.getpid() and self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            raise StoreError(
                f"the connection to {self.path!r} belongs to the parent process and cannot be used in "
                f"this one: open the experiment in this process"
            )
        if self._connection is None:
            self._process = os.getpid()
            self._connection = self._open()
            self._opens += 1
            mark_store_open(self, self.path)
        return self._connection

    @property
    def is_open(self) -> bool:
        """Whether a database connection is open; if not, the next use opens a new connection."""
        return self._connection is not None

    def close(self) -> None:
        """Close the database connection; the next use opens a new one."""
        if self._connection is not None and self._process == os.getpid():
            connection, self._connection = self._connection, None
            connection.close()
            mark_store_closed(self)

    def run(self, sql: str, values: Any = ()) -> Any:
        """Run an SQL statement and return its rows."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise self._translate_error(error) from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{self.path!r} is damaged: {error}") from error

    def run_many(self, sql: str, rows: Any) -> None:
        """Run an SQL statement once for each row of values."""
        try:
            self.connection.executemany(sql, rows)
        except apsw.Error as error:
            raise self._translate_error(error) from error

    def begin(self, waiting: Callable[[], None] = lambda: None) -> None:
        """Begin a transaction that blocks other writers of the database.

        `waiting` is called while another writer has the lock.
        """
        connection, started = self.connection, time.monotonic()
        follow, pause = started + _FOLLOW, _PAUSE
        while True:
            connection.set_busy_timeout(0)
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError as error:
                if time.monotonic() > started + PATIENCE:
                    raise self._translate_error(error) from error
            except apsw.Error as error:
                raise self._translate_error(error) from error
            finally:
                connection.set_busy_timeout(int(PATIENCE * 1000))
            if time.monotonic() > follow:
                waiting()
                follow = time.monotonic() + _FOLLOW
            time.sleep(random.random() * pause)
            pause = _PAUSE if time.monotonic() > started + _TURN else min(1.5 * pause, _LONGEST)

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        if self.is_locked:
            self.run("ROLLBACK")

    @property
    def is_locked(self) -> bool:
        """Whether a transaction of this process is open."""
        return self._connection is not None and self._connection.in_transaction

    @property
    def version(self) -> FileVersion:
        """Version of the SQLite file, which changes with every commit of another connection.

        It is the version that was last read or, during a transaction, the current one.
        """
        return FileVersion(self._opens, self.connection.data_version())

    def find_faults(self) -> list[str]:
        """Check the SQLite file for damage, and return a sentence for each fault."""
        try:
            return [*_faults(self.connection)]
        except (apsw.Error, UnicodeDecodeError) as error:
            return [f"{self.path!r} is damaged: {error}"]

    def empty_write_ahead_log(self) -> bool:
        """Copy the write-ahead log to the file and empty it, so that it contains no deleted data.

        Nothing happens, and the result is False, if other connections use it for longer than a second.
        """
        self.connection.set_busy_timeout(1000)
        try:
            is_busy: int = self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
            return not is_busy
        finally:
            self.connection.set_busy_timeout(int(PATIENCE * 1000))

    def copy_to(self, path: str, show: Callable[[float], None]) -> None:
        """Write a consistent copy of the database to another file.

        `show` is called with the fraction that is done.
        """
        source = self.connection
        try:
            with closing(apsw.Connection(path)) as target:
                source.execute("BEGIN")
                try:
                    source.execute(
                        "SELECT count(*) FROM sqlite_schema"
                    ).fetchall()  # starts the read snapshot
                    with target.backup("main", source, "main") as copy:
                        while not copy.done:
                            copy.step(_PAGES)
                            show(1.0 - copy.remaining / max(1, copy.page_count))
                finally:
                    source.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._translate_error(error) from error

    def _open(self) -> apsw.Connection:
        """Open the SQLite file for writing and create missing tables; wait while other processes do so."""
        if self._read_only:
            return self._open_read_only()
        check_writable(self.path)
        deadline = time.monotonic() + PATIENCE
        while True:
            connection = None
            try:
                _create_private_file(self.path)
                connection = apsw.Connection(self.path)
                connection.set_busy_timeout(1000)
                _prepare(connection, self.path)
                for name, value in PRAGMAS.items():
                    connection.execute(f"PRAGMA {name} = {value}").fetchall()
                connection.set_busy_timeout(int(PATIENCE * 1000))
                return connection
            except (apsw.BusyError, apsw.LockedError) as error:  # another process is opening the file
                _close(connection)
                if time.monotonic() > deadline:
                    raise self._translate_error(error) from error
                time.sleep(0.01 * random.random())
            except BaseException as error:
                _close(connection)
                raise (self._translate_error(error) if isinstance(error, apsw.Error) else error) from None

    def _open_read_only(self) -> apsw.Connection:
        """Open the SQLite file for reading only; this works on read-only disks, too."""
        flags, uri = _read_only_target(self.path)
        connection = None
        try:
            connection = apsw.Connection(uri, flags | apsw.SQLITE_OPEN_URI)
            connection.set_busy_timeout(int(PATIENCE * 1000))
            check_schema_version(self.path, _version(connection, self.path))
            connection.execute("PRAGMA query_only = 1")
            connection.execute("PRAGMA trusted_schema = 0")
            return connection
        except BaseException as error:
            _close(connection)
            raise (self._translate_error(error) if isinstance(error, apsw.Error) else error) from None

    def _translate_error(self, error: apsw.Error) -> TideproofError:
        """Convert an error of the database to an error of tideproof with an explanation."""
        name = repr(self.path)
        if isinstance(error, apsw.NotADBError):
            return InputError(f"{name} is not a tideproof store: it is not a SQLite database")
        if isinstance(error, apsw.FullError):
            return StoreError(f"the disk of {name} is full: nothing was saved")
        if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError)):
            return StoreError(f"{name} cannot be written: the file or its folder is read-only")
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return StoreError(
                f"{name} has been locked by other processes for {PATIENCE:.0f} s: nothing was saved"
            )
        if isinstance(error, apsw.CorruptError):
            return StoreError(f"{name} is damaged: {error}")
        return StoreError(f"{name} could not be read or written: {error}")


def _create_private_file(path: str) -> None:
    """Create a database file that only its owner may read, unless the file exists."""
    with suppress(OSError):  # SQLite says better what is wrong
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _close(connection: apsw.Connection | None) -> None:
    """Close a database connection, unless it is None."""
    if connection is not None:
        connection.close()


def check_sqlite_version(version: str) -> None:
    """Raise `InputError` if this version of SQLite is too old to be safe."""
    if tuple(map(int, version.split("."))) < tuple(map(int, OLDEST.split("."))):
        raise InputError(
            f"SQLite {version} can corrupt a file that several processes write. Version {OLDEST} or newer is "
            f"needed: pip install -U 'tideproof[store]'"
        )


def _prepare(connection: apsw.Connection, path: str) -> None:
    """Create missing tables, or raise `InputError` if the file is not a tideproof store."""
    connection.execute("BEGIN")  # so that both pragmas are read at the same time; others may create tables
    known = _version(connection, path)
    connection.execute("COMMIT")
    if known == NO_TABLES:
        connection.execute("BEGIN IMMEDIATE")
        known = _version(connection, path)
        if known == NO_TABLES:  # no other process has created them in the meantime
            connection.execute(TABLES)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            known = SCHEMA_VERSION
        connection.execute("COMMIT")
    check_schema_version(path, known)


def _version(connection: apsw.Connection, path: str) -> int:
    """Return the schema version of a SQLite file, or `NO_TABLES` if the file is empty."""
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    if owner != APPLICATION:
        if owner or version or connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise InputError(f"{path!r} is not a tideproof store: it is the database of another program")
        return NO_TABLES
    return int(version)


def _read_only_target(path: str) -> tuple[int, str]:
    """Return the flags and the URI with which a SQLite file is opened for reading."""
    if not os.path.exists(path):
        raise MissingFile(f"cannot read {path!r}: there is no such file")
    uri = Path(path).as_uri()
    try:
        check_writable(path)
    except InputError:  # SQLite cannot create files beside it; without a -wal file there is no writer either
        return apsw.SQLITE_OPEN_READONLY, uri if os.path.exists(f"{path}-wal") else f"{uri}?immutable=1"
    return apsw.SQLITE_OPEN_READWRITE, uri  # lets the last connection delete the -wal and -shm files


def _faults(connection: apsw.Connection) -> Iterator[str]:
    """Yield a sentence for each fault of a SQLite file or of its tables."""
    for (said,) in connection.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield f"SQLite: {said}"
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of table {table} does not belong to an experiment"
    for (name,) in connection.execute(
        "SELECT name FROM experiments WHERE about <> '' AND id NOT IN (SELECT experiment FROM events)"
    ):
        yield f"the experiment {name!r} has lost all its events"
    with closing(apsw.Connection(":memory:")) as model:
        model.execute(TABLES)
        sql = "SELECT name, sql FROM sqlite_schema"
        meant, found = dict(model.execute(sql)), dict(connection.execute(sql))
    for name in sorted(meant.keys() | found.keys()):
        if meant.get(name) != found.get(name):
            fault = "is missing" if name not in found else "differs from the schema of the store"
            yield f"the table, index or trigger {name!r} {fault}"
