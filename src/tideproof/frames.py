"""From any table to cells: count, mean and squared deviations for each (arm, environment).

Cells are the only data the rest of the package sees. The grouping happens inside whatever engine
holds the rows, so a billion of them cost K x J numbers here. No statistics beyond that.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.errors import InputError, UnknownName
from tideproof.kernels._arrays import Floats, Ints
from tideproof.kernels.solve import sums

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """All that was observed, one cell for each arm in each environment where it was seen.

    Attributes
    ----------
    arms, environments : their labels, in the order of first appearance where rows have an order (lazy
        frames: sorted). An arm may be listed without a cell.
    arm, environment : (C,) index of the arm and the environment of each cell.
    n, mean, squares : (C,) rewards, their mean, and the sum of their squared deviations from it.
    """

    arms: list[Any]
    environments: list[Any]
    arm: Ints
    environment: Ints
    n: Floats
    mean: Floats
    squares: Floats


def cells(data: Any, arm: str, environment: str, reward: str) -> Cells:
    """Group a table by arm and environment.

    Parameters
    ----------
    data
        A mapping of column name to values, or any frame that narwhals knows, eager or lazy: pandas,
        polars, pyarrow, ...
    arm, environment, reward
        The names of three columns.

    Examples
    --------
    >>> log = {"variant": ["A", "B", "A"], "day": ["mon", "mon", "mon"], "sales": [3.0, 4.0, 5.0]}
    >>> c = cells(log, arm="variant", environment="day", reward="sales")
    >>> c.arms, c.n, c.mean, c.squares
    (['A', 'B'], array([2., 1.]), array([4., 4.]), array([2., 0.]))
    """
    names = (arm, environment, reward)
    if len(set(names)) < len(names):
        raise InputError(f"arm, environment and reward must be three different columns, not {names}")
    if isinstance(data, Mapping):
        return _from_columns([_column(data, name) for name in names], names)
    return _from_frame(_frame(data), names)


def cells_from_arrays(arm: Iterable[Any], environment: Iterable[Any], reward: Iterable[Any]) -> Cells:
    """Group three sequences of equal length, one entry an observation, by arm and environment."""
    return _from_columns([arm, environment, reward], ("arm", "environment", "reward"))


# Columns in memory


def _column(data: Mapping[str, Iterable[Any]], name: str) -> Iterable[Any]:
    if name not in data:
        raise UnknownName.among("column", name, data)
    return data[name]


def _from_columns(columns: list[Iterable[Any]], names: tuple[str, str, str]) -> Cells:
    arms, arm = _factorised(columns[0], names[0])
    environments, environment = _factorised(columns[1], names[1])
    rewards = _numbers(columns[2], names[2])
    lengths = dict(zip(names, (arm.size, environment.size, rewards.size), strict=True))
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns must have one length, not {lengths}")
    _check_rows(rewards.size)
    missing = [_count_missing(arms, arm), _count_missing(environments, environment), np.isnan(rewards).sum()]
    _check_missing(names, missing, rewards.size)
    _check_finite(names[2], int(np.isinf(rewards).sum()), rewards.size)

    pair, cell = np.unique(environment * len(arms) + arm, return_inverse=True)
    n = sums(cell, np.ones(cell.size), pair.size)
    mean = sums(cell, rewards, pair.size) / n
    mean += sums(cell, rewards - mean[cell], pair.size) / n  # removes the rounding of a long sum
    squares = sums(cell, (rewards - mean[cell]) ** 2, pair.size)
    return _checked(Cells(arms, environments, pair % len(arms), pair // len(arms), n, mean, squares))


def _factorised(values: Iterable[Any], name: str) -> tuple[list[Hashable], Ints]:
    """Return the distinct values in order of first appearance, and the index of each entry."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # finer ones would become integers
    index: dict[Hashable, int] = {}
    entries = values.tolist() if hasattr(values, "tolist") else values
    try:
        codes = [index.setdefault(entry, len(index)) for entry in entries]
    except TypeError:
        raise InputError(f"column {name!r} must hold labels: text, numbers or dates") from None
    return list(index), np.array(codes, np.int64)


def _count_missing(labels: list[Hashable], codes: Ints) -> int:
    return int(np.isin(codes, [code for code, label in enumerate(labels) if _is_missing(label)]).sum())


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA refuses to say
        return True


