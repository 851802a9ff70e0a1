"""Whatever holds the rows, the cells are those that NumPy gives."""

from __future__ import annotations

import datetime as dt
import math
import shutil
import warnings
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sales_log import LOG, NAMES, as_dict, assert_same, assert_tails, expected, truncated, write
from tideproof.data import cell_assembly, cells
from tideproof.data.cell_reader import ReadOptions, read_cells
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_dataset
from tideproof.data.sources import array_columns
from tideproof.errors import InputError, UnknownName

EVERYWHERE = {
    "dict": lambda d, path: d,
    "pandas": lambda d, path: pd.DataFrame(d),
    "polars": lambda d, path: pl.DataFrame(d),
    "polars lazy": lambda d, path: pl.LazyFrame(d),
    "pyarrow": lambda d, path: pa.table(d),
    "duckdb": lambda d, path: duckdb.from_arrow(pa.table(d)),
    "narwhals of duckdb": lambda d, path: nw.from_native(duckdb.from_arrow(pa.table(d))),
    "csv": lambda d, path: write(path / "log.csv", d, "csv"),
    "parquet": lambda d, path: write(path / "log.parquet", d, "parquet"),
    "jsonl": lambda d, path: write(path / "log.jsonl", d, "jsonl"),
}


@pytest.mark.parametrize("every", ["hour", "day", "week"])
@pytest.mark.parametrize("engine", EVERYWHERE)
def test_an_environment_from_a_timestamp(tmp_path, engine, every):
    found = cells(EVERYWHERE[engine](LOG, tmp_path), "variant", f"{every}(ts)", "sales")
    labels = [truncated(moment, every) for moment in LOG["ts"]]
    assert_same(as_dict(found), expected(LOG["variant"], labels, LOG["sales"]))


BERLIN = {"time_zone": "Europe/Berlin"}  # an hour or two ahead of UTC


@pytest.mark.parametrize("every", ["hour", "day", "week"])
@pytest.mark.parametrize(
    "kind", ["plain", "zoned", "text", "seconds", "milliseconds", "nanoseconds", "floats"]
)
@pytest.mark.parametrize("engine", EVERYWHERE)
def test_moments_of_every_kind(tmp_path, engine, kind, every):
    """Oracle: Python's own clocks. With and without a time zone."""
    utc = [moment.replace(tzinfo=dt.UTC) for moment in LOG["ts"]]
    moments = {
        "plain": LOG["ts"],
        "zoned": [moment.astimezone(dt.timezone(dt.timedelta(hours=-3))) for moment in utc],
        "text": [moment.isoformat(sep=" ") for moment in LOG["ts"]],
        "seconds": [int(moment.timestamp()) for moment in utc],
        "milliseconds": [int(moment.timestamp() * 1000) for moment in utc],
        "nanoseconds": [int(moment.timestamp()) * 10**9 for moment in utc],
        "floats": [moment.timestamp() for moment in utc],
    }[kind]
    data = LOG | {"ts": moments}
    found = cells(EVERYWHERE[engine](data, tmp_path), "variant", f"{every}(ts)", "sales")
    labels = [truncated(moment, every) for moment in LOG["ts"]]
    assert_same(as_dict(found), expected(LOG["variant"], labels, LOG["sales"]))
    found = cells(EVERYWHERE[engine](data, tmp_path), "variant", f"{every}(ts)", "sales", **BERLIN)
    here = [moment.astimezone(ZoneInfo("Europe/Berlin")) for moment in utc]
    labels = [truncated(moment.replace(tzinfo=None), every) for moment in here]
    if every == "hour":
        pairs = zip(labels, here, strict=True)
        labels = [label.replace(tzinfo=dt.timezone(moment.utcoffset())) for label, moment in pairs]
    assert_same(as_dict(found), expected(LOG["variant"], labels, LOG["sales"]))


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_environments_of_several_columns(tmp_path, monkeypatch, engine):
    found = cells(EVERYWHERE[engine](LOG, tmp_path), "variant", "day(ts):n", "sales")
    pairs = [f"{moment.date()}:{n}" for moment, n in zip(LOG["ts"], LOG["n"], strict=True)]
    assert_same(as_dict(found), expected(LOG["variant"], pairs, LOG["sales"]))
    monkeypatch.setattr(array_columns, "_MOST_KEYS", 1)  # so many labels that their pairs have no number
    assert_same(as_dict(cells(LOG, "variant", "day(ts):n", "sales")), as_dict(found))
    holes = LOG | {"n": [None, *LOG["n"][1:]]}
    with pytest.raises(InputError, match="'n' is missing in 1 of 600 rows"):
        cells(EVERYWHERE[engine](holes, tmp_path), "variant", "day:n", "sales")
    found = cells(EVERYWHERE[engine](holes, tmp_path), "variant", "day:n", "sales", missing="drop")
    assert (found.n.sum(), found.dropped) == (599, 1)


