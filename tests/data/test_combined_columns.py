"""Arms that several columns name, and counts that are sums of columns."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.data import cells
from tideproof.errors import InputError, UnknownName

RANDOM = np.random.default_rng(1)
ROWS = 240
WINE = pd.DataFrame(
    {
        "temp": RANDOM.choice(["cold", "warm"], ROWS),
        "contact": RANDOM.choice(["no", "yes"], ROWS),
        "judge": RANDOM.choice(["ann", "bob", "eve"], ROWS),
        "rating": RANDOM.normal(size=ROWS),
        "before": RANDOM.normal(size=ROWS),
        "bottle": [f"b{i}" for i in RANDOM.integers(0, 60, ROWS)],
        "at": RANDOM.permutation(ROWS) / 10.0,
    }
)
ADMISSIONS = pd.DataFrame(
    {
        "dept": [*"AABBCC"],
        "gender": ["F", "M"] * 3,
        "admitted": [89, 512, 17, 353, 202, 120],
        "rejected": [19, 313, 8, 207, 391, 205],
    }
)
KINDS = ("csv", "parquet", "columns", "pandas", "polars", "lazy", "duckdb")


def as_kind(kind, frame, tmp_path):
    path = tmp_path / f"log.{kind}"
    if kind in ("csv", "parquet"):
        getattr(frame, f"to_{kind}")(path, index=False)
    table = pl.from_pandas(frame)
    made = {"columns": frame.to_dict("list"), "pandas": frame, "polars": table, "lazy": table.lazy()}
    return duckdb.connect().from_df(frame) if kind == "duckdb" else made.get(kind, path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"environment": "judge"},
        {"environment": None},
        {"environment": "judge", "unit": "bottle"},
        {"environment": "judge", "covariates": ["before"]},
        {"time": "at"},
    ],
    ids=lambda options: " ".join(options),
)
def test_an_arm_of_two_columns_is_the_column_of_their_combinations(kind, options, tmp_path):
    joined = WINE.assign(wine=WINE.temp + ":" + WINE.contact)
    asked = dict(reward="rating", scale="difference", **options)
    found = tp.fit(as_kind(kind, WINE, tmp_path), arm="temp : contact", **asked)
    wanted = tp.fit(joined, arm="wine", **asked)
    assert sorted(found.cells.arms) == sorted(wanted.cells.arms) == sorted(set(joined.wine))
    for arm in ("cold:yes", "warm:no", "warm:yes"):
        one, other = (fit.contrast(arm, "cold:no") for fit in (found, wanted))
        assert (one.estimate, one.se) == pytest.approx((other.estimate, other.se), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_combinations_stay_different_if_their_labels_contain_colons(kind, tmp_path):
    log = pd.DataFrame({"a": ["x:y", "x"], "b": ["z", "y:z"], "r": [1.0, 2.0], "t": [1.0, 2.0]})
    data = as_kind(kind, log, tmp_path)
    assert sorted(cells(data, "a:b", None, "r").arms) == ["'x:y':z", "x:'y:z'"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"environment": "judge"}, {"time": "at"}], ids=["environment", "time"])
def test_an_arm_that_lacks_a_part_is_missing(kind, options, tmp_path):
    log = WINE.assign(contact=WINE.contact.where(WINE.index % 10 > 0, None))
    data = as_kind(kind, log, tmp_path)
    with pytest.raises(InputError, match="contact' is missing in 24 of 240 rows"):
        tp.fit(data, arm="temp:contact", reward="rating", **options)
    fit = tp.fit(data, arm="temp:contact", reward="rating", missing="drop", **options)
    assert (len(fit.cells.arms), fit.cells.dropped) == (4, 24)


def test_a_column_may_be_called_like_a_combination():
    log = WINE.rename(columns={"temp": "a:b", "contact": "a"})
    assert set(cells(log, "a:b", "judge", "rating").arms) == {"cold", "warm"}


@pytest.mark.parametrize(
    ("arm", "message"),
    [("temp:kind", "unknown column 'kind'"), ("temp:judge", "'judge' is used twice"), ("temp:temp", "'temp' is used twice")],
)  # fmt: skip
def test_combinations_that_cannot_be_arms(arm, message):
    with pytest.raises((InputError, UnknownName), match=message):
        cells(WINE, arm, "judge", "rating")


def test_a_control_and_shares_of_combined_arms(tmp_path):
    path = as_kind("csv", WINE, tmp_path)
    columns = ["--arm", "temp:contact", "--environment", "judge", "--reward", "rating"]
    shares = "cold:no=1,cold:yes=1,warm:no=1,warm:yes=1"
    done = CliRunner().invoke(
        app,
        ["analyze", str(path), *columns, "--control", "cold:no", "--expect", shares],
        env={"COLUMNS": "80"},
    )
    assert done.exit_code in (0, 3, 5), done.output
    assert "Against cold:no, the control" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", ["admitted + rejected", "rejected+admitted"])
def test_the_number_of_trials_may_be_a_sum_of_columns(kind, n, tmp_path):
    data = as_kind(kind, ADMISSIONS, tmp_path)
    found = cells(data, "gender", "dept", None, successes="admitted", n=n)
    total = ADMISSIONS.assign(applied=ADMISSIONS.admitted + ADMISSIONS.rejected)
    wanted = cells(total, "gender", "dept", None, successes="admitted", n="applied")

    def by_name(c):
        names = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
        return dict(zip(names, zip(c.n, c.mean, c.squares, strict=True), strict=True))

    assert by_name(found) == by_name(wanted)


def test_a_sum_of_columns_with_errors():
    def read(n, **columns):
        log = ADMISSIONS.assign(**columns)
        return cells(log, "gender", "dept", None, successes="admitted", n=n)

    with pytest.raises(UnknownName, match="unknown column 'refused'"):
        read("admitted + refused")
    with pytest.raises(InputError, match="'rejected' is used twice"):
        read("rejected + rejected")
    with pytest.raises(InputError, match=r"'admitted \+ rejected' is missing in 1 of 6 rows"):
        read("admitted + rejected", rejected=[None, 1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="successes cannot exceed n"):
        read("admitted + rejected", rejected=[-1, 1, 2, 3, 4, 5])
    named = ADMISSIONS.assign(**{"admitted + rejected": ADMISSIONS.admitted + ADMISSIONS.rejected})
    assert cells(named, "gender", "dept", None, successes="admitted", n="admitted + rejected").n.sum() == 2436
