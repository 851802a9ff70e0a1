"""Experiments from place to place: they go on exactly, and no id is given out twice."""

import json
import shutil

import pytest

import tideproof as tp
from store.stored_store import SQLITE_FILE
from store.stores import (
    ARMS,
    bytes_of,
    check_refold,
    database_of,
    log_of,
    memory_of,
    opened,
    play,
    url_of,
)
from tideproof.experiment.events import event_records as e
from tideproof.store import export_import, log_replay
from tideproof.store.backend import ExperimentContents
from tideproof.store.store_backup import backup
from tideproof.store.store_urls import open_backend


def copied(source, target):
    """Copy all experiments of a store into another one."""
    places = open_backend(source, read_only=True), open_backend(target)
    try:
        return export_import.copy_all(*places, lambda share: None)
    finally:
        for place in places:
            place.close()


def busy(folder, **options):
    """Return an experiment to which much has happened."""
    run = opened(folder, **options)
    play(run, 30)
    run.ask(unit="visitor", environment="x")
    run.ask(environment="x", n=3)
    run.add_arm("D")
    run.extend(6000, by="ann")
    run.once("job", run.ask, environment="y")
    return run


def test_the_file_is_the_one_that_save_writes(place, tmp_path):
    run = busy(place)
    run.save(tmp_path / "saved.json")
    events = export_import.export(url_of(place), "prices", tmp_path / "exported.json")
    assert events == len(run.events())
    assert (tmp_path / "exported.json").read_bytes() == (tmp_path / "saved.json").read_bytes()


def test_what_is_imported_goes_on_exactly_under_ids_of_its_own(place, tmp_path):
    run = busy(place)
    run.save(tmp_path / "a.json")
    out = run.pending_pulls()
    for name in ("copy", "twin"):
        assert export_import.import_file(tmp_path / "a.json", url_of(place), name) == len(run.events()) + 1
    copy, twin = (tp.Experiment.open(url_of(place), name) for name in ("copy", "twin"))
    assert copy.pending_pulls() == out
    assert copy.ask(unit="visitor", environment="x") == run.ask(unit="visitor", environment="x")
    assert copy.recommend() == run.recommend()
    asked = [each.ask(environment="z") for each in (run, copy, twin, tp.Experiment.load(tmp_path / "a.json"))]
    assert len({pull.arm for pull in asked}) == 1
    assert len({pull.id for pull in asked}) == 4
    copy.tell(out[0].id, 3.0)
    assert copy.history()["reward"].count(3.0) == 1
    check_refold(copy)
    assert copy.events()[: len(run.events()) - 1] == run.events()[:-1]


def test_a_long_file_brings_its_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr(log_replay, "MIN_EVENTS_BETWEEN_SNAPSHOTS", 200)
    alone = tp.Experiment(ARMS, budget=5000, seed=3)
    play(alone, 150)
    alone.save(tmp_path / "a.json")
    export_import.import_file(tmp_path / "a.json", url_of(tmp_path), "prices")
    run = tp.Experiment.open(url_of(tmp_path), "prices")
    assert log_replay.load_state(log_of(run)).snapshot == len(alone.events()) + 1
    check_refold(run)
    (found,) = backup(url_of(tmp_path), str(tmp_path / "b.db")).experiments
    assert (found.faults, found.snapshots) == ((), 1)


def test_what_cannot_be_imported_leaves_nothing(tmp_path):
    (tmp_path / "no.json").write_text(json.dumps({"some": "thing"}))
    for path, said in ((tmp_path / "no.json", "is not a saved"), (tmp_path / "none.json", "no such file")):
        with pytest.raises(tp.errors.InputError, match=said):
            export_import.import_file(path, url_of(tmp_path), "prices")
    assert not (tmp_path / "shop.db").exists()


def test_a_name_twice(place, tmp_path):
    run = opened(place)
    run.save(tmp_path / "a.json")
    with pytest.raises(tp.errors.InputError, match="'prices' already exists"):
        export_import.import_file(tmp_path / "a.json", url_of(place), "prices")
    with pytest.raises(tp.errors.InputError, match=r"name .* must be a non-empty string"):
        export_import.import_file(tmp_path / "a.json", url_of(place), "")
    assert len(run.events()) == 1
    assert tp.experiments(url_of(place))["name"] == ["prices"]


