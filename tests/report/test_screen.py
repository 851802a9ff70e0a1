"""Tables fit the screen, whatever the names, and their numbers stay whole."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from tideproof.report.screen import Column, tables

NUMBERS = [Column("adjusted mean", ["1.234 ± 0.056", "12.345 ± 0.067"]), Column("n", ["7", "1,234"])] * 3


def shown(names, width, numbers=NUMBERS, **words):
    out = io.StringIO()
    console = Console(file=out, width=width)
    for table in tables(Column("arm", names, left=True), numbers, width, **words):
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
