"""Tables on a screen: what has no room beside the rest goes below, with its first column again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_LEAST = 8  # of the first column, in which names are broken where there is no room for them


class Column(NamedTuple):
    """A header, a cell for each row, and whether they stand to the left."""

    header: str
    cells: Sequence[str]
    left: bool = False

    def width(self, broken: bool = False) -> int:
        """What it needs; the words of its header may stand below each other."""
        from rich.cells import cell_len

        headers = self.header.split() if broken else self.header.splitlines()
        return max(map(cell_len, (*headers, *self.cells)), default=0)


PLAIN: dict[str, Any] = {"box": None, "pad_edge": False, "header_style": "bold", "caption_justify": "left"}


def tables(
    first: Column,
    others: Sequence[Column],
    width: int,
    title: str | None = None,
    caption: str | None = None,
    space: int = 3,
    **style: Any,
) -> Iterator[RichTable]:
    """Yield tables that begin with the `first` column and have as many others as there is room for.

    Numbers stay whole as long as the screen has room for one of them. The title stands above the first
    table, the caption below the last. A column takes `space` for its line and the blanks beside it.
    """
    from rich.table import Table
    from rich.text import Text

    edges = 2 * (style.get("box", True) is not None) + 2 * style.get("pad_edge", True)
    room = width - edges  # for names and what stands beside them
    broken = first.width() + sum(column.width() + space for column in others) > room
    sized = [(column, column.width(broken) + space) for column in others]
    names = min(first.width(), _for_names([size for _, size in sized], room)) if broken else first.width()
    beside = list(_fitting(sized, room - names))  # the columns of each table
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
            table.add_row(*map(Text, cells))  # names are names, whatever brackets they have
        yield table


def _for_names(others: Sequence[int], room: int) -> int:
    """Return what names may take: what all others leave, or if that is little, half of the room or less."""
    left = room - sum(others)
    if left < room // 5:
        left = min(room - max(others), room // 2)
    return max(left, _LEAST)


def _fitting(sized: Iterable[tuple[Column, int]], room: int) -> Iterator[list[tuple[Column, int]]]:
    """Yield columns and their sizes, as many at a time as there is room for, and at least one."""
    fitting: list[tuple[Column, int]] = []
    for each in sized:
        if fitting and sum(size for _, size in (*fitting, each)) > room:
            yield fitting
            fitting = []
        fitting.append(each)
    yield fitting
