"""The file itself: how it is opened, what it refuses, and stored ones."""

import shutil
from contextlib import closing

import apsw
import pytest

import tideproof as tp
from store.stored_store import SQLITE_FILE, check
from store.stores import check_refold, database_of, memory_of, opened, play, url_of
from tideproof.store import sqlite_schema
from tideproof.store.sqlite_backend import SqliteBackend
from tideproof.store.sqlite_connection import SqliteConnection


def test_pragmas_are_those_that_survive_a_power_failure(tmp_path):
    connection = database_of(opened(tmp_path)).connection
    read = {name: connection.pragma(name) for name in ("journal_mode", "synchronous", "mmap_size",
                                                       "wal_autocheckpoint", "application_id")}  # fmt: skip
    assert read == {"journal_mode": "wal", "synchronous": 2, "mmap_size": 0, "wal_autocheckpoint": 1000,
                    "application_id": sqlite_schema.APPLICATION}  # fmt: skip


@pytest.mark.parametrize("read_only", [False, True])
def test_a_new_connection_waits_a_minute_for_others(tmp_path, read_only):
    opened(tmp_path).close()
    database = SqliteConnection(str(tmp_path / "shop.db"), read_only)
    assert database.connection.pragma("busy_timeout") == 60_000  # milliseconds
    database.close()


def test_a_store_that_was_copied_shows_what_comes_later(tmp_path):
    """A copy ends its read transaction: otherwise the next one fails, or has what the first one had."""
    run = opened(tmp_path)
    source = SqliteBackend(str(tmp_path / "shop.db"), read_only=True)
    for number in range(1, 4):
        run.note("news")
        source.copy_to(str(tmp_path / f"{number}.db"), lambda share: None)
        copy = SqliteBackend(str(tmp_path / f"{number}.db"))
        for each in (source, copy):
            assert [found.events for found in each.list_experiments()] == [number + 1]
        copy.close()
    source.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET record = '[]' WHERE seq = 2",
        "DELETE FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events SELECT experiment, seq, at, pulls, '[]', writer, hash FROM events",
        "INSERT INTO events SELECT experiment, seq + 9, at, pulls, '[]', writer, hash FROM events WHERE seq = 1",
    ],
)
def test_events_can_only_be_added_at_the_end(tmp_path, statement):
    run = opened(tmp_path)
    play(run, 3)
    connection = database_of(run).connection
    with pytest.raises(apsw.ConstraintError, match="an event"):
        connection.execute(statement)
    check_refold(run)


def test_an_event_that_was_changed_is_noticed(tmp_path):
    run = opened(tmp_path)
    play(run, 3)
    connection = database_of(run).connection
    connection.execute("DROP TRIGGER events_stay")
    connection.execute("UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 4")
    with pytest.raises(tp.errors.InputError, match="damaged: event 4"):
        tp.Experiment.open(url_of(tmp_path), "prices")


def test_a_salt_is_gone_from_the_file_once_it_is_forgotten(tmp_path):
    run, other = opened(tmp_path), opened(tmp_path)
    pull = run.ask(unit="visitor", environment=1)
    assert other.ask(unit="visitor", environment=2) == pull
    salt = memory_of(run).book.salt
    assert len(salt) == 32
    check_refold(run)
    run.forget_units()
    assert other.ask(unit="visitor", environment=1) != pull
    assert salt not in str(other.events())
    check_refold(run)
    run.close(), other.close()  # the last one brings everything into the file
    assert salt.encode() not in (tmp_path / "shop.db").read_bytes()


def test_a_stored_file_of_this_schema_opens(tmp_path):
    shutil.copy(SQLITE_FILE, tmp_path / "shop.db")
    assert database_of(tp.Experiment.open(url_of(tmp_path), "prices")).find_faults() == []
    check(url_of(tmp_path))


def test_a_file_of_another_schema_is_refused(tmp_path):
    run = opened(tmp_path)
    run.close()
    path = tmp_path / "shop.db"
    for version, remedy in ((1, "export each experiment with the version"), (99, "a newer version")):
        with closing(apsw.Connection(str(path))) as connection:
            connection.pragma("user_version", version)
        before = path.read_bytes()
        for opening in (
            lambda: tp.Experiment.open(url_of(tmp_path), "prices"),
            lambda: tp.experiments(url_of(tmp_path)),
        ):
            with pytest.raises(
                tp.errors.InputError, match=rf"has version {version} .* only version 5: .*{remedy}"
            ):
                opening()
        assert path.read_bytes() == before


@pytest.mark.parametrize("where", ["{}", "sqlite:///{}", "duckdb:///{}"])
def test_a_store_is_no_log(tmp_path, monkeypatch, where):
    """Whoever has it open may not open it in another way: not even to look what it is."""
    path = str(tmp_path / "shop.db")
    run = tp.Experiment.open(f"sqlite:///{path}", "x", ["A", "B"])
    names = {"arm": "arm", "environment": "environment", "reward": "reward"}
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", None)
        with pytest.raises(tp.errors.InputError, match="is a store of experiments, not a log"):
            tp.fit(where.format(path), **names)
    run.close()
    with pytest.raises(tp.errors.InputError, match="is a store of experiments, not a log"):
        tp.fit(where.format(path), **names)
