"""Work that no request waits for: queues of messages, inspections, deletions, and the check of the store."""

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import tideproof as tp
from tideproof.serve import readiness_check, retention
from tideproof.serve.readiness_check import WRITE_SECONDS, ReadinessCheck
from tideproof.serve.retention import DAY, RetentionSweeper
from tideproof.serve.webhooks.webhook_notices import QUIET_SECONDS, inspect_experiment
from tideproof.serve.webhooks.webhook_queue import (
    CLAIM_SECONDS,
    WebhookCursor,
    WebhookMessage,
    WebhookQueue,
    message_id,
)
from tideproof.store.store_urls import open_backend


@pytest.fixture
def backend(tmp_path):
    made = open_backend(f"sqlite:///{tmp_path}/shop.db")
    yield made
    made.close()


@pytest.fixture
def queue(backend):
    return WebhookQueue(backend, threading.RLock())


# -- queues


def test_a_message_is_claimed_by_one_process_until_its_claim_ends(queue):
    queue.add("m1", "shop", "prices", 100.0, "hello")
    assert queue.due_webhooks(99.9) == set()
    assert queue.claim("shop", 99.9) is None
    assert queue.due_webhooks(100.0) == {"shop"}
    assert queue.claim("shop", 100.0) == WebhookMessage("m1", "hello", 1)
    end = 100.0 + CLAIM_SECONDS
    assert (queue.due_webhooks(end - 0.1), queue.claim("shop", end - 0.1)) == (set(), None)
    assert queue.claim("shop", end) == WebhookMessage("m1", "hello", 2)


def test_messages_are_sent_in_their_order_and_once(queue):
    queue.add("m2", "shop", "prices", 101.0, "second")
    queue.add("m1", "shop", "prices", 100.0, "first")
    queue.add("m3", "other", "prices", 100.5, "to another receiver")
    queue.add("m1", "shop", "prices", 90.0, "a repetition of the first")
    assert queue.claim("shop", 200.0).body == "first"
    assert queue.claim("shop", 201.0) is None  # the second waits for the first
    assert queue.claim("other", 201.0).body == "to another receiver"
    queue.mark_sent("m1", 202.0)
    queue.add("m1", "shop", "prices", 203.0, "a repetition of the first")
    assert queue.claim("shop", 203.0).body == "second"
    queue.mark_sent("m2", 204.0)
    assert queue.claim("shop", 1e9) is None
    assert queue.due_webhooks(1e9) == {"other"}


def test_a_message_that_was_refused_waits(queue):
    queue.add("m1", "shop", "prices", 100.0, "hello")
    queue.claim("shop", 100.0)
    queue.postpone("m1", 105.0)
    assert queue.claim("shop", 104.9) is None
    assert queue.claim("shop", 105.0).attempts == 2
    queue.mark_sent("m1", 106.0)
    queue.postpone("m1", 107.0)  # of a process that was late
    assert queue.due_webhooks(1e9) == set()


def test_a_deleted_webhook_leaves_nothing(queue):
    for webhook in ("shop", "other"):
        queue.add(f"m of {webhook}", webhook, "prices", 100.0, "hello")
        queue.save_cursor(webhook, "prices", WebhookCursor(3, None))
    queue.delete("shop")
    assert queue.due_webhooks(1e9) == {"other"}
    assert (queue.read_cursors("shop"), queue.read_cursors("other")) == ({}, {"prices": (3, None)})


def test_an_experiment_is_inspected_after_events_and_at_its_time(queue):
    assert not WebhookCursor(7, None).is_due(7, 1e9)
    assert WebhookCursor(7, None).is_due(8, 0.0)
    timed = WebhookCursor(7, 50.0)
    assert [timed.is_due(7, now) for now in (49.9, 50.0, 50.1)] == [False, True, True]
    queue.save_cursor("shop", "prices", WebhookCursor(7, 50.0))
    queue.save_cursor("shop", "prices", WebhookCursor(9, None))
    queue.save_cursor("shop", "colours", timed)
    assert queue.read_cursors("shop") == {"prices": (9, None), "colours": (7, 50.0)}


def test_messages_have_the_same_identifier_in_all_processes():
    parts = ("w1", "prices", 1.5, "winner B")
    assert message_id(*parts) == message_id(*parts)
    others = [
        ("w2", *parts[1:]),
        ("w1", "x", *parts[2:]),
        ("w1", "prices", 2.5, "winner B"),
        (*parts[:3], ""),
    ]
    assert len({message_id(*other) for other in (parts, *others)}) == 5
    assert len(message_id(*parts)) == len("msg_") + 24


# -- messages about an experiment


def begun(now, **options):
    """Return an experiment with a clock that tests move, and all its pulls of a budget of 4."""
    run = tp.Experiment(["A", "B"], budget=4, policy="round-robin", clock=lambda: now[0], **options)
    return run, run.ask(environment="x", n=4)


def tell(run, pulls):
    for number, pull in enumerate(pulls):
        run.tell(pull.id, 1.0 + number)


def kinds(run, at):
    """Return the kinds of the messages without warnings."""
    found = [notice.kind for notice in inspect_experiment(run, at).notices]
    return [kind for kind in found if kind != "experiment.warning"]


def test_a_used_budget_is_reported_with_the_last_reward():
    run, pulls = begun([100.0])
    tell(run, pulls[:3])
    found = inspect_experiment(run, 100.0)
    assert ([*found.notices], found.due_at) == ([], 100.0 + QUIET_SECONDS)
    run.tell(pulls[3].id, 2.0)
    found = inspect_experiment(run, 100.0)
    assert [notice.word for notice in found.notices] == ["budget 4"]
    assert found.notices[0].about["budget"] == 4
    assert found.due_at is None


