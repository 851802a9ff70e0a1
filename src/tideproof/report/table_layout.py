"""Layout of tables: columns of text in a terminal, or as a sortable HTML table.

In a terminal, columns that do not fit continue in further tables that repeat the first column.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# Makes a table sortable by its numbers as displayed; cells without a number come last, and equal cells keep
# their order. Pages of the service use it, too.
SORTABLE = """
function sortable(table) {
  table.querySelectorAll("thead th").forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const text = head.hasAttribute("data-text"), was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : !text, body = table.tBodies[0];
      const key = row => {
        const said = row.cells[index].textContent, number = said.match(/-?[0-9,.]+(e[-+]?[0-9]+)?/);
        return text ? said : number ? parseFloat(number[0].replaceAll(",", "")) : NaN;
      };
      const rows = [...body.rows].map(row => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (text) return (down ? -1 : 1) * a.localeCompare(b, undefined, {numeric: true});
        if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
        return down ? b - a : a - b;
      });
      table.querySelectorAll("thead th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows.map(([, row]) => row));
    });
  });
}
"""
SCRIPT = SORTABLE + 'document.querySelectorAll("table").forEach(sortable);\n'

_TEXT = ' data-text=""'
_WIDE = 30  # characters of a name that are kept on one line if there is room
_LEAST = 8  # smallest width of the first column, in which names are broken if there is no room


class Column(NamedTuple):
    """A column of a table: its header, its texts, and whether they are aligned to the left."""

    header: str
    cells: Sequence[str]
    left: bool = False

    def width(self, broken: bool = False) -> int:
        """Return the width of a table column in characters.

        `broken` allows line breaks in its header.
        """
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
    """Split a wide table into several tables that fit the width of a terminal.

    Each table has the column `first` and as many of the `others` as fit.

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
    """Return the width of the first column of a table in a terminal.

    It is the rest of the line or, if that is small, up to half of the line.
    """
    left = room - sum(others)
    if left < room // 5:
        left = min(room - max(others), room // 2)
    return max(left, _LEAST)


def _fit_columns(sized: Iterable[tuple[Column, int]], room: int) -> Iterator[list[tuple[Column, int]]]:
    """Split table columns into lists that fit the width of a terminal, each with at least one column."""
    fitting: list[tuple[Column, int]] = []
    for each in sized:
        if fitting and sum(size for _, size in (*fitting, each)) > room:
            yield fitting
            fitting = []
        fitting.append(each)
    yield fitting


def html_table(columns: Sequence[Column]) -> str:
    """Return columns of text as an HTML table that scrolls sideways on a narrow screen."""
    names = max(map(len, (columns[0].header, *columns[0].cells)))
    styles = (f' style="min-width: min({min(names, _WIDE) + 4}ch, 30vw)"', *repeat("", len(columns) - 1))
    heads = "".join(
        f"<th{_TEXT if column.left else ''}{style}>{html.escape(column.header)}</th>"
        for column, style in zip(columns, styles, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
