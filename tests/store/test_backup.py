"""Backups: made while others write, looked through, and a test can go on from them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tideproof as tp
from store.stores import (
    bytes_of,
    check_refold,
    database_of,
    in_threads,
    log_of,
    memory_of,
    opened,
    play,
    run_sql,
    url_of,
)
from tideproof.cli import app
from tideproof.store.log_replay import load_state
from tideproof.store.store_backup import backup

CLIENT = Path(__file__).parent / "client_process.py"


def test_restored_it_goes_on_where_it_was(place, tmp_path):
    run = opened(place)
    play(run, 40)
    out = run.ask(environment="x", n=3)
    found = backup(url_of(place), str(tmp_path / "b.db"))
    assert [(each.name, each.asked) for each in found.experiments] == [("prices", 41)]
    state = bytes_of(memory_of(run))
    lost = run.ask(environment="x")  # what comes later is not in it
    run.close()
    if place == tmp_path:
        os.remove(tmp_path / "shop.db")
    else:
        run_sql(place, "DROP SCHEMA tideproof CASCADE")
    backup(url_of(tmp_path, "b.db"), url_of(place))
    again = tp.Experiment.open(url_of(place), "prices")
    assert again.pending_pulls() == out
    assert memory_of(again).policy_state.buffers() == state[1]
    pull = again.ask(environment="x")
    assert (pull.arm, pull.environment) == (lost.arm, lost.environment)
    assert pull.id != lost.id  # whoever still has the lost one cannot tell it for this one
    with pytest.raises(tp.errors.UnknownName, match="unknown pull"):
        again.tell(lost.id, 1.0)
    again.tell(out[0], 1.0)
    check_refold(again)


def test_the_file_is_a_store_itself(tmp_path):
    run = opened(tmp_path)
    play(run, 20)
    (tmp_path / "shop.db").chmod(0o640)
    backup(url_of(tmp_path), str(tmp_path / "b.db"))
    assert sorted(os.listdir(tmp_path)) == ["b.db", "shop.db", "shop.db-shm", "shop.db-wal"]
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600
    copy = tp.Experiment.open(url_of(tmp_path, "b.db"), "prices")
    assert copy.history()["reward"] == run.history()["reward"]
    assert copy.ask(environment="x").id != run.ask(environment="x").id
    check_refold(copy)


def test_others_cannot_read_a_copy_that_is_being_made(tmp_path):
    """Whatever a user's umask allows, nobody else may read a copy."""
    run = opened(tmp_path)
    play(run, 20)
    (tmp_path / "shop.db").chmod(0o640)
    seen = set()

    def look(share, doing):
        seen.update((doing, path.stat().st_mode & 0o777) for path in tmp_path.glob(".b.db.*"))

    before = os.umask(0)
    try:
        backup(url_of(tmp_path), str(tmp_path / "b.db"), look)
    finally:
        os.umask(before)
    assert {doing for doing, _ in seen} >= {"copying"}
    assert {mode for _, mode in seen} == {0o600}
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600


def test_others_write_meanwhile(tmp_path):
    run = opened(tmp_path)
    play(run, 300)
    command = [sys.executable, str(CLIENT), url_of(tmp_path), "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        try:
            for _ in range(5):
                client.stdout.readline()
            acknowledged = run.history()["pull"]
            counts = [_backed_up(tmp_path, number, acknowledged) for number in range(3)]
            counts += in_threads(
                lambda: _backed_up(tmp_path, 3, acknowledged), lambda: play(run, 30) or counts[-1]
            )
            assert client.poll() is None
        finally:
            client.kill()
    assert counts[0] < counts[1] < counts[2]  # they did write


def _backed_up(folder, number, acknowledged):
    """Make a backup, check that it has what was acknowledged before, and return how many events it has."""
    (found,) = backup(url_of(folder), str(folder / f"{number}.db")).experiments
    copy = tp.Experiment.open(url_of(folder, f"{number}.db"), "prices")
    assert set(acknowledged) <= set(copy.history()["pull"])
    check_refold(copy)
    copy.close()
    return found.events


def test_nothing_is_overwritten(tmp_path):
    run = opened(tmp_path)
    (tmp_path / "b.db").write_text("precious")
    os.symlink(tmp_path / "nowhere", tmp_path / "link.db")
    for name in ("b.db", "link.db"):
        with pytest.raises(tp.errors.InputError, match=f"{name}.*already exists"):
            backup(url_of(tmp_path), str(tmp_path / name))
    with pytest.raises(tp.errors.InputError, match=r"shop.db.*already exists"):
        backup(url_of(tmp_path), str(tmp_path / "shop.db"))
    with pytest.raises(tp.errors.InputError, match="there is no folder"):
        backup(url_of(tmp_path), str(tmp_path / "no" / "b.db"))
    with pytest.raises(tp.errors.MissingFile, match="no such file"):
        backup(url_of(tmp_path, "none.db"), str(tmp_path / "c.db"))
    assert (tmp_path / "b.db").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["b.db", "link.db", "shop.db", "shop.db-shm", "shop.db-wal"]
    check_refold(run)


def test_a_copy_that_is_not_whole_is_not_kept(tmp_path):
    run = opened(tmp_path)
    play(run, 5)
    connection = database_of(run).connection
    connection.execute("DROP TRIGGER events_stay")
    connection.execute("UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 4")
    with pytest.raises(tp.errors.StoreError, match="the copy is damaged and was deleted"):
        backup(url_of(tmp_path), str(tmp_path / "b.db"))
    assert sorted(os.listdir(tmp_path)) == ["shop.db", "shop.db-shm", "shop.db-wal"]
    with pytest.raises(tp.errors.InputError, match="damaged: event 4"):
        backup(url_of(tmp_path), url_of(tmp_path, "other.db"))


def test_of_a_file_that_cannot_be_written(tmp_path):
    run = opened(tmp_path)
    play(run, 5)
    state = load_state(log_of(run)).state
    run.close()
    (tmp_path / "shut").mkdir()
    os.rename(tmp_path / "shop.db", tmp_path / "shut" / "shop.db")
    (tmp_path / "shut" / "shop.db").chmod(0o444)
    (tmp_path / "shut").chmod(0o555)
    try:
        backup(url_of(tmp_path / "shut"), str(tmp_path / "b.db"))
        assert os.listdir(tmp_path / "shut") == ["shop.db"]
    finally:
        (tmp_path / "shut").chmod(0o755)
    copy = tp.Experiment.open(url_of(tmp_path, "b.db"), "prices")
    assert memory_of(copy).policy_state.buffers() == state.policy_state.buffers()
    copy.tell(copy.ask(environment="x"), 1.0)


def test_from_the_command_line_a_server_is_shown_without_its_user(postgres, tmp_path):
    run = opened(tmp_path)
    play(run, 5)

    def tideproof(*words):
        done = CliRunner().invoke(app, words, env={"COLUMNS": "300"})
        assert done.exit_code == 0, done.output
        return done.stdout

    said = tideproof("backup", url_of(tmp_path), postgres)
    assert said.startswith("postgresql:///")
    assert ": 1 experiment, 11 events, checked\nhead: " in said
    assert tideproof("experiments", postgres).splitlines()[1].split()[:6] == [
        "prices",
        "3",
        "5",
        "0",
        "5",
        "5,000",
    ]
    assert str(run.recommend()) in tideproof("show", postgres, "prices")
    assert "no faults found\nhead: " in tideproof("fsck", postgres)
