"""A log that grows and is looked at again and again: wider limits, the same estimates, and what is said."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.versus_control import against
from tideproof.analysis.words.fit_text import ADAPTIVE
from tideproof.cli import app


def draw(seed=0, arms=3, rows=900, gap=0.5):
    """Return arms, days and rewards in a tide; the last arm is better."""
    random = np.random.default_rng(seed)
    arm, day = random.integers(arms, size=rows), np.arange(rows) // 30
    tide = random.normal(size=rows)[day]
    return arm, day, 20.0 + gap * (arm == arms - 1) + tide + random.normal(size=rows)


def clicks(seed, rate, rows=2000):
    arm, day, _ = draw(seed, 2, rows)
    return arm, day, np.random.default_rng(seed).random(rows) < rate[arm]


def wider(row, other):
    return row["low"] <= other["low"] and other["high"] <= row["high"]


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("data", [draw(), clicks(1, np.array([0.1, 0.2]))], ids=["normal", "conversions"])
def test_wider_than_for_one_look_around_the_same_estimates(data, adaptive):
    once, ever = (Fit.from_arrays(*data, anytime=anytime, adaptive=adaptive) for anytime in (False, True))
    for row, other in zip(ever.comparisons, once.comparisons, strict=True):
        assert row["estimate"] == other["estimate"]
        assert wider(row, other)
    for a, b in combinations(ever.cells.arms, 2):
        now, then = ever.contrast(a, b), once.contrast(a, b)
        assert (now.estimate, now.se, now.degrees_of_freedom) == (
            then.estimate,
            then.se,
            then.degrees_of_freedom,
        )
        assert now.low < then.low < then.high < now.high
        assert now.p > then.p
    assert set(once.candidates) <= set(ever.candidates)


def test_of_three_arms_a_pair_alone_is_narrower_than_all_pairs():
    fit = Fit.from_arrays(*draw(), anytime=True)
    alone, all_pairs = fit.contrast(2, 0, confidence=0.95), fit.contrast(2, 0)
    assert all_pairs.low < alone.low < alone.high < all_pairs.high
    assert all_pairs.low == pytest.approx(fit.contrast(2, 0, confidence=1.0 - 0.05 / 3.0).low)


def test_limits_of_normal_rewards_are_the_gaps_that_the_martingale_keeps():
    """Of two arms in one environment, by the formula of a t-test with a normal prior of 50 rewards an arm."""
    random = np.random.default_rng(5)
    n = 40
    x = random.normal(size=2 * n)
    fit = Fit.from_arrays(["A"] * n + ["B"] * n, np.zeros(2 * n), x, variance="common", anytime=True)
    found = fit.contrast("A", "B")
    r, nu = n / 50.0, 2.0 * n - 2.0
    s = np.sqrt((x[:n].var() + x[n:].var()) * n / nu) * np.sqrt(2.0 / n)
    for end in (found.low, found.high):
        t2 = ((end - found.estimate) / s) ** 2
        ratio = (1 + r) ** -0.5 * ((1 + t2 / nu) / (1 + t2 / (nu * (1 + r)))) ** (0.5 * (nu + 1))
        assert ratio == pytest.approx(20.0, rel=1e-6)


def test_what_is_said():
    fit = Fit.from_arrays(*draw(gap=1.0), anytime=True, adaptive=True)
    assert fit.verdict.startswith(
        "2 is best on average over environments like these (95 % confidence, valid at every inspection)"
    )
    assert ADAPTIVE not in repr(fit)
    assert fit.to_dict()["anytime"] is True
    open_race = Fit.from_arrays(*draw(gap=0.0), anytime=True)
    assert "cannot be excluded (95 % confidence, valid at every inspection)" in open_race.verdict


def test_a_lead_that_one_look_believes_is_not_yet_believed():
    data = draw(1, arms=2, rows=200, gap=0.3)
    assert Fit.from_arrays(*data).decision.standing == "winner"
    assert Fit.from_arrays(*data, anytime=True).decision.doubt == "several candidates"


def test_first_looks():
    few = Fit.from_arrays(*clicks(0, np.array([0.0, 0.2]), 40), anytime=True)
    assert few.decision.standing == "open"
    tiny = Fit.from_arrays("AABB", [1, 1, 1, 1], [1.0, 1.2, 2.0, 2.1], anytime=True)
    assert tiny.decision.standing == "open"
    assert tiny.contrast("A", "B").low is None
    none = Fit.from_arrays("AB", [1, 1], [1.0, 2.0], anytime=True)
    assert none.decision.doubt == "no degrees of freedom"
    assert none.contrast("A", "B").p is None
    apart = Fit.from_arrays("AABB", [1, 1, 2, 2], [1.0, 1.5, 2.0, 2.5], anytime=True)
    assert apart.decision.standing == "not_comparable"


@pytest.mark.parametrize("adaptive", [False, True])
def test_before_the_first_event_nothing_is_limited(adaptive):
    events = np.zeros(60)
    fit = Fit.from_arrays(*draw(rows=60)[:2], events, anytime=True, adaptive=adaptive, scale="difference")
    assert fit.decision.standing == "open"
    assert fit.contrast(0, 1).low is None
    assert [row["low"] for row in fit.comparisons] == [None] * 3


def test_against_a_control():
    once, ever = (against(Fit.from_arrays(*draw(), anytime=anytime), 0) for anytime in (False, True))
    for row, other in zip(ever, once, strict=True):
        assert row["lift"] == other["lift"]
        assert row["lift_low"] < other["lift_low"] < other["lift_high"] < row["lift_high"]
        assert wider(row, other)


def test_against_a_control_of_which_little_is_known():
    fit = Fit.from_arrays("AABB", [1, 1, 1, 1], [1.0, 1.2, 2.0, 2.1], anytime=True)
    (row,) = against(fit, "A")
    assert row["lift"] == pytest.approx(0.95 / 1.1)
    assert row["lift_low"] is row["lift_high"] is None


@pytest.fixture
def log(tmp_path):
    arm, day, reward = draw(gap=1.0)
    path = tmp_path / "log.csv"
    rows = (f"{'ABC'[a]},{d},{r},{'xy'[d % 2]},{d}" for a, d, r in zip(arm, day, reward, strict=True))
    path.write_text("\n".join(["arm,day,reward,shop,cost", *rows]))
    return path


def test_from_files(log):
    columns = {"arm": "arm", "environment": "day"}
    assert tp.fit(log, reward="reward", anytime=True, **columns).anytime
    assert (
        "together, valid at every inspection"
        in tp.segments(log, by="shop", reward="reward", anytime=True, **columns).verdict
    )
    found = tp.metrics(log, rewards=["reward", "cost"], low=["cost"], anytime=True, **columns)
    assert all(fit.anytime for fit in found.fits.values())


def test_on_the_command_line(log):
    arguments = [
        "analyze",
        str(log),
        "--arm",
        "arm",
        "--environment",
        "day",
        "--reward",
        "reward",
        "--anytime",
    ]
    shown = CliRunner().invoke(app, [*arguments, "--by", "shop"], env={"COLUMNS": "200"})
    assert shown.exit_code == 5, shown.output  # segments split the days
    assert (
        "C is best on average over these 30 environments (95 % confidence, valid at every inspection)"
        in shown.output
    )
    assert "intervals of single means are valid for one inspection only" in shown.output
    assert "all segments together, valid at every inspection" in shown.output
    found = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert found["anytime"] is True


def test_two_arms_have_no_one_sided_reading(log):
    arm, day, reward = draw(arms=2)
    from tideproof.analysis.words.analysis_report import describe_fit

    assert any("one-sided test" in note for note in describe_fit(Fit.from_arrays(arm, day, reward)).notes)
    assert not any(
        "one-sided test" in n for n in describe_fit(Fit.from_arrays(arm, day, reward, anytime=True)).notes
    )
