"""Dates with the day or the month first: the order is decided from all dates of a column, or asked for."""

from __future__ import annotations

import datetime as dt

import duckdb
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.data import cells
from tideproof.errors import InputError

DAYS = [dt.datetime(2024, 1, 29, 22, 5) + dt.timedelta(days=k) for k in range(6)]  # two weeks, two months
FORMS = {
    "US": "%m/%d/%Y",
    "US, short year": "%m/%d/%y",
    "US, hyphens": "%m-%d-%Y",
    "US, time": "%m/%d/%Y %H:%M",
    "US, AM and PM": "%m/%d/%Y %I:%M:%S %p",
    "US, comma": "%m/%d/%Y, %I:%M %p",
    "German": "%d.%m.%Y",
    "German, short year": "%d.%m.%y",
    "German, time": "%d.%m.%Y %H:%M",
    "German, comma": "%d.%m.%Y, %H:%M:%S",
    "British": "%d/%m/%Y",
    "British, zone": "%d/%m/%Y %H:%M+00:00",
    "ISO": "%Y-%m-%d",
    "ISO, time": "%Y-%m-%dT%H:%M:%S",
    "year first, slashes": "%Y/%m/%d",
}
KINDS = ("csv", "parquet", "columns", "pandas", "polars", "lazy", "duckdb")


def table(texts):
    """Return a log with two rewards of each arm at each time."""
    rows = [(arm, text, i + k) for i, text in enumerate(texts) for arm in "AB" for k in (0, 1)]
    return {
        name: list(column) for name, column in zip(("arm", "when", "y"), zip(*rows, strict=True), strict=True)
    }


