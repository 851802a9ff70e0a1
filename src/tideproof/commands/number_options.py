"""Options of the command line. Those with numbers also accept 1e5 for 100,000."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from tideproof.errors import InputError

_DIGITS = 30  # more digits than any valid option has


def whole_option(help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """Return a typer option whose value must be a whole number.

    `panel` is the group of the option in the help page, `default` the text of its default.
    """
    return typer.Option(
        parser=parse_whole, metavar="NUMBER", help=help, rich_help_panel=panel, show_default=default
    )


def number_option(help: str, panel: str | None = None, default: str | bool = True) -> Any:
    """Return a typer option whose value must be a number, as `whole_option` does."""
    return typer.Option(
        parser=parse_number, metavar="NUMBER", help=help, rich_help_panel=panel, show_default=default
    )


def text_option(
    help: str, panel: str | None = None, metavar: str = "TEXT", default: str | bool = True
) -> Any:
    """Return a typer option whose value is text or the path of a file."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel, show_default=default)


def flag_option(name: str, help: str, panel: str | None = None) -> Any:
    """Return a typer option without a value, such as --json."""
    return typer.Option(name, help=help, rich_help_panel=panel)


OUTPUT = "Output"
AsJson = Annotated[bool, flag_option("--json", "Print the results as JSON.", OUTPUT)]
Progress = Annotated[bool, flag_option("--progress/--no-progress", "Show no progress bar.", OUTPUT)]
Scheduler = Annotated[
    str | None, text_option("Dask scheduler on whose cluster to run.", "Simulation", "ADDRESS")
]


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
