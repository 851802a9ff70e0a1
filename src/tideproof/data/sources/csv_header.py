"""Detection of the header of a CSV file: its line, its delimiter, and the names of the columns.

The header is the first line that is neither empty nor a comment. The delimiter is read from that line alone,
so that a later line that does not fit raises an error with its number and is never skipped.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.group_by_sql import Query
from tideproof.data.sql_expressions import quote_text
from tideproof.errors import InputError, UnknownName
from tideproof.text import join_names

_DELIMITERS = (",", "\t", ";", "|")
_LINES = 100  # number of first lines that are searched for the header


class Header(NamedTuple):
    """Header of a CSV file: the delimiter, the names of the columns, and the number of lines before it."""

    delimiter: str
    names: list[str]
    skip: int


def first_lines(run: Query, path: str, encoding: str) -> list[str]:
    """Return the first lines of a text file, compressed or not."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = ''"
    options += f", escape = '', skip = 0, comment = '', encoding = {quote_text(encoding)}"
    rows = run(f"SELECT line FROM read_csv({quote_text(path)}, {options}) LIMIT {_LINES}")
    return [str(row[0] or "").lstrip("\ufeff") for row in rows]


def find_header(lines: Sequence[str]) -> Header | None:
    r"""Return the header among the first lines of a file; None if they are all empty or comments.

    >>> find_header(["# from the shop", "", 'variant;"day; or night"; sales'])
    Header(delimiter=';', names=['variant', 'day; or night', 'sales'], skip=2)
    >>> find_header(["#variant,sales", "A,3"])  # the names are in a comment
    Header(delimiter=',', names=['variant', 'sales'], skip=0)
    """
    said = [at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if not said:
        return None
    at, header = said[0], _split_line(lines[said[0]])
    if at > 0 and lines[at - 1].startswith("#") and looks_like_data(header[1]):
        above = _split_line(lines[at - 1].lstrip("# "))
        if len(above[1]) == len(header[1]) > 1 and not looks_like_data(above[1]):
            at, header = at - 1, above
    return Header(*header, at)


def _split_line(line: str) -> tuple[str, list[str]]:
    """Return the delimiter of a line, and its fields."""
    delimiter = max(_DELIMITERS, key=line.count)
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return delimiter, [field.strip() for field in fields]


def looks_like_data(fields: Sequence[str]) -> bool:
    """Return whether a line holds values instead of names: one of its fields is a number or empty.

    >>> looks_like_data(["A", "mon", "3.5"]), looks_like_data(["A", ""]), looks_like_data(["variant", "day"])
    (True, True, False)
    """
    return any(_is_number(field) or not field.strip() for field in fields)


def check_header(path: str, names: Sequence[str], request: ColumnSpec) -> None:
    """Raise an error unless the header names each requested column exactly once."""
    try:
        wanted = request.among(names).names
    except UnknownName:
        if looks_like_data(names):
            raise InputError(
                f"{path!r} seems to have no header: its first line is "
                f"{', '.join(map(repr, names[:6]))}; add a line with the names of the columns"
            ) from None
        raise
    for name in wanted:
        alike = [other for other in names if other.lower() == name.lower()]
        if len(alike) > 1:
            what = (
                f"called {name!r}"
                if len(set(alike)) == 1
                else f"named alike except for case: {join_names(alike)}"
            )
            raise InputError(f"two columns of {path!r} are {what}")


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