def as_kind(kind, log, tmp_path):
    frame, path = pd.DataFrame(log), tmp_path / f"log.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    if kind == "parquet":
        frame.to_parquet(path, index=False)
    made = {"columns": log, "pandas": frame, "polars": pl.DataFrame(log), "lazy": pl.LazyFrame(log)}
    return duckdb.connect().from_df(frame) if kind == "duckdb" else made.get(kind, path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_days_weeks_and_times(kind, form, tmp_path):
    texts = [day.strftime(form) for day in DAYS]
    data = as_kind(kind, table(texts), tmp_path)
    days = [dt.datetime.strptime(text, form).date() for text in texts]  # the oracle is told the form
    assert sorted(cells(data, "arm", "day(when)", "y").environments) == days
    mondays = sorted({day - dt.timedelta(days=day.weekday()) for day in days})
    assert sorted(cells(data, "arm", "week(when)", "y").environments) == mondays
    if "%H" in form or "%I" in form:
        hours = [dt.datetime.combine(day, dt.time(22)) for day in days]
        assert sorted(cells(data, "arm", "hour(when)", "y").environments) == hours
    tide = tp.fit(data, arm="arm", time="when", reward="y", scale="difference").tide
    assert (tide.first[:10], tide.last[:10]) == (str(days[0]), str(days[-1]))


@pytest.mark.parametrize("form", ["%m/%d/%Y %I:%M %p", "%d.%m.%y %I:%M%p"])
@pytest.mark.parametrize("kind", ["csv", "columns"])
def test_noon_and_midnight(form, kind, tmp_path):
    times = [dt.datetime(2024, 5, 13, hour, 30) for hour in (0, 1, 12, 13)]
    data = as_kind(kind, table([time.strftime(form) for time in times]), tmp_path)
    hours = [time.replace(minute=0) for time in times]
    assert sorted(cells(data, "arm", "hour(when)", "y").environments) == hours


@pytest.mark.parametrize("kind", ["csv", "columns"])
def test_short_years_are_those_from_1969_to_2068(kind, tmp_path):
    texts = ["13.1.69", "13.1.99", "13.1.00", "13.1.24", "13.1.68"]
    found = cells(as_kind(kind, table(texts), tmp_path), "arm", "day(when)", "y").environments
    assert sorted(day.year for day in found) == [1969, 1999, 2000, 2024, 2068]


EITHER = ["01/02/2024", "03/02/2024", "12/02/2024"]


@pytest.mark.parametrize("kind", KINDS)
def test_if_both_orders_fit_the_user_must_choose(kind, tmp_path):
    data = as_kind(kind, table(EITHER), tmp_path)
    with pytest.raises(
        InputError, match=r"'01/02/2024'.* write day\(when, dayfirst\) or day\(when, monthfirst\)"
    ):
        cells(data, "arm", "day(when)", "y")
    with pytest.raises(InputError, match=r"--time 'when, dayfirst'"):
        tp.fit(data, arm="arm", time="when", reward="y")
    february = [dt.date(2024, 2, day) for day in (1, 3, 12)]
    others = [dt.date(2024, month, 2) for month in (1, 3, 12)]
    assert sorted(cells(data, "arm", "day(when, dayfirst)", "y").environments) == february
    assert sorted(cells(data, "arm", "day(when,monthfirst)", "y").environments) == others
    chosen = tp.fit(data, arm="arm", time="when, dayfirst", reward="y", scale="difference").tide
    assert (chosen.first, chosen.last) == ("2024-02-01", "2024-02-12")


@pytest.mark.parametrize("kind", KINDS)
def test_a_day_that_equals_its_month_is_no_choice(kind, tmp_path):
    data = as_kind(kind, table(["01/01/2024", "02/02/2024"]), tmp_path)
    assert sorted(cells(data, "arm", "day(when)", "y").environments) == [
        dt.date(2024, 1, 1),
        dt.date(2024, 2, 2),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("texts", "environment", "message"),
    {
        "no order fits": (["31/12/2024", "12/31/2024"], "day(when)", "'31/12/2024', and others with the month first, such as '12/31/2024'"),
        "two forms": (["12/31/2024", "2024-12-30"], "day(when)", "dates of two forms"),
        "a choice that does not fit": (["12/31/2024", "1/2/2024"], "day(when, dayfirst)", "'12/31/2024', which does not fit dayfirst"),
        "year of two digits in any place": (["24-12-31", "24-12-30"], "day(when)", "'24-12-31'"),
        "no such day": (["30.2.2024", "30.1.2024"], "day(when)", "2024"),
    }.values(),
)  # fmt: skip
def test_dates_that_cannot_be_read(kind, texts, environment, message, tmp_path):
    with pytest.raises(InputError, match=message):
        cells(as_kind(kind, table(texts), tmp_path), "arm", environment, "y")


def test_a_column_may_be_called_like_a_choice(tmp_path):
    data = table(EITHER)
    data["when, dayfirst"] = data.pop("when")
    assert cells(data, "arm", "when, dayfirst", "y").environments == EITHER


UTC = {
    "offset": (["2024-05-13T23:30:00+02:00"], [], True),
    "Z": (["2024-05-13T23:30:00Z"], [], True),
    "German with an offset": (["13.05.2024 23:30+02:00"], [], True),
    "seconds since 1970": ([1715635800], [], True),
    "no zone": (["2024-05-13 23:30:00"], [], False),
    "dates": (["2024-05-13"], [], False),
    "a time zone that is chosen": (["2024-05-13T23:30:00Z"], ["--time-zone", "Europe/Berlin"], False),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("texts", "options", "said"), UTC.values(), ids=UTC)
@pytest.mark.parametrize("every", ["day", "hour", "week"])
def test_the_output_says_that_days_are_in_utc(kind, texts, options, said, every, tmp_path):
    if texts == ["2024-05-13"] and every == "hour":
        return
    path = as_kind(kind, table(texts), tmp_path)
    columns = ["--arm", "arm", "--environment", f"{every}(when)", "--reward", "y"]
    done = CliRunner().invoke(app, ["analyze", str(path), *columns, *options], env={"COLUMNS": "200"})
    assert done.exit_code in (0, 3, 5), done.output
    assert (f"{every.title()}s are in UTC." in done.stdout) == said


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "columns", "duckdb"])
def test_frames_say_that_days_are_in_utc(kind, tmp_path):
    zoned = [dt.datetime(2024, 5, 13, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))]
    data = as_kind(kind, table(zoned), tmp_path)
    shown = repr(tp.fit(data, arm="arm", environment="day(when)", reward="y"))
    assert "days are in UTC" in shown
    naive = as_kind(kind, table([time.replace(tzinfo=None) for time in zoned]), tmp_path)
    assert "UTC" not in repr(tp.fit(naive, arm="arm", environment="day(when)", reward="y"))


def test_an_hour_that_the_within_test_proposes_has_the_chosen_order(tmp_path):
    from tideproof.data.column_spec import shorter_environments

    assert shorter_environments("day(when, dayfirst)", None, ["when"]) == ["hour(when, dayfirst)"]
