"""Look up values in tables of simulation results, to check the claims of a reproduced paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tideproof.research.paper.measurement_intervals import Comparison, Measurement
from tideproof.table import Table

Found = Mapping[str, Any]

EARLY, LATE = 10, 200  # numbers of environments that are compared
ROUNDING = 1e-6  # bound on the rounding error of a quantity that is exactly zero


def rows_of(table: Table, **wanted: Any) -> list[dict[str, Any]]:
    """Return the table rows whose named columns have the given values; raise an error if there are none."""
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    if not rows:
        raise LookupError(f"no row with {wanted}")
    return rows


def exact_measurement(value: float) -> Measurement:
    """Return an exactly known number as a measurement whose confidence bounds are the number itself."""
    return Measurement(value, value, value)


def identity_errors(found: Found, quantity: str) -> list[Comparison]:
    """Return, for each random design, the difference between the two sides of an algebraic identity."""
    rows = rows_of(found["identities"], quantity=quantity)
    return [Comparison(row["where"], exact_measurement(row["value"])) for row in rows]


def exact_value(found: Found, design: str, quantity: str, J: int) -> float:
    """Return the exact value of one property of a test design, such as a variance, after `J` environments."""
    return float(rows_of(found["limits"], design=design, quantity=quantity, environments=J)[0]["value"])


def values_on_all_designs(found: Found, quantity: str) -> list[tuple[str, int, float]]:
    """Return exact values of a quantity, such as a variance, by test design and number of environments."""
    rows = rows_of(found["limits"], quantity=quantity)
    return [(row["design"], row["environments"], row["value"]) for row in rows]


def ratios(found: Found, above: str, below: str) -> list[Comparison]:
    """Return exact variances, or similar quantities, divided by their bounds or limits, by test design."""
    return [
        Comparison(
            f"{design}, {J} environments", exact_measurement(value / exact_value(found, design, below, J))
        )
        for design, J, value in values_on_all_designs(found, above)
    ]


def late_over_early(found: Found, design: str, quantity: str) -> Measurement:
    """Divide a quantity, such as a variance, after many environments by the same after few environments."""
    return exact_measurement(
        exact_value(found, design, quantity, LATE) / exact_value(found, design, quantity, EARLY)
    )
