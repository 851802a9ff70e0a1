"""Measurements with confidence intervals, and their differences and ratios, to check a paper's claims.

A paired difference is a difference of numbers from the same replications: two policies of one study, or
kept selections in worlds that share their noise. Without pairs, each interval is widened so that the
interval of the difference holds whatever the dependence: two intervals at the confidence level 1 - a/2 hold
together at the level 1 - a (Bonferroni).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.lab.share_intervals import paired, quantile
from tideproof.lab.study import Study

ErrorMeasure = Literal["pics", "eoc"]

_MIN_ERRORS = 25  # errors that a ratio needs to have an interval


class Measurement(NamedTuple):
    """An estimate with the bounds of its confidence interval."""

    estimate: float
    low: float
    high: float

    def minus(self, other: Measurement) -> Measurement:
        """Return this measurement minus another; its interval is valid if both given intervals are."""
        return Measurement(self.estimate - other.estimate, self.low - other.high, self.high - other.low)

    def over(self, other: Measurement) -> Measurement:
        """Return this measurement divided by another; its interval is valid if both given intervals are.

        Neither measurement is negative.
        """
        return Measurement(*(_ratio(a, b) for a, b in zip(self, (other[0], other[2], other[1]), strict=True)))

    def times(self, factor: float) -> Measurement:
        """Return the measurement multiplied by a positive factor."""
        return Measurement(*(factor * x for x in self))


class Comparison(NamedTuple):
    """Measurement for the check of a paper's claim, labelled with its conditions, such as the budget."""

    where: str
    measured: Measurement


def normal_interval(estimate: float, stderr: float, level: float) -> Measurement:
    """Return an average over many runs with its normal confidence interval."""
    reach = quantile(level) * stderr
    return Measurement(estimate, estimate - reach, estimate + reach)


def simultaneous_level(level: float, intervals: int) -> float:
    """Return the confidence level that each interval needs so that all hold jointly at the given level."""
    return 1.0 - (1.0 - level) / intervals


def measure(study: Study, label: str, budget: int, of: ErrorMeasure, level: float) -> Measurement:
    """Return the error rate or opportunity cost of a policy at a budget, with its confidence interval."""
    at = study.budgets.index(budget)
    value = (study.pics if of == "pics" else study.eoc)(label)[at]
    low, high = (ends[at] for ends in study.interval(label, level, of))
    if of == "eoc" and value == 0.0:  # without an observed error, bound EOC by the largest gap times PICS
        high = study.world.gaps.max() * study.interval(label, level).high[at]
    return Measurement(float(value), float(low), float(high))


def paired_difference(
    study: Study, a: str, b: str, budgets: Iterable[int], of: ErrorMeasure, level: float, where: str = ""
) -> list[Comparison]:
    """Return the paired difference of two policies in error rate or cost, `a` minus `b`, at each budget."""
    found = study.difference(a, b, of, level)
    compared = []
    for budget in budgets:
        at = study.budgets.index(budget)
        numbers = (float(ends[at]) for ends in (found.estimate, found.low, found.high))
        compared.append(Comparison(f"{where}{budget} pulls", Measurement(*numbers)))
    return compared


class KeptSelections(NamedTuple):
    """The arms that a policy selected at one budget of a study, one for each replication."""

    study: Study
    label: str
    budget: int

    def wrong(self) -> Floats:
        """Return an array with 1 for each replication that selected a wrong arm, and 0 for the others."""
        return self.study.wrong(self.label, self.budget).astype(np.float64)


def paired_selection_difference(a: KeptSelections, b: KeptSelections, level: float) -> Measurement:
    """Return the paired difference of two error rates with Tango's score interval.

    It is the error rate of the selections `a` minus that of the selections `b`.
    """
    first, second = a.wrong(), b.wrong()
    only_a, only_b = (np.array([int((x > y).sum())]) for x, y in ((first, second), (second, first)))
    ends = paired(only_a, only_b, len(first), level)
    return Measurement(float((first - second).mean()), *(float(end[0]) for end in ends))


def paired_sum(parts: Iterable[tuple[float, KeptSelections]], level: float) -> Measurement:
    """Return a weighted sum of policies' error rates with its confidence interval.

    The error rates are paired by replication. The selections share their noise.
    """
    given = list(parts)
    total = np.sum([weight * kept.wrong() for weight, kept in given], axis=0)
    ends = [sum(weight for weight, _ in given if sign * weight > 0.0) for sign in (1, -1)]
    return mean_with_interval(total, max(abs(end) for end in ends), level)


