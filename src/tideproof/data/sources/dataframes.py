"""Logs given as any data frame that the library narwhals supports, grouped by the data frame's own engine.

The data frames may be eager or lazy.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.data import cell_assembly
from tideproof.data.aggregated_rows import cells_from_summaries
from tideproof.data.cell_assembly import (
    Groups,
    MomentSums,
    RewardRange,
    assemble_cells,
    check_fetched,
    check_finite,
    check_missing,
    check_rows,
    from_power_sums,
    not_numeric_error,
)
from tideproof.data.column_spec import ARM, REWARD, ColumnSpec
from tideproof.data.sources.array_columns import cells_from_columns, column_quantile
from tideproof.data.time_ordered_rows import TimeOrderedRows, order_columns
from tideproof.data.time_periods import UNITS, Period
from tideproof.errors import InputError
from tideproof.stats.cells import Cells

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.dtypes import DType

    Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def cells_from_frame(data: Any, request: ColumnSpec) -> Cells:
    """Return statistics of rewards by arm and environment, from a log given as a data frame."""
    import narwhals as nw

    frame = _to_frame(data)
    schema = frame.collect_schema()
    request = request.among(schema)
    types = {name: schema[name] for name in request.names}
    text = [name for name in request.numbers if types[name] == nw.String]
    if text and isinstance(frame, nw.DataFrame):  # read by the same rules as text in a file
        return cells_from_columns({name: frame[name].to_list() for name in request.names}, request)
    for name in request.numbers[:1] if request.n else request.numbers:
        if not (types[name].is_numeric() or types[name] == nw.Boolean):
            raise not_numeric_error(name, types[name])
    request = _with_zones(request, types)
    if request.wide:
        frame, request = _unpivot(frame, request), request.long(ARM, REWARD)
        types |= {ARM: nw.String(), REWARD: nw.Float64()}
    columns = [nw.col(name) for name in request.arm_columns]
    for part, name in zip(request.parts, request.columns, strict=True):
        column = nw.col(name)
        columns.append(_truncate_time(column, types[name], part) if isinstance(part, Period) else column)
    columns += [nw.col(name) for name in request.numbers]
    return (_group_summaries if request.n else _group_observations)(frame, columns, types, request)


def _with_zones(request: ColumnSpec, types: dict[str, DType]) -> ColumnSpec:
    """Return the column specification, noting which time columns of the table have a time zone."""
    parts = [
        replace(part, zoned=getattr(types[part.column], "time_zone", None) is not None)
        if isinstance(part, Period)
        else part
        for part in request.parts
    ]
    return replace(request, parts=tuple(parts))


def frame_columns(data: Any) -> list[str]:
    """Return the names of the columns of a data frame."""
    return list(_to_frame(data).collect_schema())


def _unpivot(frame: Frame, request: ColumnSpec) -> Frame:
    """Convert a wide table (one column per arm) to one row per reward; empty values are skipped."""
    import narwhals as nw

    wide = frame.with_columns(nw.col(name).cast(nw.Float64()) for name in request.wide)
    index = list(request.columns)
    long = wide.unpivot(on=list(request.wide), index=index, variable_name=ARM, value_name=REWARD)
    return long.filter(~_is_missing(nw.col(REWARD), nw.Float64()))


def _group_summaries(
    frame: Frame, columns: list[nw.Expr], types: dict[str, DType], request: ColumnSpec
) -> Cells:
    """Return statistics by arm and environment from aggregated rows (counts, means and variances)."""
    import narwhals as nw

    named = [column.alias(f"column {i}") for i, column in enumerate(columns)]
    table = _collect(frame.select(*named).head(cell_assembly.MOST_CELLS + 1))
    check_fetched(len(table), "aggregated rows")
    lists = [table[name].to_list() for name in table.columns]
    return cells_from_summaries(lists, request, ordered=isinstance(frame, nw.DataFrame))


def _group_observations(
    frame: Frame, columns: list[nw.Expr], types: dict[str, DType], request: ColumnSpec
) -> Cells:
    """Group rows with one reward each by arm and environment; raise an error if rewards are infinite."""
    import narwhals as nw

    labels, values = columns[: len(request.labels)], columns[len(request.labels) :]
    keys = [f"label {i}" for i in range(len(labels))]
    rows = frame.select(
        *(label.alias(key) for label, key in zip(labels, keys, strict=True)),
        _combine_columns(values, request).alias("reward"),
    )
    reward = nw.col("reward")
    found = zip(keys, request.labels, strict=True)
    missing = [
        *(_is_missing(nw.col(key), types[name]) for key, name in found),
        _is_missing(reward, nw.Float64()),
    ]
    incomplete = reduce(operator.or_, missing)
    with np.errstate(invalid="ignore"):  # infinities of both signs are refused below
        survey = rows.select(
            nw.len().alias("rows"),
            *(_count_rows(lacking).alias(f"missing {i}") for i, lacking in enumerate(missing)),
            _count_rows(incomplete).alias("incomplete"),
            _count_rows(~reward.is_finite() & ~missing[-1]).alias("infinite"),
            reward.mean().alias("centre"),
        )
        *counts, centre = _collect(survey).row(0)
    total, *lacking, dropped, infinite = (int(count or 0) for count in counts)
    check_rows(total)
    if request.missing == "refuse":
        check_missing((*request.labels, request.reward), lacking, total)
    check_finite(request.reward, infinite, total)
    if dropped:
        rows = rows.filter(~incomplete)
        centre = _collect(rows.select(reward.mean())).item()
    groups = _group_rows(rows, keys, centre or 0.0, dropped, request)
    check_fetched(groups.n.size, "pairs of arm and environment")
    return assemble_cells(groups, request)


def _to_frame(data: Any) -> Frame:
    """Return the narwhals frame of an object, or raise an error if it is not a data frame."""
    import narwhals as nw

    try:
        frame: Frame = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"data must be a data frame (pandas, polars, pyarrow, PySpark, ...), a DuckDB relation, a "
            f"mapping of columns, a path or a database's URL, not {type(data).__name__}"
        ) from None
    return frame


def _group_rows(rows: Frame, keys: list[str], centre: float, dropped: int, request: ColumnSpec) -> Groups:
    """Group rows by the columns `keys`; `centre` is subtracted from rewards to avoid rounding errors."""
    import narwhals as nw

    reward, first = nw.col("reward"), nw.col("first")
    statistics = [nw.len().alias("n"), reward.mean().alias("mean"), reward.var().alias("variance")]
    statistics += [nw.col("cubes").sum(), nw.col("fourths").sum()]
    statistics += [reward.min().alias("low"), reward.max().alias("high")]
    rows = rows.with_columns(reward - centre)
    cube = reward * reward * reward
    rows = rows.with_columns(cube.alias("cubes"), (cube * reward).alias("fourths"))
    if ordered := isinstance(rows, nw.DataFrame):
        keyed = rows.with_row_index("first").group_by(*keys)
        table = keyed.agg(*statistics, first.min()).sort("first")
    else:
        grouped = rows.group_by(*keys).agg(*statistics)
        table = grouped.head(cell_assembly.MOST_CELLS + 1).collect()
    names = ("n", "mean", "variance", "low", "high", "cubes", "fourths")
    n, mean, variance, low, high, *powers = (table[name].cast(nw.Float64()).to_numpy() for name in names)
    squares = np.where(n > 1.0, variance * (n - 1.0), 0.0)
    tails = from_power_sums(n, squares, MomentSums(*powers), mean)
    arms, parts = request.split_labels([table[key].to_list() for key in keys])
    environments = list(zip(*parts, strict=True)) if parts else [()] * len(arms)
    ends = RewardRange(centre + low, centre + high)
    return Groups(arms, environments, n, centre + mean, squares, ordered, dropped, tails, ends)


def _combine_columns(values: list[nw.Expr], request: ColumnSpec) -> nw.Expr:
    """Return a data frame expression for the reward: one column or a weighted sum of several columns.

    If requested, the column is winsorized, or the logarithm is taken.
    """
    import narwhals as nw

    terms = []
    for (factor, name), value in zip(request.mix or ((1.0, request.reward),), values, strict=True):
        number = value.cast(nw.Float64())
        if (
            name == request.reward and request.winsorize_at < math.inf
        ):  # missing and infinite rewards are unchanged
            above = (number > request.winsorize_at) & number.is_finite()
            number = nw.when(above).then(nw.lit(request.winsorize_at)).otherwise(number)
        terms.append(factor * number if request.mix else number)
    reward = reduce(operator.add, terms)
    return nw.when(reward > 0.0).then(reward).log() if request.logarithm else reward


def frame_quantile(data: Any, request: ColumnSpec, share: float) -> float:
    """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""
    import narwhals as nw

    frame = _to_frame(data)
    schema = frame.collect_schema()
    request = request.among(schema)
    if isinstance(frame, nw.DataFrame):
        return column_quantile({name: frame[name].to_list() for name in schema.names()}, request, share)
    for name in request.wide or (request.reward,):
        if not (schema[name].is_numeric() or schema[name] == nw.Boolean):
            raise not_numeric_error(name, schema[name])
    if request.wide:
        frame, request = _unpivot(frame, request), request.long(ARM, REWARD)
    reward = nw.col(request.reward).cast(nw.Float64())
    finite = frame.filter(~_is_missing(reward, nw.Float64()) & reward.is_finite())
    found = _collect(finite.select(reward.quantile(share, "linear"))).item()
    return math.nan if found is None else float(found)


