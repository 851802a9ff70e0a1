"""Grouping of the rows of a log by arm and environment in SQL, for DuckDB and PostgreSQL.

One pass over the rows is enough in the usual case. The table is read again if a mean is not finite, to name
the rows in the error, or if rewards are so far from 0 that their moments lost digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tideproof.data import cell_assembly
from tideproof.data.aggregated_rows import cells_from_summaries
from tideproof.data.cell_assembly import (
    USELESS,
    WORTH_ANOTHER_LOOK,
    Groups,
    MomentSums,
    RewardRange,
    assemble_cells,
    check_fetched,
    check_finite,
    check_missing,
    check_rows,
    from_power_sums,
    has_lost_digits,
    index_labels,
    is_missing,
    not_numeric_error,
    too_many_arms_error,
)
from tideproof.data.column_spec import ARM, REWARD, ColumnSpec
from tideproof.data.sql_expressions import (
    base_type,
    can_be_nan,
    can_be_reward,
    is_number,
    label_sql,
    moment_sql,
    number_literal,
    quote_name,
    quote_text,
    truncated_time_sql,
)
from tideproof.data.time_columns import time_order, with_known_times
from tideproof.data.time_ordered_rows import (
    MOST_SINGLE,
    RowSurvey,
    TimeOrderedRows,
    bin_length,
    check_survey,
    check_time_columns,
    order_lists,
)
from tideproof.data.time_periods import Period
from tideproof.errors import InputError
from tideproof.stats.cells import Cells

Rows = Sequence[tuple[Any, ...]]
Columns = Sequence[tuple[Any, ...]]
Progress = Callable[[float], None]

_NUMBERS = 6  # columns after labels and range: rows, rewards, mean, squares, two sums of powers
SAMPLE_ROWS = 20_000  # rows that are searched for swapped columns before a long query


class Query(Protocol):
    """Function that sends a query to a database engine."""

    def __call__(self, query: str, progress: Progress | None = None, /) -> Rows:
        """Return all rows of a query's result; call `progress` with the percentage done, if it is known."""


@dataclass(frozen=True, slots=True)
class SqlRows:
    """Rows of a table in a database engine that understands the SQL common to DuckDB and PostgreSQL.

    Attributes
    ----------
    run : sends a query.
    rows : the SQL after FROM.
    types : the SQL type of each column, in capitals.
    mean : returns SQL for the mean of an expression over `rows`, accurate for rewards far from 0.
    factor : returns SQL for a deviation whose fourth power does not raise an error in the engine.
    sampled : whether to look at the first rows before all are read.
    quick : whether to compute means by plain sums, which is faster than `mean`. They are accurate unless
        rewards are far from 0, and those are read a second time anyway.
    """

    run: Query
    rows: str
    types: dict[str, str]
    mean: Callable[[str, str], str]
    factor: Callable[[str], str] = str
    sampled: bool = False
    quick: bool = False

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Group the rows of a log by arm and environment, and return the statistics of the rewards."""
        request = request.among(self.types)
        if request.periods:
            request = with_known_times(self, request)
        if request.wide:
            return unpivot(self, request).group(request.unpivoted(ARM, REWARD), progress)
        return (_group_summaries if request.n else _group_observations)(self, request, progress)

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""
        request = request.among(self.types)
        if request.wide:
            return unpivot(self, request).quantile(request.unpivoted(ARM, REWARD), share)
        reward = _reward_sql(self, request)
        finite = f"{reward} > '-Infinity' AND {reward} < 'Infinity'"  # excludes NULL and NaN, too
        at = f"percentile_cont({share!r}) WITHIN GROUP (ORDER BY {reward})"
        found = self.run(f"SELECT {at} FROM {self.rows} WHERE {finite}")[0][0]
        return math.nan if found is None else float(found)

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows of a log ordered by time; more than `most` rows are grouped into time bins."""
        request = request.among(self.types)
        check_time_columns(request)
        return _fetch_by_time(self, request, most)


