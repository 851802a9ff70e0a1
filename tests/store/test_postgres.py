"""The server itself: how it is used, what it refuses, old stores, and what happens when it fails."""

import signal
import sys
import threading
import time

import psycopg
import pytest

import tideproof as tp
from store.client_processes import check_acknowledged, lines_of, start
from store.stored_store import check, restore
from store.stores import ARMS, check_refold, database_of, log_of, memory_of, opened, play, run_sql
from tideproof.store import log_replay
from tideproof.store.backend import ConnectionLost
from tideproof.store.group_commit import CommitGroup
from tideproof.store.postgres import postgres_errors, postgres_pool
from tideproof.store.store_urls import open_backend


def settings_of(run, *names):
    return [database_of(run).connection.execute(f"SHOW {name}").fetchone()[0] for name in names]


# -- how it is used


def test_what_is_acknowledged_survives_whatever_the_database_says(postgres):
    name = postgres.partition("?")[0].rpartition("/")[2]
    run_sql(postgres, f"ALTER DATABASE {name} SET synchronous_commit = off")
    run_sql(postgres, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    try:
        run = opened(postgres)
        assert settings_of(run, "synchronous_commit", "fsync") == ["on", "on"]
        database_of(run).begin("SELECT")
        assert settings_of(run, "transaction_isolation") == ["read committed"]
    finally:
        run_sql(postgres, f"ALTER DATABASE {name} RESET ALL")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET record = '[]' WHERE seq = 2", "cannot be changed or deleted"),
        ("DELETE FROM events WHERE seq = 2", "cannot be changed or deleted"),
        ("TRUNCATE events", "cannot be changed or deleted"),
        (
            "INSERT INTO events SELECT experiment, 9, at, pulls, '', writer, hash FROM events WHERE seq = 1",
            "follow",
        ),
        (
            "INSERT INTO events SELECT experiment, 2, at, pulls, '', writer, hash FROM events WHERE seq = 1",
            "follow",
        ),
    ],
)
def test_events_can_only_be_added_at_the_end(postgres, statement, said):
    run = opened(postgres)
    play(run, 3)
    with pytest.raises(psycopg.errors.RaiseException, match=said):
        run_sql(postgres, statement)
    check_refold(run)


def test_the_key_of_events_is_the_last_line_of_defence(postgres):
    run = opened(postgres)
    run_sql(postgres, "ALTER TABLE events DISABLE TRIGGER USER")
    with pytest.raises(psycopg.errors.UniqueViolation):
        run_sql(postgres, "INSERT INTO events SELECT * FROM events")
    run_sql(postgres, "UPDATE events SET record = replace(record, 'prices', 'Prices') || ' '")
    with pytest.raises(tp.errors.InputError, match="damaged: event 1"):
        tp.Experiment.open(postgres, "prices")
    run.close()


def test_a_salt_is_gone_once_it_is_forgotten(postgres):
    run, other = opened(postgres), opened(postgres)
    pull = run.ask(unit="visitor", environment=1)
    assert other.ask(unit="visitor", environment=2) == pull
    assert run_sql(postgres, "SELECT salt FROM salts") == [(memory_of(run).book.salt,)]
    check_refold(run)
    run.forget_units()
    assert run_sql(postgres, "SELECT salt FROM salts") == []
    assert other.ask(unit="visitor", environment=1) != pull
    check_refold(other)


