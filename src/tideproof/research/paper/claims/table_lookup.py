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
    """Return the table rows that match all `wanted` column values; raise an error if there is no such row."""
    rows = [row for row in table if all(row[name] == value for name, value in wanted.items())]
    if not rows:
        raise LookupError(f"no row with {wanted}")
    return rows


def exact_measurement(value: float) -> Measurement:
    """Return an exactly known number as a measurement with a confidence interval of width zero."""
    return Measurement(value, value, value)


def identity_errors(found: Found, quantity: str) -> list[Comparison]:
    """Return, for each random design, the difference between the two sides of an algebraic identity."""
    rows = rows_of(found["identities"], quantity=quantity)
    return [Comparison(row["where"], exact_measurement(row["value"])) for row in rows]


def exact_value(found: Found, design: str, quantity: str, J: int) -> float:
    """Return an exactly known quantity, such as the variance of an estimate, after `J` environments.

    It was computed exactly, by formula.
    """
    return float(rows_of(found["limits"], design=design, quantity=quantity, environments=J)[0]["value"])


def values_on_all_designs(found: Found, quantity: str) -> list[tuple[str, int, float]]:
    """Return a quantity, such as the variance of an estimate, by test design and number of environments.

    It was computed exactly, by formula.
    """
    rows = rows_of(found["limits"], quantity=quantity)
    return [(row["design"], row["environments"], row["value"]) for row in rows]


def ratios(found: Found, above: str, below: str) -> list[Comparison]:
    """Return ratios of variances (or similar quantities) to their theoretical bounds, by test design."""
    return [
        Comparison(
            f"{design}, {J} environments", exact_measurement(value / exact_value(found, design, below, J))
        )
        for design, J, value in values_on_all_designs(found, above)
    ]


def late_over_early(found: Found, design: str, quantity: str) -> Measurement:
    """Return a quantity, such as the variance of an estimate, after many environments relative to few."""
    return exact_measurement(
        exact_value(found, design, quantity, LATE) / exact_value(found, design, quantity, EARLY)
    )
