"""Two arms compared, with an interval: the only thing that the data identify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.analysis.scales import OnScale
from tideproof.stats.best.adaptive_allowance import p_value, reach
from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.scales.scale_choice import Compared
from tideproof.table import to_json_values


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much higher the mean reward of arm `a` is than that of arm `b`.

    Attributes
    ----------
    a, b : the two arms.
    estimate : on the scale "difference", mean of `a` minus mean of `b`, in units of the reward; on "ratio",
        "odds" and "log" the lift, 0.12 if the mean (the odds) of `a` is 12 % higher.
    se : standard error of the difference, or of the logarithm of the ratio.
    low, high : limits of the estimate, at the level of the fit; not symmetric where rewards are rare or
        skewed. Where the data cannot tell the scale they allow for each that is possible.
    p : two-sided p-value of no difference; the largest, where limits allow for several scales.
    freedom : degrees of freedom of all rewards; with 0, all of the above but the estimate are None.
    adaptive : whether an adaptive policy chose the pulls, for which limits and p allow.
    scale : "difference", "ratio", "odds" or "log".
    exact : whether limits and p are of the exact distribution given the totals of the environments (two arms
        with few events, by the odds), half of the probability of what was seen counted. Claimed only where
        pulls did not depend on rewards.
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
    scale: Compared = "difference"
    exact: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = to_json_values(self)
        return found


def contrast(
    names: tuple[Any, Any],
    on: OnScale,
    pairs: Pairs,
    places: tuple[int, int],
    *,
    level: float,
    adaptive: bool,
    picked: bool = False,
    ever: tuple[float, float] | None = None,
) -> Contrast:
    """Compare two arms on a scale by the tests of their pair; what is not known becomes None.

    `ever` is the deviate that the pair stays within at all looks, and the p-value of no difference then.
    """
    i, k = places
    C = on.found.covariance
    if ever is None:
        arms, z_0 = len(C), pairs.deviate(i, k)
        z = reach(level, arms, adaptive=adaptive, picked=picked)
        p = p_value(z_0, arms, adaptive=adaptive, picked=picked)
    else:
        z, p = ever
    values = np.array([pairs.gap(i, k), pairs.lower(i, k, z), pairs.upper(i, k, z)])
    estimate, low, high = on.shown(values).tolist()
    nu = float(on.found.freedom[i, k])
    return Contrast(
        *names,
        estimate=estimate,
        se=known(math.sqrt(max(float(C[i, i] + C[k, k] - 2.0 * C[i, k]), 0.0))),
        low=known(low),
        high=known(high),
        p=known(p),
        freedom=int(nu) if nu.is_integer() else nu,
        adaptive=adaptive,
        scale=on.name,
        exact=on.exact and pairs is on.found.pairs and not adaptive,
    )


def known(x: float) -> float | None:
    """Return a number, or None for NaN and infinity."""
    return x if math.isfinite(x) else None