@pytest.mark.parametrize(("columns", "values"), [(70, 2), (8, 256), (40, 3)])
def test_environments_with_more_combinations_of_labels_than_numbers(columns, values):
    """More than 2**64 combinations of arms and labels: no 64-bit number tells them all apart."""
    assert 2 * values**columns > 2**64
    names = [f"c{i}" for i in range(columns)]
    rows = [[int(i == j) for i in range(columns)] for j in range(columns)] + [
        [i] * columns for i in range(values)
    ]
    rows = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    data: dict[str, Any] = {name: [row[i] for row in rows] * 2 for i, name in enumerate(names)}
    data |= {"arm": ["A"] * len(rows) + ["B"] * len(rows), "y": np.arange(2.0 * len(rows))}
    found = cells(data, "arm", ":".join(names), "y")
    assert (found.J, found.n.tolist()) == (len(rows), [1.0] * 2 * len(rows))
    assert sorted(found.mean.tolist()) == list(range(2 * len(rows)))


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_no_environment(tmp_path, engine):
    found = cells(EVERYWHERE[engine](LOG, tmp_path), "variant", None, "sales")
    assert_same(as_dict(found), expected(LOG["variant"], ["all"] * 600, LOG["sales"]))


@pytest.mark.parametrize("engine", EVERYWHERE)
@pytest.mark.parametrize("environment", ["day", "week(ts)", None])
def test_a_column_for_each_arm(tmp_path, engine, environment):
    holes = [None if i % 7 == 0 else x for i, x in enumerate(LOG["var"])]
    data = EVERYWHERE[engine](LOG | {"var": holes}, tmp_path)
    found = cells(data, None, environment, None, wide=["sales", "n", "var"])
    weeks = [truncated(moment, "week") for moment in LOG["ts"]]
    labels = {"day": LOG["day"], "week(ts)": weeks, None: ["all"] * 600}[environment]
    rows = [
        (name, label, x)
        for name, column in (("sales", LOG["sales"]), ("n", LOG["n"]), ("var", holes))
        for label, x in zip(labels, column, strict=True)
        if x is not None
    ]
    assert_same(as_dict(found), expected(*zip(*rows, strict=True)))
    assert found.dropped == 0
    if engine not in ("csv", "jsonl"):  # where NaN is a word
        data = EVERYWHERE[engine](LOG | {"var": [math.nan if x is None else x for x in holes]}, tmp_path)
        again = cells(data, None, environment, None, wide=["sales", "n", "var"])
        assert_same(as_dict(again), as_dict(found))


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_successes_of_n(tmp_path, engine):
    ones = [n // 2 for n in LOG["n"]]
    data = EVERYWHERE[engine](LOG | {"ones": ones}, tmp_path)
    found = cells(data, "variant", "day", None, successes="ones", n="n")
    rows = [
        (v, day, float(i < k))
        for v, day, k, n in zip(LOG["variant"], LOG["day"], ones, LOG["n"], strict=True)
        for i in range(n)
    ]
    single = expected(*zip(*rows, strict=True))
    assert_same(as_dict(found), single)
    assert found.binary
    assert_tails(found, *zip(*rows, strict=True))


@pytest.mark.parametrize(
    "engine", sorted(EVERYWHERE.keys() - {"polars lazy", "duckdb", "narwhals of duckdb"})
)
@pytest.mark.parametrize("written", [lambda x: f"{x:.6f}".replace(".", ","), lambda x: ("no", "yes")[x > 0]])
def test_rewards_that_are_text(tmp_path, engine, written):
    """Read as those of a file; an engine that is asked for groups only has no text to look at."""
    text = [written(x) for x in LOG["sales"]]
    numbers = [float(x.replace(",", ".")) if "," in x else float(x == "yes") for x in text]
    found = cells(EVERYWHERE[engine](LOG | {"sales": text}, tmp_path), **NAMES)
    assert_same(as_dict(found), expected(LOG["variant"], LOG["day"], numbers))


def test_a_column_may_be_called_like_a_function():
    data = {"a": ["x", "y"], "day(ts)": ["one", "one"], "r": [1.0, 2.0]}
    assert cells(data, "a", "day(ts)", "r").environments == ["one"]


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_timestamps_with_a_zone_are_in_utc(tmp_path, engine):
    zoned = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-2)))
    data = {"a": [1, 2], "ts": [zoned] * 2, "r": [1.0, 2.0]}
    for every, want in {
        "hour": dt.datetime(2024, 3, 2, 1),
        "day": dt.date(2024, 3, 2),
        "week": dt.date(2024, 2, 26),
    }.items():
        found = cells(EVERYWHERE[engine](data, tmp_path), "a", f"{every}(ts)", "r")
        assert found.environments == [want]


