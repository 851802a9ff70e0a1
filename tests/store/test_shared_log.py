"""What a call does to the log: whole or not at all, once, and the same for everybody."""

import pytest

import tideproof as tp
from store.stores import (
    ARMS,
    bytes_of,
    check_refold,
    database_of,
    in_threads,
    log_of,
    memory_of,
    opened,
    play,
    run_sql,
    shared_log_of,
    snapshot_size,
    url_of,
)
from tideproof.experiment.events.event_log import EventLog
from tideproof.store import log_replay
from tideproof.store.ask_verification import recompute_asks
from tideproof.store.store_check import fsck
from tideproof.store.store_urls import open_backend


def busy(run):
    """Let everything happen that can."""
    play(run, 12)
    pulls = run.ask(environment="x", n=6)
    run.tell_many(pulls[:2], [1.0, 2.0])
    run.cancel(pulls[2])
    run.correct(pulls[0], 3.0)
    run.tell_summary(arm="B", environment="y", n=5, mean=1.0, variance=0.5, key="y-B")
    for visitor in range(5):
        run.tell(run.ask(unit=visitor, environment="y"), 1.0, key="order")
    run.add_arm("D")
    run.retire_arm("A")
    run.extend(6000)
    run.pause("lunch")
    run.resume()
    run.note("a note", by="me")
    play(run, 12, seed=2)


@pytest.mark.parametrize("options", [{}, {"policy": "linlucb"}, {"lease": 1e9, "default": 0.0},
                                     {"confidence": 0.95}, {"minimum_shares": {"B": 0.1}}])  # fmt: skip
def test_any_process_folds_the_same_bytes(place, monkeypatch, options):
    monkeypatch.setattr(log_replay, "MIN_EVENTS_BETWEEN_SNAPSHOTS", 20)
    monkeypatch.setattr("tideproof.experiment.snapshots.snapshot.FEWEST_EVENTS", 1)
    run, other = opened(place, **options), opened(place, **options)
    busy(run)
    other.recommend()
    assert bytes_of(memory_of(other)) == bytes_of(memory_of(run))
    fresh = tp.Experiment.open(url_of(place), "prices")
    assert snapshot_size(fresh) > 0
    assert bytes_of(memory_of(fresh)) == bytes_of(memory_of(run))
    for each in (run, other, fresh):
        check_refold(each)
        play(each, 3)
    found = recompute_asks(log_of(run))
    assert (found.asked > 30, found.trusted, found.other) == (True, 5, None)


def test_an_arm_that_this_code_would_not_ask_is_found(place):
    run = opened(place)
    play(run, 20)
    ask = memory_of(run).policy_state.ask
    memory_of(run).policy_state.ask = lambda *args: [(arm + 1) % 3 for arm in ask(*args)]
    run.ask(environment="x")
    number = len(run.events())
    del memory_of(run).policy_state.ask
    shared_log_of(run).may_differ = True  # its numbers believe in another arm
    play(run, 5)
    assert recompute_asks(log_of(run)).other == number
    run_sql(place, "UPDATE writers SET mark = 'of other code'")
    found = recompute_asks(log_of(run))
    assert (found.asked, found.trusted, found.other) == (0, 26, None)  # other code is trusted


def test_what_is_due_is_written_down_by_whoever_looks(place):
    now = [0.0]
    run = opened(place, lease=10.0, clock=lambda: now[0])
    other = tp.Experiment.open(url_of(place), "prices", clock=lambda: now[0])
    run.ask(environment=1)
    now[0] = 20.0
    assert other.pending_pulls() == []
    assert type(run.events()[-1]).__name__ == "Expired"
    check_refold(run)


def test_a_rule_that_holds_is_written_down_once(place):
    run, other = opened(place, confidence=0.9), opened(place, confidence=0.9)
    means = {"A": 0.0, "B": 50.0, "C": 1.0}
    for step in range(40):
        if run.done:
            break
        pull = run.ask(environment=1)
        other.tell(pull, means[pull.arm] + step % 2)
    assert other.done
    assert run.recommend().sure
    assert [type(event).__name__ for event in run.events()].count("Sure") == 1
    with pytest.raises(tp.errors.Finished):
        other.ask(environment=1)
    check_refold(other)