def test_many_events_in_one_transaction(postgres):
    run, source = opened(postgres), tp.Experiment(ARMS, budget=5000)
    log = open_backend(postgres).log("prices")
    group = CommitGroup(log_replay.Position(1, log.read(0, 1)[0].hash))
    for step in range(1000 + 200):
        source.ask(environment=step // 100)
    for event in source.events()[1:]:
        group.add(event, group.end.seq, b"somebody")
    log.begin(lambda: None)
    log.append(group.entries, [], None)
    assert len(run.events()) == 1
    log.commit()
    assert len(run.events()) == 1 + len(group.entries)
    assert len(run.pending_pulls()) == len(group.entries)
    log.close()
    check_refold(run)


def test_a_commit_that_the_server_turns_down_is_noticed(postgres):
    run = opened(postgres)
    database = database_of(run)
    database.begin("SELECT")
    with pytest.raises(tp.errors.StoreError, match="could not be read or written: column"):
        database.send("SELECT nothing")
    with pytest.raises(tp.errors.StoreError, match=r"did not commit the transaction \(status ROLLBACK\)"):
        database.commit()
    play(run, 1)


def test_what_the_server_cannot_promise_is_refused(postgres, monkeypatch):
    monkeypatch.setattr(postgres_pool, "_PROMISES", b"SELECT 'on', 'off'")
    with pytest.raises(tp.errors.InputError, match="has synchronous_commit = off"):
        opened(postgres)


def test_a_full_disk_is_said(postgres):
    said = postgres_errors.explain_error("shop", psycopg.errors.DiskFull("no space left"))
    assert type(said) is tp.errors.StoreError
    assert "is full: nothing was saved" in str(said)


def test_experiments_do_not_wait_for_each_other(postgres):
    one, other = opened(postgres), tp.Experiment.open(postgres, "colours", ["red", "blue"])
    log = log_of(one)
    log.begin(lambda: None)  # and somebody thinks for long
    play(other, 3)
    assert len(one.events()) == 1
    log.roll_back()


def test_who_waits_too_long_is_told_so(postgres):
    run, other = opened(postgres), opened(postgres)
    database_of(run).connection.execute("SET lock_timeout = '50ms'")
    log_of(other).begin(lambda: None)
    with pytest.raises(tp.errors.StoreError, match=r"'postgresql:///.*has been locked by other processes"):
        run.ask(environment=1)
    log_of(other).roll_back()
    play(run, 2)
    check_refold(run)


def test_a_command_fetches_only_what_others_appended(postgres, monkeypatch):
    run, other = opened(postgres), opened(postgres)
    database, fetched = database_of(run), []
    begin = database.begin

    def counted(*statements):
        rows = begin(*statements)
        fetched.append(len(rows))
        return rows

    monkeypatch.setattr(database, "begin", counted)
    play(run, 2)
    play(other, 3)
    play(run, 2)
    run.once("ask", run.ask, unit="visitor", environment="x")
    run.once("again", run.ask, unit="visitor", environment="x")  # an answer, but no event
    run.note("and on")
    assert fetched[1:] == [0, 0, 0, 6, 0, 0, 0, 0, 0, 0]
    check_refold(run)


# -- bad input: one clear line each


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        (
            "postgresql://me:secret@127.0.0.1:1/shop",
            tp.errors.StoreError,
            "cannot connect to 'postgresql://127.0.0.1:1/shop'",
        ),
        (
            "postgres://me:secret@host/shop?colour=red",
            tp.errors.InputError,
            "not a valid PostgreSQL URL: .*colour",
        ),
        ("mysql://me:secret@host/shop", tp.errors.UnknownName, "unknown scheme 'mysql'"),
    ],
)
def test_a_url_that_leads_nowhere(url, error, said):
    with pytest.raises(error, match=said) as caught:
        tp.Experiment.open(url, "prices", ARMS)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_user_or_a_database_that_is_not_there(postgres_server):
    for url in (postgres_server.url("nowhere"), postgres_server.url().replace("postgres@", "nobody:secret@")):
        with pytest.raises(
            tp.errors.StoreError, match=r"cannot connect to .*(nowhere|nobody).* does not exist$"
        ) as caught:
            tp.experiments(url)
        assert "\n" not in str(caught.value)


def test_a_wrong_password(postgres, postgres_server):
    run_sql(postgres, "CREATE ROLE guest LOGIN PASSWORD 'right'")
    with postgres_server.first_rule("local all guest scram-sha-256"):
        url = postgres.replace("postgres@", "guest:wrong@")
        with pytest.raises(
            tp.errors.StoreError, match=r'password authentication failed for user "guest"$'
        ) as caught:
            tp.experiments(url)
        assert "wrong" not in str(caught.value)
        with pytest.raises(
            tp.errors.StoreError, match="could not be read or written: permission denied for database"
        ):
            tp.Experiment.open(url.replace("wrong", "right"), "prices", ARMS)
    run_sql(postgres, "DROP ROLE guest")


