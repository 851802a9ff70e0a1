"""The hash chain of an event log, the schedule of snapshots, and the size of a commit group."""

import pytest

import tideproof as tp
from store.stores import ARMS, in_threads, log_of, opened, play, run_sql, url_of
from tideproof.experiment.events import event_records as e
from tideproof.store import group_commit, hash_chain, log_replay
from tideproof.store.backend import MAX_SNAPSHOT_MARKS, Snapshot, snapshot_digest
from tideproof.store.group_commit import CommitGroup
from tideproof.store.hash_chain import INITIAL_HASH, check_chain, decode_events, find_faults
from tideproof.store.log_replay import Position, is_snapshot_due


@pytest.fixture
def entries():
    run = tp.Experiment(ARMS, budget=20)
    run.ask(unit="visitor", environment="x")
    run.ask(environment="x", n=3)
    group = CommitGroup(Position(0, INITIAL_HASH))
    for event in run.events():
        group.add(event, 7, b"writer 1")
    return group.entries


def test_the_chain_begins_with_sixteen_zero_bytes():
    assert bytes(16) == INITIAL_HASH


def test_entries_of_a_group_form_a_chain(entries):
    assert [each.seq for each in entries] == [1, 2, 3, 4, 5]
    assert {len(each.hash) for each in entries} == {16}
    assert {each.pulls for each in entries} == {7}
    check_chain(entries, 0, INITIAL_HASH)
    check_chain(entries[2:], 2, entries[1].hash)
    check_chain([], 5, INITIAL_HASH)
    assert list(find_faults(entries)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 9},
        {"record": "[]"},
        {"writer": b"writer 2"},
        {"hash": bytes(16)},
    ],
)
def test_a_change_of_any_field_breaks_the_chain(entries, change):
    for index in range(len(entries)):
        changed = [*entries]
        changed[index] = entries[index]._replace(**change)
        with pytest.raises(tp.errors.InputError, match=f"damaged: event {index + 1} "):
            check_chain(changed, 0, INITIAL_HASH)
        assert list(find_faults(changed))


def test_entries_must_follow_the_given_position(entries):
    for after, previous in ((1, entries[1].hash), (2, entries[0].hash), (3, entries[1].hash)):
        with pytest.raises(tp.errors.InputError, match="damaged"):
            check_chain(entries[2:], after, previous)


def test_missing_entries_are_named(entries):
    assert list(find_faults([])) == ["all events are missing"]
    assert list(find_faults(entries[1:])) == ["event 1 is missing"]
    assert list(find_faults([entries[0], entries[3]])) == ["events 2 to 3 are missing"]
    assert list(find_faults([entries[0], entries[1], entries[3]])) == ["event 3 is missing"]
    (fault,) = find_faults([entries[0], entries[1]._replace(record="[]"), *entries[2:]])
    assert fault.startswith("event 2 was changed")


def test_salt_and_hash_of_a_unit_are_stored_beside_their_events(entries):
    salted, asked = (each for each in entries if each.erasable)
    salt, unit = salted.erasable, asked.erasable[16:]
    assert salt not in salted.record
    assert unit not in asked.record
    events = decode_events(entries)
    assert [each.salt for each in events if isinstance(each, e.Salted)] == [salt]
    assert [each.unit for each in events if isinstance(each, e.Asked)] == [unit, None]
    deleted = decode_events([each._replace(erasable="") for each in entries])
    assert [each.unit for each in deleted if isinstance(each, e.Asked)] == ["", None]


def test_two_commitments_to_one_unit_differ():
    """Otherwise somebody could find the pulls of a deleted unit by those of another experiment's copy."""
    event = e.Asked(1.0, None, "x", (0,), "ab" * 16)
    one, other = (hash_chain.make_entry(event, 1, 1, b"", INITIAL_HASH) for _ in range(2))
    assert one.record != other.record
    assert decode_events([one]) == decode_events([other]) == [event]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_events_are_decoded_in_parts(entries, monkeypatch, size):
    monkeypatch.setattr(hash_chain, "_PARSE_SIZE", size)
    names = [type(each).__name__ for each in decode_events(entries)]
    assert names == ["Created", "Shared", "Salted", "Asked", "Asked"]
    assert decode_events(entries)[2].salt


