"""An experiment that is deleted is gone, whole or not at all, also for processes that have it open."""

import shutil
from pathlib import Path

import pytest

import tideproof as tp
from store.stored_store import SQLITE_FILE
from store.stores import database_of, opened, play, run_sql, url_of
from tideproof.store.store_check import fsck
from tideproof.store.store_urls import open_backend

TABLES = ("events", "answers", "salts", "unit_hashes", "writers", "snapshots")


def faults(place):
    backend = open_backend(url_of(place), read_only=True)
    try:
        return fsck(backend).all_faults
    finally:
        backend.close()


def names(place):
    return list(tp.experiments(url_of(place))["name"])


def two_experiments(place):
    """Return two open experiments, "first" and "second", with pulls, units and stored answers."""
    made = []
    for name in ("first", "second"):
        run = tp.Experiment.open(url_of(place), name, ["A", "B"], budget=5000)
        play(run, 20)
        run.once("job", run.ask, environment="monday")
        run.ask(unit=f"visitor of {name}", environment="monday")
        run.note(f"a note of {name}")
        made.append(run)
    return made


@pytest.mark.parametrize("name", ["first", "second"])
def test_everything_of_one_experiment_is_deleted_and_nothing_of_another(place, name):
    runs = two_experiments(place)
    kept = {"first": runs[1], "second": runs[0]}[name]
    before = kept.history()["reward"]
    tp.Experiment.delete(url_of(place), name)
    assert names(place) == [{"first": "second", "second": "first"}[name]]
    for table in TABLES:
        assert len(run_sql(place, f"SELECT DISTINCT experiment FROM {table}")) <= 1, table
    assert faults(place) == []
    kept.tell(kept.ask(environment="tuesday"), 1.0)
    assert kept.history()["reward"][: len(before)] == before
    with pytest.raises(tp.errors.UnknownName, match=f"unknown experiment '{name}'"):
        tp.Experiment.delete(url_of(place), name)


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.ask(environment="tuesday"),
        lambda run: run.recommend(),
        lambda run: run.once("another", run.ask, environment="tuesday"),
    ],
    ids=["ask", "recommend", "once"],
)
@pytest.mark.parametrize("again", [False, True], ids=["gone", "made again"])
def test_a_process_that_has_it_open_is_told(place, call, again):
    _, run = two_experiments(place)
    tp.Experiment.delete(url_of(place), "second")
    other = tp.Experiment.open(url_of(place), "second", ["C", "D"]) if again else None
    if other is not None:
        other.note("new")
    for _ in range(2):
        with pytest.raises(tp.errors.UnknownName, match="the experiment was deleted"):
            call(run)
    assert run.internals.is_deleted
    if other is not None:
        assert len(other.events()) == 2
        assert other.arms == ("C", "D")
        other.close()
    run.close()
    assert faults(place) == []


def test_a_name_can_be_used_again(place):
    two_experiments(place)
    for _ in range(3):
        tp.Experiment.delete(url_of(place), "second")
        run = tp.Experiment.open(url_of(place), "second", ["C", "D"])
        assert len(run.events()) == 1
        run.close()
    assert faults(place) == []


def test_an_interrupted_deletion_deletes_nothing(place, monkeypatch):
    two_experiments(place)
    backend = open_backend(url_of(place))
    database = getattr(backend, "_database")  # noqa: B009  where the test interrupts it
    method = "run" if hasattr(database, "run_many") else "send"
    original, calls = getattr(database, method), []

    def interrupted(sql, *values):
        calls.append(sql)
        if "DELETE FROM" in sql and ("events" in sql or "writers" in sql):
            raise KeyboardInterrupt
        return original(sql, *values)

    monkeypatch.setattr(database, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        backend.delete_experiment("second")
    monkeypatch.undo()
    backend.close()
    assert names(place) == ["first", "second"]
    assert faults(place) == []
    tp.Experiment.delete(url_of(place), "second")
    assert names(place) == ["first"]


def test_no_byte_of_it_stays_in_the_files(tmp_path):
    for run in two_experiments(tmp_path):
        run.note("an unusual word: Quarzsandnachbarschaft")
        run.close()
    tp.Experiment.open(url_of(tmp_path), "second").close()
    for name in ("first", "second"):
        tp.Experiment.delete(url_of(tmp_path), name)
    contents = b"".join(path.read_bytes() for path in Path(tmp_path).iterdir())
    for word in (b"Quarzsandnachbarschaft", b"second", b"a note of"):
        assert word not in contents


def test_events_are_still_protected_after_a_deletion(tmp_path):
    first, _ = two_experiments(tmp_path)
    tp.Experiment.delete(url_of(tmp_path), "second")
    with pytest.raises(Exception, match="an event cannot be deleted"):
        database_of(first).connection.execute("DELETE FROM events")


def test_a_store_that_is_missing_is_not_created(tmp_path):
    with pytest.raises(tp.errors.InputError):
        tp.Experiment.delete(url_of(tmp_path), "second")
    assert list(tmp_path.iterdir()) == []


def test_summaries_of_older_versions_are_no_fault(tmp_path):
    """They lack what lists need to know without opening an experiment."""
    shutil.copy(SQLITE_FILE, tmp_path / "shop.db")
    assert faults(tmp_path) == []
    run = tp.Experiment.open(url_of(tmp_path), "prices")
    run.stop(ship="B")
    run.archive()
    run.close()
    assert faults(tmp_path) == []
    assert names(tmp_path) == []
    assert tp.experiments(url_of(tmp_path), archived=True)["name"] == ["prices"]


def test_a_wrong_summary_is_a_fault(tmp_path):
    run = opened(tmp_path)
    run.stop()
    run.close()
    run_sql(
        tmp_path, "UPDATE experiments SET about = replace(about, '\"stopped\": true', '\"stopped\": false')"
    )
    assert any("does not agree" in fault for fault in faults(tmp_path))
