"""Costs of planned looks, against recursive integration for two arms, and what the command shows."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.errors import InputError
from tideproof.stats.looks.brownian_boundaries import crossing_probabilities, spending_boundaries
from tideproof.stats.looks.spending_functions import spent_alpha

TEST = {"gap": 0.5, "sigma": 2.0, "per_environment": 100}
OPTIONS = ["--arms", "2", "--gap", "0.5", "--sigma", "2", "--per-environment", "100", "--looks", "6"]


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
def test_two_arms_are_named_as_often_as_the_score_crosses(spending):
    """4 standard errors of 20,000 runs; by chance one of 12 shares misses in 1 of 1,300 seeds."""
    looks, runs = 6, 20_000
    share = np.arange(1, looks + 1) / looks
    bounds = spending_boundaries(spent_alpha(spending, np.array([[0.05]]), share), share)[0]
    information = 50.0 * np.arange(1, looks + 1) / (2.0 * 4.0)
    up = np.cumsum(crossing_probabilities(bounds, information, 0.5)[0])
    found = tp.plan_looks(looks, **TEST)
    named = np.array([row["named"] for row in found.curve if row["design"] == spending])
    np.testing.assert_array_less(np.abs(named - up), 4.0 * np.sqrt(up * (1.0 - up) / runs) + 1e-3)
    row = next(row for row in found.table if row["design"] == spending)
    assert row["mean_looks"] == pytest.approx(1.0 + np.sum(1.0 - named[:-1]))
    assert row["pulls"] == round(100 * row["mean_looks"])
    assert row["width"] == pytest.approx(bounds[-1] / 1.959964, abs=2e-3)


def test_one_look_has_the_power_of_a_z_test():
    found = tp.plan_looks(6, **TEST)
    power = next(row["power"] for row in found.table if row["design"] == "one look at the end")
    z = 0.5 / math.sqrt(2.0 * 4.0 / 300.0) - 1.959964
    assert power == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2.0)), abs=0.012)


def test_several_conversions_in_order_of_what_they_cost():
    found = tp.plan_looks(14, arms=5, rate=0.05, lift=0.2, per_environment=5000, replications=2000)
    power = {row["design"]: row["power"] for row in found.table}
    assert power["any time"] < power["pocock"] < power["obrien-fleming"] < power["one look at the end"]
    assert "5 arms, one better by 20 %" in found.sentence
    assert found.to_dict()["looks"] == 14
    assert "obrien-fleming" in repr(found)
    assert found._repr_html_().count("<tr>") == 5


def test_the_command_shows_a_table_a_picture_and_json(tmp_path):
    run = CliRunner().invoke(
        app, ["plan", *OPTIONS, "--plot", str(tmp_path / "a.svg"), "--csv", str(tmp_path / "a.csv")]
    )
    assert run.exit_code == 0, run.output
    assert "Pocock spending names it in" in " ".join(run.output.split())
    assert (tmp_path / "a.svg").read_text().count("environments on average") == 4
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + 4 * 6
    run = CliRunner().invoke(app, ["plan", *OPTIONS, "--json"])
    assert [row["design"] for row in json.loads(run.output)["designs"]][1:3] == ["pocock", "obrien-fleming"]


@pytest.mark.parametrize(
    ("looks", "more", "message"),
    [
        (1, {}, "looks must be a whole number from 2 to 100, not 1"),
        (14, {"arms": 101}, "at most 100 arms, not 101"),
        (14, {"replications": 3}, "replications"),
        (14, {"gap": None}, "gap is missing"),
    ],
)
def test_invalid_plans(looks, more, message):
    with pytest.raises(InputError, match=message):
        tp.plan_looks(looks, **(TEST | more))


def test_a_pilot_has_no_looks(tmp_path):
    run = CliRunner().invoke(app, ["plan", *OPTIONS, "--from", str(tmp_path / "pilot.csv")])
    assert isinstance(run.exception, InputError)
    assert "--looks cannot be combined with --from" in str(run.exception)
