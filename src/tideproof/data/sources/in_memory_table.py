"""Tables that are read into memory and grouped there, from Excel and SQLite files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.group_by_sql import Progress
from tideproof.data.sources.array_columns import cells_from_columns, column_quantile
from tideproof.data.time_ordered_rows import TimeOrderedRows, order_columns
from tideproof.stats.cells import Cells

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "BOOLEAN"),
    (int, "DOUBLE"),
    (float, "DOUBLE"),
    (dt.datetime, "TIMESTAMP"),
    (dt.date, "DATE"),
)


@dataclass(frozen=True, slots=True)
class InMemoryTable:
    """Table whose columns are fetched into memory.

    Attributes
    ----------
    types : the SQL type of each column, in capitals, inferred from some of its values.
    fetch : returns the columns with the given names.
    """

    types: dict[str, str]
    fetch: Callable[[Sequence[str]], Iterable[list[Any]]]

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Group the rows of a log by arm and environment, and return the statistics of the rewards."""
        names = request.among(self.types).names
        return cells_from_columns(dict(zip(names, self.fetch(names), strict=True)), request)

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""
        names = request.among(self.types).names
        return column_quantile(dict(zip(names, self.fetch(names), strict=True)), request, share)

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows of a log ordered by time; more than `most` rows are grouped into time bins."""
        names = request.among(self.types).names
        return order_columns(dict(zip(names, self.fetch(names), strict=True)), request, most)


def infer_type(values: Iterable[Any]) -> str:
    """Return the SQL type that fits all values of a column; text that only contains times is a timestamp.

    >>> [infer_type(values) for values in ([3, 4.5], [True, None], ["2024-10-20 12:00", None], [3, "x"])]
    ['DOUBLE', 'BOOLEAN', 'TIMESTAMP', 'VARCHAR']
    """
    found = {_infer_value_type(value) for value in values if value is not None}
    return found.pop() if len(found) == 1 else "VARCHAR"


def _infer_value_type(value: Any) -> str:
    """Return the SQL type that fits one value."""
    if isinstance(value, str):
        try:
            dt.datetime.fromisoformat(value)
        except ValueError:
            return "VARCHAR"
        return "TIMESTAMP" if len(value) > 10 else "DATE"
    return next((kind for python, kind in _KINDS if isinstance(value, python)), "VARCHAR")
