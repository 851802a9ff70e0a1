"""The one small table that tideproof returns: readable as it is, and a step away from any data frame.

It holds and shows columns; it does not filter, join or compute.
"""

from __future__ import annotations

import csv
import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from tideproof.errors import InputError, MissingExtra, UnknownName
from tideproof.files import explain_write_errors
from tideproof.text import count_decimals, format_probability

_LONG = 20  # rows shown before the middle is left out
_PROBABILITIES = ("p_best", "to_come", "probability")  # columns that have no certainties
_GAP = "…"
_MISSING = "\N{EN DASH}"


class Table:
    """Equal-length columns under their names.

    Missing values are None; a NaN among the numbers becomes None. Iterating gives one dict a row.

    Parameters
    ----------
    columns
        The values of each column: lists, tuples or NumPy arrays of one length.

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
        self._data = {name: _plain(values) for name, values in columns.items()}
        lengths = {name: len(values) for name, values in self._data.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of a table must have one length, not {lengths}")
        self._rows = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._data)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, column: str) -> list[Any]:
        if column not in self.columns:  # a list of names is no name, nor can it be looked up
            raise UnknownName.with_suggestion("column", column, self._data)
        return list(self._data[column])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self._data.values(), strict=True):
            yield dict(zip(self._data, row, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # equal by value, and its lists can change

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict a row."""
        return list(self)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame."""
        return _optional("pandas").DataFrame(self._data)

    def to_polars(self) -> Any:
        """Return a polars DataFrame."""
        return _optional("polars").DataFrame(self._data, strict=False)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file: numbers in full, missing values empty."""
        with explain_write_errors(path), open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self._data)
            writer.writerows(zip(*self._data.values(), strict=True))

    def __repr__(self) -> str:
        lines = [""] * (len(self._shown()) + 1)
        for name, values in self._data.items():
            cells = [name, *self._texts(name)]
            width = max(map(len, cells))
            align = str.rjust if _is_numeric(values) else str.ljust
            lines = [f"{line}  {align(cell, width)}" for line, cell in zip(lines, cells, strict=True)]
        lines = [line[2:].rstrip() for line in lines]
        return "\n".join([*lines, *self._count()])

    def _repr_html_(self) -> str:
        names = "".join(f"<th>{html.escape(name)}</th>" for name in self._data)
        cells = [
            [f'<td style="text-align:{_side(values)}">{html.escape(t)}</td>' for t in self._texts(name)]
            for name, values in self._data.items()
        ]
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
        count = "".join(f"<p>{line}</p>" for line in self._count())
        table = f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>{count}'

    def _shown(self) -> list[int | None]:
        """Return the rows to show, None standing for those left out."""
        if len(self) <= _LONG:
            return list(range(len(self)))
        half = _LONG // 2
        return [*range(half), None, *range(len(self) - half, len(self))]

    def _count(self) -> list[str]:
        """Return a line with the number of rows, where the rows themselves do not say it."""
        return [] if 0 < len(self) <= _LONG else [f"{len(self)} rows"]

    def _texts(self, name: str) -> list[str]:
        rows, values = self._shown(), self._data[name]
        if name in _PROBABILITIES:
            values = [v if v is None else format_probability(v) for v in values]
        digits = _digits([values[row] for row in rows if row is not None and _is_number(values[row])])
        return [_GAP if row is None else _text(values[row], digits) for row in rows]


def _plain(values: Iterable[Any]) -> list[Any]:
    """Return the values as Python objects, NaN as None."""
    items: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    if type(values).__name__ == "ndarray" and values.dtype.kind in "biuf":  # type: ignore[attr-defined]
        return [None if v != v else v for v in items]  # plain already; NaN alone differs from itself
    items = [v.item() if hasattr(v, "item") else v for v in items]
    return [None if isinstance(v, float) and math.isnan(v) else v for v in items]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_numeric(values: list[Any]) -> bool:
    return all(v is None or _is_number(v) for v in values)


def _side(values: list[Any]) -> str:
    return "right" if _is_numeric(values) else "left"


def _digits(numbers: list[float]) -> int | None:
    """Return how many decimals show a column: four digits of its largest number, two of its spread.

    None stands for scientific notation, where the largest is below 1e-4, or 1e10 and more: seconds since
    1970 are less.

    >>> _digits([0.1234, 12.5]), _digits([1_000_012.31, 1_000_012.87]), _digits([3e-7])
    (2, 2, None)
    """
    finite = [x for x in numbers if math.isfinite(x)]
    largest = max(map(abs, finite), default=0.0)
    if largest == 0.0:
        return 0
    if not 1e-4 <= largest < 1e10:
        return None
    spread = max(finite) - min(finite)
    for_spread = count_decimals(spread, 2) if spread > 1e-8 * largest else 0  # less is rounding
    return max(count_decimals(largest, 4), for_spread)


def _text(value: Any, digits: int | None) -> str:
    if value is None:
        return _MISSING
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.3e}" if digits is None else f"{value:.{digits}f}"
    return str(value)


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(f"to_{module}() needs {module}: pip install {module}") from None


def render_notebook_html(said: str, *tables: Table) -> str:
    """Return lines of words and tables below them, for a notebook.

    >>> render_notebook_html("A < B")
    '<p>A &lt; B</p>'
    """
    words = "".join(f"<p>{html.escape(line)}</p>" for line in said.splitlines())
    return words + "".join(table._repr_html_() for table in tables)


def to_json_values(value: Any) -> Any:
    """Return a result in plain values, for JSON: a dataclass as a dict, a table as a list of rows.

    A tuple is a list, and a number without end, which JSON does not have, is None.

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
