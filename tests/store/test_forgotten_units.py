"""People that are deleted: nothing by which they could be recognized is left in the files of a store."""

import json
import time
from pathlib import Path

import pytest

import tideproof as tp
from store.stores import check_refold, log_of, memory_of, run_sql, url_of
from tideproof.experiment.unit_assignments import hash_unit
from tideproof.store.backend import Snapshot
from tideproof.store.store_check import fsck
from tideproof.store.store_urls import open_backend

UNITS = ["ann@example.com", "bob@example.com", "eve@example.com"]


def shop(place, **options):
    return tp.Experiment.open(
        url_of(place), "shop", ["A", "B"], lease=1000.0, reserve=500.0, rewards="money", default=0, **options
    )


@pytest.fixture
def run(place):
    made = shop(place)
    for number, unit in enumerate(UNITS):
        made.once(f"ask {number}", made.ask, unit=unit, environment="monday")
        pull = made.pull_of(unit)
        made.expose(pull)
        made.once(f"tell {number}", made.tell_many, [pull], [5.0], keys=[f"order {number} of {unit}"])
    yield made
    made.close()


def in_files(place, text):
    """Return where a text is in the store: in files, with the write-ahead log, or in rows of a server."""
    if not isinstance(place, str):
        return [path.name for path in sorted(Path(place).iterdir()) if text.encode() in path.read_bytes()]
    tables = ("events", "answers", "salts", "unit_hashes", "snapshots")
    return [each for each in tables if text in repr(run_sql(place, f"SELECT * FROM {each}"))]


def test_neither_names_of_units_nor_keys_of_outcomes_are_stored(place, run):
    for text in (*UNITS, "order 1"):
        assert in_files(place, text) == []


def test_a_repeated_outcome_counts_once(place, run):
    run.tell_many([run.pull_of(UNITS[1])], [5.0], keys=[f"order 1 of {UNITS[1]}"])
    other = shop(place)
    other.tell_many([other.pull_of(UNITS[1])], [5.0], keys=[f"order 1 of {UNITS[1]}"])
    other.once("tell 1", other.tell_many, [other.pull_of(UNITS[1])], [5.0], keys=[f"order 1 of {UNITS[1]}"])
    assert memory_of(other).book.rewards == [5.0, 5.0, 5.0]
    with pytest.raises(tp.errors.ConflictingReward):
        other.tell_many([other.pull_of(UNITS[1])], [6.0], keys=[f"order 1 of {UNITS[1]}"])
    with pytest.raises(tp.errors.InputError, match="already used for another call"):
        other.once("tell 1", other.tell_many, [other.pull_of(UNITS[1])], [5.0], keys=["order 2"])
    other.close()


def test_nothing_of_one_unit_is_left(place, run):
    """Its hash is in no file, the others are as before, also in another process, and the store has no fault."""
    other = shop(place)
    hashes = [hash_unit(unit, memory_of(run).book.salt) for unit in UNITS]
    pulls = [run.pull_of(unit) for unit in UNITS]
    assert in_files(place, hashes[1]) != []
    assert other.pull_of(UNITS[1]) == pulls[1]
    run.once("forget", run.forget_unit, UNITS[1], by="privacy")
    for each in (run, other, shop(place)):
        assert [each.pull_of(unit) for unit in UNITS] == [pulls[0], None, pulls[2]]
        assert hashes[1] not in repr(each.events())
        assert memory_of(each).book.rewards == [5.0, 5.0, 5.0]
    for text in (hashes[1], UNITS[1]):
        assert in_files(place, text) == []
    assert in_files(place, hashes[0]) != []
    with pytest.raises(tp.errors.UnknownName, match="has no pull"):
        run.forget_unit(UNITS[1])
    again = run.ask(unit=UNITS[1], environment="tuesday")
    assert again.id not in {pull.id for pull in pulls}
    assert other.pull_of(UNITS[1]) == again
    check_refold(run)
    backend = open_backend(url_of(place), read_only=True)
    assert fsck(backend).all_faults == []
    backend.close()
    other.close()


