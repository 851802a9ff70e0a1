"""PostgreSQL backend: stores experiments in a PostgreSQL database.

A writer holds the lock on the row of the experiment. A command takes two round trips: the first begins the
transaction, takes the lock and fetches what others appended; the second appends and commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.errors import InputError, StoreError, UnknownName
from tideproof.store.backend import (
    MAX_SNAPSHOT_MARKS,
    ConnectionLost,
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
from tideproof.store.postgres.postgres_connection import PostgresConnection
from tideproof.store.postgres.postgres_schema import TRIGGERS
from tideproof.store.service_tables import WEBHOOK_TABLES

_MANY = 1000  # rows in one statement
# The entries, or one row with the number 0 if the experiment was deleted
_READ = (
    "SELECT e.seq, at, pulls, record, coalesce(u.unit, ''), writer, hash FROM tideproof.events AS e "
    "LEFT JOIN tideproof.unit_hashes AS u ON u.experiment = e.experiment AND u.seq = e.seq "
    "WHERE e.experiment = {id} AND e.seq > {after}{last} UNION ALL "
    "SELECT 0, 0.0, 0, '', '', ''::bytea, ''::bytea "
    "WHERE NOT EXISTS (SELECT FROM tideproof.experiments WHERE id = {id}) ORDER BY 1"
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


def open_from_url(url: str, read_only: bool = False, connections: int | None = None) -> PostgresBackend:
    """Open the PostgreSQL database at a URL as a store of experiments.

    With `connections`, this process uses at most so many connections to the database at the same time.
    """
    return PostgresBackend(PostgresConnection(url, read_only, connections))


class PostgresBackend:
    """PostgreSQL database that contains experiments; see `Backend`."""

    def __init__(self, database: PostgresConnection) -> None:
        self._database = database

    def log(self, name: str) -> PostgresLog | None:
        """Return the event log of the experiment with this name, or None if there is none."""
        found = self._database.run("SELECT id FROM tideproof.experiments WHERE name = %s", (name,))
        return PostgresLog(self._database, found[0][0]) if found else None

    def import_experiment(self, name: str, whole: ExperimentContents) -> None:
        """Create an experiment with all of its contents, in one transaction."""
        if not self.create(name, whole)[1]:
            raise InputError(f"an experiment named {name!r} already exists: choose another name")

    def create(self, name: str, contents: ExperimentContents) -> tuple[PostgresLog, bool]:
        """Create an experiment unless its name is taken, in one transaction.

        Return the event log under that name, and whether this call created it.
        """
        is_uncertain = False

        def work() -> PostgresLog | None:
            nonlocal is_uncertain
            try:
                self._database.begin("SELECT")
                made = self._database.send(
                    "INSERT INTO tideproof.experiments (name, about) VALUES (%s, %s) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    (name, contents.about),
                )
                if not made:
                    return None
                log = PostgresLog(self._database, made[0][0])
                for writer in contents.writers:
                    log.add_writer(writer)
                log.append(contents.entries, contents.answers, None)
                is_uncertain = True
                try:
                    log.commit()
                except StoreError as error:
                    is_uncertain = isinstance(error, ConnectionLost)
                    raise
                return log
            finally:
                self._database.roll_back()

        try:
            created = self._database.retry(work)
            if created is not None:
                return created, True
            log = self.log(name)
            assert log is not None
            # The hash is the same if the server committed but the connection was lost before its reply.
            first = contents.entries[0]
            return log, log.read(0, 1)[0].hash == first.hash
        except StoreError as error:
            if not is_uncertain:
                raise
            raise StoreError(
                f"it is unknown whether the experiment {name!r} was created: {error}. Repeat the call, with "
                f"the same idempotency key if it had one"
            ) from error

    def delete_experiment(self, name: str) -> None:
        """Delete everything that the database contains about an experiment, in one transaction.

        No other process can write events meanwhile.
        """
        found = self._database.run("SELECT id FROM tideproof.experiments WHERE name = %s", (name,))
        if not found:
            raise UnknownName(f"there is no experiment named {name!r}")
        id = found[0][0]
        statements = [
            "ALTER TABLE tideproof.events DISABLE TRIGGER events_stay",
            *(f"DELETE FROM tideproof.{table} WHERE experiment = {id:d}" for table in _OWN_TABLES),
            "ALTER TABLE tideproof.events ENABLE TRIGGER events_stay",
            f"DELETE FROM tideproof.experiments WHERE id = {id:d}",
            *(f"DELETE FROM tideproof.{table} WHERE experiment = %s" for table in WEBHOOK_TABLES),
        ]

        def work() -> None:
            try:
                self._database.begin(f"SELECT FROM tideproof.experiments WHERE id = {id:d} FOR UPDATE")
                self._database.commit("; ".join(statements), (name,) * len(WEBHOOK_TABLES))
            finally:
                self._database.roll_back()

        self._database.retry(work)

    def list_experiments(self) -> list[ExperimentListing]:
        """Return the name and a summary of every experiment in a store, sorted by name."""
        rows = self._database.run(
            "SELECT name, about, e.seq, e.pulls, e.at FROM tideproof.experiments, LATERAL (SELECT * FROM "
            'tideproof.events WHERE experiment = id ORDER BY seq DESC LIMIT 1) AS e ORDER BY name COLLATE "C"'
        )
        return [ExperimentListing(*row) for row in rows]

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one SQL statement in a transaction of its own and return its rows."""
        rows: list[Any] = self._database.run(sql.replace("~", "tideproof.").replace("?", "%s"), values)
        return rows

    def find_faults(self) -> list[str]:
        """Check tables and triggers of the database, and return a sentence for each fault.

        The server checks its own files.
        """
        lost = self._database.run(
            "SELECT name FROM tideproof.experiments WHERE NOT EXISTS "
            "(SELECT FROM tideproof.events WHERE experiment = id) ORDER BY name"
        )
        there = self._database.run(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'tideproof.events'::regclass AND tgenabled <> 'D'"
        )
        return [
            *(f"the experiment {name!r} has lost all its events" for (name,) in lost),
            *(f"the trigger {name!r} is missing" for name in TRIGGERS if (name,) not in there),
        ]

    def close(self) -> None:
        """Close the database connection; the next call opens a new one."""
        self._database.close()


