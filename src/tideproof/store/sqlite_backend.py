"""SQLite backend: stores experiments in a SQLite file."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.store.backend import (
    MAX_SNAPSHOT_MARKS,
    ExperimentContents,
    ExperimentDeleted,
    ExperimentListing,
    LogEntry,
    Snapshot,
    StoredAnswer,
    Writer,
    snapshot_digest,
)
from tideproof.store.hash_chain import NONCE
from tideproof.store.service_tables import WEBHOOK_TABLES
from tideproof.store.sqlite_connection import FileVersion, SqliteConnection
from tideproof.store.sqlite_schema import EVENTS_ARE_KEPT
from tideproof.store.store_urls import sqlite_path

# The entries, or one row with the number 0 if the experiment was deleted
_READ = (
    "SELECT e.seq, at, pulls, record, coalesce(u.unit, ''), writer, hash FROM events AS e "
    "LEFT JOIN unit_hashes AS u ON u.experiment = e.experiment AND u.seq = e.seq "
    "WHERE e.experiment = ? AND e.seq > ? AND e.seq <= ? UNION ALL SELECT 0, 0.0, 0, '', '', x'', x'' "
    "WHERE NOT EXISTS (SELECT 1 FROM experiments WHERE id = ? AND about <> '') ORDER BY 1"
)
# Tables with rows of one experiment each
_OWN_TABLES = (
    "answers",
    "salts",
    "unit_hashes",
    "writers",
    "snapshots",
    "events",
)
_ADD = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_END = 2**62


def open_from_url(url: str, read_only: bool = False, connections: int | None = None) -> SqliteBackend:
    """Open the SQLite file at a URL as a store of experiments; `connections` has no effect on files."""
    return SqliteBackend(sqlite_path(url), read_only)


class SqliteBackend:
    """SQLite file that contains experiments; see `Backend`."""

    def __init__(self, path: str, read_only: bool = False) -> None:
        self._database = SqliteConnection(path, read_only)

    def log(self, name: str) -> SqliteLog | None:
        """Return the event log of the experiment with this name, or None if there is none."""
        found = self._database.run("SELECT id FROM experiments WHERE name = ?", (name,))
        return SqliteLog(self._database, found[0][0]) if found else None

    def create(self, name: str, contents: ExperimentContents) -> tuple[SqliteLog, bool]:
        """Create an experiment unless its name is taken, in one transaction.

        Return the event log under that name, and whether this call created it.
        """
        self._database.begin()
        try:
            log = self.log(name)
            return (self._create(name, contents), True) if log is None else (log, False)
        finally:
            self._database.roll_back()

    def import_experiment(self, name: str, whole: ExperimentContents) -> None:
        """Create an experiment with all of its contents, in one transaction."""
        if not self.create(name, whole)[1]:
            raise InputError(f"an experiment named {name!r} already exists: choose another name")

    def _create(self, name: str, whole: ExperimentContents) -> SqliteLog:
        """Write a new experiment and commit the transaction."""
        self._database.run("INSERT INTO experiments (name, about) VALUES (?, ?)", (name, whole.about))
        log = self.log(name)
        assert log is not None
        for writer in whole.writers:
            log.add_writer(writer)
        log.append(whole.entries, whole.answers, None)
        log.commit()
        return log

    def delete_experiment(self, name: str) -> None:
        """Delete everything that the file contains about an experiment, and overwrite its bytes.

        A row without name and description stays, so that its number is not used again: another process may
        have the experiment open.
        """
        run = self._database.run
        self._database.begin()
        try:
            found = run("SELECT id FROM experiments WHERE name = ?", (name,))
            if not found:
                raise UnknownName(f"there is no experiment named {name!r}")
            run("PRAGMA secure_delete = 1")
            run("DROP TRIGGER IF EXISTS events_are_kept")
            for table in _OWN_TABLES:
                run(f"DELETE FROM {table} WHERE experiment = ?", found[0])
            run(EVENTS_ARE_KEPT)
            for table in WEBHOOK_TABLES:
                run(f"DELETE FROM {table} WHERE experiment = ?", (name,))
            unique = f"deleted {secrets.token_hex(16)}"
            run("UPDATE experiments SET name = ?, about = '' WHERE id = ?", (unique, *found[0]))
            run("COMMIT")
        finally:
            self._database.roll_back()
            run("PRAGMA secure_delete = 0")
        self._database.empty_write_ahead_log()

    def list_experiments(self) -> list[ExperimentListing]:
        """Return the name and a summary of every experiment in a store, sorted by name."""
        rows = self._database.run(
            "SELECT name, about, e.seq, e.pulls, e.at FROM experiments JOIN events AS e ON e.experiment = id "
            "AND e.seq = (SELECT max(seq) FROM events WHERE experiment = id) ORDER BY name"
        )
        return [ExperimentListing(*row) for row in rows]

    def find_faults(self) -> list[str]:
        """Check the SQLite file for damage, and return a sentence for each fault."""
        return self._database.find_faults()

    def copy_to(self, path: str, show: Callable[[float], None]) -> None:
        """Write a consistent copy of the SQLite file to a new path, while other processes may write."""
        self._database.copy_to(path, show)

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one SQL statement in a transaction of its own and return its rows."""
        rows: list[Any] = self._database.run(sql.replace("~", ""), values)
        return rows

    def close(self) -> None:
        """Close the database connection; the next call opens a new one."""
        self._database.close()


