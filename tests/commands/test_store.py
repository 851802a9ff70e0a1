"""The commands for stores: experiments, show, export, import, backup, delete, fsck."""

import contextlib
import json
import os
import sqlite3

import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof import progress
from tideproof.cli import app


def run(*arguments, columns=80, **how):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": str(columns)}, **how)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return a store with three experiments."""
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/shop.db"
    clock = {"clock": lambda: 1.7e9}
    prices = tp.Experiment.open(url, "prices", ["low", "high"], budget=100, seed=1, **clock)
    for day in range(4):
        pulls = prices.ask(n=10, environment=f"day {day}")
        prices.tell_many(pulls, [day + (p.arm == "high") + i % 3 / 10 for i, p in enumerate(pulls)])
    prices.ask(n=12, environment="day 4")
    prices.note("looks [red]good[/red]\x1b[31m", by="ann")
    tp.Experiment.open(url, "colours", ["red", "blue"], **clock).ask(environment=1)
    rates = tp.Experiment.open(
        url, "rates", ["A", "B"], rewards="conversions", budget=20, lease=10.0, **clock
    )
    rates.ask(n=4, environment=1)
    for each in (prices, rates):
        each.close()
    return url


def test_a_list(url):
    done = run("experiments", url)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    first, colours, prices, rates, *_ = (line.split() for line in done.stdout.splitlines())
    assert first == ["name", "arms", "pulls", "pending", "rewards", "budget", "verdict", "last", "event"]
    assert colours[:9] == ["colours", "2", "1", "1", "0", "\N{EN DASH}", "no", "rewards", "yet"]
    assert prices[:6] == ["prices", "2", "52", "12", "40", "100"]
    assert "high (> 0.999)" in done.stdout
    assert prices[-1] == "d"  # days ago
    assert rates[2:5] == ["4", "0", "4"]  # their window is over, for who looks now
    rows = json.loads(run("experiments", url, "--json").stdout)
    assert rows[1]["arms"] == ["low", "high"]
    assert (rows[1]["pending"], rows[1]["recorded"], rows[1]["last"]) == (12, 40, 1.7e9)


def test_an_empty_list(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    with pytest.raises(tp.errors.UnknownName):
        tp.Experiment.open(url, "prices")
    assert run("experiments", url).stdout == "no experiments\n"


@pytest.mark.parametrize("columns", [80, 120])
def test_a_page(url, columns):
    done = run("show", url, "prices", columns=columns)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    head = " ".join(" ".join(lines[:2]).split())
    facts = "prices: running; policy contrast; budget 100; 52 pulls, 40 rewards, 12 pending pulls, 0 cancelled or expired pulls"
    assert head.startswith(facts)
    sentence = str(tp.Experiment.open(url, "prices").recommend())
    assert sentence in " ".join(done.stdout.split())
    assert lines.index("the oldest 10 of 12 pending pulls") > 0
    high, low = (next(line.split() for line in lines if line.startswith(arm)) for arm in ("high", "low"))
    assert high[-2:] == ["26", "6"]
    assert low[-2:] == ["26", "6"]
    words = " ".join(done.stdout.split())
    assert "10 2023-11-14 22:13:20 assigned 12 pulls in 'day 4': 6 of low and 6 of high" in words
    assert "note: looks [red]good[/red]\\x1b[31m (by ann)" in done.stdout
    assert "11 events in total" in done.stdout


def test_a_page_as_json(url):
    found = json.loads(run("show", url, "prices", "--json", "--events", 1).stdout)
    opened = tp.Experiment.open(url, "prices")
    assert found["recommendation"]["arm"] == "high"
    assert found["sentence"] == str(opened.recommend())
    assert [row["arm"] for row in found["arms"]] == ["high", "low"]
    fit = opened.fit()
    assert found["arms"][0]["mean"] == fit.arms["mean"][1]
    assert [pull["id"] for pull in found["pending"]] == [pull.id for pull in opened.pending_pulls()]
    assert found["pending"][0]["age"] > 1e6
    assert [event["kind"] for event in found["last_events"]] == ["Noted"]
    assert found["events"] == 11


def test_a_page_of_one_to_which_little_has_happened(url):
    done = run("show", url, "colours", "--events", 0)
    assert "no rewards yet" in done.stdout
    assert "events in total" not in done.stdout


def test_who_looks_writes_nothing(url):
    """Leases that are over are over for who looks; only who runs it writes that down."""
    before = tp.experiments(url)
    found = json.loads(run("show", url, "rates", "--json").stdout)
    assert (found["recorded"], found["pending"], found["rates"]) == (4, [], True)
    assert found["events"] == 2
    assert [event["kind"] for event in found["last_events"]] == ["Created", "Asked"]
    run("experiments", url), run("fsck", url)
    assert tp.experiments(url) == before


def test_out_and_in_again(url, tmp_path):
    other = f"sqlite:///{tmp_path}/other.db"
    done = run("export", url, "prices", tmp_path / "a.json", columns=500)
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'a.json'}: 11 events\n")
    done = run("import", tmp_path / "a.json", other, "prices")
    assert (done.exit_code, done.stdout) == (0, "prices: 12 events\n")
    assert (
        run("import", tmp_path / "a.json", other, "prices").exception.args[0].endswith("choose another name")
    )
    copy = tp.Experiment.open(other, "prices")
    assert copy.pending_pulls() == tp.Experiment.open(url, "prices").pending_pulls()
    copy.tell(copy.pending_pulls()[0], 1.0)
    assert run("fsck", other).exit_code == 0