class PostgresLog:
    """Event log of one experiment in a PostgreSQL database; see `ExperimentLog`."""

    def __init__(self, database: PostgresConnection, experiment: int) -> None:
        self.database, self._id = database, experiment
        self._seen: int | None = None  # number of the last event that was read or written
        # Entries that `begin` fetched, and the number of the event after which they come
        self._fetched: tuple[int, list[LogEntry]] | None = None
        self._end: int | None = None  # number of the last event that was appended in this transaction
        self._sql: list[str] = []  # statements that the commit will send
        self._values: list[Any] = []

    def read(self, after: int, upto: int | None = None) -> list[LogEntry]:
        """Return the committed entries of an event log that follow entry number `after`.

        With `upto`, entries with a number above `upto` are left out. The call never blocks writers.
        """
        if upto is None and self._fetched is not None and self._fetched[0] == after:
            return self._fetched[1]
        last = "" if upto is None else f" AND e.seq <= {upto:d}"
        sql = _READ.format(after="%s", last=last, id="%s")
        found = self._as_entries(self._run(sql, (self._id, after, self._id)))
        if upto is None:
            self._seen = found[-1].seq if found else after
        return found

    def _as_entries(self, rows: list[Any]) -> list[LogEntry]:
        """Convert rows of the query `_READ` to entries of the event log.

        An entry that sets a salt for hashing unit IDs gets this salt from the table of salts.
        """
        found = list(map(LogEntry._make, rows))
        if found and found[0].seq == 0:
            raise ExperimentDeleted
        for index, each in enumerate(found):
            if each.record.startswith('["Salted"'):
                found[index] = each._replace(erasable=self._salt("seq = %s", each.seq))
        return found

    def read_salt(self, upto: int) -> str:
        """Return the salt with which unit IDs were hashed after event number `upto`.

        The result is "" if the salt was deleted.
        """
        return self._salt("seq <= %s", upto)

    def _salt(self, where: str, seq: int) -> str:
        """Return the newest salt for hashing unit IDs among the database rows that meet an SQL condition.

        The result is "" if there is none.
        """
        rows = self._run(
            f"SELECT salt FROM tideproof.salts WHERE experiment = %s AND {where} ORDER BY seq DESC LIMIT 1",
            (self._id, seq),
        )
        return rows[0][0] if rows else ""

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that blocks other writers of the event log.

        The server queues waiting writers.
        """
        self.roll_back()
        lock = f"SELECT FROM tideproof.experiments WHERE id = {self._id:d} FOR UPDATE"
        if self._seen is None:
            self.database.begin(lock)
            return
        rows = self.database.begin(
            lock,
            _READ.format(after=self._seen, last="", id=self._id),
        )
        found = self._as_entries(rows)
        self._fetched = self._seen, found
        self._seen = found[-1].seq if found else self._seen

    def append(self, entries: Sequence[LogEntry], answers: Sequence[StoredAnswer], about: str | None) -> None:
        """Write new entries of the event log, as part of the open transaction.

        Also write results of commands and, if given, a new summary of the experiment.
        """
        rows = [(self._id, e.seq, e.at, e.pulls, e.record, e.writer, e.hash) for e in entries]
        self._insert("events", rows)
        self._end = entries[-1].seq if entries else self._end
        for each in entries:
            if each.record.startswith('["Salted"'):
                self._add("DELETE FROM tideproof.salts WHERE experiment = %s", (self._id,))
                if each.erasable:
                    self._insert("salts", [(self._id, each.seq, each.erasable)])
            elif each.record.startswith('["UnitForgotten"'):
                self._add(
                    "DELETE FROM tideproof.unit_hashes "
                    f"WHERE experiment = %s AND substr(unit, {NONCE + 1}) = %s",
                    (self._id, each.erasable),
                )
                self._add("DELETE FROM tideproof.snapshots WHERE experiment = %s", (self._id,))
            elif each.erasable:
                self._insert("unit_hashes", [(self._id, each.seq, each.erasable)])
        self._insert("answers", [(self._id, *answer) for answer in answers])
        if about is not None:
            self._add("UPDATE tideproof.experiments SET about = %s WHERE id = %s", (about, self._id))

    def add_writer(self, writer: Writer) -> None:
        """Store the identifier of a process that writes the event log, and the fingerprint of its code."""
        self._insert("writers", [(self._id, *writer)], " ON CONFLICT DO NOTHING")

    def find_answer(self, key: str) -> StoredAnswer | None:
        """Return the stored result of the command with this idempotency key, or None."""
        rows = self._run(
            "SELECT key, seq, command, answer FROM tideproof.answers WHERE experiment = %s AND key = %s",
            (self._id, key),
        )
        return StoredAnswer(*rows[0]) if rows else None

    def commit(self) -> None:
        """Commit the transaction."""
        self.database.commit("; ".join(self._sql), self._values)
        self._seen = self._end or self._seen
        self._forget()

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._forget()
        self.database.roll_back()

    def read_snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest undamaged snapshot of an experiment's state, or None.

        Only snapshots that the code version `mark` wrote are considered.
        """
        last = "" if upto is None else f"AND s.seq <= {upto:d} "
        rows = self._run(
            "SELECT s.seq, s.mark, s.hash, s.contents, s.digest FROM tideproof.snapshots AS s "
            "JOIN tideproof.events AS e ON e.experiment = s.experiment AND e.seq = s.seq AND e.hash = s.hash "
            f"WHERE s.experiment = %s AND s.mark = %s {last}ORDER BY s.seq DESC",
            (self._id, mark),
        )
        for *found, known in rows:
            if snapshot_digest(snapshot := Snapshot(*found)) == known:
                return snapshot
        return None

    def last_snapshot_size(self, mark: str) -> int:
        """Return how many events the newest snapshot of an experiment's state includes.

        Only snapshots of the code version `mark` are considered; without one, the result is 0.
        """
        rows = self._run(
            "SELECT max(seq) FROM tideproof.snapshots WHERE experiment = %s AND mark = %s", (self._id, mark)
        )
        return rows[0][0] or 0

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot of an experiment's state, unless a newer one exists.

        Snapshots that it replaces are deleted.
        """
        own = self._id, snapshot.mark
        self.roll_back()
        self._run(
            "INSERT INTO tideproof.snapshots SELECT %s, %s, %s, %s, %s, %s WHERE NOT EXISTS (SELECT FROM "
            "tideproof.snapshots WHERE experiment = %s AND mark = %s AND seq >= %s) AND NOT EXISTS (SELECT "
            "FROM tideproof.events WHERE experiment = %s AND seq > %s AND "
            "starts_with(record, '[\"UnitForgotten\"')) ON CONFLICT DO NOTHING",
            (
                *own,
                snapshot.seq,
                snapshot.hash,
                snapshot_digest(snapshot),
                snapshot.contents,
                *own,
                snapshot.seq,
                self._id,
                snapshot.seq,
            ),
        )
        self._run(
            "DELETE FROM tideproof.snapshots AS old WHERE experiment = %s AND (EXISTS (SELECT FROM "
            "tideproof.snapshots WHERE experiment = old.experiment AND mark = old.mark AND seq > old.seq) "
            "OR mark NOT IN (SELECT mark FROM tideproof.snapshots WHERE experiment = %s GROUP BY mark "
            "ORDER BY max(seq) DESC LIMIT %s))",
            (self._id, self._id, MAX_SNAPSHOT_MARKS),
        )

    def read_writers(self) -> list[Writer]:
        """Return identifier and code fingerprint of every process that has written to the event log."""
        rows = self._run(
            "SELECT writer, mark, version FROM tideproof.writers WHERE experiment = %s", (self._id,)
        )
        return [Writer(*row) for row in rows]

    def read_answers(self) -> list[StoredAnswer]:
        """Return the stored results of all commands that had an idempotency key, sorted by key."""
        rows = self._run(
            "SELECT key, seq, command, answer FROM tideproof.answers WHERE experiment = %s "
            'ORDER BY key COLLATE "C"',
            (self._id,),
        )
        return [StoredAnswer(*row) for row in rows]

    def read_marks(self) -> list[str]:
        """Return the code versions that wrote the stored snapshots of an experiment's state.

        The versions of damaged snapshots are included.
        """
        rows = self._run(
            "SELECT DISTINCT mark FROM tideproof.snapshots WHERE experiment = %s ORDER BY mark", (self._id,)
        )
        return [mark for (mark,) in rows]

    def close(self) -> None:
        """Close the database connection; the next call opens a new one."""
        self._forget()
        self.database.close()

    def _run(self, sql: str, values: Any) -> list[Any]:
        """Send the queued SQL statements of the transaction, then run a query and return its rows."""
        self._flush()
        return self.database.run(sql, values)

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]], end: str = "") -> None:
        """Queue INSERT statements for rows, to be sent before the next query or with the commit."""
        for first in range(0, len(rows), _MANY):
            some = rows[first : first + _MANY]
            row = f"({', '.join(['%s'] * len(some[0]))})"
            values = [value for each in some for value in each]
            self._add(f"INSERT INTO tideproof.{table} VALUES {', '.join([row] * len(some))}{end}", values)
            if len(rows) > _MANY:
                self._flush()

    def _add(self, sql: str, values: Sequence[Any]) -> None:
        """Queue an SQL statement, to be sent before the next query or with the commit."""
        self._sql.append(sql)
        self._values.extend(values)

    def _flush(self) -> None:
        """Send the queued SQL statements to the server."""
        if self._sql:
            sql, values = "; ".join(self._sql), self._values
            self._sql, self._values = [], []
            self.database.send(sql, values)

    def _forget(self) -> None:
        """Discard the unsent SQL statements, and the log entries that were fetched in this transaction."""
        self._fetched, self._end, self._sql, self._values = None, None, [], []
