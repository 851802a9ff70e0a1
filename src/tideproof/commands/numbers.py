"""Numbers as they are typed: 1e5 replications are 100,000."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import typer

from tideproof.errors import InputError

_DIGITS = 30  # more than any number here has


def whole(text: Any) -> int:
    """Read a whole number.

    >>> whole("1e5"), whole("1_000"), whole(7)
    (100000, 1000, 7)
    """
    value = _whole(text)
    if value is None:
        raise typer.BadParameter(f"it must be a whole number such as 1000 or 1e5, not {text!r}")
    return value


def budgets(text: str) -> list[int]:
    """Read whole numbers that commas separate."""
    found = []
    for part in text.split(","):
        value = _whole(part)
        if value is None:
            raise InputError(f"budgets must be whole numbers separated by commas, not {part!r}")
        found.append(value)
    return found


def number(text: Any) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None


def _whole(text: Any) -> int | None:
    try:
        value = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > _DIGITS or value != value.to_integral_value():
        return None
    return int(value)
