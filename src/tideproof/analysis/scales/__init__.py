"""The scales on which arms are compared, a file each: what an estimate is there, and what is checked how.

A scale is made of cells; `OnScale` is all that a `Fit` knows of it.
"""

from __future__ import annotations

from collections.abc import Callable

from tideproof.analysis.scales.difference_scale import DifferenceScale
from tideproof.analysis.scales.log_scale import LogScale
from tideproof.analysis.scales.odds_scale import OddsScale
from tideproof.analysis.scales.ratio_scale import RatioScale
from tideproof.analysis.scales.scale_protocol import OnScale
from tideproof.stats.cells import Cells
from tideproof.stats.scales.scale_choice import Compared
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Variance

__all__ = ["OnScale", "on_scale"]

_SCALES: dict[Compared, Callable[[Cells, Solution, Variance], OnScale]] = {
    "ratio": RatioScale,
    "odds": OddsScale,
    "log": LogScale,
}


def on_scale(
    name: Compared, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False
) -> OnScale:
    """Estimate arms and environments on a scale; `solution` is that of least squares."""
    if name == "difference":
        return DifferenceScale(cells, solution, variance, adaptive)
    return _SCALES[name](cells, solution, variance)