def _fetch_by_time(table: SqlRows, request: ColumnSpec, most: int) -> TimeOrderedRows:
    """Fetch the rows of a log ordered by time; if there are too many, group them by time and arm."""
    column = request.columns[0]
    arm, reward = _joined_arm_sql(table, request), _reward_sql(table, request)
    if can_be_nan(table.types[request.reward]):
        reward = _without_nan_sql(reward)
    moment = moment_sql(quote_name(column), table.types[column], time_order(table, request))
    clock = not is_number(table.types[column])
    known = f"(SELECT {arm} AS arm, {moment} AS moment, {reward} AS reward FROM {table.rows}) AS rows"
    counted = ", ".join(f"count(*) - count({name})" for name in ("arm", "moment", "reward"))
    complete = "arm IS NOT NULL AND moment IS NOT NULL AND reward IS NOT NULL"
    infinite = "count(CASE WHEN abs(reward) >= 'Infinity' THEN 1 END)"
    found = table.run(
        f"SELECT count(*), {counted}, {infinite}, min(moment), max(moment), count(DISTINCT arm), "
        f"count(CASE WHEN {complete} THEN 1 END) FROM {known}"
    )[0]
    rows, *missing, infinities, first, last, arms, left = found
    survey = RowSurvey(rows, missing, infinities, float(first or 0.0), float(last or 0.0))
    clock, factor = check_survey(survey, request, clock)
    step = bin_length(left, survey, factor, most, arms)
    at = f"(moment * {number_literal(factor)})"
    if left <= MOST_SINGLE:
        lists = f"array_agg(arm), array_agg({at}), array_agg(reward)"
        fetched = table.run(f"SELECT {lists} FROM {known} WHERE {complete}")[0] if left else [[]] * 3
        return order_lists(fetched, clock, rows - left, step, column)
    at = f"(floor({at} / {number_literal(step)}) * {number_literal(step)})" if step else at
    lists = ", ".join(f"array_agg({name})" for name in ("arm", "moment", "n", "mean", "squares"))
    groups = (
        f"(SELECT arm, {at} AS moment, count(*) AS n, avg(reward) AS mean, "
        f"var_samp(reward) * (count(*) - 1) AS squares FROM {known} WHERE {complete} GROUP BY 1, 2) AS groups"
    )
    fetched = table.run(f"SELECT {lists} FROM {groups}")[0]
    return order_lists(fetched, clock, rows - left, step, column)


def _group_observations(table: SqlRows, request: ColumnSpec, progress: Progress | None) -> Cells:
    """Group rows with one reward each by arm and environment, and return the statistics of the rewards."""
    reward = _reward_sql(table, request)
    labels = _label_sql(table, request)
    if table.sampled and not request.arms:
        _check_swapped(table, labels[0])
    groups = _fetch_groups(table, labels, reward, progress)
    nan = any(can_be_nan(table.types[name]) for name in request.numbers)
    finite = _all_finite(groups)
    if not finite and nan:  # NaN counts as a missing value
        reward = _without_nan_sql(reward)
        groups = _fetch_groups(table, labels, reward, progress)
        finite = _all_finite(groups)
    check_fetched(len(groups[0]) if groups else 0, "pairs of arm and environment")
    complete = _complete_groups(groups, request)
    if not finite:
        raise _not_finite_error(table, request, reward, sum(groups[-_NUMBERS]))
    if complete.tails is None and complete.n.size:  # rewards are far from 0: repeat around their mean
        centre = float(np.average(complete.mean, weights=complete.n)) or 1.0
        groups = _fetch_groups(table, labels, reward, progress, centre)
        complete = _complete_groups(groups, request, centre)
    return assemble_cells(complete, request)


def unpivot(table: SqlRows, request: ColumnSpec) -> SqlRows:
    """Return a wide table (one column per arm) as a table with one row per reward; skip empty values."""
    columns = ", ".join(f"wide.{quote_name(name)}" for name in request.columns)
    names = f"{columns}, " if columns else ""
    rewards = []
    for name in request.wide:
        reward = _reward_sql(table, request.long("", name))
        known = _without_nan_sql(reward) if can_be_nan(table.types[name]) else reward
        rewards.append(f"({quote_text(name)}, {known})")
    arm, reward = quote_name(ARM), quote_name(REWARD)
    rows = (
        f"(SELECT {names}each.{arm}, each.{reward} FROM (SELECT * FROM {table.rows}) AS wide, "
        f"LATERAL (VALUES {', '.join(rewards)}) AS each({arm}, {reward}) "
        f"WHERE each.{reward} IS NOT NULL) AS long"
    )
    types = {name: table.types[name] for name in request.columns}
    return replace(table, rows=rows, types=types | {ARM: "VARCHAR", REWARD: "DOUBLE"}, sampled=False)


