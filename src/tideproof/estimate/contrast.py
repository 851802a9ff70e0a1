"""The difference of two arms, with its interval: the only thing that the data identify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tideproof.stats.inference import t_quantile, two_sided_p
from tideproof.table import plain


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much higher the mean reward of arm `a` is than that of arm `b`.

    Attributes
    ----------
    a, b : the two arms.
    estimate : mean of `a` minus mean of `b`, in units of the reward.
    se : its standard error.
    low, high : its Student-t interval, at the level of the fit.
    p : two-sided p-value of no difference.
    freedom : degrees of freedom behind `se`, a fraction where variances are unequal; with 0, all of the
        above but the estimate are None.
    adaptive : whether an adaptive policy chose the pulls, which makes the interval a little too short.
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

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = plain(self)
        return found


def contrast(
    a: Any, b: Any, estimate: float, variance: float, freedom: float, level: float, adaptive: bool
) -> Contrast:
    """Turn an estimated difference and its variance into an interval and a p-value; NaN becomes None."""
    se = math.nan if math.isnan(variance) else math.sqrt(max(variance, 0.0))
    reach = t_quantile(level, freedom) * se
    return Contrast(
        a=a,
        b=b,
        estimate=estimate,
        se=known(se),
        low=known(estimate - reach),
        high=known(estimate + reach),
        p=known(two_sided_p(estimate, se, freedom)),
        freedom=int(freedom) if freedom.is_integer() else freedom,
        adaptive=adaptive,
    )


def known(x: float) -> float | None:
    """Return a number, or None for NaN."""
    return None if math.isnan(x) else x