def test_a_key_makes_a_repeat_harmless(place):
    run, other = opened(place), opened(place)
    pull = run.once("job 7", run.ask, environment="x")
    assert other.once("job 7", other.ask, environment="x") == pull
    pulls = run.once("job 8", run.ask, environment="x", n=3)
    assert other.once("job 8", other.ask, environment="x", n=3) == pulls
    run.once("n", run.note, "once")
    run.once("n", run.note, "once")
    assert len(run.events()) == 4
    with pytest.raises(tp.errors.InputError, match="'job 7' was already used for"):
        other.once("job 7", other.ask, environment="y")
    with pytest.raises(tp.errors.InputError, match="not recommend"):
        run.once("look", run.recommend)
    with pytest.raises(tp.errors.InputError, match="a method of this experiment"):
        run.once("other", other.ask)
    with pytest.raises(tp.errors.InputError, match="must be a non-empty string, not 7"):
        run.once(7, run.ask)
    with pytest.raises(tp.errors.Finished):
        run.once("many", run.ask, environment="x", n=10**6)
    assert len(run.once("many", run.ask, environment="x", n=1)) == 1  # what failed was not done
    check_refold(other)


def test_the_order_in_which_arguments_are_named_does_not_matter_to_a_key(place):
    run, other = opened(place), opened(place)
    pulls = run.once("job", run.ask, environment="x", n=2)
    assert other.once("job", other.ask, n=2, environment="x") == pulls
    assert run.pending_pulls() == pulls


def test_a_key_is_kept_even_if_its_command_wrote_no_event(place):
    run, other = opened(place), opened(place)
    pull = run.ask(unit="visitor", environment="x")
    events = run.events()
    assert run.once("again", run.ask, unit="visitor", environment="x") == pull  # the unit keeps its pull
    assert other.once("again", other.ask, unit="visitor", environment="x") == pull
    assert [(each.key, each.seq) for each in log_of(run).read_answers()] == [("again", len(events))]
    with pytest.raises(tp.errors.InputError, match="'again' was already used for"):
        other.once("again", other.ask, unit="visitor", environment="y")
    assert other.events() == events
    check_refold(run)


def test_after_a_reload_the_list_of_experiments_has_the_current_budget(place):
    run, other = opened(place, budget=100), opened(place, budget=100)
    other.extend(200)
    shared_log_of(run).may_differ = True  # as after a commit whose outcome is unknown: loads the log again
    assert run.remaining == 200
    run.extend(100)
    assert [each["budget"] for each in tp.experiments(url_of(place)).to_dicts()] == [100]


class Torn:
    """A log whose first commit fails, before or after it is kept."""

    def __init__(self, log, kept):
        self.log, self.kept, self.left = log, kept, 1

    def __getattr__(self, name):
        return getattr(self.log, name)

    def commit(self):
        if self.left:
            self.left -= 1
            if self.kept:
                self.log.commit()
            raise tp.errors.StoreError("the connection was lost")
        self.log.commit()


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.ask(environment="x"),
        lambda run: run.ask(environment="new", n=7),
        lambda run: run.tell(run.pending_pulls()[0], 1.0),
        lambda run: run.cancel(run.pending_pulls()[0]),
        lambda run: run.add_arm("D"),
        lambda run: run.ask(unit="visitor", environment="x"),  # two events
        lambda run: run.once("key", run.ask, environment="x"),
    ],
)
@pytest.mark.parametrize("kept", [False, True])
def test_a_failed_commit_leaves_no_trace_unless_it_was_kept(place, call, kept):
    run = opened(place)
    play(run, 15)
    run.ask(environment="x", n=3)
    before, events = bytes_of(memory_of(run)), run.events()
    log = log_of(run)
    shared_log_of(run).log = Torn(log, kept)
    if kept:
        call(run)
    else:
        with pytest.raises(tp.errors.StoreError, match="lost"):
            call(run)
        shared_log_of(run).log = log
        assert shared_log_of(run).may_differ == (
            len(memory_of(run).events) != len(events)
        )  # one event is just taken back
        assert run.events() == events
        assert bytes_of(memory_of(run)) == before
        call(run)
    assert len(run.events()) > len(events)
    check_refold(run)


