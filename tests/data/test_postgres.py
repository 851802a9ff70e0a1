"""PostgreSQL, a real one: the same cells, and no reward that spoils a mean."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest

from sales_log import LOG, NAMES, as_dict, assert_same, assert_tails, expected, truncated
from tideproof.data import cells
from tideproof.data.cell_reader import ReadOptions, read_cells
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_dataset
from tideproof.errors import InputError, MissingExtra, UnknownName


@pytest.fixture(scope="module")
def postgres(postgres_server):
    import psycopg

    url = postgres_server.database()
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
    return url


def test_a_table(postgres):
    found = cells(postgres, **NAMES, table="log")
    assert_same(as_dict(found), expected(LOG["variant"], LOG["day"], LOG["sales"]))


@pytest.mark.parametrize("every", ["hour", "day", "week"])
def test_timestamps(postgres, every):
    labels = [truncated(timestamp, every) for timestamp in LOG["ts"]]
    want = expected(LOG["variant"], labels, LOG["sales"])
    assert_same(as_dict(cells(postgres, "variant", f"{every}(ts)", "sales", table="log")), want)
    query = "select variant, zoned, money from other.odd"
    found = cells(postgres, "variant", f"{every}(zoned)", "money", table=query)
    assert_same(as_dict(found), want)


def test_environments_of_several_columns_of_none_and_of_time_zones(postgres):
    found = cells(postgres, "variant", "day : n", "sales", table="log")
    pairs = [f"{day}:{n}" for day, n in zip(LOG["day"], LOG["n"], strict=True)]
    assert_same(as_dict(found), expected(LOG["variant"], pairs, LOG["sales"]))
    found = cells(postgres, "variant", None, "sales", table="log")
    assert_same(as_dict(found), expected(LOG["variant"], ["all"] * 600, LOG["sales"]))
    assert_tails(found, LOG["variant"], ["all"] * 600, LOG["sales"])
    for column in ("ts", "zoned", "extract(epoch from ts)", "extract(epoch from ts) * 1000", "ts::text"):
        source = "other.odd" if column == "zoned" else "log"
        query = f"select variant, {column} as t, sales::float8 from {source} where sales is not null"
        found = cells(
            postgres, "variant", "day(t)", "sales", table=query, time_zone="Asia/Kathmandu", missing="drop"
        )
        offset = dt.timedelta(hours=5, minutes=45)
        rows = zip(LOG["variant"], LOG["ts"], LOG["sales"], LOG["n"], strict=True)
        kept = [(v, (t + offset).date(), x) for v, t, x, n in rows if column != "zoned" or n > 2]
        assert_same(as_dict(found), expected(*zip(*kept, strict=True)))


@pytest.mark.parametrize("form", ["MM/DD/YYYY HH12:MI AM", "DD.MM.YY", "DD-MM-YYYY HH24:MI:SS"])
def test_dates_with_the_day_or_the_month_first(postgres, form):
    want = expected(LOG["variant"], [truncated(timestamp, "day") for timestamp in LOG["ts"]], LOG["sales"])
    query = f"select variant, to_char(ts, '{form}') as t, sales from log"
    assert_same(as_dict(cells(postgres, "variant", "day(t)", "sales", table=query)), want)
    either = "select variant, '01/02/2024' as t, sales from log"
    with pytest.raises(InputError, match=r"day\(t, dayfirst\) or day\(t, monthfirst\)"):
        cells(postgres, "variant", "day(t)", "sales", table=either)
    found = cells(postgres, "variant", "day(t, dayfirst)", "sales", table=either)
    assert found.environments == [dt.date(2024, 2, 1)]
    mixed = "select variant, case when n > 1 then '01/02/2024' else '2024-01-02' end as t, sales from log order by n"
    with pytest.raises(InputError):
        cells(postgres, "variant", "day(t)", "sales", table=mixed)


def test_arms_that_several_columns_name(postgres):
    pairs = [f"{variant}:{n > 2}" for variant, n in zip(LOG["variant"], LOG["n"], strict=True)]
    query = "select variant, n > 2 as many, day, ts, sales from log"
    found = cells(postgres, "variant:many", "day", "sales", table=query)
    assert_same(as_dict(found), expected(pairs, LOG["day"], LOG["sales"]))
    with open_dataset(postgres, query) as rows:
        timed = rows.timed(ColumnSpec.of("variant:many", "ts", "sales"), 1000)
    assert timed.arms == sorted(set(pairs))


def test_a_wide_table(postgres):
    query = "select day, sales as a, case when n > 1 then var end as b from log"
    found = cells(postgres, None, "day", None, wide=["a", "b"], table=query)
    rows = zip(LOG["day"], LOG["sales"], LOG["var"], LOG["n"], strict=True)
    long = [
        r
        for day, a, b, n in rows
        for r in (("a", day, a), *([("b", day, float(np.float32(b)))] if n > 1 else []))
    ]
    assert_same(as_dict(found), expected(*zip(*long, strict=True)))


def test_a_query_and_a_schema(postgres):
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


def test_rewards_of_other_types(postgres):
    names = {"arm": "variant", "environment": "day", "table": "other.odd"}
    won = expected(LOG["variant"], LOG["day"], np.array(LOG["sales"]) > 0)
    assert_same(as_dict(cells(postgres, **names, reward="won")), won)
    kept = [i for i in range(600) if LOG["n"][i] > 2]
    with pytest.raises(InputError, match=f"'sales' is missing in {600 - len(kept)} of 600 rows"):
        cells(postgres, **names, reward="sales")
    found = cells(postgres, **names, reward="sales", missing="drop")
    assert (found.n.sum(), found.dropped) == (len(kept), 600 - len(kept))
    endless = LOG["n"].count(3)
    with pytest.raises(InputError, match=f"must be finite; {endless} of 600 in 'endless' are infinite"):
        cells(postgres, **names, reward="endless")
    with pytest.raises(InputError, match="column 'day' must be numeric; it holds TEXT"):
        cells(postgres, "variant", "sales", "day", table="other.odd")


def test_aggregated(postgres):
    found = cells(postgres, **NAMES, table="log", n="n", variance="var")
    assert_same(as_dict(found), as_dict(cells(LOG, **NAMES, n="n", variance="var")), rel=1e-6)  # var is real


def test_what_is_not_there(postgres):
    with pytest.raises(UnknownName, match="unknown table 'logs'; did you mean 'log'"):
        cells(postgres, **NAMES, table="logs")
    with pytest.raises(InputError, match=r"choose a table .*: other\.far, other\.odd, log$"):
        cells(postgres, **NAMES)
    with pytest.raises(UnknownName, match="unknown column 'dai'; did you mean 'day'"):
        cells(postgres, "variant", "dai", "sales", table="log")
    with pytest.raises(InputError, match="cannot read from PostgreSQL: column"):
        cells(postgres, **NAMES, table="select nothing from log")
    with pytest.raises(InputError, match="cannot read from PostgreSQL"):
        cells("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1", **NAMES)


def test_nothing_is_ever_written(postgres):
    with pytest.raises(InputError, match="read-only transaction"):
        cells(postgres, **NAMES, table="select * from log for update")


def test_without_the_driver(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"needs psycopg: pip install 'tideproof\[postgres\]'"):
        cells("postgresql://localhost/x", **NAMES)


def table_of(url, name, rows):
    """Make a table of (variant, day, sales) and return the keywords that read it."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(f"drop table if exists {name}")
        connection.execute(f"create table {name} (variant text, day text, sales double precision)")
        with connection.cursor() as cursor, cursor.copy(f"copy {name} from stdin") as copy:
            for row in rows:
                copy.write_row(row)
    return NAMES | {"table": name}