@pytest.mark.parametrize("engine", ["parquet", "duckdb"])
def test_labels_with_a_zone_are_in_utc(tmp_path, engine):
    zoned = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-2)))
    data = EVERYWHERE[engine]({"a": [1, 2], "ts": [zoned] * 2, "r": [1.0, 2.0]}, tmp_path)
    assert cells(data, "a", "ts", "r").environments == [dt.datetime(2024, 3, 2, 1, 30)]


@pytest.mark.parametrize("engine", sorted(EVERYWHERE.keys() - {"pandas"}))  # which has no type for dates
def test_days_and_weeks_of_dates(tmp_path, engine):
    days = [dt.date(2024, 3, 3), dt.date(2024, 3, 4), dt.date(2024, 3, 4), dt.date(2024, 3, 10)]
    data = {"a": ["x", "y", "x", "x"], "d": days, "r": [1.0, 2.0, 3.0, 5.0]}
    found = cells(EVERYWHERE[engine](data, tmp_path), "a", "week(d)", "r")
    first, second = dt.date(2024, 2, 26), dt.date(2024, 3, 4)
    assert as_dict(found) == {("x", first): (1, 1, 0), ("y", second): (1, 2, 0), ("x", second): (2, 4, 2)}
    assert cells(EVERYWHERE[engine](data, tmp_path), "a", "day(d)", "r").environments == sorted(set(days))
    if engine != "jsonl":  # where dates are text
        with pytest.raises(InputError, match=r"hour\(d\) needs timestamps; column 'd' holds"):
            cells(EVERYWHERE[engine](data, tmp_path), "a", "hour(d)", "r")


@pytest.mark.parametrize("engine", EVERYWHERE)
@pytest.mark.parametrize("far", [0.0, 100.0, 1e6])
def test_third_and_fourth_powers_of_deviations(tmp_path, engine, far):
    """Skewed rewards, also far from 0; what rounding may cost is in units of their variance."""
    rewards = (far + np.random.default_rng(5).lognormal(size=len(LOG["sales"]))).tolist()
    data = LOG | {"sales": rewards}
    found = cells(EVERYWHERE[engine](data, tmp_path), **NAMES)
    assert_tails(found, LOG["variant"], LOG["day"], rewards, rel=1e-7)
    assert not found.binary


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_rewards_of_0_and_1_are_known_as_such(tmp_path, engine):
    bits = [int(i % 3 == 0) for i in range(len(LOG["sales"]))]
    found = cells(EVERYWHERE[engine](LOG | {"sales": bits}, tmp_path), **NAMES)
    assert found.binary
    assert_tails(found, LOG["variant"], LOG["day"], bits)


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_a_steady_arm_keeps_its_digits_beside_noisy_ones(tmp_path, engine):
    """Its squares are the difference of sums a trillion times as large: the log is read once more."""
    random = np.random.default_rng(0)
    steady = np.arange(3000) % 3 == 0
    rewards = np.where(steady, 1.0 + 1e-6 * random.normal(size=3000), random.normal(size=3000)).tolist()
    data = {"a": [f"v{i % 3}" for i in range(3000)], "e": ["mon"] * 3000, "r": rewards}
    found = as_dict(cells(EVERYWHERE[engine](data, tmp_path), "a", "e", "r"))
    for key, (_, _, squares) in expected(data["a"], data["e"], rewards).items():
        assert found[key][2] == pytest.approx(squares, rel=1e-8, abs=0.0)


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars lazy", "pyarrow"])
@pytest.mark.parametrize("first", [[], [None]], ids=["whole", "with a hole"])
def test_frames_far_from_zero_keep_their_digits(tmp_path, engine, first):
    """They are centred: around 0 these engines lose ten digits of the squares."""
    rewards = [*first, *(1e12 + np.random.default_rng(0).normal(size=3000)).tolist()]
    data = {"a": [f"v{i % 2}" for i in range(len(rewards))], "e": [1] * len(rewards), "r": rewards}
    found = cells(EVERYWHERE[engine](data, tmp_path), "a", "e", "r", missing="drop")
    kept = slice(len(first), None)
    want = expected(data["a"][kept], data["e"][kept], rewards[kept])
    for key, (n, mean, squares) in as_dict(found).items():
        assert n == want[key][0]
        assert mean == pytest.approx(want[key][1], abs=2.5e-4)  # two units in the last place of 1e12
        assert squares == pytest.approx(want[key][2], rel=1e-9)


