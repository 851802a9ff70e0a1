"""fsck finds damage of every kind, and nothing where there is none."""

import random
import shutil

import pytest

import tideproof as tp
from store.stores import bytes_of, database_of, in_threads, log_of, memory_of, opened, play, run_sql, url_of
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.snapshots import snapshot as packing
from tideproof.experiment.snapshots.pull_columns import book_to_columns
from tideproof.experiment.state.experiment_state import State
from tideproof.store import log_replay
from tideproof.store.backend import Snapshot
from tideproof.store.store_backup import backup
from tideproof.store.store_check import fsck
from tideproof.store.store_urls import open_backend


def checked(url, name=None):
    place = open_backend(url, read_only=True)
    try:
        return fsck(place, name)
    finally:
        place.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a store with 302 events and a snapshot of 200 of them."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_replay, "MIN_EVENTS_BETWEEN_SNAPSHOTS", 200)
        run = opened(folder)
        play(run, 150)
        run.once("job", run.ask, environment="x")
        run.close()
    return folder / "shop.db"


@pytest.fixture
def run(tmp_path, made):
    shutil.copy(made, tmp_path / "shop.db")
    return tp.Experiment.open(url_of(tmp_path), "prices")


def damage(run, *statements):
    """Change a store behind the back of its triggers, which are as they were afterwards."""
    connection = database_of(run).connection
    triggers = list(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    with connection:
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


def test_nothing_is_wrong(tmp_path, run):
    tp.Experiment.open(url_of(tmp_path), "colours", ["red", "blue"]).ask(unit="visitor", environment=1)
    found = checked(url_of(tmp_path))
    assert found.all_faults == []
    colours, prices = found.experiments
    assert (prices.events, prices.asked, prices.trusted, prices.snapshots) == (302, 151, 0, 1)
    assert (colours.asked, colours.trusted, colours.snapshots) == (0, 1, 0)
    assert [each.name for each in checked(url_of(tmp_path), "prices").experiments] == ["prices"]
    with pytest.raises(tp.errors.UnknownName, match="unknown experiment 'price'"):
        checked(url_of(tmp_path), "price")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 4",
            "event 4 was changed",
        ),
        ("UPDATE events SET hash = zeroblob(16) WHERE seq = 302", "event 302 was changed"),
        ("UPDATE events SET writer = zeroblob(8) WHERE seq = 7", "event 7 was changed"),
        ("DELETE FROM events WHERE seq = 9", "event 9 is missing"),
        ("DELETE FROM events WHERE seq BETWEEN 9 AND 11", "events 9 to 11 are missing"),
        ("DELETE FROM events WHERE seq = 1", "event 1 is missing"),
        ("DELETE FROM events WHERE seq > 290", "'job' refers to event 302"),
        ("DELETE FROM events WHERE seq > 190", "a snapshot covers 200 events"),
        ("UPDATE events SET at = at + 1 WHERE seq = 5", "stored with event 5 is wrong"),
        ("UPDATE events SET pulls = 9 WHERE seq = 302", "stored with event 302 is wrong"),
        ("UPDATE snapshots SET contents = x'00'", "the snapshot of 200 events is damaged"),
        ("UPDATE snapshots SET hash = zeroblob(16)", "the snapshot of 200 events is damaged"),
        (
            "UPDATE experiments SET about = replace(about, '5000', '60')",
            "the stored description (arms, budget, policy) does not agree",
        ),
        ("UPDATE events SET record = x'00ff' WHERE seq = 6", "cannot be read"),
    ],
)
def test_planted_damage(tmp_path, run, statement, said):
    damage(run, statement)
    found = checked(url_of(tmp_path))
    assert found.faults == ()
    assert any(said in fault for fault in found.experiments[0].faults), found


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TRIGGER events_stay", "the table, index or trigger 'events_stay' is missing"),
        ("CREATE TABLE more (x)", "the table, index or trigger 'more' differs from the schema of the store"),
        ("DELETE FROM experiments", "a row of table events does not belong to an experiment"),
    ],
)
def test_damage_to_the_whole(tmp_path, run, statement, said):
    connection = database_of(run).connection
    connection.execute("PRAGMA foreign_keys = 0")
    connection.execute(statement)
    assert said in checked(url_of(tmp_path)).faults


