"""The demo: what it says on screen and in its picture are the numbers of its fit."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from scipy import stats
from typer.testing import CliRunner

from tideproof.analysis import fit
from tideproof.cli import app
from tideproof.demos.labelled_prices import DemoRun, calendar, picture_info, run_demo
from tideproof.demos.shop_prices import TRUTH
from tideproof.demos.unlabelled_prices import draw_log
from tideproof.demos.unlabelled_prices import picture_info as hidden_info
from tideproof.errors import InputError


@pytest.fixture(scope="module")
def played():
    screen = io.StringIO()
    demo_run = run_demo(Console(file=screen, width=100), pace=0.0)
    return demo_run, screen.getvalue()


def test_the_picture_has_the_limits_of_the_fit(played):
    demo_run, _ = played
    fit, info = demo_run.fit, picture_info(demo_run)
    visitors = np.array([day.visitors for day in demo_run.days])
    shifts = np.array([day.shift for day in demo_run.days])
    level = (visitors * shifts).sum() / visitors.sum()
    t = stats.t.ppf(0.975, visitors.sum() - 5 - 30 + 1)
    assert info.confidence == 0.95
    for day, shift, row in zip(info.days, shifts, fit.shifts, strict=True):
        expected = shift - level, row["shift"], row["shift"] - t * row["se"], row["shift"] + t * row["se"]
        assert day == pytest.approx(expected)
    for price, row in zip(info.prices, fit.arms, strict=True):
        limits = row["mean"] - t * row["se"], row["mean"] + t * row["se"]
        assert price.name == row["arm"]
        assert price[1:] == pytest.approx((TRUTH[row["arm"]] + level, row["raw_mean"], row["mean"], *limits))
    assert (info.best, info.pick) == ("11.90", "11.90")
    assert info.raw_pick == max(fit.arms, key=lambda row: row["raw_mean"])["arm"] == "9.90"


def test_the_table_says_the_same(played):
    demo_run, said = played
    last = said[said.rindex("day 30 of 30") :]
    assert "adjusted mean, 95 % interval" in re.sub(r"\s+", " ", last)
    level = demo_run.level(30)
    for row in demo_run.fit.arms:
        reach = (row["high"] - row["low"]) / 2
        line = next(line for line in last.splitlines() if line.lstrip("│┃ ").startswith(row["arm"]))
        assert f"{row['mean']:.2f} ± {reach:.2f}" in line
        assert f"{row['raw_mean']:.2f}" in line
        assert f"{TRUTH[row['arm']] + level:.2f}" in line
        assert str(row["n"]) in line
        assert (line.count("leads"), "best" in line) == (
            (row["arm"] in ("9.90", "11.90")),
            row["arm"] == "11.90",
        )
    assert "The raw mean picks 9.90: wrong, it earns 0.90 less per visitor than 11.90" in said
    assert "tideproof picks 11.90: right" in said


def test_a_story_that_has_not_begun_has_no_picture():
    with pytest.raises(InputError, match="no environment connects all prices yet"):
        picture_info(DemoRun(calendar(np.random.default_rng(0))))


def test_the_command_draws_what_was_played(monkeypatch, tmp_path):
    demo_run, played, drawn = object(), [], []
    monkeypatch.setattr(
        "tideproof.demos.labelled_prices.run_demo", lambda console, pace: played.append(pace) or demo_run
    )
    monkeypatch.setattr("tideproof.demos.labelled_prices.picture_info", lambda told: ("info of", told))
    monkeypatch.setattr(
        "tideproof.draw.demo_picture.draw_demo", lambda info, path: drawn.append((info, path))
    )
    path = tmp_path / "here.png"
    done = CliRunner().invoke(app, ["demo", "--picture", str(path)], env={"COLUMNS": "300"})
    assert (done.exit_code, done.stdout) == (0, f"Picture: {path}\n")
    assert played == [0.12]
    assert drawn == [(("info of", demo_run), path)]


def test_the_hidden_demo_shows_a_tide_that_nobody_labelled(tmp_path):
    picture = tmp_path / "hidden.png"
    played = CliRunner().invoke(app, ["demo", "--hidden", "--picture", str(picture)], env={"COLUMNS": "100"})
    assert played.exit_code == 0
    assert picture.stat().st_size > 10_000
    said = " ".join(played.stdout.split())
    assert "The raw mean picks 9.90: wrong, it earns 0.90 less per visitor than 11.90" in said
    assert "tideproof picks 11.90: right" in said
    assert said.count("The shift changed abruptly by") == 4


def test_what_the_hidden_demo_draws_are_the_numbers_of_its_fit():
    log = draw_log()
    found = fit({"ts": log.time, "p": log.price, "y": log.revenue}, arm="p", reward="y", time="ts")
    info = hidden_info(log, found)
    assert info.jumps == pytest.approx([1.0 + d for d in (2.5, 5.97, 8.33, 11.39)], abs=0.06)
    rows = {row["arm"]: row for row in found.arms}
    for price in info.prices:
        row = rows[price.name]
        assert price[2:] == (row["raw_mean"], row["mean"], row["low"], row["high"])
        assert price.truth == pytest.approx(TRUTH[price.name] + log.tide.mean())
    assert info.truth.mean() == pytest.approx(0.0, abs=1e-12)
    days = np.array([moment.day for moment in info.moments])
    shown = np.interp(info.days, days, [moment.shift for moment in info.moments])
    assert np.mean(np.abs(shown - info.truth)) < 0.4
