"""Scales on which arms can be compared (difference, ratio, odds, log), with one file for each.

A scale is fitted to cells; the protocol `ScaleFit` contains all that a `Fit` uses of it.
"""

from __future__ import annotations

from collections.abc import Callable

from tideproof.analysis.scales.difference_scale import DifferenceScale
from tideproof.analysis.scales.log_scale import LogScale
from tideproof.analysis.scales.odds_scale import OddsScale
from tideproof.analysis.scales.ratio_scale import RatioScale
from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.stats.cells import Cells
from tideproof.stats.scales.scale_choice import ScaleName
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Variance

__all__ = ["ScaleFit", "fit_on_scale"]

_SCALES: dict[ScaleName, Callable[[Cells, Solution, Variance], ScaleFit]] = {
    "ratio": RatioScale,
    "odds": OddsScale,
    "log": LogScale,
}


def fit_on_scale(
    name: ScaleName, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False
) -> ScaleFit:
    """Estimate arms and environments on a scale; `solution` is the least-squares solution of the cells."""
    if name == "difference":
        return DifferenceScale(cells, solution, variance, adaptive)
    return _SCALES[name](cells, solution, variance)
