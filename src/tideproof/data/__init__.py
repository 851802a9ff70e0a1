"""From any table to cells: count, mean and squared deviations for each (arm, environment).

The path of a CSV row: `source.open_source` opens its file (`files`), `readers` and `header` find out how
it is read, `guess` (for the command) which column is what, a `Request` says so, `group_by` groups the
rows by SQL, and `groups` makes cells of the groups. Frames (`dataframes`), columns in memory (`arrays`)
and relations (`duck`) join that path at the grouping, and so do tables that are `loaded` first (`excel`,
`sqlite`); `summaries` takes rows that are aggregated already. Rewards that are text: `text` says how they
are read; moments: `times`, which hour, day or week they belong to.

Cells are the only data the rest of the package sees. The grouping happens inside whatever engine
holds the rows, so a billion of them cost K x J numbers here. No statistics beyond that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.data.column_spec import Decimal, Missing, Request
from tideproof.data.dataset import opened
from tideproof.data.sources.array_columns import cells_from_arrays
from tideproof.stats.cells import Cells

__all__ = ["Decimal", "Missing", "cells", "cells_from_arrays"]


def cells(
    data: Any,
    arm: str | None,
    environment: str | None,
    reward: str | None,
    *,
    n: str | None = None,
    variance: str | None = None,
    sd: str | None = None,
    successes: str | None = None,
    wide: Sequence[str] | None = None,
    table: str | None = None,
    missing: Missing = "refuse",
    time_zone: str | None = None,
    decimal: Decimal | None = None,
    progress: Callable[[float], None] | None = None,
) -> Cells:
    """Group a table by arm and environment.

    Parameters
    ----------
    data
        A mapping of column name to values, or a `Table`; any frame that narwhals knows, eager or lazy
        (pandas, polars, pyarrow, PySpark, ...); a DuckDB relation; the path of a CSV, TSV, Parquet, JSON
        lines or Excel file, or a glob of them; "-" for what comes through a pipe; a DuckDB or SQLite
        file; the URL of a PostgreSQL database.
    arm, environment, reward
        The names of three columns. The environment may be `hour(ts)`, `day(ts)` or `week(ts)` of a
        timestamp column `ts`, may be made of several, as in `rep:block`, or None: all rows are of one.
    n, variance, sd
        For aggregated rows: the columns of their count and of their variance (divisor n - 1) or
        standard deviation; `reward` then holds means.
    successes
        For aggregated rows of 0s and 1s: the column of how many of the n were 1; `reward` is None.
    wide
        The columns that are arms, each with its rewards; `arm` and `reward` are then None.
    table
        In a database: a table's name, or a query that begins with `select` or `with`; in an Excel file:
        a sheet's name.
    missing
        Whether rows with a missing value are refused, or counted and dropped ("drop").
    time_zone
        Whose hours, days and weeks are meant, such as "Europe/Berlin"; times without a zone are then
        in UTC.
    decimal
        What stands before the decimals of rewards that are text, "." or ","; None to find out.
    progress
        Called with the percentage done, where the engine knows it.

    Examples
    --------
    >>> log = {"variant": ["A", "B", "A"], "day": ["mon", "mon", "mon"], "sales": [3.0, 4.0, 5.0]}
    >>> c = cells(log, arm="variant", environment="day", reward="sales")
    >>> c.arms, c.n, c.mean, c.squares
    (['A', 'B'], array([2., 1.]), array([4., 4.]), array([2., 0.]))
    """
    request = Request.of(
        arm,
        environment,
        reward,
        n=n,
        variance=variance,
        sd=sd,
        successes=successes,
        missing=missing,
        time_zone=time_zone,
        decimal=decimal,
        wide=wide,
    )
    with opened(data, table) as rows:
        return rows.group(request, progress)
