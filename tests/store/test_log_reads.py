"""Who has the lock reads the log only if somebody else has written since."""

import pytest

import tideproof as tp
from store.stores import database_of

pytest.importorskip("apsw")


def reads(run, monkeypatch):
    """Return the list of what a log is asked for from now on."""
    database, asked = database_of(run), []
    plain = database.run

    def watched(sql, values=()):
        asked.append(sql)
        return plain(sql, values)

    monkeypatch.setattr(database, "run", watched)
    return asked


def test_nothing_is_read_that_is_known(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/a.db"
    run = tp.Experiment.open(url, "x", ["A", "B"], budget=50)
    other = tp.Experiment.open(url, "x")
    run.tell(run.ask(environment=1), 1.0)
    asked = reads(run, monkeypatch)
    for _ in range(3):
        run.tell(run.ask(environment=1), 1.0)
    assert [sql for sql in asked if "FROM events" in sql] == []

    pull = other.ask(environment=1)
    run.tell(pull.id, 2.0)  # which it knows of
    assert len([sql for sql in asked if "FROM events" in sql]) == 1
    assert other.recommend().recorded == run.recommend().recorded == 5

    run.close()  # a new connection counts anew
    for _ in range(4):
        other.tell(other.ask(environment=2), 1.0)
    run.ask(environment=1)
    assert len(run.history()) == 10
    run.close()
    other.close()
