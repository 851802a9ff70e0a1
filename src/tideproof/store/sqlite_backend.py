"""Experiments in a SQLite file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.errors import InputError
from tideproof.store.backend import MARKS, Answer, Entry, Listed, Snapshot, Whole, Writer, digest
from tideproof.store.sqlite_connection import Database, Version
from tideproof.store.store_urls import sqlite_path

_READ = (
    "SELECT seq, at, pulls, record, '', writer, hash FROM events "
    "WHERE experiment = ? AND seq > ? AND seq <= ? ORDER BY seq"
)
_ADD = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_END = 2**62


def opened(url: str, read_only: bool = False) -> SqlitePlace:
    """Return the store in a file."""
    return SqlitePlace(sqlite_path(url), read_only)


class SqlitePlace:
    """A file with experiments."""

    def __init__(self, path: str, read_only: bool = False) -> None:
        self._database = Database(path, read_only)

    def log(self, name: str) -> SqliteLog | None:
        """Return the log of an experiment, None if there is none of that name."""
        found = self._database.run("SELECT id FROM experiments WHERE name = ?", (name,))
        return SqliteLog(self._database, found[0][0]) if found else None

    def create(self, name: str, about: str, first: Entry, writer: Writer) -> SqliteLog:
        """Return the log of a new experiment that has this entry; or that of the same name."""
        self._database.begin()
        try:
            return self.log(name) or self._begun(name, Whole(about, [first], [], [writer]))
        finally:
            self._database.roll_back()

    def put(self, name: str, whole: Whole) -> None:
        """Begin an experiment with all of this, or nothing of it."""
        self._database.begin()
        try:
            if self.log(name) is not None:
                raise InputError(f"there is an experiment {name!r} already: choose another name")
            self._begun(name, whole)
        finally:
            self._database.roll_back()

    def _begun(self, name: str, whole: Whole) -> SqliteLog:
        """Write a new experiment, and commit."""
        self._database.run("INSERT INTO experiments (name, about) VALUES (?, ?)", (name, whole.about))
        log = self.log(name)
        assert log is not None
        for writer in whole.writers:
            log.sign(writer)
        log.append(whole.entries, whole.answers, None)
        log.commit()
        return log

    def listed(self) -> list[Listed]:
        """Return all experiments, by name."""
        rows = self._database.run(
            "SELECT name, about, e.seq, e.pulls, e.at FROM experiments JOIN events AS e ON e.experiment = id "
            "AND e.seq = (SELECT max(seq) FROM events WHERE experiment = id) ORDER BY name"
        )
        return [Listed(*row) for row in rows]

    def faults(self) -> list[str]:
        """Return what is wrong with the file itself."""
        return self._database.faults()

    def copy_to(self, path: str, show: Callable[[float], None]) -> None:
        """Write all of it to a file that is not there, as it is at one moment, while others go on."""
        self._database.copy_to(path, show)

    def statement(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one statement by itself, and return its rows."""
        rows: list[Any] = self._database.run(sql.replace("~", ""), values)
        return rows

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


