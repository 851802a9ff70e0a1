"""On which scale arms are compared, and what is read on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from tideproof.core.arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.inference import limits
from tideproof.stats.multiplying import estimate_ratio
from tideproof.stats.noise import Estimate, Variance, estimate
from tideproof.stats.odds_pairs import estimate_odds
from tideproof.stats.pair_tests import PairTests
from tideproof.stats.scale import Choice, choose_scale
from tideproof.stats.solve import Solution
from tideproof.stats.wrong_scale import Scale

ScaleChoice = Literal["auto", "difference", "ratio", "odds"]


def variance_for(cells: Cells, variance: Variance) -> Variance:
    """Return what is assumed of the noise where "auto" has no say: units, covariates and two factors."""
    if variance != "auto":
        return variance
    if cells.units is not None:
        return "by-unit"
    return "auto" if cells.factors is None and cells.slope is None else "common"


def scale_for(cells: Cells, scale: ScaleChoice, variance: Variance) -> Choice:
    """Return the scale that was asked for, or the one that describes the data."""
    if scale not in get_args(ScaleChoice):
        allowed = ", ".join(map(repr, get_args(ScaleChoice)))
        raise InputError(f"scale must be one of {allowed}, not {scale!r}")
    if scale == "auto" and np.ptp(cells.mean) == 0.0 and not cells.squares.any():
        return Choice("difference", {}, False, "All rewards are the same.")
    if scale == "auto" and variance == "auto":
        return choose_scale(cells)
    if scale == "auto":
        return Choice("difference", {}, False, f"Differences are compared, as variance={variance!r} needs.")
    if scale != "difference" and variance != "auto":
        raise InputError(f"variance={variance!r} is for scale='difference'; with scale={scale!r} use 'auto'")
    return Choice(scale, {}, False, f"scale={scale!r} was asked for.")


_ESTIMATES: dict[Scale, Callable[[Cells, Solution], Estimate]] = {
    "ratio": estimate_ratio,
    "odds": estimate_odds,
}


def estimate_on(scale: Scale, cells: Cells, solution: Solution, variance: Variance) -> Estimate:
    """Estimate arms and environments on a scale."""
    if scale == "difference":
        return estimate(cells, solution, variance)
    return _ESTIMATES[scale](cells, solution)


def mean_limits(cells: Cells, found: Estimate, scale: Scale, level: float) -> dict[str, Floats]:
    """Return standard errors and limits of adjusted means: rates stay between 0 and 1, factors above 0."""
    read = found.readout
    plain = limits(read.mean, read.mean_variance, found.mean_freedom, level)
    usual = read.mean if read.steady is None else read.steady
    if cells.binary and isinstance(found.pairs, PairTests):
        return plain | _rate_limits(read.mean, usual, read.mean_variance, plain["high"] - read.mean)
    if scale == "difference":
        return plain
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = np.exp((plain["high"] - read.mean) / usual)
    return plain | {"low": read.mean / reach, "high": np.maximum(read.mean, usual) * reach}


def _rate_limits(mean: Floats, usual: Floats, variance: Floats, reach: Floats) -> dict[str, Floats]:
    """Return Wilson's limits of rates, of as many chances as give this variance to the usual rate.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    rate, p = np.clip(mean, 0.0, 1.0), np.clip(usual, 1e-12, 1.0 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = p * (1.0 - p) / variance
        z2 = reach**2 / variance
        middle = (rate + 0.5 * z2 / n) / (1.0 + z2 / n)
        half = np.sqrt(z2 * (rate * (1.0 - rate) / n + 0.25 * z2 / n**2)) / (1.0 + z2 / n)
    return {"low": np.maximum(0.0, middle - half), "high": np.minimum(1.0, middle + half)}
