"""What is asked of a table, and which environment a row belongs to."""

from __future__ import annotations

import pytest

from tideproof.data.column_spec import ColumnSpec, columns_behind
from tideproof.data.time_periods import Period
from tideproof.errors import InputError, UnknownName


def test_columns_are_found():
    plain = ColumnSpec.of("a", "e", "r", n="n", sd="s", missing="drop")
    assert plain.names == ("a", "e", "r", "n", "s")
    assert plain.numbers == ("r", "n", "s")
    assert plain.among("aerns") == plain
    assert (plain.missing, ColumnSpec.of("a", "e", "r").missing) == ("drop", "refuse")
    week = ColumnSpec.of("a", "week(t)", "r").among(["a", "t", "r"])
    assert week.among(["a", "t", "r"]) == week  # a second time changes nothing
    spaced = ColumnSpec.of("a", "day( t )", "r").among(["a", "t", "r"])
    assert spaced.parts == (Period("day", "t"),)
    assert spaced.names == ("a", "t", "r")
    like_a_function = ColumnSpec.of("a", "day(t)", "r").among(["a", "t", "r", "day(t)"])
    assert like_a_function.parts == ("day(t)",)
    with pytest.raises(UnknownName, match="unknown column 'month"):
        ColumnSpec.of("a", "month(t)", "r").among(["a", "t", "r"])
    for taken in ("a", "r"):
        with pytest.raises(
            InputError, match=rf"column '{taken}' is used twice; .* environment 'day\({taken}\)'"
        ):
            ColumnSpec.of("a", f"day({taken})", "r").among(["a", "r"])


def test_environments_of_several_columns():
    columns = ["a", "rep", "block", "ts", "r"]
    found = ColumnSpec.of("a", "rep : day(ts)", "r", time_zone="Asia/Tokyo").among(columns)
    assert found.parts == ("rep", Period("day", "ts", "Asia/Tokyo"))
    assert found.names == ("a", "rep", "ts", "r")
    assert found.label((3, "2024-10-20T23:00:00Z")) == "3:2024-10-21"
    assert ColumnSpec.of("a", "rep:block", "r").among([*columns, "rep:block"]).parts == ("rep:block",)
    with pytest.raises(UnknownName, match="unknown column 'blok'; did you mean 'block'"):
        ColumnSpec.of("a", "rep:blok", "r").among(columns)
    with pytest.raises(InputError, match=r"column 'rep' is used twice; .* 'rep:rep' must be different"):
        ColumnSpec.of("a", "rep:rep", "r").among(columns)
    with pytest.raises(InputError, match=r"column 'a' is used twice; .* 'rep:a' must be different"):
        ColumnSpec.of("a", "rep:a", "r").among(columns)


def test_no_two_pairs_read_alike():
    two = ColumnSpec.of("a", "x:y", "r").among("axyr")
    labels = {two.label(key) for key in [("a:b", "c"), ("a", "b:c"), ("'a:b'", "c"), ("a", "b"), ("b", "a")]}
    assert len(labels) == 5
    assert "a:b" in labels


def test_no_environment():
    none = ColumnSpec.of("a", None, "r").among("ar")
    assert (none.names, none.parts, none.label(())) == (("a", "r"), (), "all")


def test_a_wide_table():
    wide = ColumnSpec.of(None, "day", None, wide=["A", "B", "C"]).among(["day", "A", "B", "C", "D"])
    assert (wide.labels, wide.numbers) == (("day",), ("A", "B", "C"))
    assert wide.long("arm", "reward").names == ("arm", "day", "reward")
    for bad in ("A", ["A"], ["A", 3]):
        with pytest.raises(InputError, match=r"wide must be at least two columns, .* not"):
            ColumnSpec.of(None, "day", None, wide=bad)
    with pytest.raises(InputError, match="each column is an arm: leave out arm and reward"):
        ColumnSpec.of("x", "day", "y", wide=["A", "B"])
    with pytest.raises(InputError, match="must be three different columns"):
        ColumnSpec.of(None, "A", None, wide=["A", "B"])


def test_what_cannot_be_asked():
    ColumnSpec.of("a", "e", "r", n="n", variance="v")
    for variance, sd in ((None, None), ("v", "s")):
        with pytest.raises(InputError, match="need exactly one of: their variance"):
            ColumnSpec.of("a", "e", "r", n="n", variance=variance, sd=sd)
    for variance, sd in (("v", None), (None, "s"), ("v", "s")):
        with pytest.raises(InputError, match=r"sample_variance and sd .* give n"):
            ColumnSpec.of("a", "e", "r", variance=variance, sd=sd)
    with pytest.raises(InputError, match=r"arm, environment and reward must be three different columns, not"):
        ColumnSpec.of("a", "a", "r")
    with pytest.raises(InputError, match=r"the columns must be five different columns, not"):
        ColumnSpec.of("a", "e", "r", n="r", variance="v")
    with pytest.raises(InputError, match=r"\(arm\), .* \(wide\)"):
        ColumnSpec.of(None, "e", "r")
    with pytest.raises(InputError, match=r"\(reward\), or successes and n"):
        ColumnSpec.of("a", "e", None)
    with pytest.raises(InputError, match="successes needs n"):
        ColumnSpec.of("a", "e", None, successes="s")
    with pytest.raises(
        InputError, match="successes and n cannot be combined with reward and sd: leave out reward and sd"
    ):
        ColumnSpec.of("a", "e", "r", successes="s", n="n", sd="d")
    with pytest.raises(InputError, match=r"decimal must be '\.' or ',', not ';'"):
        ColumnSpec.of("a", "e", "r", decimal=";")
    with pytest.raises(InputError, match="unknown time zone 'Berlin'"):
        ColumnSpec.of("a", "e", "r", time_zone="Berlin")


def test_the_columns_behind_an_environment():
    found = [columns_behind(e) for e in ("day( ts )", "hour(ts)", "ts", "month(ts)", "rep: week(ts)")]
    assert found == [("ts",), ("ts",), ("ts",), ("month(ts)",), ("rep", "ts")]


def test_a_list_of_environments_is_answered_with_what_to_write():
    with pytest.raises(
        InputError, match=r"not .'night', 'machine'.; for a combination write 'night:machine'"
    ):
        ColumnSpec.of("a", ["night", "machine"], "r")
    with pytest.raises(InputError, match=r"not \[\]$"):
        ColumnSpec.of("a", [], "r")