@pytest.mark.parametrize(
    "first", [[None], [None, math.nan], [math.nan, None, math.nan]], ids=["null", "null, nan", "nan, null"]
)
def test_rewards_far_from_zero_keep_their_digits_whatever_comes_first(postgres, first):
    """Deviations from a reward are averaged: from one that is NULL or NaN every mean would be NaN, from 0 it
    would lose digits."""
    random = np.random.default_rng(4)
    rewards = [*first, *(1e9 + random.normal(size=6000))]
    labels = [(f"v{i % 2}", f"d{i % 3}") for i in range(len(rewards))]
    names = table_of(postgres, "spoilt", [(*label, x) for label, x in zip(labels, rewards, strict=True)])
    found = cells(postgres, **names, missing="drop")
    assert found.dropped == len(first)
    kept = [(*label, x) for label, x in zip(labels, rewards, strict=True) if x is not None and x == x]
    want = expected(*zip(*kept, strict=True))
    assert as_dict(found).keys() == want.keys()
    for key, (n, mean, squares) in as_dict(found).items():
        assert n == want[key][0]
        assert mean == pytest.approx(want[key][1], abs=1.2e-7)  # one unit in the last place of 1e9
        assert squares == pytest.approx(want[key][2], rel=1e-6)


@pytest.mark.parametrize("endless", [math.inf, -math.inf])
def test_infinite_rewards_are_refused_wherever_they_stand(postgres, endless):
    for rewards in ([endless, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, endless], [endless] * 4):
        rows = [("AB"[i % 2], "mon", x) for i, x in enumerate(rewards)]
        names = table_of(postgres, "endless", rows)
        count = rewards.count(endless)
        with pytest.raises(InputError, match=f"must be finite; {count} of 4 in 'sales' are infinite"):
            cells(postgres, **names, missing="drop")


