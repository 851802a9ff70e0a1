"""Any data frame that narwhals knows, eager or lazy, to cells: grouped inside its own engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.errors import InputError
from tideproof.frames.arrays import summarised
from tideproof.frames.groups import (
    MOST_CELLS,
    Groups,
    assemble,
    check_finite,
    check_missing,
    check_rows,
    not_numeric,
)
from tideproof.frames.request import Request
from tideproof.stats.cells import Cells

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def from_frame(data: Any, request: Request) -> Cells:
    """Group a data frame."""
    import narwhals as nw

    frame = _frame(data)
    schema = frame.collect_schema()
    request = request.among(schema)
    kinds = [schema[name] for name in request.names]
    if not (kinds[2].is_numeric() or kinds[2] == nw.Boolean):
        raise not_numeric(request.reward, kinds[2])
    place = nw.col(request.environment)
    if request.every:
        place, kinds[1] = _moment(place, kinds[1], request), nw.Datetime()
    if request.n:
        names = [nw.col(name).alias(f"column {i}") for i, name in enumerate(request.names)]
        names[1] = place.alias("column 1")
        table = _collected(frame.select(*names).head(MOST_CELLS))
        columns = [table[name].to_list() for name in table.columns]
        return summarised(columns, request, ordered=isinstance(frame, nw.DataFrame))

    arm, environment, reward = (nw.col(name) for name in ("arm", "environment", "reward"))
    rows = frame.select(
        nw.col(request.arm).alias("arm"),
        place.alias("environment"),
        nw.col(request.reward).cast(nw.Float64()).alias("reward"),
    )
    absent = [_absent(arm, kinds[0]), _absent(environment, kinds[1]), _absent(reward, nw.Float64())]
    survey = rows.select(
        nw.len().alias("rows"),
        *(_number(lacking).alias(f"missing {i}") for i, lacking in enumerate(absent)),
        _number(absent[0] | absent[1] | absent[2]).alias("incomplete"),
        _number(~reward.is_finite() & ~absent[2]).alias("infinite"),
        reward.mean().alias("centre"),
    )
    *counts, centre = _collected(survey).row(0)
    total, *missing, incomplete, infinite = (int(count or 0) for count in counts)
    check_rows(total)
    if request.missing == "refuse":
        check_missing(request.names, missing, total)
    check_finite(request.reward, infinite, total)
    if incomplete:
        rows = rows.filter(~(absent[0] | absent[1] | absent[2]))
        centre = _collected(rows.select(reward.mean())).item()
    groups = _grouped(rows, centre or 0.0, incomplete)
    return assemble(groups, request.label if request.every else None)


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
    rows = rows.with_columns(reward - centre)
    if ordered := isinstance(rows, nw.DataFrame):
        keyed = rows.with_row_index("first").group_by("arm", "environment")
        table = keyed.agg(*statistics, first.min()).sort("first")
    else:
        table = rows.group_by("arm", "environment").agg(*statistics).head(MOST_CELLS).collect()
    n, mean, variance = (table[name].cast(nw.Float64()).to_numpy() for name in ("n", "mean", "variance"))
    squares = np.where(n > 1.0, variance * (n - 1.0), 0.0)
    arms, environments = table["arm"].to_list(), table["environment"].to_list()
    return Groups(arms, environments, n, centre + mean, squares, ordered, dropped)


def _moment(column: nw.Expr, kind: nw.dtypes.DType, request: Request) -> nw.Expr:
    import narwhals as nw

    if kind == nw.Date and request.every != "hour":
        return column
    if not isinstance(kind, nw.Datetime):
        raise request.no_moment(kind)
    if kind.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.dt.truncate({"hour": "1h", "day": "1d"}[request.step])


def _absent(column: nw.Expr, kind: nw.dtypes.DType) -> nw.Expr:
    return column.is_null() | column.is_nan() if kind.is_float() else column.is_null()


def _number(condition: nw.Expr) -> nw.Expr:
    """Return how many rows meet a condition; Spark does not add up truth values."""
    import narwhals as nw

    return condition.cast(nw.Int64()).sum()


def _collected(frame: Frame) -> nw.DataFrame[Any]:
    import narwhals as nw

    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
