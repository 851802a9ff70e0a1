"""A connection to a SQLite store: opened as it must be, by the process that uses it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tideproof._version import __version__
from tideproof.errors import InputError, MissingExtra, MissingFile, StoreError, TideproofError
from tideproof.files import check_writable, mark_store_closed, mark_store_open
from tideproof.store.backend import OLDER
from tideproof.store.sqlite_schema import APPLICATION, STEPS
from tideproof.store.store_urls import warn_of_network

try:
    import apsw
except ImportError:
    raise MissingExtra.for_module("apsw", "store", "an experiment in a SQLite file") from None

OLDEST = "3.51.3"  # SQLite before it can corrupt a file that several connections write
PATIENCE = 60.0  # seconds that others may write before nobody waits any longer
_PAUSE, _LONGEST = 0.001, 0.02  # seconds at most between two tries: at first, and later
_TURN = 0.2  # seconds after which one who waits tries as often as at first: nobody waits for ever
_FOLLOW = 0.02  # seconds between two looks at what others do: to look at every change keeps all awake
_PAGES = 1000  # that are copied between two looks at a clock
PRAGMAS = {
    "journal_mode": "wal",
    "synchronous": 2,  # FULL: what is acknowledged survives a power failure
    "wal_autocheckpoint": 1000,  # pages, after which whoever commits brings them into the file
    "journal_size_limit": 64 * 2**20,
    "mmap_size": 0,
    "trusted_schema": 0,
}

_inherited: list[Any] = []  # of another process: to close them here would drop locks


class Version(NamedTuple):
    """A number that changes with the file, counted anew by each connection."""

    connection: int
    number: int


class Database:
    """One file, and a connection to it that does not outlive a fork."""

    def __init__(self, path: str, read_only: bool = False) -> None:
        _check_version(apsw.sqlite_lib_version())
        self.path, self._read_only = os.path.abspath(path), read_only
        warn_of_network(self.path)
        self._connection: apsw.Connection | None = None
        self._process = self._opens = 0

    @property
    def connection(self) -> apsw.Connection:
        """The connection of this process, opened if it is not."""
        if self._process != os.getpid() and self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            raise StoreError(
                f"{self.path!r} was open while this process was forked by something else than Python"
            )
        if self._connection is None:
            self._process = os.getpid()
            self._connection = self._opened()
            self._opens += 1
            mark_store_open(self, self.path)
        return self._connection

    def close(self) -> None:
        """Close it; the next use opens it again."""
        if self._connection is not None and self._process == os.getpid():
            connection, self._connection = self._connection, None
            connection.close()
            mark_store_closed(self)

    def run(self, sql: str, values: Any = ()) -> Any:
        """Return the rows of a statement."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise self._said(error) from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{self.path!r} is damaged: {error}") from error

    def many(self, sql: str, rows: Any) -> None:
        """Run a statement for each row."""
        try:
            self.connection.executemany(sql, rows)
        except apsw.Error as error:
            raise self._said(error) from error

    def begin(self, waiting: Callable[[], None] = lambda: None) -> None:
        """Lock out all other writers; `waiting` is called while they write."""
        connection, begun = self.connection, time.monotonic()
        follow, pause = begun + _FOLLOW, _PAUSE
        while True:
            connection.set_busy_timeout(0)
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError as error:
                if time.monotonic() > begun + PATIENCE:
                    raise self._said(error) from error
            except apsw.Error as error:
                raise self._said(error) from error
            finally:
                connection.set_busy_timeout(int(PATIENCE * 1000))
            if time.monotonic() > follow:
                waiting()
                follow = time.monotonic() + _FOLLOW
            time.sleep(random.random() * pause)
            pause = _PAUSE if time.monotonic() > begun + _TURN else min(1.5 * pause, _LONGEST)

    def roll_back(self) -> None:
        """End a transaction without a trace, if there is one."""
        if self.is_locked:
            self.run("ROLLBACK")

    @property
    def is_locked(self) -> bool:
        """Whether a transaction of this process is open."""
        return self._connection is not None and self._connection.in_transaction

    @property
    def version(self) -> Version:
        """Which version of the file was seen last: in a transaction, the one that is there."""
        return Version(self._opens, self.connection.data_version())

    def faults(self) -> list[str]:
        """Return what is wrong with the file, a sentence each."""
        try:
            return [*_faults(self.connection)]
        except (apsw.Error, UnicodeDecodeError) as error:
            return [f"{self.path!r} is damaged: {error}"]

    def copy_to(self, path: str, show: Callable[[float], None]) -> None:
        """Write what is in it now to another file; `show` is told which share is done."""
        source = self.connection
        try:
            with closing(apsw.Connection(path)) as target:
                source.execute("BEGIN")
                try:
                    source.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # from now on: one moment
                    with target.backup("main", source, "main") as copy:
                        while not copy.done:
                            copy.step(_PAGES)
                            show(1.0 - copy.remaining / max(1, copy.page_count))
                finally:
                    source.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._said(error) from error

    def _opened(self) -> apsw.Connection:
        if self._read_only:
            return self._opened_to_read()
        check_writable(self.path)
        end = time.monotonic() + PATIENCE
        while True:
            connection = None
            try:
                connection = apsw.Connection(self.path)
                connection.set_busy_timeout(1000)
                _prepare(connection, self.path)
                for name, value in PRAGMAS.items():
                    connection.execute(f"PRAGMA {name} = {value}").fetchall()
                connection.set_busy_timeout(int(PATIENCE * 1000))
                return connection
            except (apsw.BusyError, apsw.LockedError) as error:  # others open it, too
                _close(connection)
                if time.monotonic() > end:
                    raise self._said(error) from error
                time.sleep(0.01 * random.random())
            except BaseException as error:
                _close(connection)
                raise (self._said(error) if isinstance(error, apsw.Error) else error) from None

    def _opened_to_read(self) -> apsw.Connection:
        """Open it so that nothing in it is changed, also where it cannot be."""
        flags, uri = _to_read(self.path)
        connection = None
        try:
            connection = apsw.Connection(uri, flags | apsw.SQLITE_OPEN_URI)
            connection.set_busy_timeout(int(PATIENCE * 1000))
            version = _version(connection, self.path)
            if version < len(STEPS):
                raise InputError(OLDER.format(self.path, version))
            connection.execute("PRAGMA query_only = 1")
            connection.execute("PRAGMA trusted_schema = 0")
            return connection
        except BaseException as error:
            _close(connection)
            raise (self._said(error) if isinstance(error, apsw.Error) else error) from None

    def _said(self, error: apsw.Error) -> TideproofError:
        """Return an error of SQLite in words."""
        name = repr(self.path)
        if isinstance(error, apsw.NotADBError):
            return InputError(f"{name} is not a tideproof store: it is no SQLite database")
        if isinstance(error, apsw.FullError):
            return StoreError(f"the disk of {name} is full: nothing of this call was kept")
        if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError)):
            return StoreError(f"{name} cannot be written: the file or its folder is read-only")
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return StoreError(f"others have been writing to {name} for {PATIENCE:.0f} s: nothing was kept")
        if isinstance(error, apsw.CorruptError):
            return StoreError(f"{name} is damaged: {error}")
        return StoreError(f"{name} could not be read or written: {error}")


