"""`tideproof calibrate` from the command line."""

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import InputError
from tideproof.research.trust.ledger_part import LedgerPart, columns
from tideproof.research.trust.log_settings import SETTINGS, chosen


def run(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)], env={"COLUMNS": "300"})


def test_a_setting_is_played_shown_and_written(tmp_path):
    name = SETTINGS[0].name
    done = run("--logs", 5, "--only", name, "--workers", 1, "--out", tmp_path / "new")
    assert done.exit_code == 0, done.output
    assert "5 logs of each setting" in done.output
    assert "Promises were broken in 0 of 1 setting." in done.output
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ledger.md", "logs.csv"]


def part_of(kept):
    """Return a part with two cells, whose rows are kept or not."""

    def play(cells, asked):
        return ([{"world": cell.name, "runs": asked.runs, "kept": kept}] for cell in cells)

    cells = [SimpleNamespace(name="tie"), SimpleNamespace(name="slippage")]
    options = ("seed", "workers", "worlds", "budgets", "heavy", "plot")
    said = lambda rows: [f"{len(rows)} played"]  # noqa: E731
    draw = lambda rows, path: path.write_text(rows[0]["world"])  # noqa: E731
    return LedgerPart("all is well", 77, options, lambda asked: cells, play, columns, said, draw)


@pytest.mark.parametrize(("kept", "code"), [(True, 0), (False, 3)])
def test_another_part_is_played_and_written(monkeypatch, tmp_path, kept, code):
    monkeypatch.setattr("tideproof.research.trust.wrong_stops.PART", part_of(kept))
    picture = tmp_path / "picture.svg"
    done = run("--part", "stops", "--out", tmp_path, "--plot", picture)
    assert done.exit_code == code, done.output
    assert "2 played" in done.output
    assert f"all is well: broken in {0 if kept else 2} of 2 rows" in done.output
    assert ("broken: world tie, runs 77" in done.output) is not kept
    assert (tmp_path / "stops.csv").read_text().splitlines() == [
        "world,runs,kept",
        *(f"{name},77,{kept}" for name in ("tie", "slippage")),
    ]
    assert picture.read_text() == "tie"
    some = run("--part", "stops", "--runs", 5, "--only", "sl*").output
    assert "1 played" in some
    assert kept or "broken: world slippage, runs 5" in some


def test_what_is_not_promised_is_not_broken(monkeypatch):
    monkeypatch.setattr("tideproof.research.trust.wrong_stops.PART", part_of(False))
    done = run("--part", "stops", "--heavy")
    assert done.exit_code == 0, done.output
    assert "exceeded in 2 of 2 rows (with these options it is not promised)" in done.output
    assert "broken" not in done.output


def test_what_was_played_of_a_long_run_is_not_lost(monkeypatch, tmp_path):
    whole = part_of(True)

    def play(cells, asked):
        yield next(whole.play(cells, asked))
        raise KeyboardInterrupt

    monkeypatch.setattr("tideproof.research.trust.wrong_stops.PART", whole._replace(play=play))
    monkeypatch.setattr("tideproof.commands.calibrate.SAVE_INTERVAL", -1.0)
    assert run("--part", "stops", "--out", tmp_path).exit_code == 130
    assert (tmp_path / "stops.csv").read_text().splitlines()[1:] == ["tie,77,True"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--part", "gold"), "unknown part 'gold'"),
        (("--only", "gold"), "no setting matches 'gold'"),
        (
            ("--part", "looks", "--only", "gold"),
            "no row of --part looks matches 'gold'; names look like 'conversions-0.03-",
        ),
        (
            ("--runs", 5),
            "--runs has no effect on --part logs, whose options are --logs, --workers, --only, --out",
        ),
        (
            ("--part", "plans", "--heavy"),
            "--heavy has no effect on --part plans, whose options are --runs, --seed",
        ),
        (("--part", "stops", "--logs", 5), "--logs has no effect on --part stops"),
        (
            ("--part", "stops", "--budgets", "300,200"),
            "--budgets must be whole numbers above 0 in ascending order",
        ),
        (("--part", "stops", "--runs", 0), "runs must be a whole number of at least 1, not 0"),
        (("--part", "ends", "--worlds", -1), "worlds must be a whole number of at least 0, not -1"),
        (("--part", "chances", "--plot", "a.txt"), "a picture must end in"),
        (("--part", "chances", "--prior", "gold"), "prior"),
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
    monkeypatch.setattr("tideproof.research.trust.promised_error_rates.ERROR", -1.0)
    one = next(iter(chosen(SETTINGS[0].name)[0]))
    done = run("--logs", 5, "--only", one.name, "--workers", 1)
    assert done.exit_code == 3
    assert f"broken: {one.name}: best excluded" in done.output