def order_frame(data: Any, request: ColumnSpec, most: int) -> TimeOrderedRows:
    """Return the rows of a data frame ordered by time; all rows are fetched into memory."""
    import narwhals as nw

    frame = _to_frame(data)
    schema = frame.collect_schema()
    names = request.among(schema).names
    table = _collect(frame.select(*names))
    columns: dict[str, Any] = {}
    for name in names:
        kind = schema[name]
        plain = kind.is_numeric() or (isinstance(kind, nw.Datetime) and kind.time_zone is None)
        columns[name] = table[name].to_numpy() if plain else table[name].to_list()
    return order_columns(columns, request, most)


def _truncate_time(column: nw.Expr, dtype: DType, period: Period) -> nw.Expr:
    """Return a data frame expression that truncates a time to its hour or day, in UTC if it has a zone.

    Text is returned unchanged, because engines differ in how they parse it.
    """
    import narwhals as nw

    if (dtype == nw.Date and period.every != "hour") or dtype in (nw.String, nw.Object):
        return column
    if dtype.is_numeric():
        whole = dtype.is_integer()
        seconds = column.cast(nw.Int64() if whole else nw.Float64())
        size = seconds.abs()
        for limit in UNITS:
            smaller = seconds // 1000 if whole else seconds / 1000.0
            seconds = nw.when(size < (int(limit) if whole else limit)).then(seconds).otherwise(smaller)
        return seconds // period.step * period.step
    if not isinstance(dtype, nw.Datetime):
        raise period.not_a_timestamp(dtype)
    if dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.dt.truncate({900: "15m", 3600: "1h", 86400: "1d"}[period.step])


def _is_missing(column: nw.Expr, dtype: DType) -> nw.Expr:
    """Return the data frame expression that is true where a value is missing."""
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def _count_rows(condition: nw.Expr) -> nw.Expr:
    """Return a data frame expression for the number of rows that satisfy a condition."""
    import narwhals as nw

    return condition.cast(nw.Int64()).sum()  # Spark cannot sum truth values


def _collect(frame: Frame) -> nw.DataFrame[Any]:
    """Return a data frame whose values are in memory; a lazy data frame is computed first."""
    import narwhals as nw

    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