AGGREGATED = {"n": "n", "variance": "var"}


@pytest.mark.parametrize("engine", EVERYWHERE)
@pytest.mark.parametrize("more", [{}, AGGREGATED], ids=["observations", "aggregated"])
def test_nothing_is_cut_off(tmp_path, monkeypatch, engine, more):
    """As many cells, or aggregated rows, as are allowed; not one more."""
    rows = len(LOG["sales"])
    pairs = len(set(zip(LOG["variant"], LOG["day"], strict=True)))
    most, what = (rows, "aggregated rows") if more else (pairs, "pairs of arm and environment")
    monkeypatch.setattr(cell_assembly, "MOST_CELLS", most)
    found = cells(EVERYWHERE[engine](LOG, tmp_path), **NAMES, **more)
    assert found.n.sum() == (sum(LOG["n"]) if more else rows)
    if engine == "dict":
        return  # all of it is in memory already
    monkeypatch.setattr(cell_assembly, "MOST_CELLS", most - 1)
    with pytest.raises(
        InputError, match=rf"there are more than {most - 1} {what}; perhaps the column of arms was swapped"
    ):
        cells(EVERYWHERE[engine](LOG, tmp_path), **NAMES, **more)


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_as_many_arms_as_are_allowed(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 3)
    assert set(cells(EVERYWHERE[engine](LOG, tmp_path), **NAMES).arms) == set(LOG["variant"])
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 2)
    with pytest.raises(
        InputError, match=r"^the log has 3 different arms \('v\d', 'v\d', 'v\d', …\), but at most 2 can"
    ):
        cells(EVERYWHERE[engine](LOG, tmp_path), **NAMES)


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_infinite_and_missing_rewards_are_counted_apart(tmp_path, engine):
    sales = [math.inf, -math.inf, None, *LOG["sales"][3:]]
    data = EVERYWHERE[engine](LOG | {"sales": sales}, tmp_path)
    with pytest.raises(InputError, match="'sales' is missing in 1 of 600 rows"):
        cells(data, **NAMES)
    data = EVERYWHERE[engine](LOG | {"sales": sales}, tmp_path)
    with pytest.raises(InputError, match="must be finite; 2 of 600 in 'sales' are infinite"):
        cells(data, **NAMES, missing="drop")


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_what_is_no_timestamp(tmp_path, engine):
    message = r"day\(n\) needs timestamps; column 'n' holds numbers that are too small for seconds"
    with pytest.raises(InputError, match=message):
        cells(EVERYWHERE[engine](LOG, tmp_path), "variant", "day(n)", "sales")
    with pytest.raises(UnknownName, match="unknown column 'tss'; did you mean 'ts'"):
        cells(EVERYWHERE[engine](LOG, tmp_path), "variant", "day(tss)", "sales")


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_aggregated_rows(tmp_path, engine):
    data = EVERYWHERE[engine](LOG, tmp_path)
    found = cells(data, **NAMES, n="n", variance="var")
    random = np.random.default_rng(3)
    arm, environment, reward = [], [], []
    for row in zip(LOG["variant"], LOG["day"], LOG["n"], LOG["sales"], LOG["var"], strict=True):
        sample = random.normal(size=row[2])
        sample -= sample.mean()
        if row[2] > 1:
            sample *= np.sqrt(row[4] / sample.var(ddof=1))
        arm += [row[0]] * row[2]
        environment += [row[1]] * row[2]
        reward += (row[3] + sample).tolist()
    assert_same(as_dict(found), expected(arm, environment, reward), rel=1e-8)
    as_sd = LOG | {"sd": np.sqrt(LOG["var"]).tolist()}
    again = cells(EVERYWHERE[engine](as_sd, tmp_path), **NAMES, n="n", sd="sd")
    assert_same(as_dict(again), as_dict(found))


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_missing_values_may_be_dropped(tmp_path, engine):
    sales = [None if i % 7 == 0 else x for i, x in enumerate(LOG["sales"])]
    days = [None if i % 11 == 0 else x for i, x in enumerate(LOG["day"])]
    arms = [None if i % 13 == 0 else x for i, x in enumerate(LOG["variant"])]
    holes = LOG | {"variant": arms, "day": days, "sales": sales}
    message = r"'variant' is missing in 47 of 600 rows, 'day' is missing in 55 of 600 rows, 'sales' is missing in 86 of 600 rows; missing='drop'"
    with pytest.raises(InputError, match=message):
        cells(EVERYWHERE[engine](holes, tmp_path), **NAMES)
    found = cells(EVERYWHERE[engine](holes, tmp_path), **NAMES, missing="drop")
    kept = [i for i in range(600) if i % 7 and i % 11 and i % 13]
    want = expected(*([LOG[name][i] for i in kept] for name in ("variant", "day", "sales")))
    assert_same(as_dict(found), want)
    assert found.dropped == 600 - len(kept)


