"""Tables in a terminal; columns that do not fit continue in further tables that repeat the first column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_LEAST = 8  # smallest width of the first column, in which names are broken if there is no room


class Column(NamedTuple):
    """A column of a table: its header, its cells, and whether they are aligned to the left."""

    header: str
    cells: Sequence[str]
    left: bool = False

    def width(self, broken: bool = False) -> int:
        """Return the width of the column in characters; `broken` allows line breaks in its header."""
        from rich.cells import cell_len

        headers = self.header.split() if broken else self.header.splitlines()
        return max(map(cell_len, (*headers, *self.cells)), default=0)


PLAIN: dict[str, Any] = {"box": None, "pad_edge": False, "header_style": "bold", "caption_justify": "left"}


def make_tables(
    first: Column,
    others: Sequence[Column],
    width: int,
    title: str | None = None,
    caption: str | None = None,
    space: int = 3,
    **style: Any,
) -> Iterator[RichTable]:
    """Yield tables that consist of the column `first` and as many of the `others` as fit the width.

    Numbers are never broken if the terminal has room for one of them. The title is above the first table, the
    caption below the last. A column takes `space` characters for its line and its margins.
    """
    from rich.table import Table
    from rich.text import Text

    edges = 2 * (style.get("box", True) is not None) + 2 * style.get("pad_edge", True)
    room = width - edges  # width available for all columns
    broken = first.width() + sum(column.width() + space for column in others) > room
    sized = [(column, column.width(broken) + space) for column in others]
    names = (
        min(first.width(), first_column_width([size for _, size in sized], room)) if broken else first.width()
    )
    beside = list(_fit_columns(sized, room - names))  # the columns of each table
    for number, columns in enumerate(beside):
        table = Table(
            title=title if number == 0 else None,
            caption=caption if number == len(beside) - 1 else None,
            **style,
        )
        for column, size in ((first, names + space), *columns):
            justify: Any = "left" if column.left else "right"
            table.add_column(Text(column.header), justify=justify, overflow="fold", max_width=size - space)
        for cells in zip(first.cells, *(column.cells for column, _ in columns), strict=True):
            table.add_row(*map(Text, cells))  # Text prevents brackets from being read as markup
        yield table


def first_column_width(others: Sequence[int], room: int) -> int:
    """Return the width of the first column: what the others leave or, if that is little, at most half."""
    left = room - sum(others)
    if left < room // 5:
        left = min(room - max(others), room // 2)
    return max(left, _LEAST)


def _fit_columns(sized: Iterable[tuple[Column, int]], room: int) -> Iterator[list[tuple[Column, int]]]:
    """Yield lists of columns with their widths: as many at a time as fit, but at least one."""
    fitting: list[tuple[Column, int]] = []
    for each in sized:
        if fitting and sum(size for _, size in (*fitting, each)) > room:
            yield fitting
            fitting = []
        fitting.append(each)
    yield fitting
