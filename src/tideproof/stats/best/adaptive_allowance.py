"""Widening of confidence intervals after adaptive allocation or after selection of the leading arm.

After an adaptive run the estimated difference of two arms varies by more than its standard error says: an arm
that begins badly is played less and cannot recover. In the least favourable simulated worlds, where two arms
nearly tie for the best, the 80, 90, 95 and 99 % quantiles of the absolute z-score all exceed the normal ones
by about the same number of standard errors. That number grows with the number of arms and hardly depends on
the budget or on the lengths of environments. `benchmarks/ends.py` measured it, and `MEASURED` holds it;
intervals are widened by it. `budget_ends.py` measures the resulting coverage in other worlds.

The selected arm and its runner-up were both played to the end, so their difference behaves as if there were
no other arms. But the runner-up is selected, too, with or without adaptive allocation: the distance to it is
the minimum of K - 1 positively correlated differences. Treating these as independent is conservative (Slepian
1962).
"""

from __future__ import annotations

import math

from tideproof.stats.best.student_inference import normal_quantile, normal_tail

# (number of arms, standard errors)
_MEASURED_ALLOWANCES = ((2, 0.2), (3, 0.4), (5, 0.57), (10, 0.66), (30, 1.0))


def allowance(arms: int) -> float:
    """Return the number of standard errors by which intervals are widened after an adaptive run.

    It is interpolated, and beyond the table extrapolated, linearly in the logarithm of the number of arms.

    >>> [round(allowance(arms), 2) for arms in (2, 3, 4, 5, 10, 30, 90)]
    [0.2, 0.4, 0.5, 0.57, 0.66, 1.0, 1.34]
    """
    later = next(
        (place for place, (n, _) in enumerate(_MEASURED_ALLOWANCES) if n >= arms),
        len(_MEASURED_ALLOWANCES) - 1,
    )
    (n, low), (m, high) = _MEASURED_ALLOWANCES[max(later - 1, 0)], _MEASURED_ALLOWANCES[max(later, 1)]
    return low + (high - low) * math.log(arms / n) / math.log(m / n)


def critical_deviate(level: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return the half-width of a confidence interval in standard errors, as a normal deviate.

    `adaptive` means that a policy chose pulls by rewards. `picked` means that the two arms are the selected
    arm and its runner-up.

    >>> [round(critical_deviate(0.95, arms, adaptive=False, picked=True), 2) for arms in (3, 5, 10)]
    [1.96, 2.23, 2.53]
    """
    usual = normal_quantile(0.5 + 0.5 * level)
    if adaptive:
        usual += allowance(2 if picked else arms)
    return max(usual, normal_quantile(level ** (1.0 / (arms - 1)))) if picked else usual


def p_value(deviate: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return the two-sided p-value of a difference with z-score `deviate`, after adaptive allocation.

    It is 1 minus the confidence level at which a bound of the interval from `critical_deviate` is exactly 0.

    >>> round(p_value(critical_deviate(0.9, 5, adaptive=True, picked=True), 5, adaptive=True, picked=True), 9)
    0.1
    """
    away = abs(deviate)
    p = 2.0 * normal_tail(max(0.0, away - allowance(2 if picked else arms)) if adaptive else away)
    return max(p, -math.expm1((arms - 1) * math.log1p(-normal_tail(away)))) if picked else p
