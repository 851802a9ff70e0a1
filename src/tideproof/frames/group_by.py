"""The group-by as SQL, for engines that speak it: DuckDB and PostgreSQL.

One pass over the rows in the usual case. Only where the groups look wrong (a mean that is not finite)
is the table read again, to count what to name in the message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tideproof.errors import InputError
from tideproof.frames import checks
from tideproof.frames.checks import (
    check_fetched,
    check_finite,
    check_missing,
    check_rows,
    is_missing,
    not_numeric,
    too_many_arms,
)
from tideproof.frames.groups import Groups, assemble
from tideproof.frames.moments import USELESS, WORTH_ANOTHER_LOOK, Tails, from_power_sums
from tideproof.frames.request import Request
from tideproof.frames.sql import base, can_be_nan, can_be_reward, is_number, label, quoted, truncated
from tideproof.frames.summaries import from_summaries
from tideproof.stats.cells import Cells

Rows = Sequence[tuple[Any, ...]]
Progress = Callable[[float], None]

_SAMPLE = 200_000  # rows looked at before a long group-by, for columns that are swapped


class Query(Protocol):
    """Sends a query to an engine."""

    def __call__(self, query: str, progress: Progress | None = None, /) -> Rows:
        """Return all rows; `progress` is called with the percentage done, where the engine knows it."""


@dataclass(frozen=True, slots=True)
class SqlRows:
    """Rows behind an engine that speaks SQL.

    Attributes
    ----------
    run : sends a query.
    rows : what stands after FROM.
    types : the SQL type of each column, in capitals.
    mean : gives the SQL for the mean of an expression, accurate for rewards far from 0.
    factor : gives the SQL for a deviation whose fourth power is no error in the engine.
    sampled : whether its first rows are worth a look of their own, before all are read.
    """

    run: Query
    rows: str
    types: dict[str, str]
    mean: Callable[[str], str]
    factor: Callable[[str], str] = str
    sampled: bool = False

    def group(self, request: Request, progress: Progress | None = None) -> Cells:
        """Group the rows by arm and environment."""
        request = request.among(self.types)
        return (_summaries if request.n else _observations)(self, request, progress)


def _observations(table: SqlRows, request: Request, progress: Progress | None) -> Cells:
    """Group rows that are one observation each."""
    reward = _reward(table, request)
    arm, environment = _labels(table, request)
    if table.sampled:
        _check_swapped(table, arm)
    groups = _grouped(table, arm, environment, reward, progress)
    if not _all_finite(groups) and can_be_nan(table.types[request.reward]):  # a NaN is a missing value
        reward = f"nullif({reward}, CAST('NaN' AS DOUBLE PRECISION))"
        groups = _grouped(table, arm, environment, reward, progress)
    check_fetched(len(groups), "pairs of arm and environment")
    complete = _complete(groups, request)
    if not _all_finite(groups):
        raise _not_finite(table, request, reward, sum(row[2] for row in groups))
    if complete.tails is None and complete.n.size:  # rewards far from 0: once more, around their mean
        centre = float(np.average(complete.mean, weights=complete.n))
        groups = _grouped(table, arm, environment, reward, progress, centre)
        complete = _complete(groups, request, centre)
    return assemble(complete, request.relabel)


def _labels(table: SqlRows, request: Request) -> list[str]:
    """Return SQL for the arm and the environment."""
    arm, environment = (quoted(name) for name in request.names[:2])
    arm_type, environment_type = (table.types[name] for name in request.names[:2])
    if request.every:
        return [label(arm, arm_type), truncated(environment, environment_type, request)]
    return [label(arm, arm_type), label(environment, environment_type)]


def _reward(table: SqlRows, request: Request) -> str:
    """Return SQL for the reward, in double precision."""
    reward, sql_type = quoted(request.reward), table.types[request.reward]
    if not can_be_reward(sql_type):
        raise not_numeric(request.reward, sql_type)
    if base(sql_type) == "BOOLEAN":
        reward = f"CAST({reward} AS INTEGER)"
    return reward if base(sql_type) == "DOUBLE" else f"CAST({reward} AS DOUBLE PRECISION)"


def _check_swapped(table: SqlRows, arm: str) -> None:
    """Refuse, before a long group-by, a column with a label of its own for every row."""
    first = f"(SELECT {arm} AS arm FROM {table.rows} LIMIT {_SAMPLE}) AS first"
    count, low, high = table.run(f"SELECT count(DISTINCT arm), min(arm), max(arm) FROM {first}")[0]
    if count > checks.MOST_ARMS:
        raise too_many_arms(f"{count:,} and more", [low, high])


def _grouped(
    table: SqlRows,
    arm: str,
    environment: str,
    reward: str,
    progress: Progress | None,
    centre: float = 0.0,
) -> Rows:
    """Return arm, environment, rows, rewards, mean and variance of each group, and powers about `centre`."""
    d = table.factor(f"({reward} - CAST('{centre!r}' AS DOUBLE PRECISION))" if centre else reward)
    query = (
        f"SELECT {arm}, {environment}, count(*), count({reward}), {table.mean(reward)}, "
        f"var_samp({reward}), sum({d} * {d} * {d}), sum({d} * {d} * {d} * {d}) "
        f"FROM {table.rows} GROUP BY 1, 2 LIMIT {checks.MOST_CELLS + 1}"
    )
    return table.run(query, progress)


def _all_finite(groups: Rows) -> bool:
    numbers = (x for row in groups for x in row[4:6] if x is not None)
    return all(math.isfinite(x) for x in numbers)


def _complete(groups: Rows, request: Request, centre: float = 0.0) -> Groups:
    """Count the rows that lack a value, and refuse or drop them."""
    total = sum(row[2] for row in groups)
    check_rows(total)
    if request.missing == "refuse":
        missing = [sum(row[2] for row in groups if is_missing(row[i])) for i in (0, 1)]
        missing.append(sum(row[2] - row[3] for row in groups))
        check_missing(request.names, missing, total)
    kept = [row for row in groups if row[3] and not (is_missing(row[0]) or is_missing(row[1]))]
    n, mean, variance, *powers = np.array([row[3:] for row in kept], np.float64).reshape(-1, 5).T
    squares = np.where(n > 1.0, variance * (n - 1.0), 0.0)
    most = USELESS if centre else WORTH_ANOTHER_LOOK
    tails = from_power_sums(n, squares, Tails(*powers), mean - centre, most)
    arms, environments = [row[0] for row in kept], [row[1] for row in kept]
    return Groups(arms, environments, n, mean, squares, False, total - int(n.sum()), tails)


def _not_finite(table: SqlRows, request: Request, reward: str, rows: int) -> InputError:
    """Say which rewards are not finite."""
    where = f"{reward} IN (CAST('Infinity' AS DOUBLE PRECISION), CAST('-Infinity' AS DOUBLE PRECISION))"
    infinite = table.run(f"SELECT count(*) FROM {table.rows} WHERE {where}")[0][0]
    check_finite(request.reward, infinite, rows)
    return InputError(f"rewards in {request.reward!r} are too large: the square of one overflows")


def _summaries(table: SqlRows, request: Request, progress: Progress | None) -> Cells:
    """Fetch aggregated rows."""
    for name in request.numbers:
        if not is_number(table.types[name]):
            raise not_numeric(name, table.types[name])
    columns = _labels(table, request) + [quoted(name) for name in request.numbers]
    query = f"SELECT {', '.join(columns)} FROM {table.rows} LIMIT {checks.MOST_CELLS + 1}"
    rows = table.run(query, progress)
    check_rows(len(rows))
    check_fetched(len(rows), "aggregated rows")
    return from_summaries(list(zip(*rows, strict=True)), request, ordered=False)