def test_a_copy_in_another_store_has_everything(place, tmp_path):
    run = busy(place)
    tp.Experiment.open(url_of(place), "colours", ["red", "blue"]).close()
    check_copy(run, url_of(place), url_of(tmp_path, "other.db"))


def test_a_file_becomes_a_database(tmp_path, postgres):
    run = busy(tmp_path)
    tp.Experiment.open(url_of(tmp_path), "colours", ["red", "blue"]).close()
    check_copy(run, url_of(tmp_path), postgres)


def test_a_damaged_store_is_not_copied(tmp_path):
    run = opened(tmp_path)
    play(run, 3)
    connection = database_of(run).connection
    connection.execute("DROP TRIGGER events_stay")
    connection.execute("UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 4")
    with pytest.raises(tp.errors.TideproofError, match="damaged: event 4"):
        copied(url_of(tmp_path), url_of(tmp_path, "other.db"))
    assert tp.experiments(url_of(tmp_path, "other.db"))["name"] == []


def check_copy(run, url, other):
    assert copied(url, other) == ["colours", "prices"]
    copy = tp.Experiment.open(other, "prices")
    assert copy.events()[:-1] == run.events()
    assert isinstance(copy.events()[-1], e.Opened)
    assert copy.once("job", copy.ask, environment="y") == run.once("job", run.ask, environment="y")
    assert copy.ask(unit="visitor", environment="x") == run.ask(unit="visitor", environment="x")
    assert bytes_of(memory_of(copy))[1:] == bytes_of(memory_of(run))[1:]
    mine, theirs = run.ask(environment="z"), copy.ask(environment="z")
    assert mine.arm == theirs.arm
    assert mine.id != theirs.id
    check_refold(copy)
    with pytest.raises(tp.errors.InputError, match="'colours': nothing was copied"):
        copied(url, other)


def test_snapshots_go_along(place, tmp_path, monkeypatch):
    monkeypatch.setattr(log_replay, "MIN_EVENTS_BETWEEN_SNAPSHOTS", 200)
    run = opened(place)
    play(run, 150)
    copied(url_of(place), url_of(tmp_path, "other.db"))
    copy = tp.Experiment.open(url_of(tmp_path, "other.db"), "prices")
    assert log_replay.load_state(log_of(copy)).snapshot == log_replay.load_state(log_of(run)).snapshot > 0
    check_refold(copy)


def test_who_only_reads_changes_nothing(tmp_path):
    shutil.copy(SQLITE_FILE, tmp_path / "shop.db")
    (tmp_path / "shop.db").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        before = (tmp_path / "shop.db").read_bytes()
        assert tp.experiments(url_of(tmp_path))["pulls"] == [4]
        with pytest.raises(tp.errors.StoreError, match="cannot be written"):
            open_backend(url_of(tmp_path), read_only=True).log("prices").begin(lambda: None)
        assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]
        assert (tmp_path / "shop.db").read_bytes() == before
    finally:
        tmp_path.chmod(0o755)


def test_who_cannot_write_sees_what_others_have_just_written(tmp_path):
    run = opened(tmp_path)
    play(run, 5)
    tmp_path.chmod(0o555)
    try:
        assert tp.experiments(url_of(tmp_path))["pulls"] == [5]
        run.ask(environment="x")
        assert tp.experiments(url_of(tmp_path))["pulls"] == [6]
    finally:
        tmp_path.chmod(0o755)
    check_refold(run)


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(tp.errors.MissingFile, match="no such file"):
        tp.experiments(url_of(tmp_path))
    (tmp_path / "shop.db").touch()
    with pytest.raises(tp.errors.InputError, match=r"has no experiments yet: tp\.Experiment\.open"):
        tp.experiments(url_of(tmp_path))
    assert (tmp_path / "shop.db").stat().st_size == 0


def test_nor_are_tables_made_by_reading(postgres):
    with pytest.raises(tp.errors.InputError, match=r"has no experiments yet: tp\.Experiment\.open"):
        tp.experiments(postgres)
    opened(postgres).close()
    with pytest.raises(tp.errors.StoreError, match="cannot be written"):
        open_backend(postgres, read_only=True).import_experiment("other", ExperimentContents("", [], [], []))
