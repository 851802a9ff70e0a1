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


class Reading(NamedTuple):
    """A number, with an interval around it."""

    estimate: float
    low: float
    high: float

    def minus(self, other: Reading) -> Reading:
        """Return the difference; both intervals must hold together."""
        return Reading(self.estimate - other.estimate, self.low - other.high, self.high - other.low)

    def over(self, other: Reading) -> Reading:
        """Return the ratio of two numbers that are not negative; both intervals must hold together."""
        return Reading(*(_ratio(a, b) for a, b in zip(self, (other[0], other[2], other[1]), strict=True)))

    def times(self, factor: float) -> Reading:
        """Return the number multiplied by a positive factor."""
        return Reading(*(factor * x for x in self))


class Row(NamedTuple):
    """One comparison: where it was made, and what came out."""

    where: str
    reading: Reading


def share(level: float, readings: int) -> float:
    """Return the level at which each of several readings must hold for all to hold at `level`."""
    return 1.0 - (1.0 - level) / readings


def read(study: Study, label: str, budget: int, of: Of, level: float) -> Reading:
    """Return PICS or EOC of a policy at a budget."""
    at = study.budgets.index(budget)
    value = (study.pics if of == "pics" else study.eoc)(label)[at]
    low, high = (ends[at] for ends in study.interval(label, level, of))
    if of == "eoc" and value == 0.0:  # no error seen: no spread to go by, but a bound on how often
        high = study.world.gaps.max() * study.interval(label, level).high[at]
    return Reading(float(value), float(low), float(high))


def difference(
    study: Study, a: str, b: str, budgets: Iterable[int], of: Of, level: float, where: str = ""
) -> list[Row]:
    """Return `a` minus `b`, paired, at each budget."""
    found = study.difference(a, b, of, level)
    rows = []
    for budget in budgets:
        at = study.budgets.index(budget)
        numbers = (float(ends[at]) for ends in (found.estimate, found.low, found.high))
        rows.append(Row(f"{where}{budget} pulls", Reading(*numbers)))
    return rows


def between(
    a: Study, b: Study, label: str, budgets: Iterable[int], level: float, of: Of = "pics"
) -> list[Row]:
    """Return one policy in world `a` minus the same policy in world `b`, at each budget."""
    each = share(level, 2)
    return [
        Row(f"{budget} pulls", read(a, label, budget, of, each).minus(read(b, label, budget, of, each)))
        for budget in budgets
    ]


def against_ser3(study: Study, label: str, sweep: Study, of: Of, level: float) -> list[Row]:
    """Return a policy minus SER3 at each average of SER3's samples that the budgets of `study` enclose.

    The policy is read at the budgets just below and just above that average. The interval holds both
    differences: it is below zero only if the policy is better with fewer pulls, above only if it is
    worse with more.
    """
    each, rows = share(level, 3), []
    for name in sweep.policies:
        samples = float(sweep.samples(name)[0])
        below, above = bisect_right(study.budgets, samples) - 1, bisect_left(study.budgets, samples)
        if below < 0 or above == len(study.budgets):
            continue
        other = read(sweep, name, sweep.budgets[0], of, each)
        less, more = (read(study, label, study.budgets[at], of, each).minus(other) for at in (below, above))
        ends = min(less.low, more.low), max(less.high, more.high)
        rows.append(Row(f"{samples:.0f} samples of SER3", Reading(less.estimate, *ends)))
    return rows


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan
