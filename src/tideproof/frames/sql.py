"""The group-by as SQL, for engines that speak it: DuckDB and PostgreSQL.

One pass over the rows in the usual case. Only where the groups look wrong (a mean that is not finite)
is the table read again, to count what to name in the message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.errors import InputError
from tideproof.frames.arrays import summarised
from tideproof.frames.groups import (
    MOST_ARMS,
    MOST_CELLS,
    Groups,
    assemble,
    check_finite,
    check_missing,
    check_rows,
    is_missing,
    not_numeric,
    too_many,
)
from tideproof.frames.request import Request
from tideproof.stats.cells import Cells

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = {*_WHOLE, *(f"U{kind}" for kind in _WHOLE), "FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC"}
_FLOATS = {"FLOAT", "REAL", "DOUBLE"}
_SAMPLE = 200_000  # rows looked at before a long group-by, for columns that are swapped


@dataclass(frozen=True, slots=True)
class Source:
    """Rows behind an engine that speaks SQL.

    Attributes
    ----------
    run : sends a query and returns all rows.
    rows : what stands after FROM.
    kinds : the SQL type of each column, in capitals.
    mean : SQL for the mean of the column that stands for {0}, accurate for rewards far from 0.
    sampled : whether the first rows can be read for less than the whole.
    """

    run: Callable[[str], Sequence[tuple[Any, ...]]]
    rows: str
    kinds: dict[str, str]
    mean: str
    sampled: bool


def from_source(source: Source, request: Request) -> Cells:
    """Group the rows of a source."""
    request = request.among(source.kinds)
    if request.n:
        return _fetched(source, request)
    arm, environment, reward = _expressions(source, request)
    if source.sampled:
        _check_swapped(source, arm)
    table = _grouped(source, arm, environment, reward)
    if not _sound(table) and base(source.kinds[request.reward]) in _FLOATS:  # a NaN is a missing value
        reward = f"nullif({reward}, CAST('NaN' AS DOUBLE PRECISION))"
        table = _grouped(source, arm, environment, reward)
    if len(table) > MOST_CELLS:
        raise too_many(f"more than {MOST_CELLS:,} pairs of arm and environment, among them more", [])
    groups = _complete(table, request)
    if not _sound(table):
        _explain(source, request, reward, sum(row[2] for row in table))
    return assemble(groups, request.label if request.every else None)


def quoted(name: str) -> str:
    """Return a column's name as SQL.

    >>> print(quoted('5" nail'))
    "5"" nail"
    """
    return '"' + name.replace('"', '""') + '"'


def base(kind: str) -> str:
    """Return the type without its size.

    >>> base("DECIMAL(18,3)"), base("DOUBLE PRECISION")
    ('DECIMAL', 'DOUBLE')
    """
    return kind.split("(")[0].split(" ")[0]


def is_number(kind: str) -> bool:
    """Tell whether a type can be a reward."""
    return base(kind) in _NUMBERS or base(kind) == "BOOLEAN"


def is_moment(kind: str) -> bool:
    """Tell whether a type is a date or a timestamp."""
    return kind.startswith(("TIMESTAMP", "DATE"))


def _expressions(source: Source, request: Request) -> tuple[str, str, str]:
    """Return SQL for the arm, the environment and the reward."""
    kind, place = source.kinds[request.reward], quoted(request.environment)
    reward = quoted(request.reward)
    if base(kind) == "BOOLEAN":
        reward = f"CAST({reward} AS INTEGER)"
    elif base(kind) not in _NUMBERS:
        raise not_numeric(request.reward, kind)
    if base(kind) != "DOUBLE":
        reward = f"CAST({reward} AS DOUBLE PRECISION)"
    if request.every:
        place = _moment(place, source.kinds[request.environment], request)
    return quoted(request.arm), place, reward


def _moment(place: str, kind: str, request: Request) -> str:
    """Return SQL that truncates a timestamp, in UTC where it has a zone."""
    if not kind.startswith(("TIMESTAMP", "DATE", "VARCHAR", "TEXT", "CHARACTER")) or (
        kind == "DATE" and request.every == "hour"
    ):
        raise request.no_moment(kind)
    if "WITH TIME ZONE" in kind:
        place = f"({place} AT TIME ZONE 'UTC')"
    return f"date_trunc('{request.step}', CAST({place} AS TIMESTAMP))"


def _grouped(source: Source, arm: str, environment: str, reward: str) -> Sequence[tuple[Any, ...]]:
    """Return arm, environment, rows, rewards, mean and variance of each group."""
    return source.run(
        f"SELECT {arm}, {environment}, count(*), count({reward}), {source.mean.format(reward)}, "
        f"var_samp({reward}) FROM {source.rows} GROUP BY 1, 2 LIMIT {MOST_CELLS + 1}"
    )


def _sound(table: Sequence[tuple[Any, ...]]) -> bool:
    numbers = (x for row in table for x in row[4:] if x is not None)
    return all(math.isfinite(x) for x in numbers)


def _complete(table: Sequence[tuple[Any, ...]], request: Request) -> Groups:
    """Count the rows that lack a value, and refuse or drop them."""
    total = sum(row[2] for row in table)
    check_rows(total)
    labelled = [row for row in table if not (is_missing(row[0]) or is_missing(row[1]))]
    if request.missing == "refuse":
        missing = [sum(row[2] for row in table if is_missing(row[i])) for i in (0, 1)]
        missing.append(sum(row[2] - row[3] for row in table))
        check_missing(request.names, missing, total)
    known = [row for row in labelled if row[3]]
    n = np.array([row[3] for row in known], np.float64)
    mean = np.array([row[4] for row in known], np.float64)
    squares = np.array([(row[5] or 0.0) * (row[3] - 1) for row in known], np.float64)
    arms, environments = [row[0] for row in known], [row[1] for row in known]
    return Groups(arms, environments, n, mean, squares, dropped=total - int(n.sum()))


def _explain(source: Source, request: Request, reward: str, rows: int) -> None:
    """Say which rewards are not finite."""
    where = f"{reward} IN (CAST('Infinity' AS DOUBLE PRECISION), CAST('-Infinity' AS DOUBLE PRECISION))"
    check_finite(request.reward, source.run(f"SELECT count(*) FROM {source.rows} WHERE {where}")[0][0], rows)
    raise InputError(f"rewards in {request.reward!r} are too large: the square of one overflows")


def _check_swapped(source: Source, arm: str) -> None:
    """Refuse, before a long group-by, a column with a label of its own for every row."""
    first = f"(SELECT {arm} AS arm FROM {source.rows} LIMIT {_SAMPLE}) AS first"
    count, low, high = source.run(f"SELECT count(DISTINCT arm), min(arm), max(arm) FROM {first}")[0]
    if count > MOST_ARMS:
        raise too_many(f"{count:,} and more", [low, high])


def _fetched(source: Source, request: Request) -> Cells:
    """Fetch aggregated rows."""
    columns = [quoted(name) for name in request.names]
    if request.every:
        columns[1] = _moment(columns[1], source.kinds[request.environment], request)
    for name in request.names[2:]:
        if base(source.kinds[name]) not in _NUMBERS:
            raise not_numeric(name, source.kinds[name])
    table = source.run(f"SELECT {', '.join(columns)} FROM {source.rows} LIMIT {MOST_CELLS}")
    check_rows(len(table))
    return summarised(list(zip(*table, strict=True)), request, ordered=False)