def _label_sql(table: SqlRows, request: ColumnSpec) -> list[str]:
    """Return SQL expressions for each part of the labels of the arm and of the environment."""
    found = [label_sql(quote_name(name), table.types[name]) for name in request.arm_columns]
    for part, name in zip(request.parts, request.columns, strict=True):
        column, sql_type = quote_name(name), table.types[name]
        if isinstance(part, Period):
            found.append(truncated_time_sql(column, sql_type, part))
        else:
            found.append(label_sql(column, sql_type))
    return found


def _joined_arm_sql(table: SqlRows, request: ColumnSpec) -> str:
    """Return SQL for the label of an arm, as text if the values of several columns name it."""
    parts = [label_sql(quote_name(name), table.types[name]) for name in request.arm_columns]
    if len(parts) == 1:
        return parts[0]
    kinds = [base_type(table.types[name]) for name in request.arm_columns]
    texts = [
        f"CASE WHEN {part} THEN 'True' WHEN NOT {part} THEN 'False' END"
        if kind == "BOOLEAN"
        else f"CAST({part} AS VARCHAR)"
        for part, kind in zip(parts, kinds, strict=True)
    ]
    return " || ':' || ".join(
        f"CASE WHEN {text} LIKE '%:%' THEN '''' || {text} || '''' ELSE {text} END" for text in texts
    )


def _reward_sql(table: SqlRows, request: ColumnSpec) -> str:
    """Return SQL for the reward in double precision, winsorized and transformed as requested."""
    reward = _number_sql(table, request.reward)
    if request.winsorize_at < math.inf:  # missing and infinite rewards are unchanged
        highest = number_literal(request.winsorize_at)
        reward = (
            f"(CASE WHEN {reward} > {highest} AND {reward} < 'Infinity' THEN {highest} ELSE {reward} END)"
        )
    terms = [
        f"{number_literal(factor)} * {reward if name == request.reward else _number_sql(table, name)}"
        for factor, name in request.mix
    ]
    reward = f"({' + '.join(terms)})" if terms else reward
    return f"(CASE WHEN {reward} > 0 THEN ln({reward}) END)" if request.logarithm else reward


def _number_sql(table: SqlRows, name: str) -> str:
    """Return SQL for a column of numbers in double precision."""
    column, sql_type = quote_name(name), table.types[name]
    if not can_be_reward(sql_type):
        raise not_numeric_error(name, sql_type)
    if base_type(sql_type) == "BOOLEAN":
        column = f"CAST({column} AS INTEGER)"
    return column if base_type(sql_type) == "DOUBLE" else f"CAST({column} AS DOUBLE PRECISION)"


def _without_nan_sql(reward: str) -> str:
    """Return SQL that replaces NaN by NULL."""
    return f"nullif({reward}, CAST('NaN' AS DOUBLE PRECISION))"


def _check_swapped(table: SqlRows, arm: str) -> None:
    """Raise an error, before a long query, if the first rows already contain more arms than can be compared.

    Then the column of arms is probably swapped with another column.
    """
    first = f"(SELECT {arm} AS arm FROM {table.rows} LIMIT {SAMPLE_ROWS}) AS first"
    count, low, high = table.run(f"SELECT count(DISTINCT arm), min(arm), max(arm) FROM {first}")[0]
    if count > cell_assembly.MOST_ARMS:
        raise too_many_arms_error(f"{count:,} or more", [low, high])


def _fetch_groups(
    table: SqlRows, labels: list[str], reward: str, progress: Progress | None, centre: float = 0.0
) -> Columns:
    """Fetch the statistics of each group of rows as columns: labels, range, counts, means and power sums.

    Powers are sums of third and fourth powers of deviations from `centre`. The result is empty without rows.
    """
    d = table.factor(f"({reward} - {number_literal(centre)})" if centre else reward)
    naive = table.quick and not centre
    mean = f"sum({reward}) / count({reward})" if naive else table.mean(reward, table.rows)
    squares = (
        f"sum({reward} * {reward}) - sum({reward}) * (sum({reward}) / count({reward}))"
        if naive
        else f"var_samp({reward}) * (count({reward}) - 1)"
    )
    query = (  # in these brackets, engines compute equal products only once
        f"SELECT {', '.join(labels)}, min({reward}), max({reward}), count(*), count({reward}), "
        f"{mean}, {squares}, sum({d} * ({d} * {d})), "
        f"sum(({d} * {d}) * ({d} * {d})) FROM {table.rows} "
        f"GROUP BY {', '.join(str(i + 1) for i in range(len(labels)))} LIMIT {cell_assembly.MOST_CELLS + 1}"
    )
    return list(zip(*table.run(query, progress), strict=True))


