"""`tideproof analyze` with a control, guardrails, segments, covariates, caps, shares: what it says of them."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.errors import TideproofError

NAMES = ["--arm", "variant", "--environment", "day"]


def frame(rows=3000, seed=0):
    """B sells more than A in both countries, C in DE alone; B is slower, and as often clicked."""
    random = np.random.default_rng(seed)
    variant, country = random.choice(list("ABC"), rows), random.choice(["DE", "FR"], rows)
    day = random.integers(1, 7, rows)
    spent = random.normal(50.0, 5.0, rows)
    german = (country == "DE").astype(float)
    lift = np.select([variant == "B", variant == "C"], [1.0, 2.0 * german], 0.0)
    sales = 20.0 + 3.0 * day + lift + 0.5 * (spent - 50.0) + random.normal(size=rows)
    return pd.DataFrame(
        {
            "variant": variant,
            "day": day,
            "country": country,
            "user": random.integers(500, size=rows),
            "spent": spent,
            "sales": sales,
            "clicks": (random.random(rows) < 0.3).astype(int),
            "latency": 100.0 + 3.0 * (variant == "B") + random.normal(size=rows),
            "sessions": random.integers(1, 5, rows),
        }
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    frame().to_csv(path, index=False)
    return path


def run(*arguments, columns=400):
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)], env={"COLUMNS": str(columns)})


def said(result):
    return re.sub(r"\s+", " ", result.stdout)


def test_all_arms_are_compared_with_a_control(log):
    result = run(log, *NAMES, "--reward", "sales", "--control", "A")
    row = {
        r["arm"]: r for r in tp.against(tp.fit(log, arm="variant", environment="day", reward="sales"), "A")
    }["B"]
    assert f"B +{row['estimate']:.2f} (+{row['low']:.2f} to +{row['high']:.2f}; lift " in said(result)
    assert "Against A, the control: C " in said(result)  # the best first
    found = json.loads(run(log, *NAMES, "--reward", "sales", "--control", "A", "--json").stdout)
    assert found["against"]["control"] == "A"
    assert [r["arm"] for r in found["against"]["arms"]] == ["B", "C"]


def test_guardrails(log):
    result = run(
        log,
        *NAMES,
        "--reward",
        "sales",
        "--reward",
        "clicks",
        "--reward",
        "latency",
        "--low",
        "latency",
        "--control",
        "A",
    )
    text = said(result)
    best = text.split()[0]
    assert best in ("B", "C")
    assert f"{best} compared with A, the control: no clear difference in clicks (" in text
    both = ["--reward", "sales", "--reward", "latency", "--low", "latency", "--json"]
    slow = json.loads(run(log, *NAMES, *both).stdout)
    rows = {(r["metric"], r["arm"]): r["conclusion"] for r in slow["metrics"]["table"]}
    assert rows["latency", "B"] == "worse"
    two = [*NAMES, "--reward", "latency", "--reward", "sales", "--control", "A"]  # high latency decides: B
    assert "B compared with A, the control: better in sales (" in said(run(log, *two))
    assert "Warning: B is worse than A, the control, in sales" not in said(run(log, *two))
    three = [*NAMES, "--reward", "latency", "--reward", "sales", "--low", "sales", "--control", "A"]
    assert "Warning: B is worse than A, the control, in the guardrail 'sales'." in said(run(log, *three))


def test_segments(log):
    result = run(log, *NAMES, "--reward", "sales", "--by", "country")
    assert (
        "By country: the winner differs between segments (95 % confidence for all segments together): C in DE; B in FR"
        in said(result)
    )
    assert "DE: C is best on average over " in said(result)
    assert "FR: B is best on average over " in said(result)
    open_race = said(run(log, *NAMES, "--reward", "clicks", "--by", "country"))
    assert "By country: no winner in any segment" in open_race
    assert re.search(r"FR: [ABC] leads: .* over .*, but .* cannot be excluded\.", open_race)
    asked = "--by", "country", "--adaptive", "--anytime"
    assert "all segments together, valid at every inspection" in said(
        run(log, *NAMES, "--reward", "sales", *asked)
    )
    found = json.loads(run(log, *NAMES, "--reward", "sales", "--by", "country", "--json").stdout)["segments"]
    assert [row["best"] for row in found["segments"]] == ["C", "B"]
    assert found["heterogeneity"]["p"] < 1e-6


def test_covariates_make_intervals_shorter(log):
    plain, less = (
        json.loads(run(log, *NAMES, "--reward", "sales", "--json", *more).stdout)
        for more in ([], ["--covariate", "spent"])
    )
    assert less["sigma"] < 0.5 * plain["sigma"]
    wanted = tp.fit(log, arm="variant", environment="day", reward="sales", covariates="spent")
    assert less["arms"][0]["mean"] == pytest.approx(wanted.arms["mean"][0])


def test_a_quotient_and_two_factors(log):
    found = run(
        log, "--arm", "variant", "--environment", "day + country", "--reward", "sales / sessions", "--json"
    )
    data = frame()
    wanted = tp.fit(data, arm="variant", environment="day + country", reward="sales / sessions")
    assert json.loads(found.stdout)["arms"][1]["mean"] == pytest.approx(wanted.arms["mean"][1], rel=1e-9)


def test_a_cap_is_noted(log):
    at = np.quantile(frame().sales, 0.99)
    result = run(log, *NAMES, "--reward", "sales", "--winsorize", "99%")
    assert f"Rewards above {at:.3g}, their 99 % quantile, " in said(result)
    found = json.loads(run(log, *NAMES, "--reward", "sales", "--winsorize", "0.99", "--json").stdout)
    assert found["winsorize"] == {"share": 0.99, "at": pytest.approx(at)}


def test_shares_that_were_meant(log):
    assert "did not get the shares" not in said(run(log, *NAMES, "--reward", "sales", "--expect", "1:1:1"))
    result = run(log, *NAMES, "--reward", "sales", "--expect", "A=50,B=25,C=25")
    counts = frame().variant.value_counts()
    assert f"A {counts['A']:,} instead of 1,500" in said(result)
    assert "Warning: Arms did not receive their intended shares of the traffic (p < 1e-6)" in said(result)
    lost = run(log, *NAMES, "--reward", "sales", "--expect", "A=1,B=1,C=1,D=1")
    assert "and D 0 instead of 750; find out why" in said(lost)


def test_one_row_that_makes_the_difference(tmp_path):
    data = frame()
    data.loc[7, ["variant", "sales"]] = ["A", 1e5]
    data.to_csv(path := tmp_path / "log.csv", index=False)
    result = run(path, *NAMES, "--reward", "sales")
    found = json.loads(run(path, *NAMES, "--reward", "sales", "--json").stdout)
    fits = [
        tp.fit(rows, arm="variant", environment="day", reward="sales", scale="difference")
        for rows in (data, data.drop(7))
    ]
    row = f"One of 3,000 rows decides: without the reward 100,000 of arm A in environment {data.day[7]}"
    assert f"{row}, {fits[1].best} would lead." in said(result)
    assert "The option --winsorize 99.9% limits" in said(result)
    capped = said(run(path, *NAMES, "--reward", "sales", "--winsorize", "99.9%"))
    assert "rows decides" not in capped
    for key, fit in zip(("with_it", "without"), fits, strict=True):
        wanted = fit.contrast("A", fits[0].decision.runner_up).estimate
        assert found["single_row"][key] == pytest.approx(wanted, rel=1e-6)
    assert "rows decides" not in said(run(path, *NAMES, "--reward", "latency"))


def test_units_that_come_back(log):
    found = json.loads(run(log, *NAMES, "--reward", "sales", "--unit", "user", "--json").stdout)
    assert found["variance"] == "by-unit"
    wanted = tp.fit(log, arm="variant", environment="day", reward="sales", unit="user")
    assert found["arms"][1]["se"] == pytest.approx(wanted.arms["se"][1])


BAD = {
    "unknown control": (["--control", "D"], "unknown arm 'D'"),
    "unknown segment": (["--by", "land"], "unknown column 'land'"),
    "segments of an adaptive run": (["--by", "country", "--adaptive"], "require anytime=True (--anytime)"),
    "winsorize": (
        ["--winsorize", "much"],
        "--winsorize must be a percentage such as 99.9% or a number such as 0.999, not 'much'",
    ),
    "winsorize 100": (
        ["--winsorize", "100%"],
        "--winsorize must be a percentage such as 99.9% or a number such as 0.999, not '100%'",
    ),
    "two shares": (["--expect", "50:50"], "--expect 50:50 has 2 shares, but there are 3 arms: A, B, C"),
    "no shares": (["--expect", "half"], "--expect must be shares such as 50:50 or A=50,B=50, not 'half'"),
    "share 0": (["--expect", "0:1:1"], "--expect must be shares such as 50:50"),
    "misspelled share": (["--expect", "A=1,B=1,c=1"], "unknown arm 'c'"),
    "shares of some": (
        ["--expect", "A=1,B=1"],
        "expected shares are needed for all arms; there is none for 'C'",
    ),
    "low": (["--low", "latency"], "unknown metric 'latency'; known: 'sales'"),
    "twice": (["--reward", "sales"], "rewards must be a list of different columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_one_clear_line(log, case):
    options, message = BAD[case]
    with pytest.raises(TideproofError, match=re.escape(message)):
        raise run(log, *NAMES, "--reward", "sales", *options).exception


def test_arms_that_differ_from_day_to_day_and_a_cell_that_is_wrong(tmp_path):
    """On day 7 A was logged 40 too high: named, left out; the days of each arm are counted."""
    random = np.random.default_rng(3)
    variant, day = np.tile(list("ABC"), 200), np.repeat(np.arange(20), 30)
    own = np.repeat(random.normal(size=(20, 3)), 10, axis=0).ravel()
    sales = 1.0 * (variant == "C") + 5.0 * np.sin(day) + own + random.normal(size=600)
    sales[(variant == "A") & (day == 7)] += 40.0
    path = tmp_path / "days.csv"
    pd.DataFrame({"variant": variant, "day": day, "sales": sales}).to_csv(path, index=False)
    plain = run(path, *NAMES, "--reward", "sales")
    assert "error, --robust cells excludes them." in said(plain)
    result = run(
        path, *NAMES, "--reward", "sales", "--robust", "cells", "--variance", "interaction", "--json"
    )
    found = json.loads(result.stdout)
    assert found["best"] == "C"
    assert [(row["arm"], row["environment"]) for row in found["left_out"]["cells"]] == [("A", "7")]
    assert 0.7 < found["interaction"]["omega"] < 1.4
    assert sum(row["environments_led"] for row in found["interaction"]["arms"]) == pytest.approx(20.0)
    assert len(found["interaction"]["chance"]) == 60
    shown = run(path, *NAMES, "--reward", "sales", "--robust", "cells", "--variance", "interaction")
    assert "than 5 standard errors from the model and was excluded: " in said(shown)
    assert "C leads in about" in said(shown)
    bad = run(path, *NAMES, "--reward", "sales", "--robust", "rows")
    assert "robust must be 'cells' or None, not 'rows'" in str(bad.exception)
