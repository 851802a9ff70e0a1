"""Two arms compared, with an interval: the only thing that the data identify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tideproof.stats.allowance import p_value, reach
from tideproof.stats.comparisons import Pairs
from tideproof.stats.wrong_scale import Scale
from tideproof.table import plain


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much higher the mean reward of arm `a` is than that of arm `b`.

    Attributes
    ----------
    a, b : the two arms.
    estimate : on the scale "difference", mean of `a` minus mean of `b`, in units of the reward; on "ratio"
        and "odds" the lift, 0.12 if the mean (the odds) of `a` is 12 % higher.
    se : standard error of the difference, or of the logarithm of the ratio.
    low, high : limits of the estimate, at the level of the fit; not symmetric where rewards are rare or
        skewed. Where the data cannot tell the scale they allow for each that is possible.
    p : two-sided p-value of no difference; the largest, where limits allow for several scales.
    freedom : degrees of freedom of all rewards; with 0, all of the above but the estimate are None.
    adaptive : whether an adaptive policy chose the pulls, for which limits and p allow.
    scale : "difference", "ratio" or "odds".
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
    scale: Scale = "difference"

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        found: dict[str, Any] = plain(self)
        return found


def contrast(
    names: tuple[Any, Any],
    pairs: Pairs,
    places: tuple[int, int],
    variance: float,
    freedom: float,
    *,
    level: float,
    adaptive: bool,
    arms: int = 2,
    picked: bool = False,
    scale: Scale = "difference",
) -> Contrast:
    """Compare two of so many arms by the tests of their pair; what is not known becomes None."""
    z = reach(level, arms, adaptive=adaptive, picked=picked)
    gap, low, high = pairs.gap(*places), pairs.lower(*places, z), pairs.upper(*places, z)
    shown = (lambda x: x) if scale == "difference" else _lift
    return Contrast(
        *names,
        estimate=shown(gap),
        se=known(math.sqrt(max(variance, 0.0))),
        low=known(shown(low)),
        high=known(shown(high)),
        p=known(p_value(pairs.deviate(*places), arms, adaptive=adaptive, picked=picked)),
        freedom=int(freedom) if freedom.is_integer() else freedom,
        adaptive=adaptive,
        scale=scale,
    )


def _lift(gap: float) -> float:
    """Return exp(gap) - 1; infinite rather than an error.

    >>> _lift(math.log(1.5)), _lift(1e4)
    (0.5, inf)
    """
    return math.expm1(gap) if gap < 700.0 else math.inf


def known(x: float) -> float | None:
    """Return a number, or None for NaN and infinity."""
    return x if math.isfinite(x) else None
