"""Access to a table of any kind: its columns, its cells, a quantile of its rewards, its rows by time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.sources.array_columns import cells_from_columns, column_quantile
from tideproof.data.time_ordered_rows import TimeOrderedRows, order_columns
from tideproof.stats.cells import Cells
from tideproof.table import Table

if TYPE_CHECKING:
    from tideproof.data.sources.source_dispatch import Source

Progress = Callable[[float], None]


class Grouping(Protocol):
    """Function that groups rows by arm and environment; it calls `progress` with the percentage done."""

    def __call__(self, request: ColumnSpec, progress: Progress | None = None, /) -> Cells:
        """Return the cells."""


class Dataset(NamedTuple):
    """Operations on the rows of a table, whatever its source.

    Attributes
    ----------
    columns : names of the columns.
    group : returns the cells for a specification of columns.
    quantile : returns a quantile of the rewards; NaN without rewards.
    timed : returns the rows ordered by time, grouped into bins if there are more than the given number.
    types : SQL type of each column, for guesses which column is which; empty if they are unknown.
    """

    columns: Collection[str]
    group: Grouping
    quantile: Callable[[ColumnSpec, float], float]
    timed: Callable[[ColumnSpec, int], TimeOrderedRows]
    types: Mapping[str, str] = {}


@contextmanager
def open_dataset(data: Any, table: str | None = None) -> Iterator[Dataset]:
    """Open a table of any kind that `cells` accepts."""
    if isinstance(data, Table):
        data = {name: data[name] for name in data.columns}
    if isinstance(data, (str, os.PathLike)):
        from tideproof.data.sources.source_dispatch import open_source

        with open_source(os.fspath(data), table) as source:
            yield source_dataset(source)
        return
    if _package(data) == "narwhals":
        data = data.to_native()
    if isinstance(data, Mapping):
        group, quantile = _without_progress(cells_from_columns, data), partial(column_quantile, data)
        yield Dataset(data.keys(), group, quantile, partial(order_columns, data))
    elif _package(data) in ("duckdb", "_duckdb"):
        from tideproof.data.sources.duckdb_connection import open_relation

        with open_relation(data) as source:
            yield source_dataset(source)
    else:
        from tideproof.data.sources.dataframes import (
            cells_from_frame,
            frame_columns,
            frame_quantile,
            order_frame,
        )

        group, quantile = _without_progress(cells_from_frame, data), partial(frame_quantile, data)
        yield Dataset(frame_columns(data), group, quantile, partial(order_frame, data))


def source_dataset(source: Source) -> Dataset:
    """Return the operations of an opened source as a `Dataset`."""
    return Dataset(source.types, source.group, source.quantile, source.timed, source.types)


def _without_progress(group: Callable[[Any, ColumnSpec], Cells], data: Any) -> Grouping:
    """Return a grouping function that does not report progress."""
    return lambda request, progress=None, /: group(data, request)


def _package(data: Any) -> str:
    """Return the name of the package that defines the type of an object."""
    return type(data).__module__.split(".")[0]
