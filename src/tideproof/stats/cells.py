"""What a cell is: all that was observed of one arm in one environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """All that was observed, one cell for each arm in each environment where it was seen.

    Attributes
    ----------
    arms, environments : their labels, in the order of first appearance where rows have an order (files,
        databases, lazy frames: sorted). An arm may be listed without a cell.
    arm, environment : (C,) index of the arm and the environment of each cell.
    n, mean, squares : (C,) rewards, their mean, and the sum of their squared deviations from it.
    dropped : rows left out because a value was missing.
    """

    arms: list[Any]
    environments: list[Any]
    arm: Ints
    environment: Ints
    n: Floats
    mean: Floats
    squares: Floats
    dropped: int = 0