def test_no_reward_at_all(postgres):
    names = table_of(postgres, "nothing", [("A", "mon", None), ("B", "mon", math.nan)])
    with pytest.raises(InputError, match="'sales' is missing in 2 of 2 rows"):
        cells(postgres, **names)
    with pytest.raises(InputError, match="no row is complete"):
        cells(postgres, **names, missing="drop")


def test_a_table_whose_first_row_is_not_the_same_twice(postgres):
    """The reward that deviations are taken from is looked up once."""
    query = "select variant, day, sales from log order by random()"
    want = expected(LOG["variant"], LOG["day"], LOG["sales"])
    for _ in range(5):  # a second look finds the same of 600 rewards all five times: 600^-5
        assert_same(as_dict(cells(postgres, **NAMES, table=query)), want)


def test_nan_of_type_numeric_is_missing(postgres):
    query = "select variant, day, case when n = 1 then 'NaN' else sales end::numeric as sales from log"
    ones = LOG["n"].count(1)
    with pytest.raises(InputError, match=f"'sales' is missing in {ones} of 600 rows"):
        cells(postgres, **NAMES, table=query)
    found = cells(postgres, **NAMES, table=query, missing="drop")
    kept = [i for i in range(600) if LOG["n"][i] > 1]
    assert_same(as_dict(found), expected(*([LOG[name][i] for i in kept] for name in NAMES.values())))
    assert found.dropped == ones


@pytest.mark.parametrize("kind", ["text", "varchar(40)"])
@pytest.mark.parametrize("written", ["2024-03-01 23:30:00-02", "2024-03-02T01:30:00Z", "2024-03-02 01:30"])
def test_text_with_a_zone_is_in_utc(postgres, kind, written):
    query = f"select variant, '{written}'::{kind} as ts, sales from log"
    found = cells(postgres, "variant", "hour(ts)", "sales", table=query)
    assert found.environments == [dt.datetime(2024, 3, 2, 1)]


def test_labels_with_a_zone_are_in_utc(postgres):
    query = "select variant, timestamptz '2024-03-01 23:30:00-02' as day, sales from log"
    assert cells(postgres, **NAMES, table=query).environments == [dt.datetime(2024, 3, 2, 1, 30)]


def test_a_password_that_is_wrong_is_one_line(postgres):
    with pytest.raises(InputError, match=r"^cannot read from PostgreSQL: .*") as caught:
        cells("postgresql://nobody:secret@127.0.0.1:1/none?connect_timeout=1", **NAMES)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_powers_that_postgres_would_refuse(postgres):
    """Its products neither underflow nor overflow in silence."""
    rows = [("AB"[i % 2], "mon", x) for i, x in enumerate([1e-120, 3e-120, 2e-120, 4e-120])]
    found = cells(postgres, **table_of(postgres, "tiny", rows))
    assert (found.n.tolist(), found.fourths.tolist()) == ([2, 2], [0, 0])
    rows = [("AB"[i % 2], "mon", x) for i, x in enumerate([1e100, 3e100, 2e100, 4e100])]
    found = cells(postgres, **table_of(postgres, "huge", rows))
    assert found.n.tolist() == [2, 2]
    assert found.fourths is None


def test_a_cap_a_quotient_and_segments(postgres):
    """The same as from columns in memory."""
    for wish in (
        ReadOptions(winsorize=0.9),
        ReadOptions(by="ts", unit="n"),
        ReadOptions(covariates=("var",)),
    ):
        made = []
        for place, table in ((postgres, "log"), (LOG, None)):
            with open_dataset(place, table) as rows:
                made.append(read_cells(rows, ColumnSpec.of("variant", "day", "sales"), wish).cells)
        one, two = made
        assert_same(as_dict(one), as_dict(two), rel=1e-7)
    with open_dataset(postgres, "log") as rows, open_dataset(LOG) as held:
        one, two = (
            read_cells(x, ColumnSpec.of("variant", "day", "sales / n"), ReadOptions()).cells
            for x in (rows, held)
        )
    assert_same(as_dict(one), as_dict(two), rel=1e-7)


@pytest.mark.parametrize("most", [10**6, 12])
def test_rows_in_the_order_of_time(postgres, most):
    """The same as from memory, one by one and in bins."""

    def rows(data, table):
        with open_dataset(data, table) as each:
            found = each.timed(ColumnSpec.of("variant", "ts", "sales"), most)
        names = [found.arms[i] for i in found.arm]
        return [*zip(found.time.tolist(), names, found.n.tolist(), strict=True)], found

    (here, memory), (there, engine) = rows(LOG, None), rows(postgres, "log")
    assert sorted(here) == sorted(there)
    assert memory.bin == engine.bin
    assert engine.clock
    assert (engine.n * engine.mean).sum() == pytest.approx(sum(LOG["sales"]))
