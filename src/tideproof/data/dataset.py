"""Data wherever they are, opened: its columns, its groups, a quantile of its rewards."""

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
    """Groups rows by arm and environment; `progress` is called with the percentage done."""

    def __call__(self, request: Request, progress: Progress | None = None, /) -> Cells:
        """Return the cells."""


class Dataset(NamedTuple):
    """Rows that can be grouped.

    Attributes
    ----------
    columns : their names.
    group : gives the cells that a request asks for.
    quantile : gives what a share of its rewards are at most; NaN without rewards.
    timed : gives the rows in the order of time, in bins if there are more than so many.
    """

    columns: Collection[str]
    group: Grouping
    quantile: Callable[[Request, float], float]
    timed: Callable[[Request, int], Timed]


@contextmanager
def opened(data: Any, table: str | None = None) -> Iterator[Dataset]:
    """Open anything that holds a table: see `cells`."""
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
    """Return what a source can do."""
    return Dataset(source.types, source.group, source.quantile, source.timed)


def _without_progress(group: Callable[[Any, Request], Cells], data: Any) -> Grouping:
    return lambda request, progress=None, /: group(data, request)


def _package(data: Any) -> str:
    """Return the name of the package that an object's type comes from."""
    return type(data).__module__.split(".")[0]
