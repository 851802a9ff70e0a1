"""CSV, TSV, Parquet and JSON lines files, read by DuckDB: one file or a glob pattern, compressed or not.

Columns of CSV and JSON files have the types that DuckDB infers from their first rows; columns that must be
numbers are read as such. If a later row does not fit, types are inferred from all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.duckdb_reward_text import number_sql
from tideproof.data.group_by_sql import Progress, Query, SqlRows
from tideproof.data.sources.csv_header import check_header
from tideproof.data.sources.duckdb_connection import (
    FileGuard,
    compensated_mean_sql,
    fetch_types,
    open_connection,
    readable_errors,
)
from tideproof.data.sources.duckdb_readers import Files, find_files
from tideproof.data.sql_quoting import base_type, quote_name, quote_text
from tideproof.data.time_ordered_rows import TimeOrderedRows
from tideproof.stats.cells import Cells

Answer = TypeVar("Answer")

_LONG = 2**24  # bytes; larger files are sampled before all rows are read


@contextmanager
def open_files(place: str, guard: FileGuard | None = None) -> Iterator[FileSource]:
    """Open the file or files at a path or glob; `guard` restricts the reading of an untrusted file."""
    with open_connection(guard=guard) as run, readable_errors(repr(place)):
        files = find_files(run, place)
        yield FileSource(run, files, _fetch_file_types(run, files))


@dataclass(frozen=True, slots=True)
class FileSource:
    """Opened files, whose rows DuckDB groups.

    Attributes
    ----------
    run : sends a query to DuckDB.
    files : paths of the files, and the options for reading them.
    types : the SQL type of each column, inferred from the first rows.
    """

    run: Query
    files: Files
    types: dict[str, str]

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Return the cells: the rows grouped by arm and environment."""
        return self._ask(request, lambda rows: rows.group(request, progress))

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards at `share`, NaN without rewards."""
        return self._ask(request, lambda rows: rows.quantile(request, share))

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows ordered by time, grouped into bins if there are more than `most`."""
        return self._ask(request, lambda rows: rows.timed(request, most))

    def _ask(self, request: ColumnSpec, what: Callable[[SqlRows], Answer]) -> Answer:
        """Run an operation on the rows; if their types do not fit, repeat it with types of all rows."""
        import duckdb

        if self.files.header:
            check_header(self.files.paths[0], self.files.header, request)
        try:
            return what(self._as_announced(request))
        except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
            if not _is_about_types(error) or self.files.function == "read_parquet":
                raise
        return what(self._all_rows_looked_at(request))

    def _as_announced(self, request: ColumnSpec) -> SqlRows:
        """Return the rows with the types of the first rows; columns of numbers in CSV files are numeric."""
        if self.files.function != "read_csv":
            return self._table(self.files, self.types, request)
        types = {name: self._announced(name, request.decimal) for name in request.numbers}
        return self._table(self.files.using(types=_types_sql(types)), self.types | types, request)

    def _announced(self, name: str, decimal: str) -> str:
        """Return the type with which a numeric column of a CSV file is read at first."""
        sql_type = "VARCHAR" if decimal == "," else self.types.get(name, "")
        return sql_type if sql_type in ("VARCHAR", "BOOLEAN") else "DOUBLE"

    def _all_rows_looked_at(self, request: ColumnSpec) -> SqlRows:
        """Return the rows with types inferred from all of them; numbers in CSV files are read as text."""
        files = self.files.using(sample_size="-1")
        if files.function == "read_csv":
            files = files.using(types=_types_sql(dict.fromkeys(request.numbers, "VARCHAR")))
        return self._table(files, fetch_types(self.run, files.rows), request)

    def _table(self, files: Files, types: dict[str, str], request: ColumnSpec) -> SqlRows:
        """Return the rows, with numbers converted from text and labels converted from JSON."""
        rows = files.rows
        for name, sql_type in types.items():
            if name in request.numbers and base_type(sql_type) in ("VARCHAR", "JSON"):
                number = number_sql(self.run, files, name, request.decimal)
                rows = f"(SELECT * REPLACE ({number} AS {quote_name(name)}) FROM {rows})"
                types = types | {name: "DOUBLE"}
            elif sql_type == "JSON":  # values of several types; removes the quotes around text
                rows = f"(SELECT * REPLACE ({quote_name(name)} ->> '$' AS {quote_name(name)}) FROM {rows})"
                types = types | {name: "VARCHAR"}
        return SqlRows(self.run, rows, types, compensated_mean_sql, sampled=files.bytes > _LONG, quick=True)


def _fetch_file_types(run: Query, files: Files) -> dict[str, str]:
    """Return the SQL type of each column; the error for a CSV file names the lines that do not fit."""
    import duckdb

    try:
        return fetch_types(run, files.rows)
    except duckdb.InvalidInputException as error:
        if "sniffing" in str(error):
            _check_lines(run, files)
        raise


def _check_lines(run: Query, files: Files) -> None:
    """Read a CSV file as text only, so that DuckDB raises an error with the number of a malformed line."""
    columns = _types_sql({f"column {i}": "VARCHAR" for i in range(len(files.header))})
    plain = files.using(auto_detect="false", columns=columns)
    run(f"SELECT count(COLUMNS(*)) FROM {plain.rows}")


def _types_sql(types: dict[str, str]) -> str:
    """Return SQL for a mapping of columns to types."""
    return "{" + ", ".join(f"{quote_text(name)}: '{sql_type}'" for name, sql_type in types.items()) + "}"


def _is_about_types(error: Exception) -> bool:
    """Return whether an error of DuckDB is about the conversion of values."""
    return "onvert" in str(error) or "cast" in str(error)
