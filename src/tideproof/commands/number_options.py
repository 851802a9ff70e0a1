"""Options that are numbers, as they are typed: 1e5 replications are 100,000."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import typer

from tideproof.errors import InputError

_DIGITS = 30  # more than any number here has


def whole_option(help: str) -> Any:
    """Return an option that is a whole number."""
    return typer.Option(parser=_whole, metavar="NUMBER", help=help)


def number_option(help: str) -> Any:
    """Return an option that is a number."""
    return typer.Option(parser=_number, metavar="NUMBER", help=help)


def read_budgets(text: str) -> list[int]:
    """Read whole numbers that commas separate."""
    found = []
    for part in text.split(","):
        value = read_whole(part)
        if value is None:
            raise InputError(f"budgets must be whole numbers separated by commas, not {part!r}")
        found.append(value)
    return found


def read_whole(text: Any) -> int | None:
    """Read a whole number; None if it is none.

    >>> read_whole("1e5"), read_whole("1_000"), read_whole(7), read_whole("1.5")
    (100000, 1000, 7, None)
    """
    try:
        value = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > _DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def _whole(text: Any) -> int:
    value = read_whole(text)
    if value is None:
        raise typer.BadParameter(f"it must be a whole number such as 1000 or 1e5, not {text!r}")
    return value


def _number(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None