def test_a_schema_of_something_else_is_left_alone(postgres):
    run_sql(postgres, "CREATE SCHEMA tideproof")
    run_sql(postgres, "CREATE TABLE tideproof.tides (height real)")
    with pytest.raises(tp.errors.InputError, match=r"is not a tideproof store: .*'tideproof'"):
        tp.Experiment.open(postgres, "prices", ARMS)
    assert run_sql(
        postgres, "SELECT relname FROM pg_class WHERE relnamespace = 'tideproof'::regnamespace"
    ) == [("tides",)]


@pytest.mark.parametrize("version", [2, 99])
def test_another_schema_is_refused(postgres, version):
    opened(postgres).close()
    run_sql(postgres, f"UPDATE store_version SET version = {version}")
    with pytest.raises(tp.errors.InputError, match=rf"has version {version} .* reads only version 5"):
        tp.Experiment.open(postgres, "prices")
    with pytest.raises(tp.errors.InputError, match=rf"has version {version} .* reads only version 5"):
        tp.experiments(postgres)


def test_what_postgres_cannot_keep(postgres):
    run = opened(postgres)
    for key in ("a\0b", "\ud800"):
        with pytest.raises(tp.errors.InputError, match="cannot store this"):
            run.once(key, run.ask, environment=1)
        with pytest.raises(tp.errors.InputError, match="cannot store this"):
            tp.Experiment.open(postgres, key, ARMS)
    run.ask(environment="a\0b \ud800")  # as text in an event it can
    check_refold(run)


def test_a_server_that_only_reads(postgres):
    play(run := opened(postgres), 2)
    database_of(run).connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(tp.errors.StoreError, match="cannot be written: the server or the user is read-only"):
        run.ask(environment=1)
    assert len(run.history()["pull"]) == 2


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in ("postgres_errors", "postgres_pool", "postgres_connection", "postgres_backend"):
        monkeypatch.delitem(sys.modules, f"tideproof.store.postgres.{name}", raising=False)
    with pytest.raises(
        tp.errors.MissingExtra, match=r"in PostgreSQL needs psycopg: pip install 'tideproof\[postgres\]'"
    ):
        tp.experiments("postgresql://localhost/x")


def test_a_stored_database_of_this_schema_opens(postgres):
    restore(postgres)
    check(postgres)


# -- a connection that is lost


class Cut:
    """Cuts the connection before or after one of the next round trips."""

    def __init__(self, monkeypatch, database, number, after):
        self.database, self.left, self.after, self.call = database, number, after, database.send_statements
        monkeypatch.setattr(database, "send_statements", self)

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == 0 and not self.after:
            pid = self.database.connection.info.backend_pid
            with psycopg.connect(self.database.conninfo, autocommit=True) as killer:
                killer.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        found = self.call(*args, **kwargs)
        if self.left == 0 and self.after:  # done, but nobody hears of it
            self.database.drop_connection()
            raise ConnectionLost("lost")
        return found


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.ask(environment="x"),
        lambda run: run.tell(run.pending_pulls()[0], 1.0),
        lambda run: run.ask(unit="visitor", environment="x"),  # two events, and a salt
        lambda run: run.once("key", run.ask, environment="x"),
        lambda run: run.add_arm("D"),
    ],
)
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_command_is_done_once_wherever_the_connection_is_cut(postgres, monkeypatch, call, number, after):
    run, whole = opened(postgres), tp.Experiment(ARMS, budget=5000, seed=3)
    for each in (run, whole):
        play(each, 3)
        each.ask(environment="x")
        if number == 1:
            each.ask(unit="other", environment="x")
    cut = Cut(monkeypatch, database_of(run), number, after)
    call(run)
    assert cut.left <= 0 or number == 3  # most take two round trips
    run.note("and on")
    fresh = tp.Experiment.open(postgres, "prices")
    if call.__code__.co_names[0] != "once":
        call(whole)
        whole.note("and on")
        assert [type(e).__name__ for e in fresh.events()] == [type(e).__name__ for e in whole.events()]
        assert fresh.history()["reward"] == whole.history()["reward"]
    else:
        assert len(fresh.events()) == len(whole.events()) + 2
        assert fresh.once("key", fresh.ask, environment="x") == fresh.pending_pulls()[-1]
    check_refold(run)


