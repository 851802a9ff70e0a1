"""Planned looks on the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import InputError

COLUMNS = ["--arm", "arm", "--environment", "day", "--successes", "buys", "--n", "visits"]


@pytest.fixture
def log(tmp_path):
    """Write a log in which B is clearly better, and return a function that runs the command."""
    file = tmp_path / "log.csv"
    rows = [
        f"{arm},{day},{buys + 10 * day},2000" for day in range(1, 6) for arm, buys in (("A", 100), ("B", 140))
    ]
    file.write_text("\n".join(["arm,day,buys,visits", *rows]))
    return lambda *options: CliRunner().invoke(app, ["analyze", str(file), *COLUMNS, *options])


def test_a_look_names_a_winner_for_all_planned_looks(log):
    run = log("--looks", "14", "--look", "5", "--about", "these")
    said = " ".join(run.output.split())
    assert run.exit_code == 0, run.output
    assert "valid at all planned looks" in said
    assert "Look 5 of 14 (pocock spending; 2.4 of 5 % of error probability are spent)" in said
    found = json.loads(log("--looks", "14", "--look", "5", "--spending", "obrien-fleming", "--json").output)
    assert found["looks"]["spending"] == "obrien-fleming"
    assert found["looks"]["spent"][-1] < 0.001
    found = json.loads(log("--looks", "14", "--look", "5", "--past-looks", "2,4", "--json").output)
    assert found["looks"]["past"] == [2.0, 4.0]


def test_a_file_of_looks_needs_no_other_option(log, tmp_path):
    file = str(tmp_path / "plan.json")
    first = json.loads(log("--looks", "14", "--look", "5", "--look-file", file, "--json").output)
    again = json.loads(log("--look-file", file, "--json").output)
    assert again == first
    refused = log("--look-file", file, "--looks", "10")
    assert isinstance(refused.exception, InputError)
    assert "a plan is not changed after a look" in str(refused.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--look", "5"], "--look needs a plan: give the number of planned looks, such as --looks 14"),
        (["--spending", "pocock"], "--spending needs a plan"),
        (["--looks", "14"], "say which look this is"),
        (["--looks", "14", "--look", "15"], "look 15 is beyond the plan of 14"),
        (["--looks", "14", "--look", "5", "--past-looks", "2,x"], "--past-looks must be numbers"),
        (["--looks", "14", "--look", "5", "--past-looks", "4,2"], "looks are out of order"),
        (["--looks", "14", "--look", "5", "--spending", "linear"], "'pocock' or 'obrien-fleming'"),
        (["--looks", "14", "--look", "5", "--anytime"], "not both"),
        (["--looks", "14", "--look", "5", "--adaptive"], "traffic that does not follow rewards"),
    ],
)
def test_invalid_options_get_one_clear_message(log, options, message):
    run = log(*options)
    assert isinstance(run.exception, InputError)
    assert message in str(run.exception)
