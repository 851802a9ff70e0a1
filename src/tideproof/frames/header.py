"""The first line of a CSV file: its delimiter and the names of its columns.

They are read off that line and not guessed from the rest, so that a line that does not fit is an error
with its number and never skipped.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from tideproof.errors import InputError, UnknownName
from tideproof.frames.group_by import Query
from tideproof.frames.request import Request
from tideproof.frames.sql import literal

_DELIMITERS = (",", "\t", ";", "|")


def first_line(run: Query, path: str) -> str:
    """Return the first line of a text file, compressed or not."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = ''"
    rows = run(f"SELECT line FROM read_csv({literal(path)}, {options}, escape = '', skip = 0) LIMIT 1")
    return str(rows[0][0] or "").lstrip("\ufeff") if rows else ""


def delimiter_and_names(line: str) -> tuple[str, list[str]]:
    r"""Return what separates the names on a first line, and the names.

    >>> delimiter_and_names('variant;"day; or night";sales')
    (';', ['variant', 'day; or night', 'sales'])
    """
    delimiter = max(_DELIMITERS, key=line.count)
    return delimiter, next(csv.reader([line], delimiter=delimiter))


def looks_like_data(fields: Sequence[str]) -> bool:
    """Tell whether a first line holds values and not names: one of its fields is a number or empty.

    >>> looks_like_data(["A", "mon", "3.5"]), looks_like_data(["A", ""]), looks_like_data(["variant", "day"])
    (True, True, False)
    """
    return any(_is_number(field) or not field.strip() for field in fields)


def check_header(path: str, names: Sequence[str], request: Request) -> None:
    """Refuse a file whose first line does not name the columns that are asked for, each once."""
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
        if names.count(name) > 1:
            raise InputError(f"two columns of {path!r} are called {name!r}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
