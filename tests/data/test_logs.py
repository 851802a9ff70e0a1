"""Logarithms of rewards are the same whoever groups the rows, and are read only on request."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import tideproof as tp
from tideproof.analysis.log_analysis import read_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    StatisticsOptions,
)
from tideproof.data import cells

RANDOM = np.random.default_rng(3)
ROWS = 600
LOG = {
    "arm": RANDOM.choice(list("AB"), ROWS).tolist(),
    "day": RANDOM.integers(1, 5, ROWS).astype(str).tolist(),
    "shop": RANDOM.choice(["n", "s"], ROWS).tolist(),
    "pay": RANDOM.lognormal(1.0, 0.9, ROWS).tolist(),
}


def kinds(tmp_path):
    frame = pd.DataFrame(LOG)
    frame.to_csv(tmp_path / "log.csv", index=False)
    return {
        "columns": LOG,
        "pandas": frame,
        "polars": pl.DataFrame(LOG),
        "lazy": pl.LazyFrame(LOG),
        "duckdb": duckdb.from_df(frame),
        "csv": str(tmp_path / "log.csv"),
    }


def grouped(data, logs, by=None, winsorize=None, **options):
    scale = "log" if logs else "auto"
    asked = AnalysisOptions(
        columns=ColumnOptions(arm="arm", environment="day", reward="pay", **options),
        statistics=StatisticsOptions(scale=scale, winsorize=winsorize),
        comparisons=ComparisonOptions(by=by),
    )
    return read_log(data, asked).found


@pytest.mark.parametrize("kind", ["columns", "pandas", "polars", "lazy", "duckdb", "csv"])
@pytest.mark.parametrize("winsorize", [None, 0.9])
def test_every_reader_has_the_logarithms(kind, winsorize, tmp_path):
    found = grouped(kinds(tmp_path)[kind], True, winsorize=winsorize).cells
    pay = np.array(LOG["pay"])
    if winsorize:
        pay = np.minimum(pay, np.quantile(pay, winsorize))
    want = cells({**LOG, "pay": np.log(pay)}, "arm", "day", "pay")
    order = {(a, e): i for i, (a, e) in enumerate(zip(want.arm, want.environment, strict=True))}
    for i, (a, e) in enumerate(zip(found.logs.arm, found.logs.environment, strict=True)):
        k = order[want.arms.index(found.arms[a]), want.environments.index(found.environments[e])]
        for name in ("n", "mean", "squares", "cubes", "fourths"):
            assert getattr(found.logs, name)[i] == pytest.approx(getattr(want, name)[k], rel=1e-9, abs=1e-9)


def test_segments_have_their_own():
    found = grouped(LOG, True, by="shop")
    for part in found.segments.values():
        np.testing.assert_array_equal(part.logs.n, part.n)
        assert part.logs.environments == part.environments
    fits = tp.segments(LOG, by="shop", arm="arm", environment="day", reward="pay", scale="log").fits
    assert {fit.scale for fit in fits.values()} == {"log"}


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_not_where_a_reward_is_not_above_0(low):
    log = {**LOG, "pay": [low, *LOG["pay"][1:]]}
    assert grouped(log, True).cells.logs is None


def test_a_second_pass_only_on_request():
    """A row that is dropped anyway may have a reward of 0: no engine is asked for its logarithm."""
    relation = duckdb.from_df(pd.DataFrame(LOG))
    assert grouped(relation, True).cells.logs is not None
    assert grouped(relation, False).cells.logs is None
    lacking = pd.DataFrame({**LOG, "arm": [None, *LOG["arm"][1:]], "pay": [0.0, *LOG["pay"][1:]]})
    found = grouped(duckdb.from_df(lacking), True, missing="drop").cells
    np.testing.assert_array_equal(found.logs.n, found.n)