class SqliteLog:
    """The events of one experiment in a file."""

    def __init__(self, database: Database, experiment: int) -> None:
        self.database, self._id = database, experiment
        self._end: tuple[int, Version] = 0, Version(0, 0)  # the last entry, and in which version of the file
        self._added = 0  # the last entry of the transaction

    def read(self, after: int, upto: int | None = None) -> list[Entry]:
        """Return the entries behind number `after`."""
        if upto is None and self.database.is_locked and self._end == (after, self.database.version):
            return []
        rows = self.database.run(_READ, (self._id, after, _END if upto is None else upto))
        found = list(map(Entry._make, rows))
        if upto is None:
            self._end = found[-1].seq if found else after, self.database.version
        for place, each in enumerate(found):
            if each.record.startswith('["Salted"'):
                found[place] = each._replace(salt=self._salt("seq = ?", each.seq))
        return found

    def salt(self, upto: int) -> str:
        """Return the salt that the last event up to that number set."""
        return self._salt("seq <= ?", upto)

    def _salt(self, where: str, seq: int) -> str:
        rows = self.database.run(
            f"SELECT salt FROM salts WHERE experiment = ? AND {where} ORDER BY seq DESC LIMIT 1",
            (self._id, seq),
        )
        return rows[0][0] if rows else ""

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that locks out all other writers."""
        self.database.begin(waiting)

    def append(self, entries: Sequence[Entry], answers: Sequence[Answer], about: str | None) -> None:
        """Add entries and answers in the transaction."""
        rows = [(self._id, e.seq, e.at, e.pulls, e.record, e.writer, e.hash) for e in entries]
        if len(rows) == 1:  # as nearly always, and twice as quick
            self.database.run(_ADD, rows[0])
        else:
            self.database.many(_ADD, rows)
        for each in entries:
            if each.record.startswith('["Salted"'):
                self._set_salt(each)
        self._added = entries[-1].seq if entries else 0
        if answers:
            said = [(self._id, *answer) for answer in answers]
            self.database.many("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", said)
        if about is not None:
            self.database.run("UPDATE experiments SET about = ? WHERE id = ?", (about, self._id))

    def _set_salt(self, entry: Entry) -> None:
        """Replace the salt: the old one is overwritten in the file, too."""
        self.database.run("PRAGMA secure_delete = 1")
        self.database.run("DELETE FROM salts WHERE experiment = ?", (self._id,))
        if entry.salt:
            self.database.run("INSERT INTO salts VALUES (?, ?, ?)", (self._id, entry.seq, entry.salt))
        self.database.run("PRAGMA secure_delete = 0")

    def sign(self, writer: Writer) -> None:
        """Say in the transaction who writes."""
        self.database.run("INSERT OR IGNORE INTO writers VALUES (?, ?, ?, ?)", (self._id, *writer))

    def answer(self, key: str) -> Answer | None:
        """Return what was answered under a key."""
        rows = self.database.run(
            "SELECT key, seq, command, answer FROM answers WHERE experiment = ? AND key = ?", (self._id, key)
        )
        return Answer(*rows[0]) if rows else None

    def commit(self) -> None:
        """Make the transaction last."""
        self.database.run("COMMIT")
        if self._added:
            self._end, self._added = (self._added, self.database.version), 0

    def roll_back(self) -> None:
        """Forget the transaction, if there is one."""
        self._added = 0
        self.database.roll_back()

    def snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest whole snapshot of that mark."""
        rows = self.database.run(
            "SELECT s.seq, s.mark, s.hash, s.contents, s.digest FROM snapshots AS s "
            "JOIN events AS e ON e.experiment = s.experiment AND e.seq = s.seq AND e.hash = s.hash "
            "WHERE s.experiment = ? AND s.mark = ? AND s.seq <= ? ORDER BY s.seq DESC",
            (self._id, mark, _END if upto is None else upto),
        )
        for *found, known in rows:
            if digest(snapshot := Snapshot(*found)) == known:
                return snapshot
        return None

    def last_snapshot(self, mark: str) -> int:
        """Return how many events the newest snapshot of that mark has."""
        rows = self.database.run(
            "SELECT max(seq) FROM snapshots WHERE experiment = ? AND mark = ?", (self._id, mark)
        )
        return rows[0][0] or 0

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot instead of older ones of its mark."""
        own = self._id, snapshot.mark
        self.database.begin()
        try:
            newer = self.database.run(
                "SELECT 1 FROM snapshots WHERE experiment = ? AND mark = ? AND seq >= ?", (*own, snapshot.seq)
            )
            if newer:
                return
            self.database.run("DELETE FROM snapshots WHERE experiment = ? AND mark = ?", own)
            self.database.run(
                "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)",
                (*own, snapshot.seq, snapshot.hash, digest(snapshot), snapshot.contents),
            )
            self.database.run(
                "DELETE FROM snapshots WHERE experiment = ? AND mark NOT IN (SELECT mark FROM snapshots "
                "WHERE experiment = ? GROUP BY mark ORDER BY max(seq) DESC LIMIT ?)",
                (self._id, self._id, MARKS),
            )
            self.commit()
        finally:
            self.roll_back()

    def writers(self) -> list[Writer]:
        """Return all who wrote."""
        rows = self.database.run(
            "SELECT writer, mark, version FROM writers WHERE experiment = ?", (self._id,)
        )
        return [Writer(*row) for row in rows]

    def answers(self) -> list[Answer]:
        """Return what was answered under all keys."""
        rows = self.database.run(
            "SELECT key, seq, command, answer FROM answers WHERE experiment = ? ORDER BY key", (self._id,)
        )
        return [Answer(*row) for row in rows]

    def marks(self) -> list[str]:
        """Return the marks of all snapshots."""
        rows = self.database.run(
            "SELECT DISTINCT mark FROM snapshots WHERE experiment = ? ORDER BY mark", (self._id,)
        )
        return [mark for (mark,) in rows]

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()
