"""Read sheets of Excel and OpenDocument files; the first row that is not empty names the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tideproof.data.sources.in_memory_table import InMemoryTable, infer_type
from tideproof.errors import InputError, MissingExtra, MissingFile, UnknownName
from tideproof.text import join_names


@contextmanager
def open_excel(path: str, sheet: str | None) -> Iterator[InMemoryTable]:
    """Open a sheet of an Excel file; its name may be omitted if only one sheet is not empty."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtra.for_module("python-calamine", "excel", "reading Excel files") from None

    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except FileNotFoundError:
        raise MissingFile(f"there is no file {path!r}") from None
    except (calamine.CalamineError, OSError) as error:
        raise InputError(f"cannot read {path!r}: {error}") from None
    columns = _columns(path, _choose_sheet(path, sheets, sheet))
    types = {name: infer_type(values) for name, values in columns.items()}

    def fetch(names: Sequence[str]) -> list[list[Any]]:
        """Return the values of the named columns of a table, one list for each name."""
        return [columns[name] for name in names]

    yield InMemoryTable(types, fetch)


def _choose_sheet(path: str, sheets: dict[str, list[list[Any]]], name: str | None) -> list[list[Any]]:
    """Return the rows of one sheet of an Excel file, without empty rows."""
    kept = {title: [row for row in rows if any(x != "" for x in row)] for title, rows in sheets.items()}
    if name is not None:
        if name not in kept:
            raise UnknownName.with_suggestion("sheet", name, kept)
        return kept[name]
    filled = [title for title, rows in kept.items() if rows]
    if len(filled) != 1:
        what = join_names(map(repr, filled)) if filled else "only empty sheets"
        raise InputError(f"choose which sheet of {path!r} to read (table, --table); it contains {what}")
    return kept[filled[0]]


def _columns(path: str, rows: list[list[Any]]) -> dict[str, list[Any]]:
    """Return the columns of an Excel sheet by name, without columns that have no name."""
    if not rows:
        raise InputError(f"the sheet of {path!r} is empty")
    names = [str(_cell_value(name) or "").strip() for name in rows[0]]
    for name in names:
        if name and names.count(name) > 1:
            raise InputError(f"two columns of {path!r} are called {name!r}")
    values = [[_cell_value(x) for x in column] for column in zip(*rows[1:], strict=True)] or [
        [] for _ in names
    ]
    return {name: column for name, column in zip(names, values, strict=True) if name}


def _cell_value(cell: Any) -> Any:
    """Return the value of an Excel cell: None if it is empty, and an integer if it is a whole number."""
    if isinstance(cell, str):
        return None if cell == "" or cell in ("#N/A", "#VALUE!", "#DIV/0!", "#REF!", "#NAME?") else cell
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
