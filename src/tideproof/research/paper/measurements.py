"""What claims compare: numbers with intervals, and differences of them.

A paired difference is one of numbers from the same replications: two policies of one study, or selections
that were kept in worlds that share their noise. Where there are no pairs the interval of each is widened
so that the interval of the difference holds whatever their dependence: two intervals at level 1 - a/2
hold together at level 1 - a (Bonferroni).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.lab.share_intervals import paired, quantile
from tideproof.lab.study import Study

Of = Literal["pics", "eoc"]

_FEWEST = 25  # errors from which a ratio has an interval


class Measurement(NamedTuple):
    """A number, with an interval around it."""

    estimate: float
    low: float
    high: float

    def minus(self, other: Measurement) -> Measurement:
        """Return the difference; both intervals must hold together."""
        return Measurement(self.estimate - other.estimate, self.low - other.high, self.high - other.low)

    def over(self, other: Measurement) -> Measurement:
        """Return the ratio of two numbers that are not negative; both intervals must hold together."""
        return Measurement(*(_ratio(a, b) for a, b in zip(self, (other[0], other[2], other[1]), strict=True)))

    def times(self, factor: float) -> Measurement:
        """Return the number multiplied by a positive factor."""
        return Measurement(*(factor * x for x in self))


class Comparison(NamedTuple):
    """One comparison: where it was made, and what came out."""

    where: str
    measured: Measurement


def around(estimate: float, stderr: float, level: float) -> Measurement:
    """Return an average over many runs with its normal interval."""
    reach = quantile(level) * stderr
    return Measurement(estimate, estimate - reach, estimate + reach)


def level_of_each(level: float, intervals: int) -> float:
    """Return the level that each of several intervals needs for all of them to hold at `level`."""
    return 1.0 - (1.0 - level) / intervals


def measure(study: Study, label: str, budget: int, of: Of, level: float) -> Measurement:
    """Return PICS or EOC of a policy at a budget."""
    at = study.budgets.index(budget)
    value = (study.pics if of == "pics" else study.eoc)(label)[at]
    low, high = (ends[at] for ends in study.interval(label, level, of))
    if of == "eoc" and value == 0.0:  # no error seen: no spread to go by, but a bound on how often
        high = study.world.gaps.max() * study.interval(label, level).high[at]
    return Measurement(float(value), float(low), float(high))


def paired_difference(
    study: Study, a: str, b: str, budgets: Iterable[int], of: Of, level: float, where: str = ""
) -> list[Comparison]:
    """Return `a` minus `b`, paired, at each budget."""
    found = study.difference(a, b, of, level)
    compared = []
    for budget in budgets:
        at = study.budgets.index(budget)
        numbers = (float(ends[at]) for ends in (found.estimate, found.low, found.high))
        compared.append(Comparison(f"{where}{budget} pulls", Measurement(*numbers)))
    return compared


class KeptSelections(NamedTuple):
    """The selections of a policy in a study at a budget, replication by replication."""

    study: Study
    label: str
    budget: int

    def wrong(self) -> Floats:
        """Return 1 for each replication whose selection was incorrect, else 0."""
        return self.study.wrong(self.label, self.budget).astype(np.float64)


def paired_kept(a: KeptSelections, b: KeptSelections, level: float) -> Measurement:
    """Return PICS of `a` minus that of `b`, which shared their noise, by Tango's score interval."""
    first, second = a.wrong(), b.wrong()
    only_a, only_b = (np.array([int((x > y).sum())]) for x, y in ((first, second), (second, first)))
    ends = paired(only_a, only_b, len(first), level)
    return Measurement(float((first - second).mean()), *(float(end[0]) for end in ends))


def paired_sum(parts: Iterable[tuple[float, KeptSelections]], level: float) -> Measurement:
    """Return a weighted sum of PICS of selections that shared their noise."""
    given = list(parts)
    total = np.sum([weight * kept.wrong() for weight, kept in given], axis=0)
    ends = [sum(weight for weight, _ in given if sign * weight > 0.0) for sign in (1, -1)]
    return mean_of(total, max(abs(end) for end in ends), level)


def mean_of(values: Floats, reach: float, level: float) -> Measurement:
    """Return the mean of values that are mostly zero and never larger than `reach`, with its interval.

    Normal, with z^2 more values at each end, +reach and -reach: so that it is honest where few values
    differ from zero, and where none does.
    """
    z = quantile(level)
    more = 2.0 * z * z
    n = len(values) + more
    centre = float(values.sum()) / n
    spread = (float(np.square(values).sum()) + more * reach * reach) / n - centre * centre
    half = z * math.sqrt(spread / n)
    return Measurement(float(values.mean()), centre - half, centre + half)


def paired_log_ratio(parts: Iterable[tuple[float, KeptSelections]], level: float) -> Measurement:
    """Return the product of PICS raised to their weights, of selections that shared their noise.

    The interval is that of the delta method for its logarithm, which is too bold where errors are few or
    selections hardly differ: z^2 more replications that differ are added to what was seen, and a reach of h
    becomes h (1 + h/4). It says nothing where one of them erred in fewer than 25 replications.
    """
    given = [(weight, kept.wrong()) for weight, kept in parts]
    fewest = min(float(wrong.sum()) for _, wrong in given)
    if fewest < _FEWEST:
        return Measurement(math.nan, 0.0, math.inf)
    rates = [float(wrong.mean()) for _, wrong in given]
    each = np.sum([w * (wrong / p) for (w, wrong), p in zip(given, rates, strict=True)], axis=0)
    log = sum(weight * math.log(p) for (weight, _), p in zip(given, rates, strict=True))
    z = quantile(level)
    reach = z * math.sqrt(float(each.var()) / len(each) + (z / fewest) ** 2)
    half = reach * (1.0 + 0.25 * reach)
    return Measurement(*(math.exp(end) for end in (log, log - half, log + half)))


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

    The policy is read at the budgets just below and just above that average; the estimate is
    interpolated between them, on a logarithmic scale. The interval holds both differences: it is below
    zero only if the policy is better with fewer pulls, above only if it is worse with more.
    """
    each, compared = level_of_each(level, 3), []
    for name in sweep.policies:
        samples = float(sweep.samples(name)[0])
        below, above = bisect_right(study.budgets, samples) - 1, bisect_left(study.budgets, samples)
        if below < 0 or above == len(study.budgets):
            continue
        other = measure(sweep, name, sweep.budgets[0], of, each)
        between = study.budgets[below], study.budgets[above]
        less, more = (measure(study, label, budget, of, each) for budget in between)
        estimate = _interpolated(samples, between, (less.estimate, more.estimate)) - other.estimate
        less, more = less.minus(other), more.minus(other)
        ends = min(less.low, more.low), max(less.high, more.high)
        where = f"{samples:.0f} samples of SER3, {label} at {between[0]} and {between[1]}"
        compared.append(Comparison(where, Measurement(estimate, *ends)))
    return compared


def _interpolated(x: float, between: tuple[int, int], values: tuple[float, float]) -> float:
    """Return the value at x, on a line through two points; of the logarithms, unless one is zero."""
    (a, b), (first, last) = between, values
    share = (x - a) / (b - a) if b > a else 0.0
    if min(values) <= 0.0:
        return first + share * (last - first)
    return math.exp(math.log(first) + share * (math.log(last) - math.log(first)))


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan
