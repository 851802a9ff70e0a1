"""Experiments in a PostgreSQL database.

Who writes holds the lock on the experiment's row. A command takes two round trips: one begins the
transaction, locks and fetches what others appended; one appends and commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.errors import InputError
from tideproof.store.backend import MARKS, Answer, Entry, Listed, Snapshot, Whole, Writer, digest
from tideproof.store.postgres_connection import Server
from tideproof.store.postgres_schema import TRIGGERS

_MANY = 1000  # rows in one statement
_COLUMNS = "seq, at, pulls, record, '', writer, hash"


def opened(url: str, read_only: bool = False) -> PostgresPlace:
    """Return the store in a database."""
    return PostgresPlace(Server(url, read_only))


class PostgresPlace:
    """A database with experiments."""

    def __init__(self, database: Server) -> None:
        self._database = database

    def log(self, name: str) -> PostgresLog | None:
        """Return the log of an experiment, None if there is none of that name."""
        found = self._database.run("SELECT id FROM tideproof.experiments WHERE name = %s", (name,))
        return PostgresLog(self._database, found[0][0]) if found else None

    def create(self, name: str, about: str, first: Entry, writer: Writer) -> PostgresLog:
        """Return the log of a new experiment that has this entry; or that of the same name."""
        return self._begun(name, Whole(about, [first], [], [writer]))

    def put(self, name: str, whole: Whole) -> None:
        """Begin an experiment with all of this, or nothing of it."""
        log, last = self._begun(name, whole), whole.entries[-1]
        there = log.read(last.seq - 1, last.seq)
        if not there or there[0].hash != last.hash:  # the same if a commit was kept whose answer was lost
            raise InputError(f"there is an experiment {name!r} already: choose another name")

    def _begun(self, name: str, whole: Whole) -> PostgresLog:
        """Write a new experiment, unless there is one of that name, and return what is there."""

        def work() -> None:
            try:
                self._database.begin("SELECT")
                made = self._database.send(
                    "INSERT INTO tideproof.experiments (name, about) VALUES (%s, %s) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    (name, whole.about),
                )
                if made:
                    log = PostgresLog(self._database, made[0][0])
                    for writer in whole.writers:
                        log.sign(writer)
                    log.append(whole.entries, whole.answers, None)
                    log.commit()
            finally:
                self._database.roll_back()

        self._database.again(work)
        log = self.log(name)
        assert log is not None
        return log

    def listed(self) -> list[Listed]:
        """Return all experiments, by name."""
        rows = self._database.run(
            "SELECT name, about, e.seq, e.pulls, e.at FROM tideproof.experiments, LATERAL (SELECT * FROM "
            'tideproof.events WHERE experiment = id ORDER BY seq DESC LIMIT 1) AS e ORDER BY name COLLATE "C"'
        )
        return [Listed(*row) for row in rows]

    def statement(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one statement by itself, and return its rows."""
        rows: list[Any] = self._database.run(sql.replace("~", "tideproof.").replace("?", "%s"), values)
        return rows

    def faults(self) -> list[str]:
        """Return what is wrong with the tables; of the rest the server takes care."""
        lost = self._database.run(
            "SELECT name FROM tideproof.experiments WHERE NOT EXISTS "
            "(SELECT FROM tideproof.events WHERE experiment = id) ORDER BY name"
        )
        there = self._database.run(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'tideproof.events'::regclass AND tgenabled <> 'D'"
        )
        return [
            *(f"the experiment {name!r} has lost all its events" for (name,) in lost),
            *(f"{name!r} is missing" for name in TRIGGERS if (name,) not in there),
        ]

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


