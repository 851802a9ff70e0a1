"""Sortable HTML tables with formatted numbers."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from tideproof.report.arms_table import MISSING
from tideproof.report.terminal_tables import Column
from tideproof.table import Table
from tideproof.text import NumberFormat


class Heading(NamedTuple):
    """Heading of a column and the format of its numbers; without a format, the column holds text."""

    text: str
    figures: NumberFormat | None = None
    sign: str = ""


Headings = Mapping[str, Heading]  # the heading of each column

# Makes a table sortable by its numbers as displayed; cells without a number come last, and equal cells keep
# their order. Pages of the service use it, too.
SORTABLE = """
function sortable(table) {
  table.querySelectorAll("thead th").forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const text = head.hasAttribute("data-text"), was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : !text, body = table.tBodies[0];
      const key = row => {
        const said = row.cells[place].textContent, number = said.match(/-?[0-9,.]+(e[-+]?[0-9]+)?/);
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


def html_table(columns: Sequence[Column]) -> str:
    """Return columns as an HTML table that scrolls sideways on a narrow screen."""
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


def format_columns(table: Table, headings: Headings, most: int | None = None) -> list[Column]:
    """Return the first `most` rows of a table as columns of text.

    Numbers have three significant digits, or as many as their interval in the columns `low` and `high`
    justifies. The heading "interval" joins these two columns.
    """
    rows = [row for row, _ in zip(table, repeat(None) if most is None else range(most), strict=False)]
    return [
        Column(heading.text, [_format_cell(row, name, heading) for row in rows], heading.figures is None)
        for name, heading in headings.items()
    ]


def _format_cell(row: dict[str, Any], name: str, heading: Heading) -> str:
    """Return the text of one cell of a table."""
    low, high, figures = row.get("low"), row.get("high"), heading.figures
    if name == "interval":
        return (figures.format_interval(low, high, heading.sign) if figures else "") or MISSING
    value = row[name]
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return MISSING
    if figures is None:
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return figures.format_estimate(value, low, high, heading.sign)
