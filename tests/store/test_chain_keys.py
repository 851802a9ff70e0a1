"""What somebody can change who can write the whole database: a key and heads kept elsewhere show it."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tideproof as tp
from store.stores import log_of, opened, play, run_sql, url_of
from tideproof.cli import app
from tideproof.commands.option_types import has_password
from tideproof.serve.service_settings import from_environment
from tideproof.store import hash_chain
from tideproof.store.backend import LogEntry

KEY = "a key of more than 20 characters"


def command(*words):
    found = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "300"})
    error = found.exception
    said = "" if error is None or isinstance(error, SystemExit) else str(error)
    return found.exit_code, found.output + said


def rewrite(folder, key=b""):
    """Change the last reward, compute the chain anew as the attacker can, and drop all snapshots."""
    triggers = run_sql(folder, "SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
    for name in ("events_stay", "events_are_kept", "events_follow"):
        run_sql(folder, f"DROP TRIGGER {name}")
    rows = run_sql(folder, "SELECT seq, at, pulls, record, '', writer, hash FROM events ORDER BY seq")
    entries, previous = [LogEntry(*row) for row in rows], hash_chain.INITIAL_HASH
    last = max(each.seq for each in entries if each.record.startswith('["Told"'))
    for each in entries:
        record = each.record
        if each.seq == last:
            event = json.loads(record)
            event[4][0] += 1e-9
            record = json.dumps(event, separators=(",", ":"))
        text = b"%b%d %b%b" % (previous, each.seq, each.writer, record.encode())
        previous = hash_chain.hashlib.blake2b(text, digest_size=16, key=key).digest()
        run_sql(folder, f"UPDATE events SET hash = x'{previous.hex()}' WHERE seq = {each.seq}")
        run_sql(folder, f"UPDATE events SET record = '{record}' WHERE seq = {each.seq}")
    run_sql(folder, "DELETE FROM snapshots")
    for (sql,) in triggers:
        run_sql(folder, sql)


def cut(folder, last):
    """Remove the last events, and everything that refers to them."""
    (trigger,) = run_sql(folder, "SELECT sql FROM sqlite_schema WHERE name = 'events_are_kept'")
    run_sql(folder, "DROP TRIGGER events_are_kept")
    run_sql(folder, f"DELETE FROM events WHERE seq > {last}")
    run_sql(folder, "DELETE FROM snapshots")
    run_sql(folder, *trigger)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("TIDEPROOF_CHAIN_KEY", raising=False)
    return tmp_path


def test_a_chain_that_was_computed_anew_passes_without_a_key_and_fails_with_one(folder, monkeypatch):
    for key in ("", KEY):
        monkeypatch.setenv("TIDEPROOF_CHAIN_KEY", key)
        run = opened(folder)
        play(run, 20)
        run.close()
        assert command("fsck", url_of(folder))[0] == 0
        rewrite(folder)
        code, said = command("fsck", url_of(folder))
        assert (code, "made without a key" in said) == ((1, True) if key else (0, False)), said
        if key:
            with pytest.raises(tp.errors.InputError, match="made without a key"):
                tp.Experiment.open(url_of(folder), "prices")
        (folder / "shop.db").unlink()


def test_a_store_with_a_key_needs_this_key(folder, monkeypatch):
    key_file = folder / "key"
    key_file.write_text(f"{KEY}\n")
    monkeypatch.setenv("TIDEPROOF_CHAIN_KEY_FILE", str(key_file))
    run = opened(folder)
    play(run, 20)
    run.close()
    monkeypatch.delenv("TIDEPROOF_CHAIN_KEY_FILE")
    monkeypatch.setenv("TIDEPROOF_CHAIN_KEY", KEY)  # the same key
    assert tp.Experiment.open(url_of(folder), "prices").history()
    for other, said in ((f"{KEY}x", "Another TIDEPROOF_CHAIN_KEY"), ("", "set TIDEPROOF_CHAIN_KEY to it")):
        monkeypatch.setenv("TIDEPROOF_CHAIN_KEY", other)
        with pytest.raises(tp.errors.InputError, match=said):
            tp.Experiment.open(url_of(folder), "prices")
        assert command("fsck", url_of(folder))[0] == 1


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("TIDEPROOF_CHAIN_KEY", "short", "at least 20 characters, and has 5"),
        ("TIDEPROOF_CHAIN_KEY_FILE", "/no/such/file", "cannot be read"),
    ],
)
def test_a_key_that_is_no_key(folder, monkeypatch, variable, value, said):
    monkeypatch.setenv(variable, value)
    with pytest.raises(tp.errors.InputError, match=said):
        opened(folder)


def test_an_experiment_gets_a_key_by_export_and_import(folder, monkeypatch):
    run = opened(folder)
    play(run, 20)
    before = run.history()["reward"]
    run.close()
    assert command("export", url_of(folder), "prices", folder / "prices.json")[0] == 0
    assert (folder / "prices.json").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("TIDEPROOF_CHAIN_KEY", KEY)
    new = url_of(folder, "new.db")
    assert command("import", folder / "prices.json", new, "prices")[0] == 0
    assert tp.Experiment.open(new, "prices").history()["reward"] == before
    assert command("fsck", new)[0] == 0


def test_a_head_that_was_kept_elsewhere_shows_what_is_missing(folder):
    run = opened(folder)
    play(run, 20)
    run.close()
    url, heads = url_of(folder), folder / "heads.json"
    code, said = command("fsck", url, "--json")
    heads.write_text(said)
    assert code == 0
    assert json.loads(said)["head"] in command("fsck", url)[1]
    assert command("fsck", url, "--heads", heads)[0] == 0
    last = json.loads(said)["experiments"][0]["events"]
    run = tp.Experiment.open(url, "prices")
    run.note("later")
    run.close()
    assert command("fsck", url, "--heads", heads)[0] == 0  # what came later is no fault
    cut(folder, last - 1)
    assert command("fsck", url)[0] == 0  # without the head, nobody notices
    code, said = command("fsck", url, "--heads", heads)
    assert (code, f"there were {last} when" in said) == (1, True), said
    run = tp.Experiment.open(url, "prices")
    run.note("instead")
    run.close()
    code, said = command("fsck", url, "--heads", heads)
    assert (code, "had another hash" in said) == (1, True), said
    assert command("fsck", url, "prices", "--heads", heads)[0] == 1
    tp.Experiment.delete(url, "prices")
    assert "prices: the experiment is missing" in command("fsck", url, "--heads", heads)[1]


def test_the_head_of_a_backup_fits_store_and_backup(folder):
    run = opened(folder)
    play(run, 20)
    code, said = command("backup", url_of(folder), folder / "b.db", "--json")
    assert code == 0
    (folder / "heads.json").write_text(said)
    play(run, 5)
    run.close()
    for name in ("shop.db", "b.db"):
        assert command("fsck", url_of(folder, name), "--heads", folder / "heads.json")[0] == 0
    assert "head: " in command("backup", url_of(folder), folder / "c.db")[1]


def test_heads_that_are_no_heads(folder):
    opened(folder).close()
    for text in ("", "[]", '{"experiments": [1]}'):
        (folder / "heads.json").write_text(text)
        assert "no heads" in command("fsck", url_of(folder), "--heads", folder / "heads.json")[1]
    assert "no such file" in command("fsck", url_of(folder), "--heads", folder / "none.json")[1]


def test_only_the_owner_may_read_the_files_of_a_store(folder):
    before = os.umask(0)
    try:
        run = opened(folder)
        play(run, 5)
        assert command("backup", url_of(folder), folder / "b.db")[0] == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path(folder).iterdir()}
    assert modes == dict.fromkeys(("shop.db", "shop.db-wal", "shop.db-shm", "b.db"), 0o600)
    log_of(run).close()


@pytest.mark.parametrize(
    ("url", "has"),
    [
        ("postgresql://me:secret@host/db", True),
        ("postgres://host/db?user=me&password=secret", True),
        ("postgresql://me@host/db?passfile=/x", False),
        ("sqlite:///a:b@c.db", False),
    ],
)
def test_a_password_is_no_argument_of_a_command(url, has):
    assert has_password(url) == has
    if has:
        for words in (("fsck", url), ("serve", url), ("backup", "sqlite:///a.db", url), ("delete", url, "x")):
            code, said = command(*words)
            assert (code, "PGPASSFILE" in said, "secret" in said) == (1, True, False), said


def test_credentials_come_from_files(tmp_path):
    (tmp_path / "key").write_text("a key of the operator that is long\n")
    environment = {"TIDEPROOF_ADMIN_KEY_FILE": str(tmp_path / "key")}
    assert from_environment(environment).admin_key == "a key of the operator that is long"
    with pytest.raises(tp.errors.InputError, match="cannot be read"):
        from_environment({"TIDEPROOF_ADMIN_KEY_FILE": str(tmp_path / "none")})