# -- snapshots


@pytest.mark.parametrize(
    ("events", "snapshot", "due"),
    [
        (1999, 0, False), (2000, 0, True), (2500, 501, False), (2500, 500, True),
        (128_000, 126_000, True), (128_000, 126_001, False),
        (256_000, 252_001, False), (256_000, 252_000, True),
    ],
)  # fmt: skip
def test_a_snapshot_is_due_after_2000_events_or_a_64th_of_the_log(events, snapshot, due):
    assert is_snapshot_due(events, snapshot) is due


def test_snapshots_of_the_two_newest_code_versions_are_kept(place):
    run = opened(place)
    play(run, 6)
    log = log_of(run)
    hashes = {each.seq: each.hash for each in log.read(0)}
    assert MAX_SNAPSHOT_MARKS == 2
    for seq, mark in ((4, "one"), (5, "two"), (6, "three"), (5, "three"), (6, "three"), (7, "two")):
        log.write_snapshot(Snapshot(seq, mark, hashes[seq], b"contents of %d" % seq))
    assert sorted(log.read_marks()) == ["three", "two"]
    assert (log.last_snapshot_size("two"), log.last_snapshot_size("three")) == (7, 6)
    assert log.last_snapshot_size("one") == 0
    assert log.read_snapshot("three") == Snapshot(6, "three", hashes[6], b"contents of 6")
    assert log.read_snapshot("three", 6).seq == 6
    assert log.read_snapshot("three", 5) is None
    assert log.read_snapshot("one") is None
    assert run_sql(place, "SELECT count(*) FROM snapshots") == [(2,)]


def test_a_snapshot_of_another_history_is_ignored(place):
    run = opened(place)
    play(run, 3)
    log = log_of(run)
    log.write_snapshot(Snapshot(3, "mark", bytes(16), b"contents"))
    assert log.read_snapshot("mark") is None
    assert log.last_snapshot_size("mark") == 3


def test_the_checksum_of_a_snapshot_covers_contents_and_position():
    snapshot = Snapshot(3, "mark", bytes(16), b"contents")
    assert len(snapshot_digest(snapshot)) == 16
    assert snapshot_digest(snapshot) != snapshot_digest(snapshot._replace(contents=b"content"))
    assert snapshot_digest(snapshot) != snapshot_digest(snapshot._replace(hash=b"1" * 16))


# -- reading a log


def test_a_part_of_a_log_is_read(place):
    run = opened(place)
    play(run, 5)
    log = log_of(run)
    assert [each.seq for each in log.read(0)] == list(range(1, 12))
    assert [each.seq for each in log.read(2, 4)] == [3, 4]
    assert [each.seq for each in log.read(9)] == [10, 11]
    assert log.read(11) == log.read(4, 4) == []


def test_a_log_without_its_first_event_is_damaged():
    class Empty:
        """A log whose entries are gone."""

        def read(self, after, upto=None):
            return []

    with pytest.raises(tp.errors.StoreError, match="events are missing after event 0 of 1"):
        log_replay.read_created_event(Empty())


# -- groups


def test_a_group_has_at_most_a_hundred_commands(tmp_path, monkeypatch):
    assert group_commit.MAX_COMMANDS == 100
    monkeypatch.setattr("tideproof.store.shared_log.MAX_COMMANDS", 1)
    run = opened(tmp_path)
    log, sizes = log_of(run), []
    append = log.append
    monkeypatch.setattr(
        log, "append", lambda entries, *rest: (sizes.append(len(entries)), append(entries, *rest))
    )
    in_threads(*[lambda: play(run, 5)] * 4)
    assert set(sizes) == {1}
    assert len(tp.Experiment.open(url_of(tmp_path), "prices").history()) == 20