def _all_finite(groups: Columns) -> bool:
    """Return whether means and sums of squares are finite in all groups of rows that contain rewards."""
    for column in groups[-4:-2]:
        unusual = np.flatnonzero(~np.isfinite(np.array(column, np.float64)))
        if any(column[i] is not None for i in unusual.tolist()):
            return False
    return True


def _complete_groups(columns: Columns, request: ColumnSpec, centre: float = 0.0) -> Groups:
    """Return the groups of rows without missing values; raise an error if missing values are not allowed."""
    total = sum(columns[-_NUMBERS]) if columns else 0
    check_rows(total)
    rows, rewards = (np.array(columns[at], np.int64) for at in (-_NUMBERS, 1 - _NUMBERS))
    absent = [_are_missing(column) for column in columns[: len(request.labels)]]
    if request.missing == "refuse":
        missing = [int(rows[lacking].sum()) for lacking in absent]
        check_missing((*request.labels, request.reward), [*missing, int((rows - rewards).sum())], total)
    used = (rewards > 0) & ~np.any(absent, axis=0)
    if not used.all():
        columns = [tuple(compress(column, used.tolist())) for column in columns]
    numbers = [np.array(column, np.float64) for column in columns[-_NUMBERS - 2 :]]
    low, high, _, n, mean, squares, *powers = numbers
    mean = np.where(low == high, low, mean)  # without rounding errors
    squares = np.where(low == high, 0.0, np.maximum(squares, 0.0))
    most = USELESS if centre else WORTH_ANOTHER_LOOK
    tails = from_power_sums(n, squares, MomentSums(*powers), mean - centre, most)
    arms, environment = request.split_labels(columns[: -_NUMBERS - 2])
    if not centre and has_lost_digits(index_labels(arms, True)[1], n, mean, squares):
        tails = None
    keys = list(zip(*environment, strict=True)) or [()] * n.size
    left_out = total - int(n.sum())
    return Groups(arms, keys, n, mean, squares, False, left_out, tails, RewardRange(low, high))


def _are_missing(column: Sequence[Any]) -> NDArray[np.bool_]:
    """Return for each label whether it is missing; whole numbers and text are never missing."""
    if set(map(type, column)) <= {int, str}:
        return np.zeros(len(column), bool)
    return np.fromiter(map(is_missing, column), bool)


def _not_finite_error(table: SqlRows, request: ColumnSpec, reward: str, rows: int) -> InputError:
    """Return the error for rewards that are infinite, or so large that their squares overflow."""
    where = f"{reward} IN (CAST('Infinity' AS DOUBLE PRECISION), CAST('-Infinity' AS DOUBLE PRECISION))"
    infinite = table.run(f"SELECT count(*) FROM {table.rows} WHERE {where}")[0][0]
    check_finite(request.reward, infinite, rows)
    return InputError(
        f"rewards in {request.reward!r} are too large: the square of one overflows; rescale the column"
    )


def _group_summaries(table: SqlRows, request: ColumnSpec, progress: Progress | None) -> Cells:
    """Return statistics by arm and environment from aggregated rows (counts, means and variances)."""
    for name in request.numbers:
        if not is_number(table.types[name]):
            raise not_numeric_error(name, table.types[name])
    columns = _label_sql(table, request) + [quote_name(name) for name in request.numbers]
    query = f"SELECT {', '.join(columns)} FROM {table.rows} LIMIT {cell_assembly.MOST_CELLS + 1}"
    rows = table.run(query, progress)
    check_rows(len(rows))
    check_fetched(len(rows), "aggregated rows")
    return cells_from_summaries(list(zip(*rows, strict=True)), request, ordered=False)
