"""Aggregated rows: a count, a mean and a variance each."""

from __future__ import annotations

import math

import pytest

from sales_log import LOG, NAMES, write
from tideproof.data import cells
from tideproof.errors import InputError


def test_aggregated_rows_that_are_wrong():
    data = {
        "a": ["x", "y", "y"],
        "e": [1, 1, 1],
        "m": [1.0, 2.0, None],
        "n": [3, 1, 0],
        "v": [1.0, None, None],
    }
    names = {"arm": "a", "environment": "e", "reward": "m", "n": "n"}
    assert cells(data, **names, variance="v").n.tolist() == [
        3,
        1,
    ]  # one reward needs no variance, none no mean
    with pytest.raises(InputError, match=r"sample_variance and sd .* give n"):
        cells(data, "a", "e", "m", variance="v")
    with pytest.raises(InputError, match="need exactly one of: their variance"):
        cells(data, **names)
    with pytest.raises(InputError, match="five different columns"):
        cells(data, **names, variance="n")
    with pytest.raises(InputError, match=r"whole numbers of at least 0; column 'n' holds 2\.5$"):
        cells(data | {"n": [2.5, 1, 0]}, **names, variance="v")
    with pytest.raises(InputError, match=r"column 'v' must not be negative or infinite; it holds -1$"):
        cells(data | {"v": [-1.0, 1, 0]}, **names, variance="v")
    with pytest.raises(InputError, match="'v' is missing in 1 of 3 rows"):
        cells(data | {"v": [None, 1, 0]}, **names, variance="v")
    assert cells(data | {"a": ["x", "y", "z"], "n": [3, 1, 4], "m": [1.0, 2.0, 3.0]}, **names, variance="v",
                 missing="drop").dropped == 1  # fmt: skip


PLAIN = {"a": ["x", "y", "x"], "e": [1, 1, 1], "m": [1.0, 2.0, 4.0], "n": [3, 2, 1], "v": [4.0, 9.0, None]}
WHERE = {"arm": "a", "environment": "e", "reward": "m", "n": "n"}


def test_a_variance_has_n_minus_one_under_it():
    found = cells(PLAIN, **WHERE, variance="v")
    assert (found.n.tolist(), found.mean.tolist()) == ([4, 2], [1.75, 2.0])
    assert found.squares.tolist() == [4.0 * 2 + 3 * 0.75**2 + 2.25**2, 9.0]
    as_sd = cells({**PLAIN, "s": PLAIN["v"]}, **WHERE, sd="s")
    assert as_sd.squares.tolist() == [16.0 * 2 + 3 * 0.75**2 + 2.25**2, 81.0]


def test_rows_of_one_reward_are_observations():
    data = {"a": ["x", "y", "x", "x", "y"], "e": [1] * 5, "m": [1.0, 2.0, 4.0, 9.0, 3.0], "v": [None] * 5}
    one_by_one = cells(data, "a", "e", "m")
    found = cells(data | {"n": [1] * 5}, **WHERE, variance="v")
    assert found.cubes == pytest.approx(one_by_one.cubes)
    assert found.fourths == pytest.approx(one_by_one.fourths)
    assert cells(data | {"n": [1, 1, 1, 1, 2], "v": [2.0] * 5}, **WHERE, variance="v").cubes is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": [3, 2, -1]}, r"whole numbers of at least 0; column 'n' holds -1$"),
        ({"n": [3, math.inf, 1]}, r"whole numbers of at least 0; column 'n' holds inf$"),
        ({"n": [3, 2.5, 1]}, r"whole numbers of at least 0; column 'n' holds 2\.5$"),
        ({"v": [4.0, math.inf, 0]}, r"column 'v' must not be negative or infinite; it holds inf$"),
        ({"v": [4.0, -0.5, 0]}, r"column 'v' must not be negative or infinite; it holds -0\.5$"),
        ({"m": [math.inf, 2.0, -math.inf]}, r"must be finite; 2 of 3 in 'm' are infinite"),
        ({"m": [1.0, 2.0, None]}, r"'m' is missing in 1 of 3 rows; "),
        ({"n": [3, None, 1]}, r"'n' is missing in 1 of 3 rows; "),
        ({"v": [4.0, None, None]}, r"'v' is missing in 1 of 3 rows; "),
        (
            {"a": ["x", None, "x"], "e": [None, None, 1]},
            r"'a' is missing in 1 of 3 rows, 'e' is missing in 2 of 3 rows; ",
        ),
        ({"m": [1.0, 2.0]}, r"same length, not \{'a': 3, 'e': 3, 'm': 2, 'n': 3, 'v': 3\}"),
        ({name: [] for name in PLAIN}, "the data has no rows"),
    ],
)
def test_more_rows_that_are_wrong(changed, message):
    with pytest.raises(InputError, match=message):
        cells(PLAIN | changed, **WHERE, variance="v")


def test_rows_without_rewards_say_nothing_and_are_not_dropped():
    empty = {"a": [*PLAIN["a"], None], "e": [*PLAIN["e"], None], "m": [*PLAIN["m"], math.inf],
             "n": [*PLAIN["n"], 0], "v": [*PLAIN["v"], -1.0]}  # fmt: skip
    for missing in ("refuse", "drop"):
        found = cells(empty, **WHERE, variance="v", missing=missing)
        assert (found.n.tolist(), found.dropped) == ([4, 2], 0)


def test_rows_that_lack_something_are_dropped_once():
    holes = {"a": [None, *PLAIN["a"]], "e": [None, *PLAIN["e"]], "m": [None, *PLAIN["m"]],
             "n": [5, *PLAIN["n"]], "v": [None, *PLAIN["v"]]}  # fmt: skip
    found = cells(holes, **WHERE, variance="v", missing="drop")
    assert (found.arms, found.n.tolist(), found.dropped) == (["x", "y"], [4, 2], 1)


@pytest.mark.parametrize("column", ["n", "var"])
def test_columns_that_are_no_numbers(tmp_path, column):
    path = write(tmp_path / "log.parquet", LOG | {column: LOG["ts"]}, "parquet")
    with pytest.raises(InputError, match=f"^column '{column}' must be numeric; it holds TIMESTAMP"):
        cells(path, **NAMES, n="n", variance="var")


def test_counts_in_memory_that_are_no_numbers():
    with pytest.raises(
        InputError,
        match=r"^column 'n' must be numeric; it holds text in 2 rows \(row 1: 'four', row 2: 'two'\)$",
    ):
        cells(PLAIN | {"n": ["four", "two"]}, **WHERE, variance="v")


def test_no_aggregated_rows(tmp_path):
    (tmp_path / "log.csv").write_text("variant,day,sales,n,var\n")
    with pytest.raises(InputError, match="the data has no rows"):
        cells(tmp_path / "log.csv", **NAMES, n="n", variance="var")
