"""Numbers out of the side studies' tables, as what claims compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.research.paper.measurements import Comparison, Measurement
from tideproof.table import Table

Found = Mapping[str, Any]

EARLY, LATE = 10, 200  # environments
ROUNDING = 1e-6  # what is zero but for rounding is below


def rows_of(table: Table, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows in which those columns have those values; there must be one."""
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    if not rows:
        raise LookupError(f"no row with {wanted}")
    return rows


def exactly(value: float) -> Measurement:
    """Return a number that is known exactly."""
    return Measurement(value, value, value)


def identity(found: Found, quantity: str) -> list[Comparison]:
    """Return what an identity comes to on each design."""
    rows = rows_of(found["identities"], quantity=quantity)
    return [Comparison(row["where"], exactly(row["value"])) for row in rows]


def exact(found: Found, design: str, quantity: str, J: int) -> float:
    """Return a quantity on a design after so many environments."""
    return float(rows_of(found["limits"], design=design, quantity=quantity, environments=J)[0]["value"])


def everywhere(found: Found, quantity: str) -> list[tuple[str, int, float]]:
    """Return a quantity on all designs after each number of environments."""
    rows = rows_of(found["limits"], quantity=quantity)
    return [(row["design"], row["environments"], row["value"]) for row in rows]


def ratios(found: Found, above: str, below: str) -> list[Comparison]:
    """Return one quantity over another on all designs after each number of environments."""
    return [
        Comparison(f"{design}, {J} environments", exactly(value / exact(found, design, below, J)))
        for design, J, value in everywhere(found, above)
    ]


def late_over_early(found: Found, design: str, quantity: str) -> Measurement:
    """Return how a quantity changes between few environments and many."""
    return exactly(exact(found, design, quantity, LATE) / exact(found, design, quantity, EARLY))