def test_missing_is_one_of_two_words():
    with pytest.raises(InputError, match="missing must be 'refuse' or 'drop', not 'ignore'"):
        cells(LOG, **NAMES, missing="ignore")
    with pytest.raises(InputError, match="no row is complete"):
        cells({"a": [None], "e": [1], "r": [1.0]}, "a", "e", "r", missing="drop")


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_a_million_arms(tmp_path, engine):
    rows = 20_000
    data = {"id": [f"u{i}" for i in range(rows)], "day": ["mon", "tue"] * (rows // 2), "sales": [1.0] * rows}
    with pytest.raises(InputError, match=r"20,000( or more)? different arms .* swapped"):
        cells(EVERYWHERE[engine](data, tmp_path), "id", "day", "sales")


def spark_session():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on this machine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        return (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )


@pytest.fixture(scope="module")
def spark():
    session = spark_session()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


class TestSpark:
    def test_the_same_cells(self, spark):
        frame = spark.createDataFrame(list(zip(*LOG.values(), strict=True)), list(LOG))
        assert_same(as_dict(cells(frame, **NAMES)), expected(LOG["variant"], LOG["day"], LOG["sales"]))

    def test_week_of_a_timestamp(self, spark):
        frame = spark.createDataFrame(list(zip(*LOG.values(), strict=True)), list(LOG))
        labels = [truncated(moment, "week") for moment in LOG["ts"]]
        want = expected(LOG["variant"], labels, LOG["sales"])
        assert_same(as_dict(cells(frame, "variant", "week(ts)", "sales")), want)

    def test_aggregated_far_and_missing(self, spark):
        frame = spark.createDataFrame(list(zip(*LOG.values(), strict=True)), list(LOG))
        aggregated = {"n": "n", "variance": "var"}
        assert_same(as_dict(cells(frame, **NAMES, **aggregated)), as_dict(cells(LOG, **NAMES, **aggregated)))
        far = frame.selectExpr("variant", "day", "case when n = 1 then null else sales + 1e9D end as sales")
        with pytest.raises(InputError, match="missing values are not allowed: 'sales' is missing in"):
            cells(far, **NAMES)
        kept = [i for i in range(600) if LOG["n"][i] > 1]
        rewards = [1e9 + LOG["sales"][i] for i in kept]
        want = expected([LOG["variant"][i] for i in kept], [LOG["day"][i] for i in kept], rewards)
        assert_same(as_dict(cells(far, **NAMES, missing="drop")), want, rel=1e-6)


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_a_column_for_each_arm_winsorized_and_with_logarithms(tmp_path, engine):
    paid = np.exp(LOG["sales"])
    wide = {"day": LOG["day"], "old": paid.tolist(), "new": (paid + 1.0).tolist()}
    assert paid.min() < 1.0  # the logarithm of a logarithm would be missing
    rewards = np.array(wide["old"] + wide["new"])
    highest = np.quantile(rewards, 0.9)
    with open_dataset(EVERYWHERE[engine](wide, tmp_path)) as rows:
        spec = ColumnSpec.of(None, "day", None, wide=["old", "new"])
        found = read_cells(rows, spec, ReadOptions(winsorize=0.9, logs=True))
    arms = ["old"] * 600 + ["new"] * 600
    capped = np.minimum(rewards, highest)
    assert found.winsorizing.at == pytest.approx(highest, rel=1e-9)
    assert_same(as_dict(found.cells), expected(arms, LOG["day"] * 2, capped.tolist()))
    assert_same(as_dict(found.cells.logs), expected(arms, LOG["day"] * 2, np.log(capped).tolist()))


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_boolean_rewards_can_be_winsorized(tmp_path, engine):
    log = {"variant": LOG["variant"], "day": LOG["day"], "bought": [n % 3 == 0 for n in LOG["n"]]}
    with open_dataset(EVERYWHERE[engine](log, tmp_path)) as rows:
        spec = ColumnSpec.of("variant", "day", "bought")
        found = read_cells(rows, spec, ReadOptions(winsorize=0.99))
    assert found.winsorizing.at == 1.0
    assert_same(as_dict(found.cells), expected(log["variant"], log["day"], [float(x) for x in log["bought"]]))
