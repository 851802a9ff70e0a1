"""DuckDB files and relations."""

from __future__ import annotations

import datetime as dt

import duckdb
import pyarrow as pa
import pytest

from sales_log import LOG, NAMES, as_dict, assert_same, expected
from tideproof.data import cell_assembly, cells, group_by_sql
from tideproof.errors import InputError, UnknownName


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
    for blank in ("", " "):
        with pytest.raises(InputError, match=f"unknown table '{blank}'"):
            cells(database, **NAMES, table=blank)
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table users (id int)")
    with pytest.raises(InputError, match=r"choose a table.* log, users"):
        cells(database, **NAMES)
    with pytest.raises(InputError, match=r"there is no file 'none\.duckdb'"):
        cells("none.duckdb", **NAMES)
    (database.parent / "no.duckdb").write_text("variant,day,sales\n")
    with pytest.raises(InputError, match=r"cannot read .*no\.duckdb"):
        cells(database.parent / "no.duckdb", **NAMES)


def test_a_relation_is_asked_in_its_own_connection(database):
    with duckdb.connect(str(database)) as connection:
        connection.execute("create temp view few as select * from log where n > 2")
        found = cells(connection.table("few"), **NAMES)
    assert found.n.sum() == sum(n > 2 for n in LOG["n"])


def test_swapped_columns_of_a_table_are_noticed_in_its_first_rows(database, monkeypatch):
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 50)
    monkeypatch.setattr(group_by_sql, "SAMPLE_ROWS", 100)
    names = {"arm": "ts", "environment": "day", "reward": "sales"}
    with pytest.raises(InputError, match=r"^the log has \d\d\d? or more different arms \(datetime"):
        cells(database, **names)
    with pytest.raises(
        InputError, match=r"^the log has \d\d\d different arms \(datetime"
    ):  # a query is not run twice
        cells(database, **names, table="select * from log")


def test_a_database_has_schemas(database):
    with duckdb.connect(str(database)) as connection:
        connection.execute("create schema other; create table other.few as select * from log where n > 2")
    assert cells(database, **NAMES, table="other.few").n.sum() == sum(n > 2 for n in LOG["n"])
    with pytest.raises(UnknownName, match=r"unknown table 'few'; .*known: 'log', 'other\.few'"):
        cells(database, **NAMES, table="few")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_the_zone_of_the_connection_does_not_matter(zone):
    with duckdb.connect() as connection:
        connection.execute(f"set timezone = '{zone}'")
        rows = connection.sql(
            "select v, timestamp '2024-03-01 23:30' as plain, '2024-03-01 23:30' as text, v as r, "
            "timestamptz '2024-03-01 23:30:00+00' as zoned, '2024-03-01 22:30:00-01' as zoned_text "
            "from range(2) t(v)"
        )
        for column in ("plain", "text", "zoned", "zoned_text"):
            found = cells(rows, "v", f"hour({column})", "r")
            assert found.environments == [dt.datetime(2024, 3, 1, 23)], column
        assert cells(rows, "v", "zoned", "r").environments == [dt.datetime(2024, 3, 1, 23, 30)]


def test_an_empty_database(tmp_path):
    duckdb.connect(str(tmp_path / "none.db")).close()
    with pytest.raises(InputError, match=r"the database contains: none$"):
        cells(tmp_path / "none.db", **NAMES)


def test_a_database_is_never_written(database):
    database.chmod(0o444)
    assert cells(database, **NAMES).n.sum() == 600
    with duckdb.connect(str(database), read_only=True):  # and others may read at the same time
        assert cells(database, **NAMES).n.sum() == 600
