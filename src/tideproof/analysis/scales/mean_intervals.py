"""Confidence intervals of adjusted means that stay in the possible range, such as [0, 1] for rates."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.best.student_inference import student_intervals
from tideproof.stats.variance.variance_models import Estimate


def student_mean_intervals(found: Estimate, level: float) -> dict[str, Floats]:
    """Return standard errors and Student-t confidence intervals of adjusted means."""
    return student_intervals(found.readout.mean, found.readout.mean_variance, found.mean_freedom, level)


def log_scale_intervals(found: Estimate, level: float) -> dict[str, Floats]:
    """Return standard errors and confidence intervals that are symmetric on the log scale."""
    plain, mean, usual = student_mean_intervals(found, level), found.readout.mean, _reference_means(found)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = np.exp((plain["high"] - mean) / usual)
    return plain | {"low": mean / reach, "high": np.maximum(mean, usual) * reach}


def rate_intervals(found: Estimate, level: float) -> dict[str, Floats]:
    """Return standard errors and confidence intervals of rates, which stay between 0 and 1."""
    plain, mean = student_mean_intervals(found, level), found.readout.mean
    return plain | wilson_intervals(
        mean, _reference_means(found), found.readout.mean_variance, plain["high"] - mean
    )


def wilson_intervals(mean: Floats, usual: Floats, variance: Floats, reach: Floats) -> dict[str, Floats]:
    """Return Wilson's confidence intervals of rates.

    The sample size is the one that gives a rate of `usual` this `variance`; `reach` is half the width of the
    Student-t interval.

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


def _reference_means(found: Estimate) -> Floats:
    """Return the means for which the variances were computed."""
    return found.readout.mean if found.readout.steady is None else found.readout.steady