def test_rewards_that_never_come_are_given_up_after_a_quiet_day():
    now = [100.0]
    run, pulls = begun(now)
    tell(run, pulls[:3])
    now[0] = 100.0 + QUIET_SECONDS - 1.0
    assert kinds(run, 100.0) == []
    now[0] = 100.0 + QUIET_SECONDS
    assert kinds(run, 100.0) == ["experiment.budget_used"]
    assert inspect_experiment(run, 100.0).due_at is None


def test_a_conversion_window_that_closes_is_waited_for():
    now = [100.0]
    run, _ = begun(now, rewards="conversions", lease=60.0)
    assert inspect_experiment(run, 100.0).due_at == 160.0
    assert kinds(run, 100.0) == []
    now[0] = 161.0
    assert kinds(run, 100.0) == ["experiment.budget_used"]


def test_the_first_of_several_times_is_waited_for():
    """A reservation ends after half a minute, the conversion window of a pull that was seen after ten."""
    now = [100.0]
    options: dict[str, Any] = {"rewards": "conversions", "lease": 600.0, "reserve": 30.0}
    run = tp.Experiment(["A", "B"], clock=lambda: now[0], **options)
    run.expose(run.ask(unit="ann", environment="x"))
    assert inspect_experiment(run, 100.0).due_at == 700.0
    now[0] = 110.0
    run.ask(unit="bob", environment="x")
    assert inspect_experiment(run, 100.0).due_at == 140.0
    now[0] = 141.0
    assert inspect_experiment(run, 100.0).due_at == 700.0


def test_while_there_is_budget_nothing_is_due():
    run = tp.Experiment(["A", "B"], budget=8, policy="round-robin")
    pulls = run.ask(environment="x", n=4)
    tell(run, pulls)
    found = inspect_experiment(run, 100.0)
    assert ([*found.notices], found.due_at) == ([], None)


# -- deletion of archived experiments


class Cache:
    """Archived experiments by name, with the time of archiving; deleting "locked" fails."""

    def __init__(self, times):
        self.times, self.asked = dict(times), threading.Event()

    def list_experiments(self):
        self.asked.set()
        return [
            SimpleNamespace(name=name, is_archived=at is not None, about=f'{{"archived_at": {at or 0.0}}}')
            for name, at in self.times.items()
        ]

    def delete(self, name):
        if name == "locked":
            raise tp.errors.StoreError("busy")
        del self.times[name]


def sweeping():
    """Return the running threads that delete experiments."""
    return [thread for thread in threading.enumerate() if thread.name == "retention"]


def test_what_was_archived_long_enough_ago_is_deleted():
    cache = Cache({"old": 0.0, "locked": 0.0, "new": 1.0, "running": None})
    sweeper = RetentionSweeper(cache, 2.0)
    assert sweeper.delete_due(2.0 * DAY - 0.5) == []
    assert sweeper.delete_due(2.0 * DAY) == ["old"]
    assert set(cache.times) == {"locked", "new", "running"}
    assert sweeper.delete_due(2.0 * DAY + 1.0) == ["new"]
    assert RetentionSweeper(cache, 0.0).delete_due(1e12) == []


def test_a_failed_deletion_is_logged(caplog):
    RetentionSweeper(Cache({"locked": 0.0}), 1.0).delete_due(1e9)
    (record,) = caplog.records
    assert (record.levelno, record.fields) == (logging.WARNING, {"reason": "StoreError"})


def test_the_thread_survives_an_error_and_ends_when_it_is_stopped(monkeypatch, caplog):
    monkeypatch.setattr(retention, "PAUSE", 0.001)
    cache, fails = Cache({"old": 0.0}), [True]

    def list_experiments():
        if fails:
            fails.clear()
            raise RuntimeError("unexpected")
        return Cache.list_experiments(cache)

    monkeypatch.setattr(cache, "list_experiments", list_experiments)
    sweeper = RetentionSweeper(cache, 1.0)
    for _ in range(2):  # it can be started again
        cache.asked.clear()
        sweeper.start()
        assert cache.asked.wait(20.0)
        assert len(sweeping()) == 1
        sweeper.stop()
        assert sweeping() == []
    assert cache.times == {}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_without_a_retention_time_no_thread_runs():
    sweeper = RetentionSweeper(Cache({"old": 0.0}), 0.0)
    sweeper.start()
    assert sweeping() == []
    sweeper.stop()


# -- readiness


def test_the_store_is_written_every_five_seconds_and_read_each_time(tmp_path, monkeypatch):
    now, done = [1000.0], []
    check = ReadinessCheck(f"sqlite:///{tmp_path}/shop.db")
    opened = open_backend(f"sqlite:///{tmp_path}/shop.db")
    monkeypatch.setattr(readiness_check.time, "monotonic", lambda: now[0])
    execute = type(opened).execute

    def noted(self, sql, values):
        done.append(sql.split()[0])
        return execute(self, sql, values)

    monkeypatch.setattr(type(opened), "execute", noted)
    for at in (0.0, 0.1, WRITE_SECONDS - 0.1, WRITE_SECONDS + 0.1, WRITE_SECONDS + 0.2):
        now[0] = 1000.0 + at
        check.check()
    assert done == ["SELECT", "INSERT", "SELECT", "SELECT", "SELECT", "INSERT", "SELECT"]
    ((at,),) = execute(opened, "SELECT at FROM ~write_checks", ())
    assert at > 0.0
    opened.close()
    check.close()
