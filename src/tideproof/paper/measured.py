"""What claims compare: numbers with intervals, and differences of them.

A paired difference is used wherever both numbers come from one study. Otherwise the interval of each is
widened so that the interval of the difference holds whatever their dependence: two intervals at level
1 - a/2 hold together at level 1 - a (Bonferroni).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

from tideproof.lab.study import Study

Of = Literal["pics", "eoc"]


class Measured(NamedTuple):
    """A number, with an interval around it."""

    estimate: float
    low: float
    high: float

    def minus(self, other: Measured) -> Measured:
        """Return the difference; both intervals must hold together."""
        return Measured(self.estimate - other.estimate, self.low - other.high, self.high - other.low)

    def over(self, other: Measured) -> Measured:
        """Return the ratio of two numbers that are not negative; both intervals must hold together."""
        return Measured(*(_ratio(a, b) for a, b in zip(self, (other[0], other[2], other[1]), strict=True)))

    def times(self, factor: float) -> Measured:
        """Return the number multiplied by a positive factor."""
        return Measured(*(factor * x for x in self))


class Comparison(NamedTuple):
    """One comparison: where it was made, and what came out."""

    where: str
    measured: Measured


def level_of_each(level: float, intervals: int) -> float:
    """Return the level that each of several intervals needs for all of them to hold at `level`."""
    return 1.0 - (1.0 - level) / intervals


def measure(study: Study, label: str, budget: int, of: Of, level: float) -> Measured:
    """Return PICS or EOC of a policy at a budget."""
    at = study.budgets.index(budget)
    value = (study.pics if of == "pics" else study.eoc)(label)[at]
    low, high = (ends[at] for ends in study.interval(label, level, of))
    if of == "eoc" and value == 0.0:  # no error seen: no spread to go by, but a bound on how often
        high = study.world.gaps.max() * study.interval(label, level).high[at]
    return Measured(float(value), float(low), float(high))


def paired_difference(
    study: Study, a: str, b: str, budgets: Iterable[int], of: Of, level: float, where: str = ""
) -> list[Comparison]:
    """Return `a` minus `b`, paired, at each budget."""
    found = study.difference(a, b, of, level)
    compared = []
    for budget in budgets:
        at = study.budgets.index(budget)
        numbers = (float(ends[at]) for ends in (found.estimate, found.low, found.high))
        compared.append(Comparison(f"{where}{budget} pulls", Measured(*numbers)))
    return compared


def difference_across(
    a: Study, b: Study, label: str, budgets: Iterable[int], level: float, of: Of = "pics"
) -> list[Comparison]:
    """Return one policy in world `a` minus the same policy in world `b`, at each budget."""
    each = level_of_each(level, 2)
    return [
        Comparison(
            f"{budget} pulls", measure(a, label, budget, of, each).minus(measure(b, label, budget, of, each))
        )
        for budget in budgets
    ]


def minus_ser3(study: Study, label: str, sweep: Study, of: Of, level: float) -> list[Comparison]:
    """Return a policy minus SER3 at each average of SER3's samples that the budgets of `study` enclose.

    The policy is read at the budgets just below and just above that average. The interval holds both
    differences: it is below zero only if the policy is better with fewer pulls, above only if it is
    worse with more.
    """
    each, compared = level_of_each(level, 3), []
    for name in sweep.policies:
        samples = float(sweep.samples(name)[0])
        below, above = bisect_right(study.budgets, samples) - 1, bisect_left(study.budgets, samples)
        if below < 0 or above == len(study.budgets):
            continue
        other = measure(sweep, name, sweep.budgets[0], of, each)
        less, more = (
            measure(study, label, study.budgets[at], of, each).minus(other) for at in (below, above)
        )
        ends = min(less.low, more.low), max(less.high, more.high)
        compared.append(Comparison(f"{samples:.0f} samples of SER3", Measured(less.estimate, *ends)))
    return compared


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan
