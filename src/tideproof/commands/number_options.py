"""Parsers for numeric options of the command line, which also accept 1e5 for 100,000."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import typer

from tideproof.errors import InputError

_DIGITS = 30  # more digits than any valid option has


def whole_option(help: str) -> Any:
    """Return a typer option whose value must be a whole number."""
    return typer.Option(parser=parse_whole, metavar="NUMBER", help=help)


def number_option(help: str) -> Any:
    """Return a typer option whose value must be a number."""
    return typer.Option(parser=parse_number, metavar="NUMBER", help=help)


def read_budgets(text: str) -> list[int]:
    """Parse whole numbers that are separated by commas."""
    found = []
    for part in text.split(","):
        value = read_whole(part)
        if value is None:
            raise InputError(f"budgets must be whole numbers separated by commas, not {part!r}")
        found.append(value)
    return found


def read_whole(text: Any) -> int | None:
    """Parse a whole number; return None if the text is not one.

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


def parse_whole(text: Any) -> int:
    """Parse a whole number, or raise the error that typer reports."""
    value = read_whole(text)
    if value is None:
        raise typer.BadParameter(f"it must be a whole number such as 1000 or 1e5, not {text!r}")
    return value


def parse_number(text: Any) -> float:
    """Parse a number, or raise the error that typer reports."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None
