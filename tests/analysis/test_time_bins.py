"""Logs without labels whose single rewards cannot show a tide: bins of time stand for environments."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tideproof as tp
from tideproof.analysis.time_bins import group_into_bins
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_dataset
from tideproof.data.time_ordered_rows import MOST_SINGLE
from tideproof.report.html_report import html_report

START = np.datetime64("2024-05-01T00:00")


def visitors(kind, rows=4000, seed=0, rate=0.06, lift=0.5):
    """Draw visitors of 14 days whose tide multiplies how many of them buy; B sells more by `lift`."""
    rng = np.random.default_rng([seed, rows])
    arm, row = rng.integers(2, size=rows), np.arange(rows)
    tide = np.exp(rng.normal(0.0, 0.3, 14))[row * 14 // rows]
    bought = rng.random(rows) < rate * tide * (1.0 + lift * arm)
    amount = np.exp(rng.normal(3.2, 1.2, rows)) if kind == "money" else np.ones(rows)
    mean = rate * tide.mean() * (np.exp(3.2 + 0.72) if kind == "money" else 1.0)
    log = {"arm": np.array(["A", "B"])[arm], "ts": START + row * np.timedelta64(5, "m"), "y": bought * amount}
    return log, mean


def followed(log, **options):
    return tp.fit(log, arm="arm", reward="y", time="ts", **options)


@pytest.mark.parametrize("kind", ["money", "conversions"])
def test_limits_of_money_and_conversions_cover(kind):
    """In 200 logs each; by chance 180 or fewer would in one choice of the seed in 400, at 95 %.

    The tide followed row by row covered in 0 of 100.
    """
    covered = 0
    for seed in range(200):
        log, mean = visitors(kind, seed=seed)
        found = followed(log)
        gap = found.contrast("B", "A")
        truth = 0.5 if found.scale == "ratio" else 0.5 * mean
        covered += gap.low <= truth <= gap.high
        assert found.decision.doubt is not None or found.best == "B"
    assert covered > 180


def test_bins_are_environments_of_the_very_rows():
    log, _ = visitors("money")
    found = followed(log)
    assert found.tide is None
    assert (found.bins.bins, found.bins.each) == (40, 100)
    labelled = tp.fit(
        log | {"bin": np.arange(4000) // 100}, arm="arm", reward="y", environment="bin", about="these"
    )
    assert found.verdict == labelled.verdict
    assert found.arms.to_dicts() == labelled.arms.to_dicts()
    assert found.cells.environments[:2] == ["2024-05-01 00:00", "2024-05-01 08:20"]


def test_rows_of_one_moment_stay_together_and_few_rows_have_two_bins():
    log, _ = visitors("conversions", rows=60)
    log["ts"] = np.arange(60) // 3
    found = followed(log)
    assert found.bins.bins == 2
    assert_array_equal(found.cells.sizes, [30, 30])
    log["ts"] = np.append(np.zeros(31), np.arange(29))
    assert_array_equal(followed(log).cells.sizes, [32, 28])


def test_options_of_the_fit_are_kept():
    log, _ = visitors("conversions")
    found = followed(
        log, scale="difference", confidence=0.9, direction="minimize", prior="flat", adaptive=True
    )
    assert (found.scale, found.confidence, found.direction, found.prior, found.adaptive) == (
        "difference",
        0.9,
        "minimize",
        "flat",
        True,
    )
    log["y"][0] = np.nan
    assert followed(log, missing="drop").cells.dropped == 1


def test_the_report_says_so():
    log, _ = visitors("money")
    found = followed(log)
    analysis = describe_fit(found)
    sentence = found.bins.sentence
    assert sentence in analysis.notes
    assert sentence in repr(found)
    assert "40 time bins (ts, about 100 rewards each)" in sentence
    assert "--environment 'day(ts)'" in sentence
    assert "The shift cannot be estimated from single rewards" in html_report(analysis, "log.csv", "")
    assert found.to_dict()["tide"] == {"binned_by": "ts", "bins": 40, "rewards_a_bin": 100}
    json.dumps(found.to_dict(), default=str)
    log["ts"] = np.arange(4000)
    assert "--environment with a column of days" in followed(log).bins.sentence


def test_groups_of_an_engine_that_are_too_many_rows_do_as_well(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    log, _ = visitors("conversions")
    place = tmp_path / "log.csv"
    names = ("arm", "ts", "y")
    rows = zip(log["arm"], np.arange(4000) // 2, log["y"], strict=True)
    place.write_text("\n".join([",".join(names), *(f"{a},{t},{y:g}" for a, t, y in rows)]))
    assert duckdb
    request = ColumnSpec.of("arm", "ts", "y")
    with open_dataset(str(place)) as source:
        single = source.timed(request, 10**6)
        monkeypatch.setattr("tideproof.data.group_by_sql.MOST_SINGLE", 100)
        grouped = source.timed(request, 10**6)
    assert single.singles is not None
    assert grouped.singles is None
    assert MOST_SINGLE > 10**6
    one, other = tp.Fit(group_into_bins(single)[0]), tp.Fit(group_into_bins(grouped)[0])
    assert one.contrast("B", "A").estimate == pytest.approx(other.contrast("B", "A").estimate)
    assert one.contrast("B", "A").high == pytest.approx(other.contrast("B", "A").high)


def test_means_of_many_rewards_at_a_moment_are_followed():
    """A moment of a hundred visitors has means that are about normal, and a tide that they show."""
    log, _ = visitors("conversions", rows=40_000, rate=0.3)
    log["ts"] = np.arange(40_000) // 200
    found = followed(log)
    assert found.bins is None
    assert found.tide is not None