def mean_with_interval(values: Floats, reach: float, level: float) -> Measurement:
    """Return a mean with a confidence interval that is reliable even if most of the numbers are zero.

    The values lie between -`reach` and `reach`. The interval is normal with z^2 values added at each end. It
    therefore keeps its coverage where few values differ from zero, and where none does.
    """
    z = quantile(level)
    more = 2.0 * z * z
    n = len(values) + more
    centre = float(values.sum()) / n
    spread = (float(np.square(values).sum()) + more * reach * reach) / n - centre * centre
    half = z * math.sqrt(spread / n)
    return Measurement(float(values.mean()), centre - half, centre + half)


def paired_log_ratio(parts: Iterable[tuple[float, KeptSelections]], level: float) -> Measurement:
    """Return the ratio of policies' error rates with its confidence interval.

    The error rates are paired by replication. In general the result is a product of powers of error rates.
    Each error rate is raised to the power given with it. The interval is that of the delta method for the
    logarithm. By itself it is too narrow where errors are few or selections hardly differ. Therefore z^2
    replications that differ are added to the data, and a half-width of h becomes h (1 + h/4). The result is
    undefined where a policy erred in fewer than 25 replications.
    """
    given = [(weight, kept.wrong()) for weight, kept in parts]
    fewest = min(float(wrong.sum()) for _, wrong in given)
    if fewest < _MIN_ERRORS:
        return Measurement(math.nan, 0.0, math.inf)
    rates = [float(wrong.mean()) for _, wrong in given]
    each = np.sum([w * (wrong / p) for (w, wrong), p in zip(given, rates, strict=True)], axis=0)
    log = sum(weight * math.log(p) for (weight, _), p in zip(given, rates, strict=True))
    z = quantile(level)
    reach = z * math.sqrt(float(each.var()) / len(each) + (z / fewest) ** 2)
    half = reach * (1.0 + 0.25 * reach)
    return Measurement(*(math.exp(end) for end in (log, log - half, log + half)))


def difference_across_worlds(
    a: Study, b: Study, label: str, budgets: Iterable[int], level: float, of: ErrorMeasure = "pics"
) -> list[Comparison]:
    """Return the difference of a policy's error rates in two simulated worlds, at each budget.

    It is the error rate (or opportunity cost) in the world of `a` minus that in the world of `b`.
    """
    each = simultaneous_level(level, 2)
    return [
        Comparison(
            f"{budget} pulls", measure(a, label, budget, of, each).minus(measure(b, label, budget, of, each))
        )
        for budget in budgets
    ]


def difference_to_ser3(
    study: Study, label: str, sweep: Study, of: ErrorMeasure, level: float
) -> list[Comparison]:
    """Return differences in error rate between a policy and SER3, interpolated to equal numbers of pulls.

    The results are differences in error rate (or opportunity cost): the policy minus SER3. There is one
    difference for each variant of SER3, at the average number of its pulls. The policy is measured at the
    budgets just below and just above that average. The estimate is interpolated between them on a logarithmic
    scale. The interval covers both differences: it is below zero only if the policy is better with fewer
    pulls, and above zero only if it is worse with more. SER3 variants whose average is outside the budgets of
    `study` are left out.
    """
    each, compared = simultaneous_level(level, 3), []
    for name in sweep.policies:
        samples = float(sweep.samples(name)[0])
        below, above = bisect_right(study.budgets, samples) - 1, bisect_left(study.budgets, samples)
        if below < 0 or above == len(study.budgets):
            continue
        other = measure(sweep, name, sweep.budgets[0], of, each)
        between = study.budgets[below], study.budgets[above]
        less, more = (measure(study, label, budget, of, each) for budget in between)
        estimate = _interpolate(samples, between, (less.estimate, more.estimate)) - other.estimate
        less, more = less.minus(other), more.minus(other)
        ends = min(less.low, more.low), max(less.high, more.high)
        where = f"{samples:.0f} samples of SER3, {label} at {between[0]} and {between[1]}"
        compared.append(Comparison(where, Measurement(estimate, *ends)))
    return compared


def _interpolate(x: float, between: tuple[int, int], values: tuple[float, float]) -> float:
    """Interpolate linearly between two points, on a logarithmic scale unless one of the values is zero."""
    (a, b), (first, last) = between, values
    share = (x - a) / (b - a) if b > a else 0.0
    if min(values) <= 0.0:
        return first + share * (last - first)
    return math.exp(math.log(first) + share * (math.log(last) - math.log(first)))


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan
