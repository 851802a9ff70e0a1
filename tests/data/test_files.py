"""Files give the cells that NumPy gives; bad files get a clear message."""

from __future__ import annotations

import json
import threading
import time
from typing import ClassVar

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from sales_log import LOG, NAMES, as_dict, assert_same, expected, log, write
from tideproof.data import cell_assembly, cells, cells_from_arrays, group_by_sql
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_source
from tideproof.data.sources import duckdb_files
from tideproof.errors import InputError, TideproofError

FILES = ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "jsonl", "jsonl.gz"]


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


HEAD = "variant,day,sales\n"
BAD = {
    "": "the file .* is empty",
    "\n": "has no line that names the columns, only empty lines or comments",
    HEAD: "the data has no rows",
    "A,mon,3.5\nB,mon,4\n": "seems to have no header: its first line is 'A', 'mon', '3\\.5'; add a line",
    "variant,dag,sales\nA,mon,3\n": "unknown column 'day'; did you mean 'dag'\\? known: 'variant', 'dag', 'sales'",
    HEAD + "A,mon,3\nB,mon,oops\nA,tue,4\nB,tue,1.2.3\n": "text in 2 rows \\(line 3: 'oops', line 5: '1\\.2\\.3'\\)",
    HEAD + "A,mon,3\nB,mon,\nA,,4\n": "'day' is missing in 1 of 3 rows, 'sales' is missing in 1 of 3 rows; missing='drop'",
    HEAD + "A,mon,NA\nB,mon,n/a\nA,mon,4\n": "'sales' is missing in 2 of 3 rows",
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
        "[bc].*": r"matches files of several kinds \(\.parquet, \.xlsx\): name files of one kind$",
        ".": "is a folder; name its files",
        "b.parquet": "cannot read .*Parquet",
        "c.xlsx": "cannot read .*c.xlsx'",
        "d.jsonl": "cannot read .*Malformed JSON",
        "e.csv": "not utf-8 encoded",
    }.items():
        with pytest.raises(InputError, match=message):
            cells(tmp_path / place, **NAMES)
    with pytest.raises(InputError, match=r"cannot read 's3://bucket/log\.csv': give a local path"):
        cells("s3://bucket/log.csv", **NAMES)
    with pytest.raises(InputError, match="table is for databases"):
        cells(tmp_path / "a.csv", **NAMES, table="log")


def test_text_in_a_parquet_file(tmp_path):
    path = tmp_path / "log.parquet"
    pa.parquet.write_table(pa.table({"variant": ["A", "B"], "day": ["x", "x"], "sales": ["3", "oops"]}), path)
    with pytest.raises(InputError, match=r"text in 1 row \(row 2: 'oops'\)"):
        cells(path, **NAMES)
    with pytest.raises(InputError, match="column 'ts' must be numeric; it holds TIMESTAMP"):
        cells(write(path, LOG, "parquet"), "variant", "day", "ts")


def test_progress_is_reported(tmp_path, monkeypatch):
    """Of the group-by, from a thread that ends with it. How far DuckDB says it is depends on the machine."""
    monkeypatch.setattr(duckdb_files, "PROGRESS_PAUSE", 1e-4)
    path = write(tmp_path / "log.csv", log(200_000), "csv")
    seen = []
    before = threading.active_count()
    found = cells(path, **NAMES, progress=seen.append)
    assert threading.active_count() == before
    assert seen
    assert 0.0 <= min(seen) <= max(seen) <= 100.0
    assert_same(as_dict(found), as_dict(cells(path, **NAMES)))


def test_progress_is_never_negative(monkeypatch):
    monkeypatch.setattr(duckdb_files, "PROGRESS_PAUSE", 1e-4)
    told, seen, enough = iter([-1.0, 0.25, 62.5, *[99.0] * 10**6]), [], threading.Event()

    class Connection:
        def query_progress(self):
            return next(told)

    def progress(percent):
        seen.append(percent)
        if percent == 99.0:
            enough.set()

    with duckdb_files.report_progress(Connection(), progress):
        assert enough.wait(60)
    assert seen[:4] == [0.0, 0.25, 62.5, 99.0]


