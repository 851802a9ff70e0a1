"""Tables that are fetched into memory and grouped here: of Excel, of SQLite."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tideproof.data.column_spec import Request
from tideproof.data.group_by_sql import Progress
from tideproof.data.sources.array_columns import column_quantile, from_columns
from tideproof.data.time_ordered_rows import Timed, timed_from_columns
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
    """Rows that are fetched by column.

    Attributes
    ----------
    types : the SQL type of each column, in capitals, as some of its values suggest.
    fetch : returns the columns of these names.
    """

    types: dict[str, str]
    fetch: Callable[[Sequence[str]], Iterable[list[Any]]]

    def group(self, request: Request, progress: Progress | None = None) -> Cells:
        """Group the rows by arm and environment."""
        names = request.among(self.types).names
        return from_columns(dict(zip(names, self.fetch(names), strict=True)), request)

    def quantile(self, request: Request, share: float) -> float:
        """Return what so large a share of the rewards are at most."""
        names = request.among(self.types).names
        return column_quantile(dict(zip(names, self.fetch(names), strict=True)), request, share)

    def timed(self, request: Request, most: int) -> Timed:
        """Return the rows in the order of time."""
        names = request.among(self.types).names
        return timed_from_columns(dict(zip(names, self.fetch(names), strict=True)), request, most)


def type_of(values: Iterable[Any]) -> str:
    """Return the SQL type that values suggest, text that is all times as such.

    >>> type_of([3, 4.5]), type_of([True, None]), type_of(["2024-10-20 12:00", None]), type_of([3, "x"])
    ('DOUBLE', 'BOOLEAN', 'TIMESTAMP', 'VARCHAR')
    """
    found = {_kind(value) for value in values if value is not None}
    return found.pop() if len(found) == 1 else "VARCHAR"


def _kind(value: Any) -> str:
    if isinstance(value, str):
        try:
            dt.datetime.fromisoformat(value)
        except ValueError:
            return "VARCHAR"
        return "TIMESTAMP" if len(value) > 10 else "DATE"
    return next((kind for python, kind in _KINDS if isinstance(value, python)), "VARCHAR")
