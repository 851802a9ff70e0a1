"""What `tideproof reproduce` asks of the paper's run, and what it says; the run itself is in tests/paper."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import InputError
from tideproof.research.paper import reproduction as module
from tideproof.research.paper.claim_verdicts import ClaimVerdict
from tideproof.research.paper.claims import CLAIMS


@pytest.fixture
def asked(monkeypatch):
    """Return the arguments of every run; nothing is played."""
    calls = []

    def recorded(*arguments):
        calls.append(arguments)
        judged = [ClaimVerdict(CLAIMS[0], [], 0.95)]  # no part fails: it holds
        return module.Reproduction(arguments[3], [], judged, {})

    monkeypatch.setattr(module, "reproduce", recorded)
    return calls


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": "200"})


HERE = Path("reproduction")


@pytest.mark.parametrize(
    ("typed", "arguments"),
    [
        ("", ([], 100_000, 1, HERE, None, True, "cpu")),
        ("--quick", ([], 2_000, 1, HERE, None, True, "cpu")),
        ("--replications 1e3 --seed 7", ([], 1_000, 7, HERE, None, True, "cpu")),
        (
            "fig3 fig5 --out there --engine cuda --no-progress",
            (["fig3", "fig5"], 100_000, 1, Path("there"), None, False, "cuda"),
        ),
    ],
)
def test_what_is_run(asked, typed, arguments):
    done = run(*typed.split())
    assert done.exit_code == 0, done.output
    assert asked == [arguments]


def test_verdicts_and_where_to_look_are_printed(asked):
    lines = run("--quick").stdout.splitlines()
    assert lines[0] == f"holds          {CLAIMS[0].name}"
    assert lines[-1] == "Open reproduction/index.html"


def test_quick_and_a_number_of_replications_exclude_each_other(asked):
    refused = run("--quick", "--replications", "5")
    assert isinstance(refused.exception, InputError)
    assert asked == []


def test_interrupted_it_says_how_to_go_on(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "reproduce", interrupted)
    stopped = run("--out", "there")
    assert stopped.exit_code == 130
    assert "finished simulations are in there; repeat the same command" in stopped.stderr
