"""`tideproof calibrate` from the command line."""

import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import InputError
from tideproof.table import Table
from tideproof.trust.parts import PARTS, Part
from tideproof.trust.settings import SETTINGS, chosen


def run(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)], env={"COLUMNS": "300"})


def test_a_setting_is_played_shown_and_written(tmp_path):
    name = SETTINGS[0].name
    done = run("--logs", 5, "--only", name, "--workers", 1, "--out", tmp_path / "new")
    assert done.exit_code == 0, done.output
    assert "5 logs a setting" in done.output
    assert "Promises were broken in 0 of 1 setting." in done.output
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ledger.md", "logs.csv"]


@pytest.mark.parametrize(("kept", "code"), [(True, 0), (False, 3)])
def test_another_part_is_played_and_written(monkeypatch, tmp_path, kept, code):
    def play(runs):
        return Table({"world": ["tie"], "runs": [runs], "kept": [kept]})

    monkeypatch.setitem(PARTS, "stops", Part("all is well", 77, play))
    done = run("--part", "stops", "--out", tmp_path)
    assert done.exit_code == code, done.output
    assert f"all is well: broken in {0 if kept else 1} of 1 row" in done.output
    assert ("broken: world tie, runs 77" in done.output) is not kept
    assert (tmp_path / "stops.csv").read_text().splitlines()[0] == "world,runs,kept"
    assert "runs 5" in run("--part", "stops", "--runs", 5).output or kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--part", "gold"), "unknown part 'gold'"),
        (("--only", "gold"), "no setting is called 'gold'"),
        (("--logs", 0), "logs must be a whole number of at least 1, not 0"),
        (("--workers", 0), "workers must be a whole number of at least 1, not 0"),
    ],
)
def test_bad_input_is_one_line(arguments, said):
    error = run(*arguments).exception
    assert isinstance(error, InputError)
    assert said in str(error)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    error = run("--logs", 5, "--out", tmp_path / "file").exception
    assert isinstance(error, InputError)
    assert "cannot write into" in str(error)


def test_a_broken_promise_has_its_own_exit_code(monkeypatch):
    monkeypatch.setattr("tideproof.trust.promises.ERROR", -1.0)
    one = next(iter(chosen(SETTINGS[0].name)[0]))
    done = run("--logs", 5, "--only", one.name, "--workers", 1)
    assert done.exit_code == 3
    assert f"broken: {one.name}: best excluded" in done.output
