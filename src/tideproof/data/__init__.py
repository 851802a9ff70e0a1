"""Reading of tables from any source into statistics of each arm in each environment, called cells.

The path of a row of a CSV file: `dataset` opens the file; `sources.duckdb_files` finds its format;
`column_guess` (for the command line) guesses the columns; a `ColumnSpec` specifies them; `group_by_sql`
groups the rows by SQL, after `time_columns` has looked at columns of times; `cell_assembly` makes cells of
the groups.
Data frames, columns in memory and DuckDB relations have their own files in `sources` and join that path at
the grouping. Excel and SQLite tables are read into memory first. `aggregated_rows` reads rows that are
aggregated already, `number_text` reads rewards that are text, `date_order` reads dates that are text, and
`time_periods` assigns times to hours, days and weeks.

The rest of the package works with cells only. The engine that holds the rows groups them, so that even a
billion rows need only K x J cells in memory here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.data.column_spec import ColumnSpec, Decimal, Missing
from tideproof.data.dataset import open_dataset
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
    """Return statistics of the rewards in a table, with its rows grouped by arm and environment.

    Parameters
    ----------
    data
        A mapping of column name to values, or a `Table`; any data frame that narwhals supports, eager or lazy
        (pandas, polars, pyarrow, PySpark, ...); a DuckDB relation; the path of a CSV, TSV, Parquet, JSON
        lines or Excel file, or a glob pattern; "-" for standard input; a DuckDB or SQLite file; the URL of a
        PostgreSQL database.
    arm, environment, reward
        Names of three columns. The environment may be `hour(ts)`, `day(ts)` or `week(ts)` of a timestamp
        column `ts`, or None: all rows share one environment. It and the arm may be combinations of columns
        such as `rep:block`.
    n, variance, sd
        For aggregated rows: the columns of the number of rewards and of their variance (divisor n - 1) or
        standard deviation; `reward` then holds means.
    successes
        For aggregated rows of 0/1 rewards: the column of how many of the n rewards were 1; `reward` is None.
    wide
        The columns that are arms, each with its rewards; `arm` and `reward` are then None.
    table
        In a database, the name of a table, or a query that begins with `select` or `with`. In an Excel file,
        the name of a sheet.
    missing
        "refuse" raises an error if a row lacks a value; "drop" skips such rows and counts them.
    time_zone
        Time zone that defines hours, days and weeks, such as "Europe/Berlin". With it, times without a zone
        are read as UTC.
    decimal
        Decimal separator of rewards that are text, "." or ","; detected by default.
    progress
        Function that is called with the percentage done, if the engine reports it.

    Examples
    --------
    >>> log = {"variant": ["A", "B", "A"], "day": ["mon", "mon", "mon"], "sales": [3.0, 4.0, 5.0]}
    >>> c = cells(log, arm="variant", environment="day", reward="sales")
    >>> c.arms, c.n, c.mean, c.squares
    (['A', 'B'], array([2., 1.]), array([4., 4.]), array([2., 0.]))
    """
    request = ColumnSpec.of(
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
    with open_dataset(data, table) as rows:
        return rows.group(request, progress)
