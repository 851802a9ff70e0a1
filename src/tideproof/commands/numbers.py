"""Numbers as they are typed: 1e5 replications are 100,000."""

from __future__ import annotations

import math
from typing import Any

import typer


def whole(text: Any) -> int:
    """Read a whole number.

    >>> whole("1e5"), whole("1_000"), whole(7)
    (100000, 1000, 7)
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise typer.BadParameter(f"it must be a whole number such as 1000 or 1e5, not {text!r}")
    return int(value)


def number(text: Any) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"it must be a number such as 0.5, not {text!r}") from None
