"""Rounding of written numbers, so that files have the same bytes on every machine.

Linear algebra adds numbers in an order that depends on the machine, and so do the last of sixteen digits.
Ten digits are kept. A number that is zero up to rounding becomes zero, since its ten digits would be noise.
"""

from __future__ import annotations

from typing import Any

from tideproof.table import Table

DIGITS = 10
NOTHING = 1e-12  # bound on the rounding error of a quantity of order one that is exactly zero


def rounded(table: Table) -> Table:
    """Return a table with its floats rounded to ten digits.

    >>> rounded(Table({"x": [2 / 3, 1e-17, 3]})).to_dicts()
    [{'x': 0.6666666667}, {'x': 0.0}, {'x': 3}]
    """
    return Table({name: [_rounded(value) for value in table[name]] for name in table.columns})


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return 0.0 if abs(value) < NOTHING else float(f"{value:.{DIGITS}g}")