class PostgresLog:
    """The events of one experiment in a database."""

    def __init__(self, database: Server, experiment: int) -> None:
        self.database, self._id = database, experiment
        self._seen: int | None = None  # number of the last event that was read or written
        self._fetched: tuple[int, list[Entry]] | None = None  # in this transaction: all behind a number
        self._end: int | None = None  # number of the last event that was appended in this transaction
        self._sql: list[str] = []  # what the commit will send
        self._values: list[Any] = []

    def read(self, after: int, upto: int | None = None) -> list[Entry]:
        """Return the entries behind number `after`."""
        if upto is None and self._fetched is not None and self._fetched[0] == after:
            return self._fetched[1]
        last = "" if upto is None else f"AND seq <= {upto:d} "
        found = self._filled(
            self._run(
                f"SELECT {_COLUMNS} FROM tideproof.events WHERE experiment = %s AND seq > %s {last}"
                f"ORDER BY seq",
                (self._id, after),
            )
        )
        if upto is None:
            self._seen = found[-1].seq if found else after
        return found

    def _filled(self, rows: list[Any]) -> list[Entry]:
        """Return rows as entries, with their salts."""
        found = list(map(Entry._make, rows))
        for place, each in enumerate(found):
            if each.record.startswith('["Salted"'):
                found[place] = each._replace(salt=self._salt("seq = %s", each.seq))
        return found

    def salt(self, upto: int) -> str:
        """Return the salt that the last event up to that number set."""
        return self._salt("seq <= %s", upto)

    def _salt(self, where: str, seq: int) -> str:
        rows = self._run(
            f"SELECT salt FROM tideproof.salts WHERE experiment = %s AND {where} ORDER BY seq DESC LIMIT 1",
            (self._id, seq),
        )
        return rows[0][0] if rows else ""

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that locks out all other writers; the server lets them in in turn."""
        self.roll_back()
        lock = f"SELECT FROM tideproof.experiments WHERE id = {self._id:d} FOR UPDATE"
        if self._seen is None:
            self.database.begin(lock)
            return
        rows = self.database.begin(
            lock,
            f"SELECT {_COLUMNS} FROM tideproof.events WHERE experiment = {self._id:d} "
            f"AND seq > {self._seen:d} ORDER BY seq",
        )
        found = self._filled(rows)
        self._fetched = self._seen, found
        self._seen = found[-1].seq if found else self._seen

    def append(self, entries: Sequence[Entry], answers: Sequence[Answer], about: str | None) -> None:
        """Add entries and answers in the transaction."""
        rows = [(self._id, e.seq, e.at, e.pulls, e.record, e.writer, e.hash) for e in entries]
        self._insert("events", rows)
        self._end = entries[-1].seq if entries else self._end
        for each in entries:
            if each.record.startswith('["Salted"'):
                self._add("DELETE FROM tideproof.salts WHERE experiment = %s", (self._id,))
                if each.salt:
                    self._insert("salts", [(self._id, each.seq, each.salt)])
        self._insert("answers", [(self._id, *answer) for answer in answers])
        if about is not None:
            self._add("UPDATE tideproof.experiments SET about = %s WHERE id = %s", (about, self._id))

    def sign(self, writer: Writer) -> None:
        """Say in the transaction who writes."""
        self._insert("writers", [(self._id, *writer)], " ON CONFLICT DO NOTHING")

    def answer(self, key: str) -> Answer | None:
        """Return what was answered under a key."""
        rows = self._run(
            "SELECT key, seq, command, answer FROM tideproof.answers WHERE experiment = %s AND key = %s",
            (self._id, key),
        )
        return Answer(*rows[0]) if rows else None

    def commit(self) -> None:
        """Make the transaction last."""
        self.database.commit("; ".join(self._sql), self._values)
        self._seen = self._end or self._seen
        self._forget()

    def roll_back(self) -> None:
        """Forget the transaction, if there is one."""
        self._forget()
        self.database.roll_back()

    def snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest whole snapshot of that mark."""
        last = "" if upto is None else f"AND s.seq <= {upto:d} "
        rows = self._run(
            "SELECT s.seq, s.mark, s.hash, s.contents, s.digest FROM tideproof.snapshots AS s "
            "JOIN tideproof.events AS e ON e.experiment = s.experiment AND e.seq = s.seq AND e.hash = s.hash "
            f"WHERE s.experiment = %s AND s.mark = %s {last}ORDER BY s.seq DESC",
            (self._id, mark),
        )
        for *found, known in rows:
            if digest(snapshot := Snapshot(*found)) == known:
                return snapshot
        return None

    def last_snapshot(self, mark: str) -> int:
        """Return how many events the newest snapshot of that mark has."""
        rows = self._run(
            "SELECT max(seq) FROM tideproof.snapshots WHERE experiment = %s AND mark = %s", (self._id, mark)
        )
        return rows[0][0] or 0

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot instead of older ones of its mark; whoever comes with a newer one wins."""
        own = self._id, snapshot.mark
        self.roll_back()
        self._run(
            "INSERT INTO tideproof.snapshots SELECT %s, %s, %s, %s, %s, %s WHERE NOT EXISTS (SELECT FROM "
            "tideproof.snapshots WHERE experiment = %s AND mark = %s AND seq >= %s) ON CONFLICT DO NOTHING",
            (*own, snapshot.seq, snapshot.hash, digest(snapshot), snapshot.contents, *own, snapshot.seq),
        )
        self._run(
            "DELETE FROM tideproof.snapshots AS old WHERE experiment = %s AND (EXISTS (SELECT FROM "
            "tideproof.snapshots WHERE experiment = old.experiment AND mark = old.mark AND seq > old.seq) "
            "OR mark NOT IN (SELECT mark FROM tideproof.snapshots WHERE experiment = %s GROUP BY mark "
            "ORDER BY max(seq) DESC LIMIT %s))",
            (self._id, self._id, MARKS),
        )

    def writers(self) -> list[Writer]:
        """Return all who wrote."""
        rows = self._run(
            "SELECT writer, mark, version FROM tideproof.writers WHERE experiment = %s", (self._id,)
        )
        return [Writer(*row) for row in rows]

    def answers(self) -> list[Answer]:
        """Return what was answered under all keys."""
        rows = self._run(
            "SELECT key, seq, command, answer FROM tideproof.answers WHERE experiment = %s "
            'ORDER BY key COLLATE "C"',
            (self._id,),
        )
        return [Answer(*row) for row in rows]

    def marks(self) -> list[str]:
        """Return the marks of all snapshots."""
        rows = self._run(
            "SELECT DISTINCT mark FROM tideproof.snapshots WHERE experiment = %s ORDER BY mark", (self._id,)
        )
        return [mark for (mark,) in rows]

    def close(self) -> None:
        """Let go of the database."""
        self._forget()
        self.database.close()

    def _run(self, sql: str, values: Any) -> list[Any]:
        """Return the rows of a statement, which sees what the transaction has added so far."""
        self._flush()
        return self.database.run(sql, values)

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]], end: str = "") -> None:
        for first in range(0, len(rows), _MANY):
            some = rows[first : first + _MANY]
            row = f"({', '.join(['%s'] * len(some[0]))})"
            values = [value for each in some for value in each]
            self._add(f"INSERT INTO tideproof.{table} VALUES {', '.join([row] * len(some))}{end}", values)
            if len(rows) > _MANY:
                self._flush()

    def _add(self, sql: str, values: Sequence[Any]) -> None:
        self._sql.append(sql)
        self._values.extend(values)

    def _flush(self) -> None:
        if self._sql:
            sql, values = "; ".join(self._sql), self._values
            self._sql, self._values = [], []
            self.database.send(sql, values)

    def _forget(self) -> None:
        self._fetched, self._end, self._sql, self._values = None, None, [], []