def test_an_experiment_without_events(tmp_path, run):
    damage(run, "DELETE FROM events")
    assert checked(url_of(tmp_path)).faults == ("the experiment 'prices' has lost all its events",)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 4",
            "event 4 was changed",
        ),
        ("DELETE FROM events WHERE seq BETWEEN 9 AND 11", "events 9 to 11 are missing"),
        ("UPDATE snapshots SET contents = '\\x00'", "the snapshot of 200 events is damaged"),
        ("DELETE FROM events", "the experiment 'prices' has lost all its events"),
        ("DROP TRIGGER events_stay ON events", "'events_stay' is missing"),
    ],
)
def test_planted_damage_in_postgresql(made, postgres, statement, said):
    backup(f"sqlite:///{made}", postgres)
    assert checked(postgres).all_faults == []
    run_sql(postgres, f"SET session_replication_role = replica; {statement}")  # no triggers, for once
    found = checked(postgres).all_faults
    assert len(found) == 1
    assert said in found[0]


def test_a_snapshot_that_is_whole_but_wrong(tmp_path, run):
    log = log_of(run)
    good = log.read_snapshot(packing.code_fingerprint(run.policy))
    state = State(run.events()[0], run.policy)
    assert packing.resume(state, EventLog(run.events()[: good.seq]), good.contents)
    state.book.rewards[0] += 1.0
    wrong = packing.serialize_state([book_to_columns(state.book), state.policy_state.contents()])
    log.database.run("DELETE FROM snapshots")
    log.write_snapshot(Snapshot(good.seq, good.mark, good.hash, wrong))
    (found,) = checked(url_of(tmp_path)).experiments
    (fault,) = found.faults
    assert "the snapshot of 200 events differs" in fault
    assert found.asked == 151


def test_snapshots_of_other_code_are_checked_for_being_whole(tmp_path, run):
    log = log_of(run)
    good = log.read_snapshot(packing.code_fingerprint(run.policy))
    log.write_snapshot(good._replace(mark="older code", contents=b"something else"))
    (found,) = checked(url_of(tmp_path)).experiments
    assert (found.faults, found.snapshots, found.others) == ((), 1, 1)


def test_an_arm_that_this_code_would_not_ask_for(tmp_path):
    """Somebody with the same mark wrote another arm, with all hashes right."""
    run = opened(tmp_path)
    play(run, 10)
    state = memory_of(run)
    ask = state.policy_state.ask
    state.policy_state.ask = lambda *args: [(arm + 1) % 3 for arm in ask(*args)]
    run.ask(environment="x")
    (found,) = checked(url_of(tmp_path)).experiments
    (fault,) = found.faults
    assert fault.startswith("the arms in event 22 differ")


def test_a_policy_that_nobody_knows_here(tmp_path, monkeypatch):
    opened(tmp_path).close()
    monkeypatch.setattr("tideproof.experiment.snapshots.experiment_file.is_registered", lambda name: False)
    (found,) = checked(url_of(tmp_path)).experiments
    assert "which is not registered here" in found.faults[0]


def test_while_others_write_nothing_seems_wrong(tmp_path, run):
    more = tp.Experiment.open(url_of(tmp_path), "prices")
    found = in_threads(
        lambda: play(more, 120), lambda: [checked(url_of(tmp_path)).all_faults for _ in range(3)]
    )
    assert found[1] == [[], [], []]


def test_a_flipped_bit_of_an_event_is_found_and_no_other_changes_anything(tmp_path, run):
    """What is not found is not read: free bytes of SQLite's pages, or the mark of some code."""
    before = bytes_of(log_replay.load_state(log_of(run), snapshots=False).state)
    events = [each.record.encode() for each in log_of(run).read(0)]
    run.close()
    whole, rng = (tmp_path / "shop.db").read_bytes(), random.Random(5)

    def flipped(text, place):
        return text[:place] + bytes([text[place] ^ 1 << rng.randrange(8)]) + text[place + 1 :]

    def faults(damaged):
        (tmp_path / "flipped.db").write_bytes(damaged)
        try:
            return checked(url_of(tmp_path, "flipped.db")).all_faults
        except tp.errors.TideproofError as error:
            return [str(error)]

    for record in rng.sample(events, 20):
        assert whole.count(record) > 0  # pages keep old copies in their free bytes
        assert faults(whole.replace(record, flipped(record, rng.randrange(len(record)))))
    for _ in range(30):
        if not faults(flipped(whole, rng.randrange(100, len(whole)))):
            again = tp.Experiment.open(url_of(tmp_path, "flipped.db"), "prices")
            assert bytes_of(log_replay.load_state(log_of(again), snapshots=False).state) == before
            again.close()