def test_an_error_of_one_thread_does_not_touch_the_others(place):
    run = opened(place)

    def good(seed):
        for step in range(15):
            run.tell(run.ask(environment=f"{seed} {step // 5}"), 1.0)

    def bad():
        for _ in range(15):
            with pytest.raises(tp.errors.InputError):
                run.tell(run.ask(environment="bad"), float("nan"))

    in_threads(*[lambda seed=seed: good(seed) for seed in range(5)], bad)
    assert len(run.pending_pulls()) == 15
    assert len(run.history()["pull"]) == 90
    check_refold(run)


def test_threads_share_commits(place):
    run = opened(place)
    log, commits = log_of(run), []
    commit = log.commit
    log.commit = lambda: (commits.append(1), commit())
    count = 8
    in_threads(*[lambda: play(run, 10)] * count)
    assert len(run.events()) == 1 + 2 * 10 * count
    assert len(commits) < 2 * 10 * count * 0.7
    check_refold(run)


def test_a_group_that_fails_fails_for_all_and_is_gone(place):
    run = opened(place)
    play(run, 5)
    events = run.events()
    log = log_of(run)

    def commit():
        raise tp.errors.StoreError("the disk is full")

    log.commit = commit

    def one():
        with pytest.raises(tp.errors.StoreError, match="full"):
            run.ask(environment="x")

    in_threads(*[one] * 6)
    del log.commit
    assert run.events() == events
    check_refold(run)
    in_threads(*[lambda: run.ask(environment="x")] * 6)
    assert len(run.pending_pulls()) == 6
    check_refold(run)


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path):
    run = opened(tmp_path)
    play(run, 5)
    before = run.events()
    connection = database_of(run).connection
    connection.pragma("max_page_count", connection.pragma("page_count"))
    for _ in range(3):
        with pytest.raises(tp.errors.StoreError, match="is full: nothing was saved"):
            run.ask(environment="x", n=4000)
    connection.pragma("max_page_count", 2**30)
    assert run.events() == before
    check_refold(run)
    play(run, 5)


def test_snapshots_are_written_now_and_then_and_never_believed_blindly(place, monkeypatch):
    monkeypatch.setattr(log_replay, "MIN_EVENTS_BETWEEN_SNAPSHOTS", 100)
    monkeypatch.setattr("tideproof.experiment.snapshots.snapshot.FEWEST_EVENTS", 1)
    run = opened(place)
    play(run, 130)
    assert run_sql(place, "SELECT seq FROM snapshots") == [(200,)]
    fresh = tp.Experiment.open(url_of(place), "prices", ARMS)
    assert snapshot_size(fresh) == 200
    assert isinstance(memory_of(fresh).events, EventLog)
    log, read, starts = log_of(fresh), log_of(fresh).read, []
    monkeypatch.setattr(log, "read", lambda after, upto=None: starts.append(after) or read(after, upto))
    assert bytes_of(memory_of(fresh)) == bytes_of(memory_of(run))
    assert 0 not in starts  # the old events were not fetched
    assert fresh.history() is not None
    assert fresh.events() == run.events()
    assert starts.count(0) == 1
    run_sql(place, "UPDATE snapshots SET contents = hash")
    assert snapshot_size(tp.Experiment.open(url_of(place), "prices")) == 0
    run_sql(place, "DELETE FROM snapshots")
    monkeypatch.setattr(log_replay, "code_fingerprint", lambda spec: "other code")
    assert snapshot_size(tp.Experiment.open(url_of(place), "prices")) == 0


def test_who_waits_gives_way_after_each_event_and_who_has_the_lock_does_not(place, monkeypatch):
    run, other = opened(place), opened(place)
    gave_way = []
    monkeypatch.setattr("tideproof.store.shared_log._yield_processor", lambda: gave_way.append(1))
    play(run, 5)
    with other.internals.lock:  # stands for a command that waits for the log
        shared_log_of(other).catch_up_and_yield()  # as while somebody writes
    assert len(gave_way) == 10
    assert bytes_of(memory_of(other)) == bytes_of(memory_of(run))
    play(run, 5)
    play(other, 1)
    assert len(gave_way) == 10


def test_a_budget_that_is_changed_back_is_stored(place):
    run, other = opened(place, budget=100), opened(place, budget=100)
    other.extend(200)
    run.extend(100)
    assert [each["budget"] for each in tp.experiments(url_of(place)).to_dicts()] == [100]
    assert fsck(open_backend(url_of(place)), "prices").all_faults == []