def test_no_progress_is_reported_after_the_end(monkeypatch):
    monkeypatch.setattr(duckdb_files, "PROGRESS_PAUSE", 1e-4)
    seen, begun = [], threading.Event()

    class Slow:
        def query_progress(self):
            begun.set()
            time.sleep(0.1)
            return 50.0

    with duckdb_files.report_progress(Slow(), seen.append):
        assert begun.wait(60)
    assert seen == [50.0]


class Watched:
    """A connection that writes down its queries."""

    queries: ClassVar[list[str]] = []
    closed: ClassVar[int] = 0

    def __init__(self, connection):
        self._connection = connection

    def execute(self, query):
        self.queries.append(query)
        return self._connection.execute(query)

    def close(self):
        Watched.closed += 1
        self._connection.close()


@pytest.fixture
def queries(monkeypatch):
    """The queries sent to DuckDB that name the file `log.csv`."""
    real = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: Watched(real(*a, **k)))
    monkeypatch.setattr(Watched, "queries", [])
    monkeypatch.setattr(Watched, "closed", 0)
    return lambda: [query for query in Watched.queries if "log.csv" in query]


def test_a_file_is_opened_once_and_read_three_times(tmp_path, queries):
    """Its first line, the types of its first rows, its groups."""
    path = write(tmp_path / "log.csv", LOG, "csv")
    with open_source(str(path)) as source:
        assert list(source.types) == list(LOG)
        assert (source.types["ts"], source.types["n"]) == ("TIMESTAMP", "BIGINT")
        assert len(queries()) == 2
        found = source.group(ColumnSpec.of(**NAMES))
    assert (len(queries()), Watched.closed) == (3, 1)
    assert_same(as_dict(found), expected(LOG["variant"], LOG["day"], LOG["sales"]))


def test_a_source_can_be_grouped_twice(tmp_path):
    with open_source(str(write(tmp_path / "log.csv", LOG, "csv"))) as source:
        by_day, by_week = (source.group(ColumnSpec.of("variant", e, "sales")) for e in ("day", "week(ts)"))
    assert by_day.n.sum() == by_week.n.sum() == 600


def test_swapped_columns_of_a_large_file_are_noticed_in_its_first_rows(tmp_path, monkeypatch, queries):
    rows = 1000
    data = {"id": [f"u{i:04}" for i in range(rows)], "day": ["mon"] * rows, "sales": [1.0] * rows}
    path = write(tmp_path / "log.csv", data, "csv")
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 299)
    monkeypatch.setattr(group_by_sql, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(duckdb_files, "MOST_UNSAMPLED_BYTES", path.stat().st_size - 1)
    with pytest.raises(
        InputError, match=r"^the log has 300 or more different arms \('u0000', 'u0299', …\), but at most"
    ):
        cells(path, "id", "day", "sales")
    assert not [query for query in queries() if "GROUP BY" in query]
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 300)  # of the sample just so many
    with pytest.raises(InputError, match=r"^the log has 1,000 different arms"):
        cells(path, "id", "day", "sales")
    monkeypatch.setattr(duckdb_files, "MOST_UNSAMPLED_BYTES", path.stat().st_size)
    with pytest.raises(
        InputError, match=r"^the log has 1,000 different arms \('u0000', 'u0001', 'u0002', …\), but at most"
    ):
        cells(path, "id", "day", "sales")
    monkeypatch.setattr(duckdb_files, "MOST_UNSAMPLED_BYTES", 0)
    monkeypatch.setattr(cell_assembly, "MOST_ARMS", 1000)  # the sample is fine, and so is the whole
    assert len(cells(path, "id", "day", "sales").arms) == rows


@pytest.mark.parametrize("head", [HEAD, "variant,day,,\n", "variant,day,sales,sales\n"])
def test_a_line_that_does_not_fit_is_named_before_any_column_is(tmp_path, head):
    path = tmp_path / "log.csv"
    path.write_text(head + "A,mon,3" + ",x" * (head.count(",") - 2) + "\nB,mon\n")
    with (
        pytest.raises(InputError, match=r"CSV Error on Line: 3; .*B,mon; Expected Number of Columns"),
        open_source(str(path)),
    ):
        pass


