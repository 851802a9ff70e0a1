"""Rewards as text: in memory and in files they are read alike, and only where there is no doubt."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tideproof.data import cells
from tideproof.data.number_text import parse_numbers
from tideproof.errors import InputError


@pytest.mark.parametrize(
    ("column", "want"),
    [
        (["3", "4.5", "-1e3"], [3, 4.5, -1000]),
        (["3,5", "4", "-1.234,5"], [3.5, 4, -1234.5]),
        (["0,125", "12"], [0.125, 12]),  # no thousands begin with 0
        (["1,234,567", "1,000"], [1234567, 1000]),
        (["1,234.5", "2"], [1234.5, 2]),
        (["TRUE", "f", "0", "NA"], [1, 0, 0, math.nan]),
        (["yes", "1.0", None], [1, 1, math.nan]),
        ([" 3 ", '"4"', "", "n/a"], [3, 4, math.nan, math.nan]),
        ([True, "5", 2.5], [1, 5, 2.5]),
    ],
)
def test_how_a_column_is_written(column, want):
    assert parse_numbers(column, "r") == pytest.approx(want, nan_ok=True)


def test_what_the_user_says_decides():
    assert parse_numbers(["1,234"], "r", ",").tolist() == [1.234]
    assert parse_numbers(["1,234"], "r", ".").tolist() == [1234]
    assert parse_numbers(["1.234"], "r", ",").tolist() == [1234]
    assert parse_numbers(["1.234"], "r").tolist() == [1.234]
    with pytest.raises(InputError, match=r"text in 1 row \(row 1: '3\.5'\)"):
        parse_numbers(["3.5"], "r", ",")
    with pytest.raises(InputError, match=r"text in 1 row \(row 2: '3,5'\)"):
        parse_numbers(["1", "3,5"], "r", ".")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1,234", "5"], "holds '1,234', which is ambiguous"),
        (["3,5", "3.5"], r"text in 1 row \(row 2: '3\.5'\)"),
        (["3,5", "1,234,567"], r"text in 2 rows \(row 1: '3,5', row 2: '1,234,567'\)"),
        (["yes", "3"], r"text in 1 row \(row 1: 'yes'\)"),
        (["a", "3", "b", "c", "d"], r"text in 4 rows \(row 1: 'a', row 3: 'b', row 4: 'c', …\)"),
    ],
)
def test_what_is_refused(column, message):
    with pytest.raises(InputError, match=message):
        parse_numbers(column, "r")


PIECES = [
    "0",
    "1",
    "3",
    "12",
    "3.5",
    "3,5",
    "1,234",
    "1,234.5",
    "1.234,5",
    "-2",
    "yes",
    "No",
    "t",
    "NA",
    "",
    "x",
    "1e3",
    ",5",
]


@settings(max_examples=40)
@given(
    column=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    decimal=st.sampled_from([None, ".", ","]),
)
def test_files_and_memory_agree(tmp_path_factory, column, decimal):
    """By SQL and by Python: the same numbers, or the same refusal, whatever stands together."""
    column = [*column, "1"]  # of an arm of its own
    arms = ["A"] * (len(column) - 1) + ["B"]
    path = tmp_path_factory.mktemp("text") / "log.csv"
    lines = [f'{arm},{i},"{text}"' for i, (arm, text) in enumerate(zip(arms, column, strict=True))]
    path.write_text("arm,day,r\n" + "\n".join(lines) + "\n")
    data = {"arm": arms, "day": list(range(len(column))), "r": column}
    answers = []
    for source in (str(path), data):
        try:
            found = cells(source, "arm", "day", "r", missing="drop", decimal=decimal)
            answers.append((found.mean.tolist(), found.dropped))
        except InputError as error:
            answers.append(str(error).split(" (")[0].split(", which")[0])
    assert answers[0] == answers[1]