@pytest.mark.parametrize("kept", [True, False])
def test_a_commit_that_is_still_under_way_is_waited_for(postgres, monkeypatch, kept):
    """The connection is gone for us; the server goes on with what it has got, and ends it later."""
    run = opened(postgres)
    play(run, 3)
    database, events = database_of(run), len(run.events())
    commit = database.commit
    threads = []

    def lost(sql, values):
        monkeypatch.setattr(database, "commit", commit)
        connection = database.connection

        def later():
            time.sleep(0.3)
            cursor = psycopg.ClientCursor(connection)
            cursor.execute(f"{sql}; {'COMMIT' if kept else 'ROLLBACK'}", values)
            connection.close()

        threads.append(threading.Thread(target=later))
        threads[0].start()
        database._connection = None  # noqa: SLF001  the server still works on the commit, so it must not be closed
        database.drop_connection()
        raise ConnectionLost("lost")

    monkeypatch.setattr(database, "commit", lost)
    pull = run.ask(environment="x")
    threads[0].join()
    assert run.pending_pulls() == [pull]
    assert len(run.events()) == events + 1
    check_refold(run)


def test_a_connection_that_is_lost_again_and_again_is_given_up(postgres, monkeypatch):
    run = opened(postgres)
    play(run, 2)
    database = database_of(run)

    def lost(sql, values):
        database.drop_connection()
        raise ConnectionLost("lost")

    with monkeypatch.context() as patch:
        patch.setattr(database, "commit", lost)
        with pytest.raises(tp.errors.StoreError, match="lost"):
            run.ask(environment=1)
    assert len(run.history()["pull"]) == 2
    play(run, 2)
    check_refold(run)


# -- a server that is killed


def test_a_server_that_is_down_is_said_and_one_that_is_back_is_found(postgres, postgres_server, monkeypatch):
    monkeypatch.setattr(postgres_pool, "TRIES", 2)
    run = opened(postgres)
    play(run, 2)
    postgres_server.kill(signal.SIGQUIT)
    try:
        for _ in range(2):
            with pytest.raises(tp.errors.StoreError, match="cannot connect to 'postgresql:///"):
                run.ask(environment=1)
    finally:
        postgres_server.start("fsync=off")
    try:
        with pytest.warns(UserWarning, match="fsync = off"):
            play(run, 2)
    finally:
        postgres_server.kill(signal.SIGQUIT)
        postgres_server.start()
    assert len(run.history()["pull"]) == 4
    check_refold(run)


def test_a_server_that_is_killed_loses_nothing_that_was_acknowledged(postgres, postgres_server):
    run = opened(postgres, budget=100_000)
    clients = [start(postgres, 100_000) for _ in range(2)]
    stop, own = threading.Event(), [{}, {}]

    def work(acknowledged):
        while not stop.is_set():
            play(run, 1, acknowledged=acknowledged)

    threads = [threading.Thread(target=work, args=(each,)) for each in own]
    try:
        for client in clients:
            assert b"open" in client.stdout.readline()
        for thread in threads:
            thread.start()
        for how in (signal.SIGQUIT, signal.SIGKILL, signal.SIGQUIT):
            time.sleep(0.4)
            postgres_server.kill(how)
            postgres_server.start()
        before = [len(each) for each in own]
        time.sleep(1.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join(30.0)
        for client in clients:
            client.kill()
    outputs = [client.communicate(timeout=20) for client in clients]
    assert [errors for _, errors in outputs] == [b"", b""]
    assert all(len(each) > count for each, count in zip(own, before, strict=True))  # it goes on
    arms = {row["pull"]: row["arm"] for row in run.history().to_dicts()}
    said = [each for output, _ in outputs for each in lines_of(output)]
    for each in own:
        said += [["asked", id, arms[id]] for id in each] + [["told", *item] for item in each.items()]
    rows = check_acknowledged(run, said)
    asked = sum(kind == "asked" for kind, _, _ in said)
    assert asked <= len(rows) <= asked + len(clients)  # one ask each may have been kept and not acknowledged
    check_refold(run)
