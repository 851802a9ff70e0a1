"""Access to a table of any kind: its columns, its cells, a quantile of its rewards, its rows by time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tideproof.data.column_spec import Request
from tideproof.data.sources.array_columns import column_quantile, from_columns
from tideproof.data.time_ordered_rows import Timed, timed_from_columns
from tideproof.stats.cells import Cells
from tideproof.table import Table

if TYPE_CHECKING:
    from tideproof.data.sources.source_dispatch import Source

Progress = Callable[[float], None]


class Grouping(Protocol):
    """Function that groups rows by arm and environment; it calls `progress` with the percentage done."""

    def __call__(self, request: Request, progress: Progress | None = None, /) -> Cells:
        """Return the cells."""


class Dataset(NamedTuple):
    """Operations on the rows of a table, whatever its source.

    Attributes
    ----------
    columns : names of the columns.
    group : returns the cells for a specification of columns.
    quantile : returns a quantile of the rewards; NaN without rewards.
    timed : returns the rows ordered by time, grouped into bins if there are more than the given number.
    """

    columns: Collection[str]
    group: Grouping
    quantile: Callable[[Request, float], float]
    timed: Callable[[Request, int], Timed]


@contextmanager
def opened(data: Any, table: str | None = None) -> Iterator[Dataset]:
    """Open a table of any kind that `cells` accepts."""
    if isinstance(data, Table):
        data = {name: data[name] for name in data.columns}
    if isinstance(data, (str, os.PathLike)):
        from tideproof.data.sources.source_dispatch import open_source

        with open_source(os.fspath(data), table) as source:
            yield of_source(source)
        return
    if _package(data) == "narwhals":
        data = data.to_native()
    if isinstance(data, Mapping):
        group, quantile = _without_progress(from_columns, data), partial(column_quantile, data)
        yield Dataset(data.keys(), group, quantile, partial(timed_from_columns, data))
    elif _package(data) in ("duckdb", "_duckdb"):
        from tideproof.data.sources.duckdb_connection import open_relation

        with open_relation(data) as source:
            yield of_source(source)
    else:
        from tideproof.data.sources.dataframes import frame_columns, frame_quantile, frame_timed, from_frame

        group, quantile = _without_progress(from_frame, data), partial(frame_quantile, data)
        yield Dataset(frame_columns(data), group, quantile, partial(frame_timed, data))


def of_source(source: Source) -> Dataset:
    """Return the operations of an opened source as a `Dataset`."""
    return Dataset(source.types, source.group, source.quantile, source.timed)


def _without_progress(group: Callable[[Any, Request], Cells], data: Any) -> Grouping:
    """Return a grouping function that does not report progress."""
    return lambda request, progress=None, /: group(data, request)


def _package(data: Any) -> str:
    """Return the name of the package that defines the type of an object."""
    return type(data).__module__.split(".")[0]
