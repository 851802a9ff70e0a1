"""Fits of logs without labels, and whether the tide moves inside labels that were given."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tideproof as tp
from hidden_tide_logs import rounds
from tideproof.analysis import log_without_environments
from tideproof.analysis.within_label_test import compare_with_shorter, nested_f_test
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.data import cells, cells_from_arrays
from tideproof.data.column_spec import ColumnSpec, shorter_environments
from tideproof.data.dataset import open_dataset
from tideproof.errors import InputError
from tideproof.report.html_report import html_report
from tideproof.stats.solve.least_squares import solve

START = np.datetime64("2024-05-01T00:00")


def jumping(n=240, seed=5):
    """Draw a log of four arms in which the tide jumps once, up by 6, at noon of the third day."""
    random = np.random.default_rng(seed)
    arm, y, _ = rounds("none", 4, n, random)
    time = START + np.arange(n) * np.timedelta64(30, "m")
    y = y + 6.0 * (time >= np.datetime64("2024-05-03T12:00"))
    return {"arm": np.array(list("ABCD"))[arm], "ts": time, "y": y}


@pytest.fixture(scope="module")
def log():
    return jumping()


@pytest.fixture(scope="module")
def fit(log):
    return tp.fit(log, arm="arm", reward="y", time="ts")


def test_a_fit_without_labels_has_the_shape_of_any_other(fit, log):
    assert fit.best == "D"
    assert len(fit.groups) == 1
    assert fit.degrees_of_freedom == 240 - 4
    assert fit.contrast("D", "A").low < 1.5 < fit.contrast("D", "A").high
    y, arm = log["y"], log["arm"]
    assert fit.arms["raw_mean"] == pytest.approx([y[arm == name].mean() for name in fit.arms["arm"]])
    weights = np.array(fit.arms["n"]) / 240
    assert weights @ fit.arms["mean"] == pytest.approx(y.mean())  # adjusted to the average tide
    assert fit.p_best == dict.fromkeys("ABCD")  # no arm is clearly the best
    n, shift = np.array(fit.shifts["n"]), np.array(fit.shifts["shift"])
    assert n.sum() == 240
    assert n @ shift / 240 == pytest.approx(0.0, abs=0.05)
    with pytest.raises(InputError, match="this fit has a hidden tide"):
        fit.influence()
    with pytest.raises(InputError, match=r"additivity\(\) requires a log with environments"):
        fit.additivity()


def test_the_jump_is_named(fit):
    (row,) = fit.tide.changes
    assert row["time"] == "2024-05-03 12:00"
    assert row["jump"] == pytest.approx(6.0, abs=0.8)
    assert f"({fit.tide.said})" in repr(fit)
    assert "The shift changed abruptly by +" in repr(fit)
    assert " around 2024-05-03 12:00 (probability" in repr(fit)
    said = fit.to_dict()["tide"]
    assert said["changes"][0]["probability"] == row["probability"] > 0.9
    points = fit.tide.points()
    before, after = (
        row["shift"] for row in points if row["time"] in ("2024-05-03 11:00", "2024-05-03 13:00")
    )
    assert after - before == pytest.approx(6.0, abs=0.8)


def test_the_report_draws_the_tide(fit):
    page = html_report(describe_fit(fit), "log.csv", "arm = arm")
    assert "The hidden tide" in page
    assert page.count('class="change"') == 1
    assert "The shift changed abruptly by" in page
    assert "in each time segment" in page
    assert (
        "The common shift of all arms was estimated over time (ts, from 2024-05-01 00:00 to 2024-05-05 23:30)."
        in describe_fit(fit).notes
    )


def test_the_order_of_rows_and_the_unit_of_time_do_not_matter(fit, log):
    order = np.random.default_rng(1).permutation(240)
    mixed = {name: values[order] for name, values in log.items()}
    numbers = log | {"ts": np.arange(240)}
    for other in (mixed, numbers):
        found = tp.fit(other, arm="arm", reward="y", time="ts").contrast("D", "A")
        assert found.estimate == pytest.approx(fit.contrast("D", "A").estimate)
        assert found.low == pytest.approx(fit.contrast("D", "A").low)


def test_low_rewards_may_be_good(log):
    assert tp.fit(log, arm="arm", reward="y", time="ts", direction="minimize").best == "A"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"environment='day'.* time='ts'.* environment=None"),
        ({"time": "ts", "scale": "ratio"}, "leave out scale='ratio'"),
        ({"time": "ts", "variance": "sandwich"}, "leave out variance='sandwich'"),
        ({"time": "ts", "anytime": True}, "leave out anytime"),
        ({"time": "ts", "time_zone": "Europe/Berlin"}, "leave out time_zone"),
        ({"time": "ts", "unit": "arm"}, "leave out unit"),
        ({"time": "ts", "covariates": ["y"]}, "leave out covariates"),
        ({"time": "day(ts)"}, "one column of times"),
    ],
)
def test_what_is_refused(log, options, message):
    with pytest.raises(InputError, match=message):
        tp.fit(log, arm="arm", reward="y", **options)


def test_all_rewards_equal_names_no_winner(log):
    found = tp.fit(log | {"y": np.full(240, 2.5)}, arm="arm", reward="y", time="ts")
    assert found.decision.doubt == "exact"
    assert found.tide.changes.to_dicts() == []


def test_without_a_compiler_long_logs_are_binned_and_that_is_said(log, monkeypatch):
    monkeypatch.setattr(log_without_environments, "find_spec", lambda name: None)
    monkeypatch.setattr(log_without_environments, "MOST_INTERPRETED", 100)
    found = tp.fit(log, arm="arm", reward="y", time="ts")
    assert found.tide.bin == pytest.approx(239 * 1800 * 4 / 100)
    assert "pip install 'tideproof[lab]'" in repr(found)
    assert found.degrees_of_freedom == 240 - 4
    assert found.contrast("D", "A").low < 1.5 < found.contrast("D", "A").high


def test_the_longest_log_without_bins_is_as_the_guide_says(monkeypatch):
    for compiler, most in ((object(), 2_000_000), (None, 5_000)):
        monkeypatch.setattr(log_without_environments, "find_spec", lambda name, found=compiler: found)
        assert log_without_environments.most_rows() == most


def days(seed, wave, n=400):
    """Draw rewards every 15 minutes, a shift a day and, inside days, a wave of a given height."""
    random = np.random.default_rng(seed)
    time = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(n) * 15, unit="min")
    shift = 5.0 * random.normal(size=10)[time.day - 1]
    arm = random.integers(3, size=n)
    y = arm * 0.3 + shift + wave * np.sin(2.0 * np.pi * time.hour / 24.0) + random.normal(size=n)
    return pd.DataFrame({"arm": arm, "ts": time, "y": y})


def inside(log, environment, time=None):
    request = ColumnSpec.of("arm", environment, "y")
    with open_dataset(log) as rows:
        shorter = shorter_environments(environment, time, rows.columns)
        return compare_with_shorter(rows, request, cells(log, "arm", environment, "y"), shorter)


def _p(log):
    arm, y = log.arm.to_numpy(), log.y.to_numpy()
    coarse, fine = (
        solve(cells_from_arrays(arm, label, y))
        for label in (log.ts.dt.day, log.ts.dt.day * 24 + log.ts.dt.hour)
    )
    return nested_f_test(coarse, fine, "hour(ts)").p


def test_the_test_inside_labels_has_its_size():
    """At 5 %, 300 logs reject 5 % of the time: bounds fail once in 10,000 seeds."""
    p = np.array([_p(days(seed, 0.0)) for seed in range(300)])
    low, high = stats.binom.ppf([5e-5, 1.0 - 5e-5], 300, 0.05)
    assert low <= np.count_nonzero(p < 0.05) <= high
    assert stats.kstest(p, "uniform").pvalue > 1e-4


def test_it_sees_a_wave_and_names_the_label_that_would_do():
    log = days(1, 2.0)
    assert inside(log, "day(ts)").finer == "hour(ts)"
    assert inside(log, "week(ts)").finer == "hour(ts)"
    assert inside(days(1, 0.0), "week(ts)").finer == "day(ts)"
    assert inside(days(1, 0.0), "day(ts)").finer == ""
    log["day"] = log.ts.dt.strftime("%d")
    assert inside(log, "day", "ts").finer == "day:hour(ts)"
    assert inside(log, "day") is None
    assert inside(log, "hour(ts)") is None
    found = tp.fit(log, arm="arm", environment="day", reward="y", time="ts")
    assert found.inside.p < 1e-6
    report = describe_fit(found)
    assert any("changes within environments" in each for each in report.warnings)
    assert any("--environment 'day:hour(ts)'" in each for each in report.notes)
    found = tp.fit(days(1, 0.0), arm="arm", environment="day(ts)", reward="y", time="ts")
    assert not any("changes within environments" in each for each in describe_fit(found).warnings)


def test_dates_have_no_hours_to_look_into():
    log = days(1, 0.0)
    log["ts"] = log.ts.dt.date
    assert inside({name: log[name].tolist() for name in log}, "day(ts)") is None
