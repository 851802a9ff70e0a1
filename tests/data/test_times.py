"""Which hour, day or week a moment belongs to."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest

from tideproof.data.time_periods import Period
from tideproof.errors import InputError

NOON = dt.datetime(2024, 10, 20, 12, 34, 56, 789)  # a Sunday
ZONED = dt.datetime(2024, 10, 20, 23, 34, 56, 789, dt.timezone(dt.timedelta(hours=-3)))
SINCE_1970 = 1729427696  # seconds, at noon


@pytest.mark.parametrize(
    ("moment", "hour", "day", "week"),
    [
        (NOON, dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        (pd.Timestamp(NOON), dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        (ZONED, dt.datetime(2024, 10, 21, 2), dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
        ("2024-10-20 12:34:56", dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14)),
        ("2024-10-20T23:34:56-03:00", dt.datetime(2024, 10, 21, 2), dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
        (dt.date(2024, 10, 21), None, dt.date(2024, 10, 21), dt.date(2024, 10, 21)),
        *(
            (SINCE_1970 * unit, dt.datetime(2024, 10, 20, 12), dt.date(2024, 10, 20), dt.date(2024, 10, 14))
            for unit in (1, 10**3, 10**6, 10**9, 1000.0)
        ),
    ],
)  # fmt: skip
def test_labels(moment, hour, day, week):
    assert Period("day", "t").label(moment) == day
    assert Period("week", "t").label(moment) == week
    if hour is None:
        with pytest.raises(InputError, match=r"hour\(t\) needs timestamps; column 't' holds date"):
            Period("hour", "t").label(moment)
    else:
        assert Period("hour", "t").label(moment) == hour
        assert "+" not in str(Period("hour", "t").label(moment))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("soon", "'soon'; write it as 2024"),
        (7, "numbers that are too small for seconds or milliseconds since 1970 .* before March 1973"),
        (-1.5e9, "numbers that are too small for seconds"),
        (float("inf"), "inf"),
        (1e20, "1e"),
        (dt.time(3), "time"),
    ],
)
def test_what_is_no_timestamp(value, what):
    with pytest.raises(InputError, match=rf"day\(t\) needs timestamps; column 't' holds {what}"):
        Period("day", "t").label(value)


@pytest.mark.parametrize(
    ("zone", "utc", "day", "hour"),
    [
        ("Europe/Berlin", "2024-03-30T23:30:00Z", "2024-03-31", "2024-03-31 00:00:00+01:00"),
        ("Europe/Berlin", "2024-06-30T22:30:00Z", "2024-07-01", "2024-07-01 00:00:00+02:00"),
        ("Europe/Berlin", "2024-06-30 22:30:00", "2024-07-01", "2024-07-01 00:00:00+02:00"),  # no zone: UTC
        ("Europe/Berlin", "2024-10-27T00:30:00Z", "2024-10-27", "2024-10-27 02:00:00+02:00"),
        ("Europe/Berlin", "2024-10-27T01:30:00Z", "2024-10-27", "2024-10-27 02:00:00+01:00"),  # once more
        ("Asia/Kathmandu", "2024-10-20T18:15:00Z", "2024-10-21", "2024-10-21 00:00:00+05:45"),
        ("America/New_York", "2024-10-21T03:59:59Z", "2024-10-20", "2024-10-20 23:00:00-04:00"),
        ("UTC", "2024-10-21T03:59:59Z", "2024-10-21", "2024-10-21 03:00:00+00:00"),
    ],
)
def test_time_zones(zone, utc, day, hour):
    assert str(Period("day", "t", zone).label(utc)) == day
    assert str(Period("hour", "t", zone).label(utc)) == hour


def test_a_date_has_no_zone():
    assert Period("day", "t", "Asia/Tokyo").label(dt.date(2024, 10, 20)) == dt.date(2024, 10, 20)


def test_engines_truncate_no_further_than_a_zone_allows():
    assert [Period(every, "t").step for every in ("hour", "day", "week")] == [3600, 86400, 86400]
    assert {Period(every, "t", "UTC").step for every in ("hour", "day", "week")} == {900}
