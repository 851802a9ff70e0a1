"""Tables on a screen: what has no room beside the rest goes below, with its first column again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable


class Column(NamedTuple):
    """A header, a cell for each row, and whether they stand to the left."""

    header: str
    cells: Sequence[str]
    left: bool = False

    @property
    def width(self) -> int:
        """What it takes of the screen, its line and spaces included."""
        return max(map(len, (self.header, *self.cells))) + 3


def tables(first: Column, others: Iterable[Column], width: int, **style: Any) -> Iterator[RichTable]:
    """Yield tables that begin with the `first` column and have as many others as there is room for."""
    from rich.table import Table

    for columns in fitting(others, width - first.width - 1):
        table = Table(**style)
        for column in (first, *columns):
            justify: Any = "left" if column.left else "right"
            table.add_column(column.header, justify=justify, no_wrap=column is first)
        for cells in zip(first.cells, *(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        yield table


def fitting(columns: Iterable[Column], room: int) -> Iterator[list[Column]]:
    """Yield the columns, as many at a time as there is room for, and at least one."""
    part: list[Column] = []
    for column in columns:
        if part and sum(each.width for each in (*part, column)) > room:
            yield part
            part = []
        part.append(column)
    yield part