class SqliteLog:
    """Event log of one experiment in a SQLite file; see `ExperimentLog`."""

    def __init__(self, database: SqliteConnection, experiment: int) -> None:
        self.database, self._id = database, experiment
        self._end: tuple[int, FileVersion] = (
            0,
            FileVersion(0, 0),
        )  # number of the last entry, version of the file
        self._has_erased = False  # whether the write-ahead log may contain what was deleted
        self._added = 0  # number of the last entry of the open transaction

    def read(self, after: int, upto: int | None = None) -> list[LogEntry]:
        """Return the committed entries of an event log that follow entry number `after`.

        With `upto`, entries with a number above `upto` are left out. The call never blocks writers.
        """
        if upto is None and self.database.is_locked and self._end == (after, self.database.version):
            return []
        rows = self.database.run(_READ, (self._id, after, _END if upto is None else upto, self._id))
        found = list(map(LogEntry._make, rows))
        if found and found[0].seq == 0:
            raise ExperimentDeleted
        if upto is None:
            self._end = found[-1].seq if found else after, self.database.version
        for index, each in enumerate(found):
            if each.record.startswith('["Salted"'):
                found[index] = each._replace(erasable=self._salt("seq = ?", each.seq))
        return found

    def read_salt(self, upto: int) -> str:
        """Return the salt with which unit IDs were hashed after event number `upto`.

        The result is "" if the salt was deleted.
        """
        return self._salt("seq <= ?", upto)

    def _salt(self, where: str, seq: int) -> str:
        """Return the newest salt for hashing unit IDs among the database rows that meet an SQL condition.

        The result is "" if there is none.
        """
        rows = self.database.run(
            f"SELECT salt FROM salts WHERE experiment = ? AND {where} ORDER BY seq DESC LIMIT 1",
            (self._id, seq),
        )
        return rows[0][0] if rows else ""

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that blocks other writers of the database.

        `waiting` is called while another writer has the lock.
        """
        self.database.begin(waiting)

    def append(self, entries: Sequence[LogEntry], answers: Sequence[StoredAnswer], about: str | None) -> None:
        """Write new entries of the event log, as part of the open transaction.

        Also write results of commands and, if given, a new summary of the experiment.
        """
        rows = [(self._id, e.seq, e.at, e.pulls, e.record, e.writer, e.hash) for e in entries]
        if len(rows) == 1:  # nearly always the case, and twice as fast
            self.database.run(_ADD, rows[0])
        else:
            self.database.run_many(_ADD, rows)
        for each in entries:
            self._write_erasable(each)
        self._added = entries[-1].seq if entries else 0
        if answers:
            said = [(self._id, *answer) for answer in answers]
            self.database.run_many("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", said)
        if about is not None:
            self.database.run("UPDATE experiments SET about = ? WHERE id = ?", (about, self._id))

    def _write_erasable(self, entry: LogEntry) -> None:
        """Store the erasable part of a log entry, or delete stored parts if the entry says so.

        The bytes of what is deleted are overwritten in the file, and after the commit in the write-ahead log.
        """
        run = self.database.run
        if entry.record.startswith('["Salted"'):
            run("PRAGMA secure_delete = 1")
            run("DELETE FROM salts WHERE experiment = ?", (self._id,))
            if entry.erasable:
                run("INSERT INTO salts VALUES (?, ?, ?)", (self._id, entry.seq, entry.erasable))
        elif entry.record.startswith('["UnitForgotten"'):
            run("PRAGMA secure_delete = 1")
            unit = (self._id, entry.erasable)
            run(f"DELETE FROM unit_hashes WHERE experiment = ? AND substr(unit, {NONCE + 1}) = ?", unit)
            run("DELETE FROM snapshots WHERE experiment = ?", (self._id,))
        elif entry.erasable:
            run("INSERT INTO unit_hashes VALUES (?, ?, ?)", (self._id, entry.seq, entry.erasable))
            return
        else:
            return
        run("PRAGMA secure_delete = 0")
        self._has_erased = True

    def add_writer(self, writer: Writer) -> None:
        """Store the identifier of a process that writes the event log, and the fingerprint of its code."""
        self.database.run("INSERT OR IGNORE INTO writers VALUES (?, ?, ?, ?)", (self._id, *writer))

    def find_answer(self, key: str) -> StoredAnswer | None:
        """Return the stored result of the command with this idempotency key, or None."""
        rows = self.database.run(
            "SELECT key, seq, command, answer FROM answers WHERE experiment = ? AND key = ?", (self._id, key)
        )
        return StoredAnswer(*rows[0]) if rows else None

    def commit(self) -> None:
        """Commit the transaction."""
        self.database.run("COMMIT")
        if self._added:
            self._end, self._added = (self._added, self.database.version), 0
        if self._has_erased:
            self._has_erased = not self.database.empty_write_ahead_log()

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._added = 0
        self.database.roll_back()

    def read_snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest undamaged snapshot of an experiment's state, or None.

        Only snapshots that the code version `mark` wrote are considered.
        """
        rows = self.database.run(
            "SELECT s.seq, s.mark, s.hash, s.contents, s.digest FROM snapshots AS s "
            "JOIN events AS e ON e.experiment = s.experiment AND e.seq = s.seq AND e.hash = s.hash "
            "WHERE s.experiment = ? AND s.mark = ? AND s.seq <= ? ORDER BY s.seq DESC",
            (self._id, mark, _END if upto is None else upto),
        )
        for *found, known in rows:
            if snapshot_digest(snapshot := Snapshot(*found)) == known:
                return snapshot
        return None

    def last_snapshot_size(self, mark: str) -> int:
        """Return how many events the newest snapshot of an experiment's state includes.

        Only snapshots of the code version `mark` are considered; without one, the result is 0.
        """
        rows = self.database.run(
            "SELECT max(seq) FROM snapshots WHERE experiment = ? AND mark = ?", (self._id, mark)
        )
        return rows[0][0] or 0

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot of an experiment's state, and delete older snapshots that it replaces."""
        own = self._id, snapshot.mark
        self.database.begin()
        try:
            newer = self.database.run(
                "SELECT 1 FROM snapshots WHERE experiment = ? AND mark = ? AND seq >= ? UNION ALL "
                "SELECT 1 FROM events WHERE experiment = ? AND seq > ? AND record LIKE '[\"UnitForgotten\"%'",
                (*own, snapshot.seq, self._id, snapshot.seq),
            )
            if newer:
                return
            self.database.run("DELETE FROM snapshots WHERE experiment = ? AND mark = ?", own)
            self.database.run(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)",
                (*own, snapshot.seq, snapshot.hash, snapshot_digest(snapshot), snapshot.contents),
            )
            self.database.run(
                "DELETE FROM snapshots WHERE experiment = ? AND mark NOT IN (SELECT mark FROM snapshots "
                "WHERE experiment = ? GROUP BY mark ORDER BY max(seq) DESC LIMIT ?)",
                (self._id, self._id, MAX_SNAPSHOT_MARKS),
            )
            self.commit()
        finally:
            self.roll_back()

    def read_writers(self) -> list[Writer]:
        """Return identifier and code fingerprint of every process that has written to the event log."""
        rows = self.database.run(
            "SELECT writer, mark, version FROM writers WHERE experiment = ?", (self._id,)
        )
        return [Writer(*row) for row in rows]

    def read_answers(self) -> list[StoredAnswer]:
        """Return the stored results of all commands that had an idempotency key, sorted by key."""
        rows = self.database.run(
            "SELECT key, seq, command, answer FROM answers WHERE experiment = ? ORDER BY key", (self._id,)
        )
        return [StoredAnswer(*row) for row in rows]

    def read_marks(self) -> list[str]:
        """Return the code versions that wrote the stored snapshots of an experiment's state.

        The versions of damaged snapshots are included.
        """
        rows = self.database.run(
            "SELECT DISTINCT mark FROM snapshots WHERE experiment = ? ORDER BY mark", (self._id,)
        )
        return [mark for (mark,) in rows]

    def close(self) -> None:
        """Close the database connection; the next call opens a new one."""
        self.database.close()
