"""Rows in the order of time, the same from every engine, and in bins where there are too many."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import open_dataset
from tideproof.errors import InputError, UnknownName

N = 60
START = np.datetime64("2024-05-01T09:00", "ms")


@pytest.fixture
def log():
    random = np.random.default_rng(1)
    minutes = random.permutation(N) // 2 * 2  # out of order, two rows a moment
    time = START + minutes * np.timedelta64(1, "m")
    return {"arm": np.array(list("ABC"))[random.integers(3, size=N)], "ts": time, "y": random.normal(size=N)}


def timed(data, most=10**6, **options):
    with open_dataset(data) as rows:
        return rows.timed(ColumnSpec.of("arm", "ts", "y", **options), most)


def as_rows(found):
    names = [found.arms[i] for i in found.arm]
    values = zip(names, found.time, found.n, found.mean, found.squares, strict=True)
    return sorted((t, name, n, pytest.approx(m), pytest.approx(s, abs=1e-12)) for name, t, n, m, s in values)


def test_every_engine_gives_the_same_rows(log, tmp_path):
    frame = pd.DataFrame(log)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    text = frame.assign(ts=frame.ts.astype(str))
    text.to_csv(tmp_path / "text.csv", index=False)
    relation = duckdb.from_df(frame)
    expected = timed(log)
    assert expected.clock
    assert np.all(np.diff(expected.time) >= 0.0)
    assert expected.n.sum() == N
    assert expected.n.max() == 2.0
    zoned = frame.assign(ts=frame.ts.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"))
    seconds = frame.assign(ts=frame.ts.astype("datetime64[s]").astype("int64"))
    milliseconds = seconds.assign(ts=seconds.ts * 1000)
    for data in (
        frame, pl.DataFrame(log), pl.DataFrame(log).lazy(), relation, text, zoned, seconds, milliseconds,
        tmp_path / "log.csv", tmp_path / "log.parquet", tmp_path / "text.csv",
        {"arm": list(log["arm"]), "ts": [dt.datetime.fromisoformat(str(t)) for t in log["ts"]], "y": log["y"]},
    ):  # fmt: skip
        assert as_rows(timed(data)) == as_rows(expected), type(data)
        assert timed(data).clock


def test_too_many_rows_are_binned_in_the_engine(log, tmp_path):
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    found, here = timed(tmp_path / "log.csv", 30), timed(log, 30)
    assert found.bin == here.bin == pytest.approx((here.time[-1] - here.time[0]) * 3 / 30, rel=0.2)
    assert found.n.sum() == N
    assert found.arm.size <= 33  # a bin may begin before the first moment
    assert as_rows(found) == as_rows(here)
    y = np.asarray(log["y"])
    total = found.squares.sum() + (found.n * (found.mean - y.mean()) ** 2).sum()
    assert total == pytest.approx(((y - y.mean()) ** 2).sum())


def test_numbers_are_an_order_and_not_a_clock():
    found = timed({"arm": ["A", "B", "A"], "ts": [3, 1, 2], "y": [1.0, 2.0, 3.0]})
    assert not found.clock
    assert found.time.tolist() == [1.0, 2.0, 3.0]
    assert found.mean.tolist() == [2.0, 3.0, 1.0]


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1.0, None, 3.0]}, "'y' is missing in 1 of 3 rows"),
        ({"arm": ["A", None, "B"]}, "'arm' is missing in 1 of 3 rows"),
        ({"ts": ["2024-05-01 09:00:00", None, "2024-05-01 09:01:00"]}, "'ts' is missing in 1 of 3 rows"),
        ({"arm": ["A", "A", "A"]}, "at least two arms"),
        ({"y": [1.0, float("inf"), 2.0]}, "must be finite"),
    ],
)
def test_what_is_refused(change, message, file, tmp_path):
    data = {"arm": ["A", "B", "A"], "ts": [1, 2, 3], "y": [1.0, 2.0, 3.0]} | change
    if file:
        frame = pd.DataFrame(data)
        data = tmp_path / "log.csv"
        frame.to_csv(data, index=False)
    with pytest.raises(InputError, match=message):
        timed(data)


def test_rows_that_lack_a_value_may_be_dropped(tmp_path):
    data = {"arm": ["A", "B", "A", None], "ts": [1, 2, 3, 4], "y": [1.0, 2.0, None, 1.0]}
    pd.DataFrame(data).to_csv(tmp_path / "log.csv", index=False)
    for each in (data, tmp_path / "log.csv"):
        found = timed(each, missing="drop")
        assert (found.dropped, found.mean.tolist()) == (2, [1.0, 2.0])


def test_moments_that_are_none():
    data = {"arm": ["A", "B"], "ts": ["soon", "later"], "y": [1.0, 2.0]}
    with pytest.raises(InputError, match="column 'ts' holds 'soon'"):
        timed(data)
    with pytest.raises(InputError, match="holds bool"):
        timed(data | {"ts": [True, False]})
    with pytest.raises(UnknownName, match="unknown column 'ts'"):
        timed({"arm": ["A"], "y": [1.0]})
    with (
        open_dataset(data) as rows,
        pytest.raises(InputError, match=r"must name one column of times or numbers, not"),
    ):
        rows.timed(ColumnSpec.of("arm", "hour(ts)", "y"), 10)


def test_too_many_arms():
    data = {"arm": list(range(60)), "ts": list(range(60)), "y": [1.0] * 60}
    with pytest.raises(InputError, match="up to 50 arms, not 60"):
        timed(data)


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize(
    ("first", "seconds"),
    [
        (1e8, 1e8),  # March 1973
        (99_999_999_999, 99_999_999_999.0),
        (1e11, 1e8),  # the same moment in milliseconds
        (1e14, 1e8),
        (1e17, 1e8),
    ],
)
def test_the_unit_of_numbers_follows_from_the_first_of_them(first, seconds, file, tmp_path):
    """Seconds end at 1e11, milliseconds at 1e14, microseconds at 1e17: each bound belongs to the finer unit."""
    data = {"arm": ["A", "B"], "ts": [int(first), int(2 * first)], "y": [1.0, 2.0]}
    if file:
        pd.DataFrame(data).to_csv(path := tmp_path / "log.csv", index=False)
        data = path
    found = timed(data)
    assert found.clock
    assert found.time == pytest.approx([seconds, 2.0 * seconds])


def test_numbers_outside_the_range_of_times_are_an_order():
    for first, last in ((99_999_999, 2e8), (1e8, 1e20)):
        found = timed({"arm": ["A", "B"], "ts": [first, last], "y": [1.0, 2.0]})
        assert (found.clock, found.time.tolist()) == (False, [first, last])
