"""The scales on which arms are compared, a file each: what an estimate is there, and what is checked how.

A scale is made of cells; `OnScale` is all that a `Fit` knows of it.
"""

from __future__ import annotations

from collections.abc import Callable

from tideproof.estimate.scales.difference import Difference
from tideproof.estimate.scales.log import Log
from tideproof.estimate.scales.odds import Odds
from tideproof.estimate.scales.on_scale import OnScale
from tideproof.estimate.scales.ratio import Ratio
from tideproof.stats.cells import Cells
from tideproof.stats.noise import Variance
from tideproof.stats.scale import Compared
from tideproof.stats.solve import Solution

__all__ = ["OnScale", "on_scale"]

_SCALES: dict[Compared, Callable[[Cells, Solution, Variance], OnScale]] = {
    "ratio": Ratio,
    "odds": Odds,
    "log": Log,
}


def on_scale(
    name: Compared, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False
) -> OnScale:
    """Estimate arms and environments on a scale; `solution` is that of least squares."""
    if name == "difference":
        return Difference(cells, solution, variance, adaptive)
    return _SCALES[name](cells, solution, variance)
