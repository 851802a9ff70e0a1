"""Any data frame that narwhals knows, eager or lazy, to cells: grouped inside its own engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.errors import InputError
from tideproof.frames import checks
from tideproof.frames.checks import check_fetched, check_finite, check_missing, check_rows, not_numeric
from tideproof.frames.groups import Groups, assemble
from tideproof.frames.moments import Tails, from_power_sums
from tideproof.frames.request import Request
from tideproof.frames.summaries import from_summaries
from tideproof.stats.cells import Cells

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.dtypes import DType

    Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def from_frame(data: Any, request: Request) -> Cells:
    """Group a data frame."""
    import narwhals as nw

    frame = _frame(data)
    schema = frame.collect_schema()
    request = request.among(schema)
    types = [schema[name] for name in request.names]
    if not (types[2].is_numeric() or types[2] == nw.Boolean):
        raise not_numeric(request.reward, types[2])
    columns = [nw.col(name) for name in request.names]
    if request.every:
        columns[1] = _truncated(columns[1], types[1], request)
    return (_summaries if request.n else _observations)(frame, columns, types, request)


def _summaries(frame: Frame, columns: list[nw.Expr], types: list[DType], request: Request) -> Cells:
    """Take in aggregated rows."""
    import narwhals as nw

    named = [column.alias(f"column {i}") for i, column in enumerate(columns)]
    table = _collected(frame.select(*named).head(checks.MOST_CELLS + 1))
    check_fetched(len(table), "aggregated rows")
    lists = [table[name].to_list() for name in table.columns]
    return from_summaries(lists, request, ordered=isinstance(frame, nw.DataFrame))


def _observations(frame: Frame, columns: list[nw.Expr], types: list[DType], request: Request) -> Cells:
    """Group rows that are one observation each; in a first pass, count what is missing or infinite."""
    import narwhals as nw

    rows = frame.select(
        columns[0].alias("arm"),
        columns[1].alias("environment"),
        columns[2].cast(nw.Float64()).alias("reward"),
    )
    arm, environment, reward = (nw.col(name) for name in ("arm", "environment", "reward"))
    missing = [_missing(arm, types[0]), _missing(environment, types[1]), _missing(reward, nw.Float64())]
    incomplete = missing[0] | missing[1] | missing[2]
    with np.errstate(invalid="ignore"):  # of infinities of both signs, which are refused below
        survey = rows.select(
            nw.len().alias("rows"),
            *(_number(lacking).alias(f"missing {i}") for i, lacking in enumerate(missing)),
            _number(incomplete).alias("incomplete"),
            _number(~reward.is_finite() & ~missing[2]).alias("infinite"),
            reward.mean().alias("centre"),
        )
        *counts, centre = _collected(survey).row(0)
    total, *lacking, dropped, infinite = (int(count or 0) for count in counts)
    check_rows(total)
    if request.missing == "refuse":
        check_missing(request.names, lacking, total)
    check_finite(request.reward, infinite, total)
    if dropped:
        rows = rows.filter(~incomplete)
        centre = _collected(rows.select(reward.mean())).item()
    groups = _grouped(rows, centre or 0.0, dropped)
    check_fetched(groups.n.size, "pairs of arm and environment")
    return assemble(groups, request.relabel)


def _frame(data: Any) -> Frame:
    import narwhals as nw

    try:
        frame: Frame = nw.from_native(data)
    except TypeError:
        raise InputError(
            f"data must be a data frame (pandas, polars, pyarrow, PySpark, ...), a DuckDB relation, a "
            f"mapping of columns, a path or a database's URL, not {type(data).__name__}"
        ) from None
    return frame


def _grouped(rows: Frame, centre: float, dropped: int) -> Groups:
    """Group inside the engine; of deviations from `centre` it keeps every digit."""
    import narwhals as nw

    reward, first = nw.col("reward"), nw.col("first")
    statistics = [nw.len().alias("n"), reward.mean().alias("mean"), reward.var().alias("variance")]
    statistics += [nw.col("cubes").sum(), nw.col("fourths").sum()]
    rows = rows.with_columns(reward - centre)
    rows = rows.with_columns((reward**3).alias("cubes"), (reward**4).alias("fourths"))
    if ordered := isinstance(rows, nw.DataFrame):
        keyed = rows.with_row_index("first").group_by("arm", "environment")
        table = keyed.agg(*statistics, first.min()).sort("first")
    else:
        grouped = rows.group_by("arm", "environment").agg(*statistics)
        table = grouped.head(checks.MOST_CELLS + 1).collect()
    names = ("n", "mean", "variance", "cubes", "fourths")
    n, mean, variance, *powers = (table[name].cast(nw.Float64()).to_numpy() for name in names)
    squares = np.where(n > 1.0, variance * (n - 1.0), 0.0)
    tails = from_power_sums(n, squares, Tails(*powers), mean)
    arms, environments = table["arm"].to_list(), table["environment"].to_list()
    return Groups(arms, environments, n, centre + mean, squares, ordered, dropped, tails)


def _truncated(column: nw.Expr, dtype: DType, request: Request) -> nw.Expr:
    """Return a timestamp truncated to what the request asks for, in UTC where it has a zone."""
    import narwhals as nw

    if dtype == nw.Date and request.every != "hour":
        return column
    if not isinstance(dtype, nw.Datetime):
        raise request.not_a_timestamp(dtype)
    if dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.dt.truncate({"hour": "1h", "day": "1d"}[request.truncation])


def _missing(column: nw.Expr, dtype: DType) -> nw.Expr:
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def _number(condition: nw.Expr) -> nw.Expr:
    """Return how many rows meet a condition; Spark does not add up truth values."""
    import narwhals as nw

    return condition.cast(nw.Int64()).sum()


def _collected(frame: Frame) -> nw.DataFrame[Any]:
    import narwhals as nw

    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