def test_nothing_of_all_units_is_left(place, run):
    salt = memory_of(run).book.salt
    if not isinstance(place, str):
        assert in_files(place, salt) != []
    run.forget_units()
    assert in_files(place, salt) == []
    with pytest.raises(tp.errors.InputError, match="omit the key"):
        run.tell_many([memory_of(run).book.pulls[0]], [5.0], keys=["order 7"])
    run.ask(unit=UNITS[0], environment="tuesday")  # the next salt
    with pytest.raises(tp.errors.InputError, match="omit the key"):
        run.tell_many([memory_of(run).book.pulls[0]], [5.0], keys=["order 7"])
    check_refold(run)


def test_no_snapshot_of_before_is_left(place, run):
    log, hashed = log_of(run), hash_unit(UNITS[1], memory_of(run).book.salt)
    seq = len(run.events())
    old = Snapshot(seq, "mark", log.read(seq - 1)[0].hash, hashed.encode())
    log.write_snapshot(old)
    assert log.last_snapshot_size("mark") == seq
    run.forget_unit(UNITS[1])
    assert log.last_snapshot_size("mark") == 0
    log.write_snapshot(old)  # another process had it ready
    assert log.last_snapshot_size("mark") == 0
    assert in_files(place, hashed) == []


def test_a_changed_hash_of_a_unit_is_noticed(place, run):
    """Somebody exchanges two visitors: their hashes have commitments in the hash chain."""
    run_sql(place, "UPDATE unit_hashes SET unit = (SELECT min(unit) FROM unit_hashes)")
    with pytest.raises(tp.errors.InputError, match="the unit of event"):
        shop(place)


def test_a_copy_has_what_the_store_has(tmp_path):
    made = shop(tmp_path)
    for unit in UNITS:
        made.ask(unit=unit, environment="monday")
    made.forget_unit(UNITS[0])
    made.close()
    from tideproof.store.export_import import export, import_file
    from tideproof.store.store_backup import backup

    backup(url_of(tmp_path), str(tmp_path / "b.db"))
    export(url_of(tmp_path), "shop", str(tmp_path / "shop.json"))
    import_file(tmp_path / "shop.json", url_of(tmp_path, "c.db"), "shop")
    for name in ("b.db", "c.db"):
        copy = tp.Experiment.open(url_of(tmp_path, name), "shop")
        assert [copy.pull_of(unit) is None for unit in UNITS] == [True, False, False]
        check_refold(copy)
        copy.close()


def test_without_a_store_a_unit_can_be_forgotten_too(tmp_path):
    made = tp.Experiment(["A", "B"])
    for unit in UNITS:
        made.ask(unit=unit, environment="monday")
    hashed = hash_unit(UNITS[1], memory_of(made).book.salt)
    made.forget_unit(UNITS[1])
    made.save(tmp_path / "run.json")
    assert hashed not in (tmp_path / "run.json").read_text()
    again = tp.Experiment.load(tmp_path / "run.json")
    assert [again.pull_of(unit) is None for unit in UNITS] == [False, True, False]
    with pytest.raises(tp.errors.UnknownName):
        tp.Experiment(["A", "B"]).forget_unit("nobody")


def test_the_service_forgets_a_unit(tmp_path):
    from serve.service_clients import Here, app_of

    here = Here(app_of(tmp_path))
    here.post("/v1/experiments", {"name": "shop", "arms": ["A", "B"], "visitors": True})
    body = {"unit": UNITS[0], "environment": "monday"}
    first = here.post("/v1/experiments/shop/evaluations", body).json()
    said = here.post("/v1/experiments/shop/changes", {"change": "forget-unit", "unit": UNITS[0]})
    assert said.status_code == 200, said.text
    assert here.post("/v1/experiments/shop/evaluations", body).json()["id"] != first["id"]
    events = here.get("/v1/experiments/shop/events").json()["events"]
    assert "UnitForgotten" in [event["kind"] for event in events]
    assert UNITS[0] not in json.dumps(events)
    missing = {"change": "forget-unit", "unit": f"nobody {time.time()}"}
    assert here.post("/v1/experiments/shop/changes", missing).status_code == 404
    here.close()
