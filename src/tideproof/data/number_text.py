"""Reading of numbers and truth values from text; the format of a column is detected from all its entries.

All entries of a column have the same `Style`. A comma is accepted only if one meaning fits every entry with a
comma; "1,234" alone is ambiguous and raises an error. Truth values are read only if all other entries are
0 or 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.text import format_count

Style = Literal["point", "comma", "thousands", "truth"]

ABSENT = ("", "na", "n/a", "#n/a", "nan", "null", "none")  # in lower case
TRUE = ("true", "t", "yes", "y")
FALSE = ("false", "f", "no", "n")
BITS = ("0", "1", "0.0", "1.0")
COMMA = r"[+-]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]*)(,[0-9]+)?([eE][+-]?[0-9]+)?"  # 1.234,5
THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?"  # 1,234.5

_SHOWN = 3  # entries without a number that an error names


class ColumnText(NamedTuple):
    """Counts of the entries of each kind in a text column, from which its number format is detected.

    Attributes
    ----------
    truth, others : number of entries that are truth values, and that are neither truth values nor 0, 1 or
        missing.
    commas : number of entries with a comma; `example` is one of them.
    as_decimal, as_thousands : number of entries with a comma where it can be a decimal separator, and a
        thousands separator.
    """

    truth: int
    others: int
    commas: int
    as_decimal: int
    as_thousands: int
    example: str | None


def detect_style(seen: ColumnText, name: str, decimal: str) -> Style:
    """Return the number format of a text column; `decimal` is the separator given by the user, or ""."""
    if seen.truth and not seen.others:
        return "truth"
    if decimal == ",":
        return "comma"
    comma = seen.commas == seen.as_decimal
    thousands = seen.commas == seen.as_thousands
    if not seen.commas:
        return "point"
    if decimal == ".":
        return "thousands"
    if comma and thousands:
        raise InputError(
            f"column {name!r} holds {seen.example!r}, which is ambiguous: use decimal=',' (--decimal ,) if "
            f"the comma is a decimal separator, decimal='.' (--decimal .) if it separates thousands"
        )
    return "comma" if comma else "thousands" if thousands else "point"


def parse_numbers(entries: Iterable[Any], name: str, decimal: str = "") -> Floats:
    """Convert the entries of a text column to floats, NaN if missing; entries may be numbers already.

    >>> parse_numbers(["3,5", "4", None], "r"), parse_numbers(["yes", "No"], "r")
    (array([3.5, 4. , nan]), array([1., 0.]))
    """
    said = [entry.strip(' "') if isinstance(entry, str) else entry for entry in entries]
    texts = [entry for entry in said if isinstance(entry, str) and entry.lower() not in ABSENT]
    style = detect_style(_count_kinds(texts), name, decimal)
    read = {text: _parse_number(text, style) for text in dict.fromkeys(texts)}
    bad = [text for text in texts if read[text] is None]
    if bad:
        where = [
            (at + 1, text) for at, text in enumerate(said) if isinstance(text, str) and text in bad[:_SHOWN]
        ]
        raise not_a_number_error(name, len(bad), [f"row {row}: {text!r}" for row, text in where[:_SHOWN]])
    try:
        return np.array([_to_float(entry, read) for entry in said], np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"column {name!r} must be numeric; it holds values of several types") from None


def not_a_number_error(name: str, count: int, places: list[str], of: str = "") -> InputError:
    """Return the error for text in place of numbers; it counts the rows with text, and names the first."""
    first = ", ".join(places) + (", …" if count > len(places) else "")
    return InputError(
        f"column {name!r} must be numeric; it holds text in {format_count(count, 'row')} ({first}{of})"
    )


def _to_float(entry: Any, read: dict[str, float | None]) -> float:
    """Convert one entry of a column to a float, NaN if it is missing; `read` maps texts to numbers."""
    if isinstance(entry, str):
        return read.get(entry, math.nan)  # type: ignore[return-value]  # None was refused before
    return math.nan if entry is None else float(entry)


def _count_kinds(texts: list[str]) -> ColumnText:
    """Count the entries of each kind in a column of text, such as truth values or numbers with a comma."""
    words = [text.lower() for text in texts]
    truth = sum(word in TRUE or word in FALSE for word in words)
    commas = [text for text in texts if "," in text]
    return ColumnText(
        truth,
        sum(word not in BITS for word in words) - truth,
        len(commas),
        sum(re.fullmatch(COMMA, text) is not None for text in commas),
        sum(re.fullmatch(THOUSANDS, text) is not None for text in commas),
        commas[0] if commas else None,
    )


def _parse_number(text: str, style: Style) -> float | None:
    """Return the number that a text represents, or None if it is not a number."""
    if style == "truth":
        return {True: 1.0, False: 0.0}.get(text.lower() in TRUE) if text.lower() not in BITS else float(text)
    if style == "comma":
        if not re.fullmatch(COMMA, text):
            return None
        text = text.replace(".", "").replace(",", ".")
    if style == "thousands" and re.fullmatch(THOUSANDS, text):
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return None
