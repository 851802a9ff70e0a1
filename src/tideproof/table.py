"""Table of results: named columns of equal length, with conversions to data frames, CSV, HTML and JSON.

It stores and shows columns; it does not filter, join or compute.
"""

from __future__ import annotations

import csv
import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, NamedTuple

from tideproof.errors import InputError, MissingExtra, UnknownName
from tideproof.files import explain_write_errors
from tideproof.text import count_decimals, format_probability, shorten_text, text_width

_MAXIMUM_ROWS = 20  # longer tables are shown without their middle rows
_WIDTH = 80  # columns of a table that do not fit a line of this width continue below
_LONGEST_TEXT = 26  # longer texts are shown without their middle if the table is wider than a line
_PROBABILITY_COLUMNS = ("p_best", "to_come", "probability")  # shown as "< 0.001", never as 0 or 1
_OMITTED = "…"
_MISSING = "\N{EN DASH}"


class Table:
    """Table of results, with named columns of equal length.

    Missing values are None; a NaN among the numbers becomes None. Iterating yields one dict per row.

    Parameters
    ----------
    columns
        The values of each column: lists, tuples or NumPy arrays of the same length.

    Examples
    --------
    >>> table = Table({"arm": ["A", "B"], "n": [12, 9], "mean": [1.25, None]})
    >>> table
    arm   n   mean
    A    12  1.250
    B     9      –
    >>> table["n"]
    [12, 9]
    >>> table.to_dicts()[1]
    {'arm': 'B', 'n': 9, 'mean': None}
    """

    def __init__(self, columns: Mapping[str, Iterable[Any]]) -> None:
        self._data = {name: _to_python_values(values) for name, values in columns.items()}
        lengths = {name: len(values) for name, values in self._data.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of a table must have the same length, not {lengths}")
        self._rows = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns, in their order."""
        return list(self._data)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:  # `self.columns`, because a list as `column` is not hashable
            raise UnknownName.with_suggestion("column", column, self._data)
        return list(self._data[column])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self._data.values(), strict=True):
            yield dict(zip(self._data, row, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # tables are mutable and compared by value

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows of the table as a list of dicts."""
        return list(self)

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame."""
        return _import_optional("pandas").DataFrame(self._data)

    def to_polars(self) -> Any:
        """Return the table as a polars DataFrame."""
        return _import_optional("polars").DataFrame(self._data, strict=False)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a CSV file: numbers with all digits, missing values as empty fields."""
        with explain_write_errors(path), open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self._data)
            writer.writerows(zip(*self._data.values(), strict=True))

    def __repr__(self) -> str:
        columns = [
            _Column([name, *self._format_column(name)], _is_numeric(values))
            for name, values in self._data.items()
        ]
        if sum(column.width + 2 for column in columns) - 2 > _WIDTH:
            columns = [column.shortened() for column in columns]
        blocks = ["\n".join(_lines(block)) for block in _fit_lines(columns)]
        return "\n".join(["\n\n".join(blocks), *self._row_count_line()])

    def _repr_html_(self) -> str:
        names = "".join(f"<th>{html.escape(name)}</th>" for name in self._data)
        cells = [
            [
                f'<td style="text-align:{_text_alignment(values)}">{html.escape(text)}</td>'
                for text in self._format_column(name)
            ]
            for name, values in self._data.items()
        ]
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
        count = "".join(f"<p>{line}</p>" for line in self._row_count_line())
        table = f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>{count}'

    def _visible_rows(self) -> list[int | None]:
        """Return the indices of the table rows that are displayed; a long table is shortened.

        None stands for the omitted rows.
        """
        if len(self) <= _MAXIMUM_ROWS:
            return list(range(len(self)))
        half = _MAXIMUM_ROWS // 2
        return [*range(half), None, *range(len(self) - half, len(self))]

    def _row_count_line(self) -> list[str]:
        """Return a line of text that says how many rows a table has, if it is empty or shortened.

        For other tables, the list is empty.
        """
        return [] if 0 < len(self) <= _MAXIMUM_ROWS else [f"{len(self)} rows"]

    def _format_column(self, name: str) -> list[str]:
        """Return the texts of the visible cells of a table column."""
        rows, values = self._visible_rows(), self._data[name]
        if name in _PROBABILITY_COLUMNS:
            values = [v if v is None else format_probability(v) for v in values]
        decimals = _choose_decimals(
            [values[row] for row in rows if row is not None and _is_number(values[row])]
        )
        return [_OMITTED if row is None else _format_cell(values[row], decimals) for row in rows]