def test_lines_of_several_files(tmp_path):
    (tmp_path / "1.csv").write_text(HEAD + "A,mon,3\n")
    (tmp_path / "2.csv").write_text(HEAD + "A,mon,3\nB,mon,oops\nB,tue,4\n")
    with pytest.raises(InputError, match=r"text in 1 row \(line 3: 'oops' of '.*2\.csv'\)"):
        cells(tmp_path / "*.csv", **NAMES)
    (tmp_path / "2.csv").write_text(HEAD + "x\ny\n".replace("\n", ",mon,bad\n") * 2)
    with pytest.raises(
        InputError, match=r"text in 4 rows \(line 2: 'bad', line 3: 'bad', line 4: 'bad', … of"
    ):
        cells(tmp_path / "*.csv", **NAMES)
    (tmp_path / "2.csv").write_text("")  # an empty file among others is no harm
    (tmp_path / "3.csv").write_text(HEAD + "B,mon,5\n")
    assert cells(tmp_path / "*.csv", **NAMES).mean.tolist() == [3.0, 5.0]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "#N/A", "NaN", "null", "None", '" "', "\"''\""])
def test_words_for_what_is_absent(tmp_path, word):
    path = tmp_path / "log.csv"
    path.write_text(HEAD + f"A,mon,3\nB,mon,{word}\nB,mon,4\nA,mon,-\n")
    with pytest.raises(InputError, match=r"text in [12] rows? \(line .*'-'\)"):
        cells(path, **NAMES)
    path.write_text(HEAD + f"A,mon,3\nB,mon,{word}\nB,mon,4\n")
    if word == "\"''\"":
        with pytest.raises(InputError, match=r"text in 1 row \(line 3: \"''\"\)"):
            cells(path, **NAMES)
        return
    found = cells(path, **NAMES, missing="drop")
    assert (found.n.tolist(), found.mean.tolist(), found.dropped) == ([1, 1], [3, 4], 1)


def test_text_in_json(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"variant": v, "day": "mon", "sales": x} for v, x in (("A", "3"), ("B", "x"))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"text in 1 row \(line 2: 'x'\)"):
        cells(path, **NAMES)
    path.write_text(path.read_text().replace('"x"', '"4.5"'))
    assert cells(path, **NAMES).mean.tolist() == [3.0, 4.5]


def test_json_whose_first_rows_mislead(tmp_path):
    path = tmp_path / "log.jsonl"
    plain = [json.dumps({"variant": i % 2, "day": "mon", "sales": 1}) + "\n" for i in range(21_000)]
    path.write_text("".join(plain) + json.dumps({"variant": "control", "day": "mon", "sales": 2.5}) + "\n")
    found = cells(path, **NAMES)
    assert [str(arm) for arm in found.arms] == ["0", "1", "control"]
    assert found.mean.tolist() == [1.0, 1.0, 2.5]


def test_the_first_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes("\ufeffvariant;day;sales\r\nA;mon;3\r\nB;mon;4\r\n".encode())
    assert cells(path, **NAMES).mean.tolist() == [3.0, 4.0]
    path.write_text('"variant"|"day, or night"|sales\nA|mon|3\nB|mon|4\n')
    assert cells(path, "variant", "day, or night", "sales").mean.tolist() == [3.0, 4.0]
    path.write_text("variant,day,sales,\nA,mon,3,\nB,mon,4,\n")  # a name that is missing and not needed
    assert cells(path, **NAMES).mean.tolist() == [3.0, 4.0]
    path.write_text("variant,tag,sales,\nA,mon,3,\n")
    with pytest.raises(
        InputError, match="seems to have no header: its first line is 'variant', 'tag', 'sales', ''"
    ):
        cells(path, **NAMES)


def test_a_url_of_a_file(tmp_path):
    path = write(tmp_path / "a log.csv", LOG, "csv")
    assert cells(f"file://{str(path).replace(' ', '%20')}", **NAMES).n.sum() == 600
    upper = write(tmp_path / "LOG.CSV", LOG, "csv")
    assert cells(upper, **NAMES).n.sum() == 600
    (tmp_path / "folder.csv").mkdir()  # a folder is no file, whatever its name
    assert cells(tmp_path / "LOG*", **NAMES).n.sum() == 600


def test_arrays_and_files_agree(tmp_path):
    found = cells_from_arrays(LOG["variant"], LOG["day"], LOG["sales"])
    assert_same(as_dict(cells(write(tmp_path / "log.csv", LOG, "csv"), **NAMES)), as_dict(found))
