"""Tables fit the screen, whatever the names, and their numbers stay whole."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from tideproof.report.table_layout import Column, first_column_width, make_tables

NUMBERS = [Column("adjusted mean", ["1.234 ± 0.056", "12.345 ± 0.067"]), Column("n", ["7", "1,234"])] * 3


def shown(names, width, numbers=NUMBERS, **words):
    out = io.StringIO()
    console = Console(file=out, width=width)
    for table in make_tables(Column("arm", names, left=True), numbers, width, **words):
        console.print(table)
    return out.getvalue()


@pytest.mark.parametrize("width", [30, 40, 80, 200])
@pytest.mark.parametrize(
    "names", [["A", "B"], ["x" * 90, "a name of several words " * 4], ["変種", "対照群" * 12]]
)
def test_names_break_and_numbers_do_not(names, width):
    text = shown(names, width)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "…" not in text
    for number in ("1.234 ± 0.056", "12.345 ± 0.067", "1,234"):
        assert sum(line.count(number) for line in lines) == 3, number


def test_one_table_if_there_is_room_and_several_if_not():
    assert shown(["A", "B"], 100).count("arm") == 1
    assert shown(["A", "B"], 70).count("arm") == 2
    assert shown(["A", "B"], 25).count("arm") == 6  # at least one column each
    assert shown(["A" * 60, "B"], 110).count("arm") == 1  # names are broken first
    headers = [Column("a header of words", ["1", "2"])] * 3
    assert shown(["A", "B"], 40, headers).count("arm") == 1  # below each other


def test_names_are_shown_as_they_are():
    text = shown(["[red]x[/red]", "[/]y :smile:"], 100)
    assert "[red]x[/red]" in text
    assert "[/]y :smile:" in text


def test_title_above_and_caption_below_once():
    lines = shown(["A", "B"], 40, title="above", caption="below").splitlines()
    assert [line.strip() for line in lines if "above" in line or "below" in line] == ["above", "below"]
    assert "above" in lines[0]
    assert "below" in lines[-1]


def test_widths_of_columns():
    column = Column("two words", ["12345", "1"])
    assert (column.width(), column.width(broken=True)) == (9, 5)
    assert Column("a\nlines", []).width() == 5
    assert Column("", []).width() == 0
    assert Column("変種", ["1"]).width() == 4


def test_a_table_takes_all_the_room_there_is_before_it_is_broken():
    arms = Column("arm", ["A", "B"], left=True)
    numbers = [Column("raw mean", ["1.25", "2"]), Column("n", ["7", "12"])]
    whole = (3 + 3) + (8 + 3) + (2 + 3) + 1  # a blank on both sides and a line for each, and a last line
    for width, lines in ((whole, ["raw mean"]), (whole - 1, ["raw", "mean"])):
        screen = io.StringIO()
        console = Console(file=screen, width=width)
        (table,) = make_tables(arms, numbers, width)
        console.print(table)
        text = screen.getvalue()
        assert [words for words in ("raw mean", "raw", "mean") if f" {words} " in text][: len(lines)] == lines
        assert max(map(len, text.splitlines())) <= width


def test_numbers_stand_to_the_right_and_names_to_the_left():
    lines = shown(["A", "longer"], 80, [Column("number", ["1", "23"])]).splitlines()
    rows = [line for line in lines if "A" in line or "longer" in line]
    assert [row[1:-1].replace("│", "|") for row in rows] == [" A      |      1 ", " longer |     23 "]
    lines = shown(["A", "B"], 80, [Column("words", ["x", "y z"], left=True)]).splitlines()
    assert next(line for line in lines if " A " in line)[1:-1].replace("│", "|") == " A   | x     "


def test_what_names_may_take():
    assert first_column_width([20, 20], 100) == 60  # what the others leave
    assert first_column_width([40, 40], 100) == 20  # a fifth is enough
    assert first_column_width([41, 41], 100) == 50  # less is not: half, beside the widest of the others
    assert first_column_width([70, 20], 100) == 30
    assert first_column_width([97], 100) == 8  # and never less
