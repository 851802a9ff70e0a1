"""The options `scale` and `variance`: what "auto" means for the data, and the fit on the resulting scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from tideproof.analysis.scales.difference_scale import DifferenceScale
from tideproof.analysis.scales.log_scale import LogScale
from tideproof.analysis.scales.odds_scale import OddsScale
from tideproof.analysis.scales.ratio_scale import RatioScale
from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.scales.reward_logarithms import choose_logs, require_logs
from tideproof.stats.scales.scale_comparison import ScaleDecision, ScaleName, choose_scale
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Variance

ScaleChoice = Literal["auto", "difference", "ratio", "odds", "log"]

_SCALES: dict[ScaleName, Callable[[Cells, Solution, Variance], ScaleFit]] = {
    "ratio": RatioScale,
    "odds": OddsScale,
    "log": LogScale,
}


def resolve_variance(cells: Cells, variance: Variance) -> Variance:
    """Return the variance model that replaces "auto" for data with units, covariates or two factors."""
    if variance != "auto":
        return variance
    if cells.units is not None:
        return "by-unit"
    return "auto" if cells.factors is None and cells.slope is None else "common"


def select_scale(cells: Cells, scale: ScaleChoice | ScaleDecision, variance: Variance) -> ScaleDecision:
    """Return the requested scale, or the one that fits the data; a `ScaleDecision` is returned unchanged."""
    if isinstance(scale, ScaleDecision):
        return scale
    if scale not in get_args(ScaleChoice):
        allowed = ", ".join(map(repr, get_args(ScaleChoice)))
        raise InputError(f"scale must be one of {allowed}, not {scale!r}")
    if scale == "auto" and np.ptp(cells.mean) == 0.0 and not cells.squares.any():
        return ScaleDecision("difference", {}, False, "All rewards are equal.")
    if scale == "auto" and variance == "auto":
        return choose_logs(cells, choose_scale(cells))
    if scale == "auto":
        reason = f"Arms are compared by differences, because variance={variance!r} requires it."
        return ScaleDecision("difference", {}, False, reason)
    if scale != "difference" and variance != "auto":
        raise InputError(
            f"variance={variance!r} requires scale='difference'; with scale={scale!r} use variance='auto'"
        )
    if scale == "log":
        require_logs(cells)
    return ScaleDecision(scale, {}, False, f"scale={scale!r} was requested.")


def needs_logs(scale: ScaleChoice, variance: Variance) -> bool | None:
    """Return whether to read logarithms of rewards: True, False, or None for "if they may help"."""
    if scale == "log":
        return True
    return None if scale == variance == "auto" else False


def fit_on_scale(
    name: ScaleName, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False
) -> ScaleFit:
    """Estimate arms and environments on a scale; `solution` is the least-squares solution of the cells."""
    if name == "difference":
        return DifferenceScale(cells, solution, variance, adaptive)
    return _SCALES[name](cells, solution, variance)
