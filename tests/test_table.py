"""The one table: how it reads, and the ways out of it."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest
from rich.cells import cell_len

from tideproof.errors import InputError, MissingExtra, MissingFile, UnknownName
from tideproof.table import Table


@pytest.fixture
def table():
    return Table({"arm": ["A", "long name"], "n": np.array([3, 12]), "mean": np.array([0.5, np.nan])})


def test_values_become_plain_python(table):
    assert table["n"] == [3, 12]
    assert type(table["n"][0]) is int
    assert table["mean"] == [0.5, None]
    assert Table({"x": [np.float64(1.5), np.float64("nan")]})["x"] == [1.5, None]


def test_rows_and_columns(table):
    assert table.columns == ["arm", "n", "mean"]
    assert len(table) == 2
    rows = [{"arm": "A", "n": 3, "mean": 0.5}, {"arm": "long name", "n": 12, "mean": None}]
    assert list(table) == rows == table.to_dicts()


def test_a_column_handed_out_is_a_copy(table):
    table["n"].append(99)
    assert table["n"] == [3, 12]


def test_equality(table):
    assert table == Table({"arm": ["A", "long name"], "n": [3, 12], "mean": [0.5, None]})
    assert table != Table({"n": [3, 12], "arm": ["A", "long name"], "mean": [0.5, None]})
    assert table != table.to_dicts()
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


def test_repr_aligns_text_left_and_numbers_right(table):
    assert repr(table).splitlines() == [
        "arm         n    mean",
        "A           3  0.5000",
        "long name  12       –",  # noqa: RUF001
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 2.25], ["1.000", "2.250"]),
        ([123.456, 0.1], ["123.5", "0.1"]),
        ([1_000_012.31, 1_000_012.87], ["1000012.31", "1000012.87"]),  # the difference stays visible
        ([0.1, 0.1 + 1e-16], ["0.1000", "0.1000"]),  # but not that of rounding
        ([2.5e-7, 1e-9], ["2.500e-07", "1.000e-09"]),
        ([3.2e12, -1.0], ["3.200e+12", "-1.000e+00"]),
        ([float("inf"), 1.0], ["inf", "1.000"]),
        ([0.0, 0.0], ["0", "0"]),
        ([10**12, 3], ["1000000000000", "3"]),
        ([None, None], ["–", "–"]),  # noqa: RUF001
        ([True, False], ["True", "False"]),
        ([], []),
    ],
)
def test_numbers_are_rounded_to_what_the_column_needs(values, shown):
    lines = repr(Table({"x": values})).splitlines()
    assert [line.strip() for line in lines[1 : len(values) + 1]] == shown


def test_a_probability_is_never_a_certainty():
    chances = Table({"arm": ["A", "B", "C", "D"], "p_best": [1.0, 0.25, 0.0, None]})
    shown = ["arm   p_best", "A    > 0.999", "B      0.250", "C    < 0.001", "D          \N{EN DASH}"]
    assert repr(chances).splitlines() == shown
    assert '<td style="text-align:right">&gt; 0.999</td>' in chances._repr_html_()
    assert chances["p_best"] == [1.0, 0.25, 0.0, None]


def test_a_long_table_shows_its_ends_and_counts():
    lines = repr(Table({"i": range(100), "text": ["x"] * 100})).splitlines()
    assert len(lines) == 1 + 10 + 1 + 10 + 1
    assert (lines[1].split(), lines[11].split(), lines[21].split()) == (["0", "x"], ["…", "…"], ["99", "x"])
    assert lines[-1] == "100 rows"
    assert len(repr(Table({"i": range(20)})).splitlines()) == 21


def test_an_empty_table_says_so():
    assert repr(Table({"arm": []})) == "arm\n0 rows"
    assert repr(Table({})) == "\n0 rows"


def test_html_is_escaped():
    html = Table({"<b>": ["<i>&"], "n": [1]})._repr_html_()
    assert "<th>&lt;b&gt;</th><th>n</th>" in html
    assert '<td style="text-align:left">&lt;i&gt;&amp;</td><td style="text-align:right">1</td>' in html
    assert "rows" not in html
    assert "<p>50 rows</p>" in Table({"i": range(50)})._repr_html_()


def test_data_frames(table):
    frame = table.to_pandas()
    assert frame.columns.tolist() == ["arm", "n", "mean"]
    assert frame["mean"].isna().tolist() == [False, True]
    assert table.to_polars().to_dicts() == table.to_dicts()
    assert Table({"x": [1, 2.5, None]}).to_polars()["x"].to_list() == [1.0, 2.5, None]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named(table, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"to_{package}\(\) needs {package}: pip install {package}"):
        getattr(table, f"to_{package}")()


def test_csv(table, tmp_path):
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["arm", "n", "mean"], ["A", "3", "0.5"], ["long name", "12", ""]]


def test_a_csv_file_that_cannot_be_written(table, tmp_path, monkeypatch):
    with pytest.raises(MissingFile, match=r"cannot write .*: there is no folder '.*nowhere'"):
        table.to_csv(tmp_path / "nowhere" / "table.csv")
    with pytest.raises(InputError, match=r"cannot write .*: it is a folder"):
        table.to_csv(tmp_path)
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(InputError, match=r"cannot write .*table.csv': No space left"):
        table.to_csv(tmp_path / "table.csv")


def test_errors(table):
    with pytest.raises(InputError, match=r"same length, not \{'a': 1, 'b': 2\}"):
        Table({"a": [1], "b": [1, 2]})
    with pytest.raises(UnknownName, match="unknown column 'means'; did you mean 'mean'"):
        table["means"]
    with pytest.raises(UnknownName, match=r"unknown column \['mean'\]"):
        table[["mean"]]


def test_seconds_since_1970_are_shown_in_full():
    at = repr(Table({"at": [1794815988.25, 1794815999.75]}))
    assert at.split() == ["at", "1794815988", "1794816000"]


def test_a_long_table_is_shown_without_its_middle():
    lines = str(Table({"step": range(1, 26)})).splitlines()
    shown = [line.strip("│| ") for line in lines]
    numbers = [int(text) for text in shown if text.isdigit()]
    assert numbers == [*range(1, 11), *range(16, 26)]
    assert lines[-1].strip() == "25 rows"


def test_a_wide_table_fits_80_columns():
    words = {f"number {k}": [k + 0.5, 2.25] for k in range(9)}
    names = ["a name of many words, which nobody would call short", "変種の名前はここでとても長い" * 4]
    lines = repr(Table({"arm": names} | words)).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert sum(line.startswith("arm ") for line in lines) == sum(
        line.startswith("a name of ma…") for line in lines
    )
    for k in range(9):
        assert sum(line.count(f"number {k}") for line in lines) == 1
    assert max(map(cell_len, repr(Table({"arm": [names[0], "B"]})).splitlines())) == len(
        names[0]
    )  # if there is room
