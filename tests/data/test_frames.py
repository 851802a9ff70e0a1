"""Any table gives the same cells; what is not allowed is named and counted."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tideproof.data import cells, cells_from_arrays
from tideproof.errors import InputError, UnknownName

LOG = {
    "variant": ["B", "A", "B", "C", "A", "B", "B", "A"],
    "day": ["tue", "tue", "mon", "mon", "mon", "mon", "tue", "sun"],
    "sales": [3.0, 4.0, 5.0, 2.5, 4.0, 6.0, 8.0, 1.0],
}
NAMES = {"arm": "variant", "environment": "day", "reward": "sales"}
EAGER = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
LAZY = {"polars lazy": pl.LazyFrame, "narwhals": lambda d: nw.from_native(pl.LazyFrame(d))}
ENGINES = EAGER | LAZY


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def as_dict(c):
    """Return {(arm, environment): (n, mean, squares)}."""
    keys = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
    return dict(zip(keys, zip(c.n, c.mean, c.squares, strict=True), strict=True))


def test_every_engine_gives_the_same_cells(engine):
    c = cells(engine(LOG), **NAMES)
    assert as_dict(c) == {
        ("B", "tue"): pytest.approx((2, 5.5, 12.5)),
        ("A", "tue"): pytest.approx((1, 4, 0)),
        ("B", "mon"): pytest.approx((2, 5.5, 0.5)),
        ("C", "mon"): pytest.approx((1, 2.5, 0)),
        ("A", "mon"): pytest.approx((1, 4, 0)),
        ("A", "sun"): pytest.approx((1, 1, 0)),
    }
    assert [a.dtype for a in (c.arm, c.environment, c.n, c.mean, c.squares)] == [np.int64] * 2 + [
        np.float64
    ] * 3


@pytest.mark.parametrize("name", EAGER)
def test_labels_keep_their_order(name):
    c = cells(EAGER[name](LOG), **NAMES)
    assert (c.arms, c.environments) == (["B", "A", "C"], ["tue", "mon", "sun"])
    assert c.environment.tolist() == [0, 0, 1, 1, 1, 2]
    assert c.arm.tolist() == [0, 1, 0, 1, 2, 1]


@pytest.mark.parametrize("name", LAZY)
def test_labels_of_a_lazy_frame_are_sorted(name):
    c = cells(LAZY[name](LOG), **NAMES)
    assert (c.arms, c.environments) == (["A", "B", "C"], ["mon", "sun", "tue"])
    assert list(zip(c.environment.tolist(), c.arm.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1),
    ]  # fmt: skip


def test_big_random_log(engine):
    random = np.random.default_rng(0)
    arm, environment = random.integers(7, size=5000), random.integers(40, size=5000)
    reward = 1e6 + random.normal(size=5000)
    c = cells(engine({"a": arm, "e": environment, "r": reward}), "a", "e", "r")
    assert c.n.sum() == 5000
    for (i, j), (n, mean, squares) in as_dict(c).items():
        mine = reward[(arm == i) & (environment == j)]
        assert n == mine.size
        assert mean == pytest.approx(mine.mean(), abs=1e-9)
        assert squares == pytest.approx(((mine - mine.mean()) ** 2).sum(), rel=1e-8)


@pytest.mark.parametrize(
    "days",
    [
        [dt.date(2024, 10, 19), dt.date(2024, 10, 20)],
        [dt.datetime(2024, 10, 19, 8), dt.datetime(2024, 10, 19, 9)],
        [7, 8],
        [0.5, 1.5],
        [True, False],
    ],
)
def test_labels_of_any_kind(engine, days):
    c = cells(
        engine({"a": [1, 2, 1, 2], "d": [days[0]] * 2 + [days[1]] * 2, "r": [1, 2, 3, 4]}), "a", "d", "r"
    )
    assert c.arms == [1, 2]
    assert set(c.environments) == set(days)


def test_column_names_do_not_matter(engine):
    """Even names that are used inside."""
    log = dict(zip(("n", "first", "mean"), LOG.values(), strict=True))
    assert as_dict(cells(engine(log), "n", "first", "mean")) == as_dict(cells(engine(LOG), **NAMES))


def test_rewards_may_be_whole_boolean_or_decimal(engine):
    for rewards in ([0, 1, 1, 0], [False, True, True, False], [Decimal(x) for x in (0, 1, 1, 0)]):
        if engine is pd.DataFrame and isinstance(rewards[0], Decimal):
            continue  # pandas holds them as objects
        c = cells(engine({"a": ["x", "y"] * 2, "e": [1, 1, 2, 2], "r": rewards}), "a", "e", "r")
        assert c.mean.tolist() == [0, 1, 1, 0]


def test_categories_that_do_not_occur_are_no_arms():
    frame = pd.DataFrame(LOG)
    frame["variant"] = pd.Categorical(frame["variant"], ["A", "B", "C", "D"])
    assert cells(frame, **NAMES).arms == ["B", "A", "C"]


def test_arrays():
    by_name = cells(LOG, **NAMES)
    for kind in (list, np.array, pd.Series, pl.Series, tuple, iter):
        c = cells_from_arrays(*(kind(column) for column in LOG.values()))
        assert as_dict(c) == as_dict(by_name)
        assert (c.arms, c.environments) == (by_name.arms, by_name.environments)
    days = np.array(["2024-10-19", "2024-10-20"], "datetime64[ns]")
    assert cells_from_arrays([1, 2], days, [0, 0]).environments == [
        dt.datetime(2024, 10, d) for d in (19, 20)
    ]


def spoiled(column, row, value):
    return {name: [*v[:row], value, *v[row + 1 :]] if name == column else v for name, v in LOG.items()}


def test_missing_column(engine):
    with pytest.raises(
        UnknownName, match=r"unknown column 'dai'; did you mean 'day'.* known: 'variant', 'day'"
    ):
        cells(engine(LOG), "variant", "dai", "sales")


@pytest.mark.parametrize("column", LOG)
def test_missing_values_are_counted(engine, column):
    with pytest.raises(InputError, match=f"'{column}' is missing in 1 of 8 rows"):
        cells(engine(spoiled(column, 3, None)), **NAMES)


def test_nan_is_missing(engine):
    with pytest.raises(InputError, match="'sales' is missing in 1 of 8 rows"):
        cells(engine(spoiled("sales", 3, float("nan"))), **NAMES)
    prices = {"price": [1.0, 2.0, float("nan")], "day": ["mon", None, "tue"], "sales": [1.0, 2.0, 3.0]}
    with pytest.raises(
        InputError, match="'price' is missing in 1 of 3 rows, 'day' is missing in 1 of 3 rows"
    ):
        cells(engine(prices), "price", "day", "sales")


def test_missing_in_arrays_of_pandas():
    arms = pd.Series(["A", None, "B"], dtype="string")
    with pytest.raises(InputError, match="'arm' is missing in 1 of 3 rows"):
        cells_from_arrays(arms, [1, 1, 1], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="'reward' is missing in 2 of 3 rows"):
        cells_from_arrays(["A", "B", "A"], [1, 1, 1], pd.Series([1, None, None], dtype="Int64"))


def test_infinite_rewards(engine):
    with pytest.raises(InputError, match="rewards must be finite; 1 of 8 in 'sales' are infinite"):
        cells(engine(spoiled("sales", 0, float("-inf"))), **NAMES)


def test_rewards_that_are_no_numbers(engine):
    with pytest.raises(InputError, match="column 'day' must be numeric; it holds"):
        cells(engine(LOG), arm="variant", environment="sales", reward="day")


@pytest.mark.parametrize(
    ("rewards", "what"),
    [
        (["1", "x"], "text in 1 row \\(row 2: 'x'\\)"),
        ([None, "2", object()], "values of several types"),
        ([10**400, 1], "object"),
        ([object(), 1], "object"),
        ([[1, 2], [3, 4]], "int"),
        ([1j, 2], "complex"),
    ],
)
def test_arrays_of_rewards_that_are_no_numbers(rewards, what):
    with pytest.raises(InputError, match=f"column 'reward' must be numeric; it holds {what}"):
        cells_from_arrays(["A", "B", "A"][: len(rewards)], "xxx"[: len(rewards)], rewards)


def test_no_rows(engine):
    empty = {"variant": np.array([], str), "day": np.array([], str), "sales": np.array([], float)}
    with pytest.raises(InputError, match="the data has no rows"):
        cells(engine(empty), **NAMES)


def test_one_arm(engine):
    with pytest.raises(InputError, match="at least two arms; the only one here is 'A'"):
        cells(engine({"variant": ["A", "A"], "day": ["x", "y"], "sales": [1.0, 2.0]}), **NAMES)


def test_one_column_twice(engine):
    with pytest.raises(InputError, match=r"three different columns, not \('variant', 'day', 'day'\)"):
        cells(engine(LOG), "variant", "day", "day")


def test_lengths_differ():
    with pytest.raises(InputError, match=r"same length, not \{'arm': 2, 'environment': 1, 'reward': 3\}"):
        cells_from_arrays(["A", "B"], ["x"], [1, 2, 3])


def test_labels_that_are_none():
    with pytest.raises(InputError, match="column 'arm' must hold labels: text, numbers or dates"):
        cells_from_arrays([["A"], ["B"]], ["x", "x"], [1, 2])


@pytest.mark.parametrize("data", [3, None, [1, 2], pd.Series([1, 2])])
def test_data_of_an_unknown_kind(data):
    with pytest.raises(InputError, match=f"data must be a data frame .* not {type(data).__name__}"):
        cells(data, **NAMES)