def test_a_backup(url, tmp_path):
    done = run("backup", url, tmp_path / "b.db", columns=500)
    first, head = done.stdout.splitlines()
    assert (done.exit_code, first) == (0, f"{tmp_path / 'b.db'}: 3 experiments, 15 events, checked")
    assert head.startswith("head: ")
    assert isinstance(run("backup", url, tmp_path / "b.db").exception, tp.errors.InputError)
    back = f"sqlite:///{tmp_path}/back.db"
    said = run("backup", f"sqlite:///{tmp_path}/b.db", back, columns=500).stdout
    assert said.startswith(f"{back}: 3 experiments, 18 events, checked\n")


def test_a_deletion_asks_first(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    for name in ("prices", "colours"):
        tp.Experiment.open(url, name, ["A", "B"]).close()
    refused = run("delete", url, "prices", input="n\n")
    assert refused.exit_code != 0
    assert "cannot be undone" in refused.stdout
    assert list(tp.experiments(url)["name"]) == ["colours", "prices"]
    assert run("delete", url, "prices", input="y\n").exit_code == 0
    assert list(tp.experiments(url)["name"]) == ["colours"]
    assert isinstance(run("delete", url, "prices", "--yes").exception, tp.errors.UnknownName)
    assert run("delete", url, "colours", "--yes", columns=500).stdout == f"deleted 'colours' from {url}\n"
    assert run("experiments", url).stdout == "no experiments\n"


def test_a_decision_is_shown(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    with contextlib.closing(tp.Experiment.open(url, "prices", ["A", "B"])) as made:
        assert json.loads(run("show", url, "prices", "--json").stdout)["shipped"] is None
        made.stop("B is too expensive", by="ann", ship="A")
    said = run("show", url, "prices", columns=300).stdout
    assert "Every visitor gets the arm A. Stopped by ann, " in said
    assert json.loads(run("show", url, "prices", "--json").stdout)["shipped"] == "A"


def test_archived_experiments_are_listed_apart(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    for name in ("prices", "colours"):
        made = tp.Experiment.open(url, name, ["A", "B"])
        if name == "prices":
            made.stop()
            made.archive()
        made.close()
    for options, name in (((), "colours"), (("--archived",), "prices")):
        rows = json.loads(run("experiments", url, "--json", *options).stdout)
        assert [row["name"] for row in rows] == [name]


def test_a_check(url, tmp_path):
    done = run("fsck", url, columns=120)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[2].split() == ["prices", "11", "5", "0", "0", "0", "0"]
    *_, found, head = done.stdout.splitlines()
    assert (found, head[:6]) == ("no faults found", "head: ")
    copy = f"sqlite:///{tmp_path}/b.db"
    run("backup", url, tmp_path / "b.db")
    connection = sqlite3.connect(tmp_path / "b.db", isolation_level=None)
    connection.execute("DROP TRIGGER events_stay")
    connection.execute("UPDATE events SET record = replace(record, 'day 0', 'day 1') WHERE seq = 2")
    connection.close()
    done = run("fsck", copy)
    assert done.exit_code == 1
    assert "'events_stay' is missing" in done.stdout
    assert "prices: event 2 was changed" in done.stdout
    found = json.loads(run("fsck", copy, "--json").stdout)
    assert found["faults"] == ["the table, index or trigger 'events_stay' is missing"]
    assert [len(each["faults"]) for each in found["experiments"]].count(1) >= 1
    assert "cannot be read: the store is damaged: event 2" in run("experiments", copy, columns=300).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("experiments", "shop.db"), "'sqlite:///shop.db', not 'shop.db'"),
        (("show", "mysql://h/d", "prices"), "unknown scheme 'mysql'"),
        (("show", "sqlite:///no/such.db", "prices"), "there is no such file"),
        (("fsck", "sqlite:///README.md"), "is not a SQLite database"),
        (("export", "sqlite:///none.db", "prices", "a.json"), "there is no such file"),
        (("import", "none.json", "sqlite:///none.db", "prices"), "there is no such file"),
        (("backup", "sqlite:///none.db", "b.db"), "there is no such file"),
    ],
)
def test_bad_input_is_one_line(arguments, said, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("no database at all, but long enough to have a header " * 20)
    monkeypatch.chdir(tmp_path)
    error = run(*arguments).exception
    assert isinstance(error, tp.errors.TideproofError)
    assert said in str(error)
    assert "\n" not in str(error)
    assert os.listdir(tmp_path) == ["README.md"]


def test_other_names_and_numbers(url):
    assert "did you mean 'prices'?" in str(run("show", url, "price").exception)
    assert "--events must be a whole number" in str(run("show", url, "prices", "--events", -1).exception)


def test_what_takes_long_shows_a_bar(url, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "SECONDS_BEFORE_BAR", 0.0)
    for arguments, said in ((("fsck", url), "checking"), (("backup", url, tmp_path / "b.db"), "copying")):
        assert said in run(*arguments).stderr
