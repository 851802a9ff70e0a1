"""Limits of adjusted means: rates stay between 0 and 1, what multiplies above 0."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.best.student_inference import limits
from tideproof.stats.variance.variance_models import Estimate


def plain_limits(found: Estimate, level: float) -> dict[str, Floats]:
    """Return standard errors and Student-t limits."""
    return limits(found.readout.mean, found.readout.mean_variance, found.mean_freedom, level)


def factor_limits(found: Estimate, level: float) -> dict[str, Floats]:
    """Return limits that are as many times as far up as down."""
    plain, mean, usual = plain_limits(found, level), found.readout.mean, _usual(found)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = np.exp((plain["high"] - mean) / usual)
    return plain | {"low": mean / reach, "high": np.maximum(mean, usual) * reach}


def rate_limits(found: Estimate, level: float) -> dict[str, Floats]:
    """Return limits between 0 and 1."""
    plain, mean = plain_limits(found, level), found.readout.mean
    return plain | wilson(mean, _usual(found), found.readout.mean_variance, plain["high"] - mean)


def wilson(mean: Floats, usual: Floats, variance: Floats, reach: Floats) -> dict[str, Floats]:
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


def _usual(found: Estimate) -> Floats:
    """Return the means that the variances belong to."""
    return found.readout.mean if found.readout.steady is None else found.readout.steady
