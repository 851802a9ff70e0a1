"""Comparison of every arm with a control arm: difference, two-sided confidence interval, and lift."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tideproof.analysis.arm_comparisons import Contrast, finite_or_none
from tideproof.analysis.arm_lookup import find_arm
from tideproof.analysis.fit_result import Fit
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.pairs.fieller_interval import fieller_interval
from tideproof.table import Table


class ControlComparison(NamedTuple):
    """Table that compares each arm with a control arm.

    Columns: arm; estimate, low and high (a difference, or a lift where arms are compared by lifts);
    conclusion ("better", "worse", "unclear" or "not comparable"); lift on the scale of differences.
    """

    control: Any
    table: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of all arms with the control as a dictionary of plain values, for JSON."""
        return {"control": self.control, "arms": self.table.to_dicts()}


def against(fit: Fit, control: Any, *, simultaneous: bool = True) -> Table:
    """Compare every other arm with a control arm.

    Use it where one arm is in use now, and the question is which others beat it. `fit.comparisons` asks
    instead which arm is the best of all.

    Parameters
    ----------
    fit
        The fit that contains the arms.
    control
        The arm with which all others are compared.
    simultaneous
        Whether all intervals hold at once with probability `fit.confidence` (Sidak), or each one separately.

    Returns
    -------
    Table
        One row for each other arm, in the order of the fit. Columns: arm; estimate (its mean minus that of
        the control or, where arms are compared by lifts, its lift), low, high and p (two-sided); lift (the
        estimate divided by the control's adjusted mean), lift_low and lift_high (Fieller's interval at the
        same confidence level; None where the control's mean may be 0); conclusion: "better", "worse",
        "unclear" (the interval contains 0 or is unknown), or "not comparable", with the other columns None.

    Examples
    --------
    >>> days, sales = [1] * 4 + [2] * 4, [1.0, 1.2, 2.0, 2.1, 4.0, 4.1, 5.0, 5.3]
    >>> fit = Fit.from_arrays(["A", "A", "B", "B"] * 2, days, sales)
    >>> against(fit, "A")
    arm  estimate     low   high          p    lift  lift_low  lift_high  conclusion
    B       1.025  0.7863  1.264  0.0001063  0.3981    0.2910     0.5172  better
    """
    arms = fit.cells.arms
    control = find_arm(control, arms, "control")
    if len(arms) < 2:
        raise InputError(f"a comparison with a control needs at least two arms; there is only {control!r}")
    others = [arm for arm in arms if arm != control]
    group = next(group for group in fit.groups if control in group)
    compared = [arm for arm in others if arm in group]
    count = max(1, len(compared)) if simultaneous else 1
    confidence = fit.confidence ** (1.0 / count)
    rows = {row["arm"]: row for row in fit.arms}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for arm in others:
        columns["arm"].append(arm)
        if arm not in group:
            for name in _COLUMNS[1:-1]:
                columns[name].append(None)
            columns["conclusion"].append("not comparable")
            continue
        found = fit.contrast(arm, control, confidence=confidence, about=fit.sure_about)
        low, high = found.low, found.high
        lift = _lift(found, rows[arm], rows[control], confidence, fit.lifts, fit.repeated)
        p = None if found.p is None else _sidak(count, found.p)
        values = (found.estimate, low, high, p, *lift, read_interval(low, high, fit.direction))
        for name, value in zip(_COLUMNS[1:], values, strict=True):
            columns[name].append(value)
    return Table(columns)


_COLUMNS = ("arm", "estimate", "low", "high", "p", "lift", "lift_low", "lift_high", "conclusion")


def read_interval(low: float | None, high: float | None, direction: str) -> str:
    """Return "better", "worse" or "unclear" for the confidence interval of the difference of two arms.

    >>> read_interval(0.1, 0.3, "maximize"), read_interval(0.1, 0.3, "minimize")
    ('better', 'worse')
    >>> read_interval(-0.1, 0.3, "maximize")
    'unclear'
    """
    if low is None or high is None or low <= 0.0 <= high:
        return "unclear"
    return "better" if (low > 0.0) == (direction == "maximize") else "worse"


def _sidak(count: int, p: float) -> float:
    """Return a p-value that is adjusted for `count` simultaneous comparisons by Sidak's method.

    >>> round(_sidak(2, 0.1), 3), _sidak(3, 1.0), _sidak(1, 1e-20)
    (0.19, 1.0, 1e-20)
    """
    return 1.0 if p >= 1.0 else -math.expm1(count * math.log1p(-p))


def _lift(
    found: Contrast,
    arm: dict[str, Any],
    control: dict[str, Any],
    confidence: float,
    lifts: bool,
    repeated: bool,
) -> tuple[float | None, float | None, float | None]:
    """Return the lift of an arm over the control arm, with the bounds of its confidence interval.

    Where arms are compared by lifts, it is the contrast itself. It is None if the control's mean may be 0.
    Otherwise the covariance of the two means is
    computed from their variances and that of their difference.
    """
    if lifts:
        return found.estimate, found.low, found.high
    if control["low"] is None or control["low"] <= 0.0 <= control["high"]:  # the control's mean may be 0
        return None, None, None
    lift = found.estimate / control["mean"] if control["mean"] else None
    if found.se is None or control["se"] is None or lift is None:
        return lift, None, None
    xx, yy = arm["se"] ** 2, control["se"] ** 2
    xy = 0.5 * (xx + yy - found.se**2)
    if repeated and found.low is not None and found.high is not None:  # confidence level of one look as wide
        confidence = 1.0 - f_tail(
            (0.5 * (found.high - found.low) / found.se) ** 2, 1.0, found.degrees_of_freedom
        )
    elif repeated:
        return lift, None, None
    low, high = fieller_interval(
        arm["mean"], control["mean"], xx, xy, yy, found.degrees_of_freedom, confidence
    )
    return lift, finite_or_none(low - 1.0), finite_or_none(high - 1.0)
