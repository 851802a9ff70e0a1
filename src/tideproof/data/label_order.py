"""Order of labels: numbers by size and dates by time, also where they are text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tideproof.data.date_order import DateOrder, detect_date_order, has_day_or_month_first, rewrite_date
from tideproof.errors import InputError

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    """Return labels in order: numbers by size, dates by time, and other text by its characters.

    >>> sort_labels(["10", "9", "09"]), sort_labels(["b", "a", "10"]), sort_labels([2, "x", 1])
    (['09', '9', '10'], ['10', 'a', 'b'], [1, 2, 'x'])
    >>> sort_labels(["1.12.2024", "31.1.2024"])
    ['31.1.2024', '1.12.2024']
    """
    found = list(labels)
    try:
        found.sort()
    except TypeError:  # labels of several types
        return sorted(found, key=lambda label: (type(label).__name__, str(label)))
    if not found or not isinstance(found[0], str):
        return found
    if all(map(_NUMBER.fullmatch, found)):
        return sorted(found, key=float)
    order = _date_order(found)
    return sorted(found, key=lambda text: rewrite_date(text, order)) if order else found


def _date_order(texts: list[str]) -> DateOrder | None:
    """Return whether labels are dates with the day or the month first; None if they are no such dates."""
    if not has_day_or_month_first(texts[0]):
        return None
    try:
        return detect_date_order(texts, None, "", "")
    except InputError:  # dates of several forms, or an order that only the user knows
        return None
