"""`tideproof analyze` from end to end: what it prints, writes, guesses and returns."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tideproof.analysis import Fit, fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.cli import app
from tideproof.draw.svg_elements import ticks
from tideproof.errors import InputError, TideproofError
from tideproof.report.html_report import html_report

COLUMNS = {"arm": "variant", "environment": "day", "reward": "sales"}
NAMES = [word for name, column in COLUMNS.items() for word in (f"--{name}", column)]


def frame(gap=1.0, days=20, seed=0, noise=1.0):
    """B is best; it is shown on bad days."""
    random = np.random.default_rng(seed)
    rows = []
    for day in range(days):
        bad = day >= days // 2
        for variant, n in (("A", 6 if bad else 30), ("B", 30 if bad else 6), ("C", 6)):
            mean = {"A": 0.0, "B": gap, "C": -1.0}[variant] - 4.0 * bad + np.sin(day)
            rows += [(variant, f"2024-03-{day + 1:02}", mean + noise * random.normal()) for _ in range(n)]
    return pl.DataFrame(rows, schema=["variant", "day", "sales"], orient="row")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    frame().write_csv(path)
    return path


def run(*arguments, columns=100):
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)], env={"COLUMNS": str(columns)})


@pytest.mark.parametrize("columns", [24, 40, 60])
def test_numbers_stay_whole_on_a_narrow_screen(log, columns):
    wide, narrow = run(log, *NAMES).stdout, run(log, *NAMES, columns=columns).stdout
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= columns
    assert _words_of("B", narrow) == _words_of("B", wide)


def _words_of(arm, shown):
    """The cells of an arm, from all tables."""
    rows = [line.split() for line in shown.splitlines() if line.startswith(f" {arm}")]
    return [word for row in rows for word in row[1:]]


def test_an_exact_fit_is_no_certainty(tmp_path):
    path = tmp_path / "exact.csv"
    path.write_text("variant,day,sales\nA,sun,9\nB,sun,10\nA,rain,1\nB,rain,2\nC,rain,4\n")
    result = run(path, *NAMES)
    assert result.stdout.startswith("C leads: +2 over B, the runner-up; the fit is exact")
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith(" C"))
    assert row[1:3] == ["7.2", "\N{EN DASH}"]  # no interval where there is no noise
    assert result.exit_code == 3
    path.write_text("variant,day,sales\nA,sun,9\nB,sun,10\nA,rain,1\nB,rain,2.0000000001\nC,rain,4\n")
    assert run(path, *NAMES).stdout.startswith(
        "C is best on average over these 2 environments (95 % confidence)"
    )


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e13])
def test_what_is_exact(size):
    random = np.random.default_rng(1)
    for _ in range(20):
        arm, day = random.integers(0, 30, 400), random.integers(0, 20, 400)
        adds_up = size * (random.normal(size=30)[arm] + random.normal(size=20)[day])
        assert Fit.from_arrays(arm, day, adds_up).exact
        assert not Fit.from_arrays(arm, day, adds_up * (1.0 + 1e-13 * random.normal(size=400))).exact


def test_the_verdict_comes_first(log):
    result = run(log, *NAMES)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("B is best on average over environments like these (95 % confidence): +")
    verdict = " ".join(result.stdout.split("\n\n")[0].split())
    assert verdict.endswith("best with probability > 0.999 (exchangeable prior).")
    assert "probability > 0.999 (flat prior)." in " ".join(run(log, *NAMES, "--prior", "flat").stdout.split())
    wrong = run(log, *NAMES, "--prior", "none")
    assert str(wrong.exception) == "prior must be 'exchangeable' or 'flat', not 'none'"
    table = next(i for i, line in enumerate(lines) if line.startswith(" arm "))
    assert [line.split()[0] for line in lines[table + 2 : table + 5]] == ["B", "A", "C"]
    assert "A has the best raw mean. B has the best period-weighted mean" in result.stdout
    assert "shares of the observations differ between environments" in re.sub(r"\s+", " ", result.stdout)
    assert "guessed" not in result.stderr


def test_columns_are_guessed_and_that_is_said(log):
    result = run(log)
    assert result.exit_code == 0
    said = re.sub(r"\s+", " ", result.stderr)
    assert (
        "columns: arm = variant, environment = day, reward = sales (guessed: arm, environment, reward" in said
    )
    again = run(log, "--reward", "sales")
    assert "(guessed: arm, environment;" in re.sub(r"\s+", " ", again.stderr)


TINY = {
    "winner": ("".join(f"A,{day},0\nA,{day},1\nB,{day},10\nB,{day},{11 + day}\n" for day in range(4)), 0),
    "winner_on_these": ("A,1,0\nA,1,1\nB,1,10\nB,1,11\n", 5),
    "open": ("A,1,0\nA,1,1\nB,1,0.5\nB,1,1.5\n", 3),
    "not_comparable": ("A,1,0\nA,1,1\nB,2,10\nB,2,11\n", 4),
}


@pytest.mark.parametrize("standing", TINY)
def test_the_exit_code_says_how_it_stands(tmp_path, standing):
    rows, code = TINY[standing]
    path = tmp_path / "log.csv"
    path.write_text(f"variant,day,sales\n{rows}")
    found = run(path, *NAMES, "--json")
    assert (found.exit_code, json.loads(found.stdout)["standing"]) == (code, standing)
    about_these = run(path, *NAMES, "--json", "--about", "these")
    wins = standing.startswith("winner")
    assert about_these.exit_code == (0 if wins else code)
    said = json.loads(about_these.stdout)
    assert (said["standing"], said["about"]) == ("winner_on_these" if wins else standing, "these")


def test_an_unknown_scope_is_named(log):
    assert (
        str(run(log, *NAMES, "--about", "those").exception)
        == "about must be 'similar' or 'these', not 'those'"
    )


def test_numbers_on_the_screen(tmp_path):
    """One environment: means of 3 rewards, pooled variance 4 with 4 degrees of freedom."""
    path = tmp_path / "log.csv"
    path.write_text("variant,day,sales\nA,1,2\nA,1,4\nA,1,6\nB,1,12\nB,1,14\nB,1,16\n")
    result = run(path, *NAMES)
    row = next(line for line in result.stdout.splitlines() if line.startswith(" B"))
    reach = 2.7764451051977987 * (4 / 3) ** 0.5  # the 0.975 quantile of Student's t with 4 degrees of freedom
    chance = 1 - 0.5 * (1 - 0.9964)  # of t_4 below 10 / sqrt(4 * 2 / 3) = 6.124, to four digits
    assert row.split() == [
        "B",
        "14.0",
        f"{14 - reach:.1f}",
        "to",
        f"{14 + reach:.1f}",
        "yes",
        f"{chance:.3f}",
        "14.0",
        "+0.0",
        "3",
    ]


def test_many_arms_are_cut_and_counted(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"arm{i:03},{day},{i + day % 3}" for i in range(105) for day in (1, 2, 3)]
    path.write_text("variant,day,sales\n" + "\n".join(rows) + "\n")
    shown = run(path, *NAMES).stdout
    assert sum(line.startswith(" arm") and line[4].isdigit() for line in shown.splitlines()) == 100
    assert re.search(r"(?<!\d)5 more arms are not shown; --html and --json show all arms", shown)
    path.write_text("variant,day,sales\n" + "\n".join(rows[:300]) + "\n")
    assert "more arms" not in run(path, *NAMES).stdout


def test_a_report_that_cannot_be_written_is_noticed_before_the_log_is_read(log):
    refused = run(log, *NAMES, "--html", "no/such/report.html")
    assert "there is no folder 'no/such'" in str(refused.exception)
    assert refused.stdout == ""


def test_a_folder_and_a_report_that_are_read_only_are_left_alone(tmp_path, log):
    """Also by who may do everything, as this test perhaps may."""
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    refused = run(log, *NAMES, "--html", folder / "report.html")
    assert isinstance(refused.exception, InputError)
    assert "report.html': the folder " in str(refused.exception)
    assert str(refused.exception).endswith("is read-only")
    report = tmp_path / "report.html"
    report.write_text("signed")
    report.chmod(0o444)
    refused = run(log, *NAMES, "--html", report)
    assert str(refused.exception) == f"cannot write '{report}': it is read-only"
    assert (report.read_text(), refused.stdout) == ("signed", "")


def test_what_a_user_may_not_look_into(tmp_path, log, monkeypatch):
    """Whoever may do everything is told by the system that this may not be done."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "read-only" in str(run(log, *NAMES, "--html", tmp_path / "report.html").exception)

    def closed(path, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", closed)
    refused = run(tmp_path / "x" / "log.csv", *NAMES)
    assert isinstance(refused.exception, InputError)


def test_a_pipe(tmp_path, log):
    """All kinds of files; the message names none that nobody knows."""
    for name in ("log.csv", "log.parquet", "log.ndjson", "log.csv.gz"):
        path = tmp_path / name
        if name.endswith("parquet"):
            frame().write_parquet(path)
        elif name.endswith("ndjson"):
            frame().write_ndjson(path)
        elif name.endswith("gz"):
            path.write_bytes(gzip.compress(log.read_bytes()))
        done = CliRunner().invoke(app, ["analyze", "-", *NAMES, "--json"], input=path.read_bytes())
        assert json.loads(done.stdout)["best"] == "B"
    refused = CliRunner().invoke(app, ["analyze", "-", *NAMES], input=b"")
    assert str(refused.exception) == "the file '-' is empty"
    refused = CliRunner().invoke(app, ["analyze", "-", "--arm", "x"], input=log.read_bytes())
    assert str(refused.exception).startswith("unknown column 'x'")


def test_names_that_would_steer_a_terminal(tmp_path):
    """They are written out, wherever they stand: in the answer, in warnings, in errors."""
    path = tmp_path / "log.csv"
    for name in ("\x1b[31mB", "B\x00", "B\x9b1m", "B\x07"):
        path.write_text("variant,day,sales\n" + f"A,mon,3\n{name},mon,4\nA,mon,5\n{name},mon,6\n" * 5)
        done = run(path, *NAMES)
        shown = done.stdout + done.stderr
        assert not set(shown) & set("\x1b\x00\x9b\x07")
        assert name.encode("unicode_escape").decode() in shown
    bad = subprocess.run(
        [sys.executable, "-m", "tideproof", "analyze", path, "--arm", "\x1b[31mB"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "\x1b" not in bad.stderr
    assert (bad.returncode, "'\\x1b[31mB'" in bad.stderr) == (2, True)


def test_labels_that_may_be_meant_as_one(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{v},{day},{x}\n" for x, v in enumerate(["B", "B ", "a", "A", "NULL"]) for day in ("mon", "Mon")]
    path.write_text("variant,day,sales\n" + "".join(rows) * 3)
    found = json.loads(run(path, "--json").stdout)
    assert len(found["warnings"]) == 3
    said = found["warnings"] + found["notes"]
    for sentence in (
        "Arms 'B' and 'B ' differ only in spaces or capitals; they are counted as two.",
        "Arms 'A' and 'a' differ only in spaces or capitals; they are counted as two.",
        "Arm 'NULL' looks like a missing value; it is counted as an arm.",
        "Environments 'Mon' and 'mon' differ only in spaces or capitals; they are counted as two.",
    ):
        assert sentence in said


def test_one_environment_is_said(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("variant,sales\n" + "A,3\nB,4\nA,3.5\nB,6\n" * 5)
    notes = json.loads(run(path, "--no-environment", "--json").stdout)["notes"]
    assert any("With one environment" in note for note in notes)
    both = run(path, "--no-environment", "--environment", "variant")
    assert "--environment and --no-environment cannot be combined" in str(both.exception)


def test_the_name_of_the_report_is_printed_as_it_is(tmp_path, log):
    path = tmp_path / "a[bold]b.html"
    assert f"report: {path}" in run(log, *NAMES, "--html", path, columns=300).stderr
    assert path.exists()


def test_exit_codes(tmp_path, log):
    close = tmp_path / "close.csv"
    frame(gap=0.02).write_csv(close)
    open_race = run(close, *NAMES)
    assert open_race.exit_code == 3
    assert "cannot be excluded (95 % confidence)" in " ".join(open_race.stdout.split())
    apart = tmp_path / "apart.csv"
    apart.write_text("variant,day,sales\n" + "A,1,2\nB,1,3\nA,1,4\nC,2,3\nD,2,5\nD,2,6\n")
    result = run(apart, *NAMES)
    assert result.exit_code == 4
    said = re.sub(r"\s+", " ", result.stdout)
    assert "no best arm: (A, B) and (C, D) have no environment in common; to compare them, collect" in said
    rows = [line.split() for line in result.stdout.splitlines() if line[:2] in {" A", " C"}]
    assert [row[-4] for row in rows] == ["1", "2"]
    assert "can be best" not in said
    assert "can be best" not in html_report(describe_fit(fit(str(apart), **COLUMNS)), "apart.csv", "")
    assert isinstance(run(tmp_path / "none.csv").exception, FileNotFoundError)
    assert run(tmp_path / "none.csv").exit_code == 1  # the runner sees the error; `main` makes it 2
    for arguments, message in {
        ("none.csv",): "tideproof: there is no file 'none.csv'",
        (
            str(log),
            "--arm",
            "varient",
            "--environment",
            "day",
            "--reward",
            "sales",
        ): "did you mean 'variant'?",
        (str(log), "--html", "no/such/report.html"): "there is no folder 'no/such'",
        (str(log), "--variance", "equal"): "variance must be one of 'auto', 'common'",
    }.items():
        process = subprocess.run(
            [sys.executable, "-m", "tideproof.cli", "analyze", *arguments], capture_output=True, text=True
        )
        assert process.returncode == 2
        assert message in process.stderr
        assert "Traceback" not in process.stderr
        assert process.stdout == ""


def test_json(log):
    result = run(log, *NAMES, "--json", "--confidence", "0.9", "--minimize", "--variance", "sandwich")
    found = json.loads(result.stdout)
    assert result.exit_code == 5
    assert (found["best"], found["standing"], found["candidates"]) == ("C", "winner_on_these", ["C"])
    assert (found["confidence"], found["direction"], found["variance"]) == (0.9, "minimize", "sandwich")
    assert {row["arm"] for row in found["arms"]} == {"A", "B", "C"}
    assert len(found["shifts"]) == 20
    assert found["columns"]["reward"] == "sales"
    names = {"arm": "variant", "environment": "day", "reward": "sales"}
    ours = fit(log, **names, confidence=0.9, direction="minimize", variance="sandwich")
    assert found["arms"] == ours.arms.to_dicts()


def test_aggregated_missing_and_derived(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        "variant,ts,mean,n,sd\n"
        "A,2024-01-01 10:00:00,3,10,1\nB,2024-01-01 11:00:00,5,10,1\nA,2024-01-02 10:00:00,6,12,1\n"
        "B,2024-01-02 23:00:00,8,7,1\nB,2024-01-02 23:00:00,,7,1\n"
    )
    options = ["--arm", "variant", "--environment", "day(ts)", "--reward", "mean", "--n", "n", "--sd", "sd"]
    assert isinstance(run(path, *options).exception, InputError)
    result = run(path, *options, "--drop-missing", "--json")
    found = json.loads(result.stdout)
    assert (found["best"], found["dropped"]) == ("B", 1)
    assert [row["environment"] for row in found["shifts"]] == ["2024-01-01", "2024-01-02"]


def test_a_database(tmp_path):
    import duckdb

    path = tmp_path / "logs.duckdb"
    data = frame().to_arrow()  # noqa: F841
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table log as select * from data")
    assert run(path).exit_code == 0
    result = run(path, "--table", "select variant, day, -sales as sales from log", "--minimize", "--json")
    assert json.loads(result.stdout)["best"] == "B"


class Outside(HTMLParser):
    """Collect everything in a page that would be fetched from elsewhere, and check that tags match."""

    def __init__(self):
        super().__init__()
        self.fetched, self.open = [], []

    def handle_starttag(self, tag, attributes):
        self.fetched += [v for k, v in attributes if k in ("src", "href", "srcset", "data") and tag != "a"]
        if tag not in ("meta", "br", "img", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_one_file(log, tmp_path):
    path = tmp_path / "report.html"
    result = run(log, *NAMES, "--html", path)
    assert result.exit_code == 0
    assert "report: " in result.stderr
    text = path.read_text()
    parser = Outside()
    parser.feed(text)
    assert parser.open == []
    assert parser.fetched == []
    assert not re.search(r"url\(|@import|<script ", text)
    assert text.count("<svg") == 3
    assert "B is best on average over environments like these (95 % confidence)" in text
    assert "nan" not in re.sub(r"<style>.*</style>", "", text, flags=re.DOTALL).lower().split()


@pytest.mark.parametrize("kind", ["apart", "no freedom", "many arms", "hostile names", "one environment"])
def test_reports_of_odd_data(kind):
    random = np.random.default_rng(1)
    arm, environment = np.repeat(list("ABCD"), 4), np.tile([1, 1, 2, 2], 4)
    if kind == "apart":
        environment = np.repeat([1, 2], 8)
    elif kind == "no freedom":
        arm, environment = np.array(list("ABBC")), np.array([1, 1, 2, 2])
    elif kind == "many arms":
        arm, environment = np.tile(np.arange(60), 4), np.repeat(np.arange(8), 30)
    elif kind == "hostile names":
        arm = np.array([f"<script>alert('{name}')</script>&\"" for name in arm])
    elif kind == "one environment":
        environment = np.zeros(16, int)
    found = Fit.from_arrays(arm, environment, random.normal(size=arm.size))
    text = html_report(describe_fit(found), "<here>", "arm = <b>")
    assert text.count("<script") == 1  # ours
    assert "<here>" not in text
    parser = Outside()
    parser.feed(text)
    assert parser.open == []


def test_warnings_say_what_fails():
    random = np.random.default_rng(2)
    arm, environment = np.tile(np.repeat(list("ABC"), 10), 12), np.repeat(np.arange(12), 30)
    noise = random.normal(size=arm.size)
    broken = noise + 3.0 * (arm == "B") * (environment % 2)
    assert any(
        "Differences between arms vary from environment to environment more than" in text
        for text in describe_fit(Fit.from_arrays(arm, environment, broken)).warnings
    )
    uneven = noise * np.where(arm == "C", 6.0, 1.0)
    equal, measured = (Fit.from_arrays(arm, environment, uneven, variance=v) for v in ("common", "auto"))
    assert any("variance='by-arm'" in text for text in describe_fit(equal).notes)
    assert not any("variance of rewards differs" in text for text in describe_fit(measured).warnings)
    one = noise * 0.05 + np.where((environment == 3) & (arm == "A"), 9.0, 0.0) + 0.1 * (arm == "B")
    assert any(
        "Without environment 3, B would lead" in text
        for text in describe_fit(Fit.from_arrays(arm, environment, one, about="these")).warnings
    )
    assert describe_fit(Fit.from_arrays(arm, environment, noise + (arm == "B"))).warnings == []


def test_ticks_are_round():
    assert ticks(-3.9, 4.2, 6) == [-2.0, 0.0, 2.0, 4.0]
    assert ticks(5.0, 5.0) == [5.0]


def test_errors_are_one_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("variant,day,sales\nA,mon,3\nB,mon,oops\n")
    result = run(path, *NAMES)
    assert isinstance(result.exception, TideproofError)
    assert "\n" not in str(result.exception)
