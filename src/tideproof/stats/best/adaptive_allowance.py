"""How far out limits must be where the rewards had a say: in which arms were played, or in who is compared.

After an adaptive run the difference of two arms is off by more standard errors than chance alone makes it:
who began badly is played less and cannot recover. In the least favourable worlds that the lab found, two arms
that nearly tie for the best, the 80, 90, 95 and 99 % points of its size all lie further out by about the same
number of standard errors. It grows with the number of arms, hardly with the budget or the lengths of
environments, and is this table (`benchmarks/ends.py`): limits are moved out by it. `budget_ends.py` counts
how often they then hold, in other worlds.

The selected arm and its runner-up are two that were played to the end: their difference is off as if there
were no others. But the runner-up is the luckiest of those behind, whether pulls were adaptive or not: its
distance is the least of K - 1 differences, which hang together (Slepian 1962: to take them for independent is
safe).
"""

from __future__ import annotations

import math

from tideproof.stats.best.student_inference import normal_quantile, normal_tail

# By arms, in standard errors; in between, and beyond, linear in the logarithm of their number.
_MEASURED = ((2, 0.2), (3, 0.4), (5, 0.57), (10, 0.66), (30, 1.0))


def allowance(arms: int) -> float:
    """Return by how many standard errors limits move out after an adaptive run.

    >>> [round(allowance(arms), 2) for arms in (2, 3, 4, 5, 10, 30, 90)]
    [0.2, 0.4, 0.5, 0.57, 0.66, 1.0, 1.34]
    """
    later = next((place for place, (n, _) in enumerate(_MEASURED) if n >= arms), len(_MEASURED) - 1)
    (n, low), (m, high) = _MEASURED[max(later - 1, 0)], _MEASURED[max(later, 1)]
    return low + (high - low) * math.log(arms / n) / math.log(m / n)


def reach(level: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return how many standard errors away limits are, as a normal deviate.

    `adaptive`: a policy chose pulls by rewards. `picked`: the arms are the selected one and its runner-up.

    >>> [round(reach(0.95, arms, adaptive=False, picked=True), 2) for arms in (3, 5, 10)]
    [1.96, 2.23, 2.53]
    """
    usual = normal_quantile(0.5 + 0.5 * level)
    if adaptive:
        usual += allowance(2 if picked else arms)
    return max(usual, normal_quantile(level ** (1.0 / (arms - 1)))) if picked else usual


def p_value(deviate: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return 1 minus the level at which a limit is just 0, if the deviate of no difference is this.

    >>> round(p_value(reach(0.9, 5, adaptive=True, picked=True), 5, adaptive=True, picked=True), 9)
    0.1
    """
    away = abs(deviate)
    p = 2.0 * normal_tail(max(0.0, away - allowance(2 if picked else arms)) if adaptive else away)
    return max(p, -math.expm1((arms - 1) * math.log1p(-normal_tail(away)))) if picked else p