def _numbers(values: Iterable[Any], name: str) -> Floats:
    """Return the values as floats, NaN for what is missing."""
    array = np.asarray(values if hasattr(values, "__array__") else list(values))
    if array.dtype.kind == "O":
        array = np.array([math.nan if _is_missing(value) else value for value in array.tolist()])
    try:
        if array.dtype.kind in "biufO" and array.ndim == 1:
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise _not_numeric(name, array.dtype)


# Frames


def _frame(data: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    import narwhals as nw

    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"data must be a data frame (pandas, polars, pyarrow, ...) or a mapping of columns, "
            f"not {type(data).__name__}"
        ) from None
    return frame


def _from_frame(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], names: tuple[str, str, str]) -> Cells:
    import narwhals as nw

    schema = frame.collect_schema()
    for name in names:
        if name not in schema:
            raise UnknownName.among("column", name, schema)
    kinds = [schema[name] for name in names]
    if not (kinds[2].is_numeric() or kinds[2] == nw.Boolean):
        raise _not_numeric(names[2], kinds[2])
    arm, environment, reward = (nw.col(name) for name in ("arm", "environment", "reward"))
    rows = frame.select(
        nw.col(names[0]).alias("arm"),
        nw.col(names[1]).alias("environment"),
        nw.col(names[2]).cast(nw.Float64()).alias("reward"),
    )

    survey = rows.select(
        nw.len().alias("rows"),
        _missing(arm, kinds[0]),
        _missing(environment, kinds[1]),
        _missing(reward, nw.Float64()),
        (~reward.is_finite()).sum().alias("infinite"),
        reward.mean().alias("centre"),
    )
    total, *missing, infinite, centre = _collected(survey).row(0)
    _check_rows(total)
    _check_missing(names, missing, total)
    _check_finite(names[2], infinite, total)

    rows = rows.with_columns(reward - centre)  # of deviations an engine keeps every digit
    statistics = [nw.len().alias("n"), reward.mean().alias("mean"), reward.var().alias("variance")]
    ordered = isinstance(rows, nw.DataFrame)
    if isinstance(rows, nw.DataFrame):
        rows, first = rows.with_row_index("first"), nw.col("first").min()
        table = rows.group_by("arm", "environment").agg(*statistics, first).sort("first")
    else:
        table = rows.group_by("arm", "environment").agg(*statistics).collect()
    arms, arm_index = _indexed(table["arm"].to_list(), ordered)
    environments, environment_index = _indexed(table["environment"].to_list(), ordered)
    n, mean, variance = (table[name].cast(nw.Float64()).to_numpy() for name in ("n", "mean", "variance"))
    squares = np.where(n > 1.0, variance * (n - 1.0), 0.0)
    by = np.lexsort((arm_index, environment_index))
    found = Cells(
        arms, environments, arm_index[by], environment_index[by], n[by], mean[by] + centre, squares[by]
    )
    return _checked(found)


def _missing(column: nw.Expr, kind: nw.dtypes.DType) -> nw.Expr:
    absent = column.is_null() | column.is_nan() if kind.is_float() else column.is_null()
    return absent.sum().name.suffix(" missing")


def _collected(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    import narwhals as nw

    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _indexed(labels: list[Any], ordered: bool) -> tuple[list[Any], Ints]:
    """Return the distinct labels, sorted unless they are ordered already, and the index of each entry."""
    distinct = dict.fromkeys(labels)
    index = {label: i for i, label in enumerate(distinct if ordered else sorted(distinct))}
    return list(index), np.array([index[label] for label in labels])


# What is not allowed


def _check_rows(rows: int) -> None:
    if rows == 0:
        raise InputError("the data has no rows; a fit needs at least two arms")


def _check_missing(names: tuple[str, str, str], missing: Iterable[int], rows: int) -> None:
    found = [f"{count} in {name!r}" for name, count in zip(names, missing, strict=True) if count]
    if found:
        raise InputError(f"missing values are not allowed; of {rows} rows there are {', '.join(found)}")


def _check_finite(name: str, infinite: int, rows: int) -> None:
    if infinite:
        raise InputError(f"rewards must be finite; {infinite} of {rows} in {name!r} are infinite")


def _not_numeric(name: str, kind: object) -> InputError:
    return InputError(f"the reward must be numeric; column {name!r} holds {kind}")


def _checked(found: Cells) -> Cells:
    if len(found.arms) < 2:
        raise InputError(f"a comparison needs at least two arms; the only one here is {found.arms[0]!r}")
    return found
