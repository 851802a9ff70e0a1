"""Quotients, caps, covariates, units, two factors and segments: the same cells from every kind of table."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tideproof.data import cells
from tideproof.data.cell_reader import ReadOptions, read_cells
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_dataset
from tideproof.errors import InputError, UnknownName

KINDS = ["columns", "pandas", "polars", "lazy", "arrow", "relation", "csv", "parquet"]


def log(rows=400, seed=0):
    random = np.random.default_rng(seed)
    user = random.integers(30, size=rows)
    day, shop = random.integers(5, size=rows), random.integers(3, size=rows)
    before = 1000.0 + random.normal(size=rows)
    sessions = 1 + random.poisson(2.0, size=rows)
    arm = np.array(["A", "B", "C"])[user % 3]
    sales = 7.0 * day + 2.0 * before + random.standard_exponential(rows) ** 3
    ts = pd.to_datetime("2024-05-01") + pd.to_timedelta(day, unit="D") + pd.to_timedelta(shop, unit="h")
    country = np.array(["DE", "FR"])[random.integers(2, size=rows)]
    frame = pd.DataFrame({"arm": arm, "day": day.astype(str), "shop": shop, "user": user, "country": country})
    return frame.assign(sales=sales, before=before, sessions=sessions, ts=ts)


LOG = log()


def as_kind(kind, frame, tmp_path):
    if kind == "columns":
        return {name: frame[name].to_numpy() for name in frame}
    if kind == "relation":
        return duckdb.connect().from_df(frame)
    if kind in ("csv", "parquet"):
        path = tmp_path / f"log.{kind}"
        getattr(frame, f"to_{kind}")(path, index=False)
        return path
    table = pl.from_pandas(frame)
    return {"pandas": frame, "polars": table, "lazy": table.lazy(), "arrow": table.to_arrow()}[kind]


def found(data, environment="day", reward="sales", missing="refuse", **wish):
    with open_dataset(data) as rows:
        return read_cells(
            rows, ColumnSpec.of("arm", environment, reward, missing=missing), ReadOptions(**wish)
        )


def by_label(c, *values):
    keys = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
    return dict(zip(keys, zip(*values, strict=True), strict=True))


def same(found, wanted, rel=1e-9):
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert found[key] == pytest.approx(value, rel=rel, abs=1e-8)


def rows_of(c, key, frame=LOG, by="day"):
    return frame[(frame.arm == key[0]) & (frame[by] == key[1])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_quotient_is_sum_over_sum(kind, tmp_path):
    c = found(as_kind(kind, LOG, tmp_path), reward="sales / sessions").cells
    assert c.n.size == 15
    for key, (n, mean, squares) in by_label(c, c.n, c.mean, c.squares).items():
        rows = rows_of(c, key)
        R = rows.sales.sum() / rows.sessions.sum()
        assert (n, mean) == (len(rows), pytest.approx(R, rel=1e-10))
        left = (rows.sales - R * rows.sessions) / rows.sessions.mean()
        assert squares == pytest.approx((left**2).sum(), rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_covariates_are_taken_out(kind, tmp_path):
    import statsmodels.formula.api as smf

    c = found(as_kind(kind, LOG, tmp_path), covariates=("before", "sessions")).cells
    ols = smf.ols("sales ~ C(arm) + C(day) + before + sessions", LOG).fit()
    assert c.slope.by == pytest.approx(ols.params[["before", "sessions"]].to_numpy(), rel=1e-6)
    x = LOG[["before", "sessions"]] - LOG[["before", "sessions"]].mean()
    left = LOG.assign(left=LOG.sales - x @ ols.params[["before", "sessions"]])
    for key, (mean, squares) in by_label(c, c.mean, c.squares).items():
        mine = rows_of(c, key, left).left
        assert mean == pytest.approx(mine.mean(), rel=1e-9)
        assert squares == pytest.approx(((mine - mine.mean()) ** 2).sum(), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cap_is_a_quantile_of_all_rewards(kind, tmp_path):
    made = found(as_kind(kind, LOG, tmp_path), winsorize=0.9)
    at = np.quantile(LOG.sales, 0.9)
    assert made.winsorizing == (0.9, pytest.approx(at, rel=1e-12))
    wanted = cells(LOG.assign(sales=LOG.sales.clip(upper=at)), "arm", "day", "sales")
    names = ("n", "mean", "squares", "cubes", "fourths", "low", "high")
    mine, theirs = (by_label(c, *(getattr(c, name) for name in names)) for c in (made.cells, wanted))
    same(mine, theirs, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_knows_its_ends(kind, tmp_path):
    c = cells(as_kind(kind, LOG, tmp_path), "arm", "day", "sales")
    for key, ends in by_label(c, c.low, c.high).items():
        assert ends == pytest.approx((rows_of(c, key).sales.min(), rows_of(c, key).sales.max()), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_two_factors(kind, tmp_path):
    c = found(as_kind(kind, LOG, tmp_path), environment="day(ts) + shop").cells
    plain = cells(LOG, "arm", "day", "sales")
    assert c.n.sum() == plain.n.sum()
    assert c.J == 15
    days, shops = c.factors
    labels = [label.split(" + ") for label in c.environments]
    for j, (day, shop) in enumerate(labels):
        assert {labels[k][0] for k in np.flatnonzero(days == days[j])} == {day}
        assert {labels[k][1] for k in np.flatnonzero(shops == shops[j])} == {shop}


@pytest.mark.parametrize("kind", KINDS)
def test_units_in_cells(kind, tmp_path):
    made = found(as_kind(kind, LOG, tmp_path), unit="user").cells
    plain = cells(LOG, "arm", "day", "sales")
    names = ("n", "mean", "squares", "cubes", "fourths", "low", "high")
    same(*(by_label(c, *(getattr(c, name) for name in names)) for c in (made, plain)), rel=1e-7)
    u = made.units
    parts = LOG.groupby(["user", "arm", "day"]).sales.agg(["size", "mean"])
    assert u.n.size == len(parts)
    assert np.unique(u.unit).size == LOG.user.nunique()
    total = np.bincount(u.cell, u.n * u.mean, made.n.size)
    assert total == pytest.approx(made.n * made.mean, rel=1e-9)
    assert np.sort(u.mean) == pytest.approx(np.sort(parts["mean"]), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_segments(kind, tmp_path):
    made = found(as_kind(kind, LOG, tmp_path), by="country")
    assert set(made.segments) == {"DE", "FR"}
    assert set(made.cells.environments) == {
        f"{day}, {country}" for day in range(5) for country in ("DE", "FR")
    }
    for country, c in made.segments.items():
        alone = cells(LOG[LOG.country == country], "arm", "day", "sales")
        same(*(by_label(x, x.n, x.mean, x.squares, x.cubes) for x in (c, alone)), rel=1e-7)


def test_everything_at_once():
    """Segments of two factors with covariates and units: as if each segment were a log of its own."""
    wish = {"covariates": ("before",), "unit": "user", "winsorize": 0.99}
    made = found(LOG, environment="day + shop", by="country", **wish)
    capped = LOG.assign(sales=LOG.sales.clip(upper=LOG.sales.quantile(0.99)))
    for country, c in made.segments.items():
        wanted = found(
            capped[capped.country == country], environment="day + shop", **wish | {"winsorize": None}
        ).cells
        same(*(by_label(x, x.n, x.mean, x.squares) for x in (c, wanted)), rel=1e-6)
        assert c.slope.by == pytest.approx(wanted.slope.by, rel=1e-6)
        for x in (c, wanted):  # what units gave adds up to the cells
            assert np.bincount(x.units.cell, x.units.n * x.units.mean, x.n.size) == pytest.approx(
                x.n * x.mean, rel=1e-8
            )


def test_units_of_a_quotient_add_up_to_it():
    c = found(LOG, reward="sales / sessions", unit="user").cells
    assert np.bincount(c.units.cell, c.units.n * c.units.mean, c.n.size) == pytest.approx(
        c.n * c.mean, rel=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_lack_a_covariate_are_refused_or_dropped_from_all(kind, tmp_path):
    lacking = LOG.assign(before=LOG.before.where(LOG.index % 7 > 0))
    data = as_kind(kind, lacking, tmp_path)
    with pytest.raises(InputError, match="'before' is missing in 58 of"):
        found(data, covariates=("before",))
    made, wanted = (
        found(data, covariates=("before",), missing="drop"),
        found(lacking.dropna(), covariates=("before",)),
    )
    assert made.cells.dropped == 58
    same(*(by_label(x.cells, x.cells.n, x.cells.mean, x.cells.squares) for x in (made, wanted)), rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_infinite_or_missing_is_not_capped(kind, tmp_path):
    sales = LOG.sales.copy()
    sales[3] = np.inf
    with pytest.raises(InputError, match="rewards must be finite; 1 of 400 in 'sales'"):
        found(as_kind(kind, LOG.assign(sales=sales), tmp_path), winsorize=0.9)
    sales[3] = np.nan
    with pytest.raises(InputError, match="'sales' is missing in 1 of"):
        found(as_kind(kind, LOG.assign(sales=sales), tmp_path), winsorize=0.9)


def test_columns_that_have_a_sign_in_their_name():
    odd = LOG.rename(columns={"sales": "sales / day", "day": "day + hour"})
    made = found(odd, environment="day + hour", reward="sales / day").cells
    plain = cells(LOG, "arm", "day", "sales")
    same(*(by_label(c, c.n, c.mean) for c in (made, plain)))


BAD = {
    "a / b / c": ({"reward": "sales / sessions / day"}, "has more than one '/'"),
    "a + b + c": ({"environment": "day + shop + user"}, r"has more than one '\+'"),
    "unknown denominator": ({"reward": "sales / visits"}, "unknown column 'visits'"),
    "unknown unit": ({"unit": "visitor"}, "unknown column 'visitor'"),
    "unknown segment": ({"by": "land"}, "unknown column 'land'; .*known"),
    "covariate twice": ({"covariates": ("before", "before")}, "must be different columns"),
    "the reward itself": ({"covariates": ("sales",)}, "must be different columns"),
    "text": ({"covariates": ("country",)}, "column 'country' must be numeric"),
    "cap 2": ({"winsorize": 2.0}, "winsorize must be a quantile between 0 and 1, such as 0.999"),
    "quotient and covariate": (
        {"reward": "sales / sessions", "covariates": ("before",)},
        "covariates cannot be combined .* divided by 'sessions'",
    ),
}


@pytest.mark.parametrize("kind", ["columns", "polars", "csv"])
@pytest.mark.parametrize("case", BAD)
def test_bad_wishes_are_one_clear_line(kind, case, tmp_path):
    options, message = BAD[case]
    with pytest.raises((InputError, UnknownName), match=message):
        found(as_kind(kind, LOG, tmp_path), **options)


def test_a_cap_that_leaves_nothing_is_refused():
    rare = LOG.assign(sales=(LOG.index == 0) * 1.0)
    with pytest.raises(
        InputError,
        match=r"winsorize=0.99 is too low: the 0.99 quantile of the rewards is 0, the lowest reward",
    ):
        found(rare, winsorize=0.99)


def test_aggregated_rows_have_nothing_of_this():
    data = {"arm": ["A", "B"], "day": [1, 1], "mean": [1.0, 2.0], "n": [5, 5], "sd": [1.0, 1.0], "x": [1, 2]}
    request = ColumnSpec.of("arm", "day", "mean", n="n", sd="sd")
    for wish, words in {
        ReadOptions(by="x"): "segments and two environment columns need one row",
        ReadOptions(covariates=("x",)): "covariates require a table with one row for each reward",
        ReadOptions(winsorize=0.5): "winsorize needs one row for each reward",
    }.items():
        with open_dataset(data) as rows, pytest.raises(InputError, match=words):
            read_cells(rows, request, wish)
    with open_dataset(data) as rows:
        assert read_cells(rows, request, ReadOptions()).cells.n.tolist() == [5.0, 5.0]
    with (
        open_dataset(data) as rows,
        pytest.raises(InputError, match="covariates require a table with one row for each reward"),
    ):
        read_cells(rows, replace(request, reward="mean / x"), ReadOptions())
