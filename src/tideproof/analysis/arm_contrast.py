"""Comparison of two arms: the estimated difference or lift, its confidence interval and p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.analysis.scales import ScaleFit
from tideproof.stats.best.adaptive_allowance import critical_deviate, p_value
from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.scales.scale_choice import ScaleName
from tideproof.table import to_json_values


@dataclass(frozen=True, slots=True)
class Contrast:
    """Estimated difference or lift of arm `a` over arm `b`, with a confidence interval.

    Attributes
    ----------
    a, b : the two arms.
    estimate : on the scale "difference", mean of `a` minus mean of `b`, in units of the reward. On "ratio",
        "odds" and "log", the lift: 0.12 if the mean (the odds) of `a` is 12 % higher.
    se : standard error of the difference, or of the logarithm of the ratio.
    low, high : lower and upper bound of the estimate, at the confidence level of the fit. The interval is not
        symmetric where rewards are rare or skewed. Where the data do not identify the scale, the interval
        covers the intervals of all scales that fit the data.
    p : two-sided p-value of the hypothesis of no difference. Where several scales fit the data, the largest
        of their p-values.
    freedom : degrees of freedom of all rewards. With 0, all attributes above except `estimate` are None.
    adaptive : whether an adaptive policy chose the pulls. The interval and `p` then allow for it.
    scale : "difference", "ratio", "odds" or "log".
    exact : whether the interval and `p` come from the exact distribution, conditional on the totals of the
        environments (for two arms with few events, on the scale of odds; the mid-p version is used). True
        only if the pulls did not depend on rewards.
    """

    a: Any
    b: Any
    estimate: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    freedom: float
    adaptive: bool
    scale: ScaleName = "difference"
    exact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the contrast as a dictionary of plain values, for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def compare_arms(
    names: tuple[Any, Any],
    on: ScaleFit,
    pairs: Pairs,
    places: tuple[int, int],
    *,
    level: float,
    adaptive: bool,
    picked: bool = False,
    ever: tuple[float, float] | None = None,
) -> Contrast:
    """Compare two arms on a scale, using the tests of their pair; unknown numbers become None.

    `ever` holds the critical value for this pair that is valid at all looks together, and the p-value of no
    difference under continuous monitoring.
    """
    i, k = places
    C = on.found.covariance
    if ever is None:
        arms, z_0 = len(C), pairs.deviate(i, k)
        z = critical_deviate(level, arms, adaptive=adaptive, picked=picked)
        p = p_value(z_0, arms, adaptive=adaptive, picked=picked)
    else:
        z, p = ever
    values = np.array([pairs.gap(i, k), pairs.lower(i, k, z), pairs.upper(i, k, z)])
    estimate, low, high = on.shown(values).tolist()
    nu = float(on.found.freedom[i, k])
    return Contrast(
        *names,
        estimate=estimate,
        se=finite_or_none(math.sqrt(max(float(C[i, i] + C[k, k] - 2.0 * C[i, k]), 0.0))),
        low=finite_or_none(low),
        high=finite_or_none(high),
        p=finite_or_none(p),
        freedom=int(nu) if nu.is_integer() else nu,
        adaptive=adaptive,
        scale=on.name,
        exact=on.exact and pairs is on.found.pairs and not adaptive,
    )


def finite_or_none(x: float) -> float | None:
    """Return a number, or None if it is NaN or infinite."""
    return x if math.isfinite(x) else None
