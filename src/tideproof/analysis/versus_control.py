"""Every arm against one of them, the control: difference, two-sided interval, lift."""

from __future__ import annotations

import math
from typing import Any

from tideproof.analysis.arm_contrast import Contrast, known
from tideproof.analysis.fit_result import Fit
from tideproof.errors import InputError, UnknownName
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.pairs.fieller_interval import ratio_limits
from tideproof.table import Table


def against(fit: Fit, control: Any, *, simultaneous: bool = True) -> Table:
    """Compare every other arm with the control.

    Use it where one arm is what you have, and the question is which others beat it; `fit.comparisons`
    asks instead which arm is the best of all.

    Parameters
    ----------
    fit
        What is compared.
    control
        One of its arms.
    simultaneous
        Whether all intervals hold at once with probability `fit.level` (Sidak), or each by itself.

    Returns
    -------
    Table
        A row for each other arm, in the order of the fit. Columns: arm; estimate (its mean minus that of
        the control, or where arms are compared by lifts its lift), low, high and p (two-sided); lift (the
        estimate over the control's adjusted mean), lift_low and lift_high (Fieller's limits at the same
        level; None where the control's mean may be 0); reading, "better", "worse" or "unclear" (0 is in the
        interval, or nothing tells how sure it is), or "not comparable" with the rest None.

    Examples
    --------
    >>> days, sales = [1] * 4 + [2] * 4, [1.0, 1.2, 2.0, 2.1, 4.0, 4.1, 5.0, 5.3]
    >>> fit = Fit.from_arrays(["A", "A", "B", "B"] * 2, days, sales)
    >>> against(fit, "A")
    arm  estimate     low   high          p    lift  lift_low  lift_high  reading
    B       1.025  0.7863  1.264  0.0001063  0.3981    0.2910     0.5172  better
    """
    arms = fit.cells.arms
    if control not in arms:
        raise UnknownName.with_suggestion("control", control, arms)
    if len(arms) < 2:
        raise InputError(f"a control needs another arm to be compared with; there is only {control!r}")
    others = [arm for arm in arms if arm != control]
    group = next(group for group in fit.groups if control in group)
    compared = [arm for arm in others if arm in group]
    count = max(1, len(compared)) if simultaneous else 1
    level = fit.level ** (1.0 / count)
    rows = {row["arm"]: row for row in fit.arms}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for arm in others:
        columns["arm"].append(arm)
        if arm not in group:
            for name in _COLUMNS[1:-1]:
                columns[name].append(None)
            columns["reading"].append("not comparable")
            continue
        found = fit.contrast(arm, control, level=level)
        low, high = found.low, found.high
        lift = _lift(found, rows[arm], rows[control], level, fit.lifts, fit.anytime)
        p = None if found.p is None else _any_of(count, found.p)
        values = (found.estimate, low, high, p, *lift, reading(low, high, fit.direction))
        for name, value in zip(_COLUMNS[1:], values, strict=True):
            columns[name].append(value)
    return Table(columns)


_COLUMNS = ("arm", "estimate", "low", "high", "p", "lift", "lift_low", "lift_high", "reading")


def reading(low: float | None, high: float | None, direction: str) -> str:
    """Say in a word what an interval of a difference says.

    >>> reading(0.1, 0.3, "maximize"), reading(0.1, 0.3, "minimize"), reading(-0.1, 0.3, "maximize")
    ('better', 'worse', 'unclear')
    """
    if low is None or high is None or low <= 0.0 <= high:
        return "unclear"
    return "better" if (low > 0.0) == (direction == "maximize") else "worse"


def _any_of(count: int, p: float) -> float:
    """Return the probability that one of so many independent p-values is as small: Sidak's adjustment.

    >>> round(_any_of(2, 0.1), 3), _any_of(3, 1.0), _any_of(1, 1e-20)
    (0.19, 1.0, 1e-20)
    """
    return 1.0 if p >= 1.0 else -math.expm1(count * math.log1p(-p))


def _lift(
    found: Contrast,
    arm: dict[str, Any],
    control: dict[str, Any],
    level: float,
    lifts: bool,
    anytime: bool,
) -> tuple[float | None, float | None, float | None]:
    """Return the lift and its limits: of the arm's adjusted mean over the control's, minus 1.

    Where arms are compared by `lifts` that is what the contrast says. Else the covariance of the two means
    follows from their variances and that of their difference.
    """
    if lifts:
        return found.estimate, found.low, found.high
    lift = found.estimate / control["mean"] if control["mean"] else None
    if found.se is None or control["se"] is None or lift is None:
        return lift, None, None
    xx, yy = arm["se"] ** 2, control["se"] ** 2
    xy = 0.5 * (xx + yy - found.se**2)
    if anytime and found.low is not None and found.high is not None:  # the level of one look with such limits
        level = 1.0 - f_tail((0.5 * (found.high - found.low) / found.se) ** 2, 1.0, found.freedom)
    elif anytime:
        return lift, None, None
    low, high = ratio_limits(arm["mean"], control["mean"], xx, xy, yy, found.freedom, level)
    return lift, known(low - 1.0), known(high - 1.0)