def _close(connection: apsw.Connection | None) -> None:
    if connection is not None:
        connection.close()


def _check_version(version: str) -> None:
    if tuple(map(int, version.split("."))) < tuple(map(int, OLDEST.split("."))):
        raise InputError(
            f"SQLite {version} can corrupt a file that several processes write; {OLDEST} or newer is needed: "
            f"pip install -U 'tideproof[store]'"
        )


def _prepare(connection: apsw.Connection, path: str) -> None:
    """Make the tables that are missing, or say that the file is none of ours."""
    connection.execute("BEGIN")  # others may be making them
    known = _version(connection, path)
    connection.execute("COMMIT")
    if known == len(STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    with_ours = _version(connection, path)
    for step in STEPS[with_ours:]:
        connection.execute(step)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {len(STEPS)}")
    connection.execute("COMMIT")


def _version(connection: apsw.Connection, path: str) -> int:
    """Return how many steps of the schema a file has."""
    owner, version = connection.pragma("application_id"), connection.pragma("user_version")
    if owner != APPLICATION:
        if owner or version or connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise InputError(f"{path!r} is not a tideproof store: it is a database of something else")
        return 0
    if version > len(STEPS):
        raise InputError(
            f"{path!r} has schema {version}; tideproof {__version__} knows {len(STEPS)}: "
            f"a newer version made it"
        )
    return int(version)


def _to_read(path: str) -> tuple[int, str]:
    """Return with which flags, and under which address, a file is opened that is only read."""
    if not os.path.exists(path):
        raise MissingFile(f"cannot read {path!r}: there is no such file")
    uri = Path(path).as_uri()
    try:
        check_writable(path)
    except InputError:  # SQLite can lay nothing beside it, and nobody who writes has
        return apsw.SQLITE_OPEN_READONLY, uri if os.path.exists(f"{path}-wal") else f"{uri}?immutable=1"
    return apsw.SQLITE_OPEN_READWRITE, uri  # who closes it last takes away what SQLite laid beside it


def _faults(connection: apsw.Connection) -> Iterator[str]:
    for (said,) in connection.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield f"SQLite: {said}"
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"a row of {table} belongs to no experiment"
    for (name,) in connection.execute(
        "SELECT name FROM experiments WHERE id NOT IN (SELECT experiment FROM events)"
    ):
        yield f"the experiment {name!r} has lost all its events"
    with closing(apsw.Connection(":memory:")) as model:
        for step in STEPS:
            model.execute(step)
        sql = "SELECT name, sql FROM sqlite_schema"
        meant, found = dict(model.execute(sql)), dict(connection.execute(sql))
    for name in sorted(meant.keys() | found.keys()):
        if meant.get(name) != found.get(name):
            what = "is missing" if name not in found else "is not that of the schema"
            yield f"{name!r} {what}"
