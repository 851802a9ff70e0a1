"""The pool: connections are few however many experiments are open, and each serves whoever needs it."""

import threading

import psycopg
import pytest

import tideproof as tp
from store.stores import ARMS, check_refold, in_threads, log_of, opened, play
from tideproof.store.postgres import postgres_pool
from tideproof.store.postgres.postgres_connection import PostgresConnection
from tideproof.store.store_urls import open_backend


def connections_of(url):
    """Return the number of connections that the server has with this URL."""
    name = url.rpartition("application_name=")[2]
    with psycopg.connect(url.replace(name, "observer")) as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        return connection.execute(sql, (name,)).fetchone()[0]


def test_more_experiments_are_open_than_the_server_has_connections(postgres):
    backend = open_backend(postgres, connections=3)
    runs = [tp.Experiment.open(postgres, f"test {number}", ARMS) for number in range(120)]
    for run in runs:
        play(run, 1)
    assert 1 <= connections_of(postgres) <= 3
    for run in runs:
        assert len(run.history()["pull"]) == 1
        run.close()
    backend.close()
    assert connections_of(postgres) == 0


def test_threads_share_few_connections_and_lose_nothing(postgres):
    backend = open_backend(postgres, connections=2)
    runs = [tp.Experiment.open(postgres, f"test {number}", ARMS) for number in range(6)]

    def work(run):
        return lambda: play(run, 15)

    in_threads(*(work(run) for run in runs for _ in range(2)))
    assert connections_of(postgres) <= 2
    for run in runs:
        assert len(run.history()["pull"]) == 30
        check_refold(run)
    backend.close()


def test_threads_get_connections_in_the_order_in_which_they_came(postgres):
    pool = postgres_pool.PostgresPool(postgres, "shop", read_only=False)
    pool.size = 1
    order, users = [], [threading.Event() for _ in range(4)]
    held = pool.take(users[0])

    def work(number):
        connection = pool.take(users[number])
        order.append(number)
        pool.give_back(users[number], connection)

    threads = []
    for number in (1, 2, 3):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        while pool.waiting < number:
            pass
    pool.give_back(users[0], held)
    for thread in threads:
        thread.join(20.0)
    assert order == [1, 2, 3]
    for user in users:
        pool.leave(user)
    assert (pool.idle, pool.waiting) == (0, 0)


def test_a_call_that_gets_no_connection_says_so(postgres, monkeypatch):
    backend = open_backend(postgres, connections=1)
    one, other = opened(postgres), tp.Experiment.open(postgres, "colours", ["red", "blue"])
    monkeypatch.setattr(postgres_pool, "PATIENCE", 0.05)
    monkeypatch.setattr(postgres_pool, "_CHECK", 0.01)
    log_of(one).begin(lambda: None)
    with pytest.raises(tp.errors.StoreError, match=r"all 1 connections to 'postgresql:.* have been in use"):
        other.ask(environment=1)
    log_of(one).roll_back()
    play(other, 2)
    play(one, 2)
    backend.close()


def test_a_server_that_accepts_no_more_connections_serves_with_those_it_has(postgres, monkeypatch):
    pool = postgres_pool.PostgresPool(postgres, "shop", read_only=False)
    users = [threading.Event(), threading.Event()]
    only, refused = pool.take(users[0]), []

    def refuse(*args, **kwargs):
        refused.append(args)
        raise psycopg.OperationalError("sorry, too many clients already")

    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    found = []
    thread = threading.Thread(target=lambda: found.append(pool.take(users[1])))
    thread.start()
    while not refused:
        pass
    pool.give_back(users[0], only)
    thread.join(20.0)
    assert found == [only]
    pool.give_back(users[1], only)
    for user in users:
        pool.leave(user)


def test_a_connection_of_an_object_that_is_gone_is_replaced(postgres, monkeypatch):
    monkeypatch.setattr(postgres_pool, "_CHECK", 0.01)
    backend = open_backend(postgres, connections=1)
    lost = PostgresConnection(postgres)
    lost.begin("SELECT")  # keeps its connection until the roll back
    del lost
    assert backend.execute("SELECT 1", ()) == [(1,)]
    backend.close()


def test_connections_that_all_ended_are_all_replaced(postgres):
    backend = open_backend(postgres, connections=10)
    run = opened(postgres)
    held = [PostgresConnection(postgres) for _ in range(8)]
    for each in held:
        each.begin("SELECT")
    for each in held:
        each.roll_back()
    assert connections_of(postgres) >= 8
    name = postgres.rpartition("application_name=")[2]
    with psycopg.connect(postgres.replace(name, "killer")) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s",
            (name,),
        )
    play(run, 3)
    check_refold(run)
    backend.close()
