"""What is asked of a table, and which environment a timestamp belongs to."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest

from tideproof.errors import InputError, UnknownName
from tideproof.frames.request import Request, column_behind

NOON = dt.datetime(2024, 10, 20, 12, 34, 56, 789)  # a Sunday
ZONED = dt.datetime(2024, 10, 20, 23, 34, 56, 789, dt.timezone(dt.timedelta(hours=-3)))


def every(period):
    return Request.of("a", f"{period}(t)", "r").among(["a", "t", "r"])


@pytest.mark.parametrize(
    ("timestamp", "hour", "day", "week"),
    [
        (NOON, dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        (pd.Timestamp(NOON), dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        (ZONED, dt.datetime(2024, 10, 21, 2), dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
        ("2024-10-20 12:34:56", dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        ("2024-10-20T23:34:56-03:00", dt.datetime(2024, 10, 21, 2), dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
        (dt.date(2024, 10, 21), None, dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
    ],
)  # fmt: skip
def test_labels(timestamp, hour, day, week):
    assert every("day").label(timestamp) == day
    assert every("week").label(timestamp) == week
    if hour is None:
        with pytest.raises(InputError, match=r"hour\(t\) needs timestamps; column 't' holds date"):
            every("hour").label(timestamp)
    else:
        assert every("hour").label(timestamp) == hour
        assert every("hour").label(timestamp).tzinfo is None


@pytest.mark.parametrize(("value", "what"), [("soon", "'soon'"), (7, "int"), (1.5, "float")])
def test_what_is_no_timestamp(value, what):
    with pytest.raises(InputError, match=rf"day\(t\) needs timestamps; column 't' holds {what}$"):
        every("day").label(value)


def test_weeks_are_put_together_from_days():
    assert [every(period).truncation for period in ("hour", "day", "week")] == ["hour", "day", "day"]
    assert every("day").relabel(NOON) == dt.date(2024, 10, 20)
    assert Request.of("a", "t", "r").relabel is None


def test_columns_are_found():
    plain = Request.of("a", "e", "r", "n", None, "s", "drop")
    assert plain.names == ("a", "e", "r", "n", "s")
    assert plain.numbers == ("r", "n", "s")
    assert plain.among("aerns") == plain
    assert (plain.missing, Request.of("a", "e", "r").missing) == ("drop", "refuse")
    assert every("week").among(["a", "t", "r"]) == every("week")  # a second time changes nothing
    spaced = Request.of("a", "day( t )", "r").among(["a", "t", "r"])
    assert (spaced.environment, spaced.every) == ("t", "day")
    like_a_function = Request.of("a", "day(t)", "r").among(["a", "t", "r", "day(t)"])
    assert (like_a_function.environment, like_a_function.every) == ("day(t)", "")
    with pytest.raises(UnknownName, match="unknown column 'month"):
        Request.of("a", "month(t)", "r").among(["a", "t", "r"])
    for taken in ("a", "r"):
        with pytest.raises(InputError, match=rf"'day\({taken}\)' needs a timestamp column of its own"):
            Request.of("a", f"day({taken})", "r").among(["a", "r"])


def test_what_cannot_be_asked():
    Request.of("a", "e", "r", "n", "v")
    for variance, sd in ((None, None), ("v", "s")):
        with pytest.raises(InputError, match="need exactly one of: their variance"):
            Request.of("a", "e", "r", "n", variance, sd)
    for variance, sd in (("v", None), (None, "s"), ("v", "s")):
        with pytest.raises(InputError, match="needs n, the column of counts"):
            Request.of("a", "e", "r", None, variance, sd)
    with pytest.raises(InputError, match=r"arm, environment and reward must be three different columns, not"):
        Request.of("a", "a", "r")
    with pytest.raises(InputError, match=r"the columns must be five different columns, not"):
        Request.of("a", "e", "r", "r", "v")


def test_the_column_behind_an_environment():
    assert [column_behind(e) for e in ("day( ts )", "hour(ts)", "week(ts)", "ts", "month(ts)")] == [
        "ts", "ts", "ts", "ts", "month(ts)",
    ]  # fmt: skip