class _Column(NamedTuple):
    """The texts of a column of a table, its header first, and whether they are aligned to the right."""

    texts: list[str]
    right: bool

    @property
    def width(self) -> int:
        """Width of the column in characters of a terminal."""
        return max(map(text_width, self.texts))

    def shortened(self) -> _Column:
        """Return the column with long texts shortened."""
        return self._replace(texts=[shorten_text(text, _LONGEST_TEXT) for text in self.texts])

    def padded(self) -> list[str]:
        """Return the texts, all with the width of the column."""
        spaces = [" " * (self.width - text_width(text)) for text in self.texts]
        both = zip(spaces, self.texts, strict=True)
        return [space + text if self.right else text + space for space, text in both]


def _fit_lines(columns: list[_Column]) -> Iterator[list[_Column]]:
    """Split the columns of a table into blocks that fit a line; each block begins with the first column."""
    block = columns[:1]
    for column in columns[1:]:
        if len(block) > 1 and sum(each.width + 2 for each in block) + column.width > _WIDTH:
            yield block
            block = columns[:1]
        block = [*block, column]
    yield block


def _lines(columns: list[_Column]) -> list[str]:
    """Return the lines of columns beside each other."""
    return ["  ".join(texts).rstrip() for texts in zip(*(column.padded() for column in columns), strict=True)]


def _to_python_values(values: Iterable[Any]) -> list[Any]:
    """Return the values of a table column as Python objects, with None in place of NaN."""
    items: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    if type(values).__name__ == "ndarray" and values.dtype.kind in "biuf":  # type: ignore[attr-defined]
        return [None if v != v else v for v in items]  # only NaN differs from itself
    items = [v.item() if hasattr(v, "item") else v for v in items]
    return [None if isinstance(v, float) and math.isnan(v) else v for v in items]


def _is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_numeric(values: list[Any]) -> bool:
    """Return whether all values of a table column are numbers or missing."""
    return all(v is None or _is_number(v) for v in values)


def _text_alignment(values: list[Any]) -> str:
    """Return the CSS alignment of a table column: right for numbers, left for text."""
    return "right" if _is_numeric(values) else "left"


def _choose_decimals(numbers: list[float]) -> int | None:
    """Return the number of decimals for a table column of numbers, or None for scientific notation.

    The decimals show four significant digits of the largest number and two of the range of the column.
    Scientific notation is for columns whose largest number is below 1e-4 or at least 1e10 (Unix times in
    seconds are smaller).

    >>> _choose_decimals([0.1234, 12.5]), _choose_decimals([1_000_012.31, 1_000_012.87])
    (2, 2)
    >>> _choose_decimals([3e-7]) is None
    True
    """
    finite = [x for x in numbers if math.isfinite(x)]
    largest = max(map(abs, finite), default=0.0)
    if largest == 0.0:
        return 0
    if not 1e-4 <= largest < 1e10:
        return None
    span = max(finite) - min(finite)
    for_span = count_decimals(span, 2) if span > 1e-8 * largest else 0  # a smaller range is rounding error
    return max(count_decimals(largest, 4), for_span)


def _format_cell(value: Any, decimals: int | None) -> str:
    """Return the text of one table cell; `decimals` is None for scientific notation."""
    if value is None:
        return _MISSING
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.3e}" if decimals is None else f"{value:.{decimals}f}"
    return str(value)


def _import_optional(module: str) -> Any:
    """Import pandas or polars, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(f"to_{module}() needs {module}: pip install {module}") from None


def render_notebook_html(text: str, *tables: Table) -> str:
    """Return lines of text, with tables below them, as HTML for a notebook.

    >>> render_notebook_html("A < B")
    '<p>A &lt; B</p>'
    """
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in text.splitlines())
    return paragraphs + "".join(table._repr_html_() for table in tables)


def to_json_values(value: Any) -> Any:
    """Convert a value, such as a dataclass or a table, to types that JSON can represent.

    A dataclass becomes a dict, and a table becomes a list of rows.

    A tuple becomes a list. Infinite numbers and NaN, which JSON does not have, become None.

    >>> to_json_values((1, Table({"arm": ["A"], "n": [2]})))
    [1, [{'arm': 'A', 'n': 2}]]
    """
    if isinstance(value, Table):
        return [{name: to_json_values(item) for name, item in row.items()} for row in value]
    if is_dataclass(value):
        return {field.name: to_json_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [to_json_values(item) for item in value] if isinstance(value, (list, tuple)) else value
