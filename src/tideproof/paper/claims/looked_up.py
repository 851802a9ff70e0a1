"""Numbers out of the side studies' tables, as what claims compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.paper.measured import Comparison, Measured
from tideproof.table import Table

Found = Mapping[str, Any]

ROUNDING = 1e-6  # what is zero but for rounding is below


def rows_of(table: Table, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows in which those columns have those values; there must be one."""
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    if not rows:
        raise LookupError(f"no row with {wanted}")
    return rows


def exactly(value: float) -> Measured:
    """Return a number that is known exactly."""
    return Measured(value, value, value)


def identity(found: Found, quantity: str) -> list[Comparison]:
    """Return what an identity comes to on each design."""
    rows = rows_of(found["identities"], quantity=quantity)
    return [Comparison(row["where"], exactly(row["value"])) for row in rows]
