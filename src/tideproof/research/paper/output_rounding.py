"""The same bytes on every machine: what is written is rounded to digits that all of them agree on.

Linear algebra adds up in an order that depends on the machine, so the last of a number's sixteen digits
do too. Ten are kept. What is zero but for rounding would keep ten digits of noise: it becomes zero.
"""

from __future__ import annotations

from typing import Any

from tideproof.table import Table

DIGITS = 10
NOTHING = 1e-12  # a number of order one that is zero but for rounding is smaller


def rounded(table: Table) -> Table:
    """Return the table with its floats rounded.

    >>> rounded(Table({"x": [2 / 3, 1e-17, 3]})).to_dicts()
    [{'x': 0.6666666667}, {'x': 0.0}, {'x': 3}]
    """
    return Table({name: [_rounded(value) for value in table[name]] for name in table.columns})


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return 0.0 if abs(value) < NOTHING else float(f"{value:.{DIGITS}g}")
