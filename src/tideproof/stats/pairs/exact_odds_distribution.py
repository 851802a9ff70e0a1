"""Exact inference on the odds ratio of two arms, given their total number of events in each environment.

Events are rewards of 1. Given the total of the two arms in each environment, s events of the first arm have
a probability proportional to c_s exp(theta s). Here theta is the logarithm of the odds ratio, and c is
hypergeometric. The distributions of the environments are convolved once for all theta.

The inference is exact if allocation inside an environment does not depend on the rewards there. Other arms
are not used.

References
----------
Mehta, Patel, Gray (1985), Computing an exact confidence interval for the common odds ratio in several 2 x 2
contingency tables; Lancaster (1961), Significance tests in discrete distributions, for half of P(s).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.scales.odds_likelihood import count_ones_and_zeros

_NEGLIGIBLE = 1e-35  # Outcomes with smaller probabilities near the estimate are dropped.
_LEAST_CHANCE = 1e-300  # Smaller probabilities count as 0.


class _Outcomes(NamedTuple):
    """Numbers of events that one arm can have in each environment, given the total of two arms there.

    Events are rewards of 1. The numbers of each environment are in ascending order.
    """

    environment: Ints
    first: Ints
    s: Floats
    logarithm: Floats


class _TotalDistribution(NamedTuple):
    """Probability distribution of one arm's number of events over all environments, for one odds ratio.

    `theta` is the logarithm of the odds ratio. `s` and `chance` are the possible totals and their
    probabilities; `normaliser` holds the logarithms of the normalising constants of the environments in
    `outcomes`.
    """

    theta: float
    s: Floats
    chance: Floats
    outcomes: _Outcomes
    normaliser: Floats


def conditional_odds(cells: Cells, i: int, k: int, mid: bool = True) -> ConditionalDistribution:
    """Return the distribution of arm i's number of events (rewards of 1), given the total of arms i and k.

    The total is given for each environment. The parameter theta of the distribution is the log odds ratio.
    """
    S, _ = count_ones_and_zeros(cells)
    n, own = _shared_values(cells, cells.n, i, k), _shared_values(cells, S, i, k)
    T = own.sum(axis=0)
    outcomes = _list_outcomes(np.maximum(0.0, T - n[1]), np.minimum(n[0], T))
    j, s = outcomes.environment, outcomes.s
    log_c = _log_choose(n[0][j], s) + _log_choose(n[1][j], T[j] - s)
    return ConditionalDistribution(outcomes._replace(logarithm=log_c), own, mid)


def _shared_values(cells: Cells, values: Floats, i: int, k: int) -> Floats:
    """Select the means, or another statistic, of arms i and k in environments where both have rewards.

    `values` has one value for each cell. The shape of the result is (2, environments).
    """
    found = np.full((2, cells.J), np.nan)
    for row, arm in enumerate((i, k)):
        here = cells.arm == arm
        found[row, cells.environment[here]] = values[here]
    return found[:, ~np.isnan(found).any(axis=0)]


def _list_outcomes(low: Floats, high: Floats) -> _Outcomes:
    """Return all numbers of rewards of 1 that an arm can have in each environment, from `low` to `high`.

    The numbers of each environment are in ascending order.

    The lists of the environments are joined in one array.
    """
    length = (high - low).astype(np.int64) + 1
    first = np.cumsum(length) - length
    environment = np.repeat(np.arange(low.size), length)
    s = np.arange(environment.size) - first[environment] + low[environment]
    return _Outcomes(environment, first, s, np.zeros(s.size))


def _log_choose(n: Floats, s: Floats) -> Floats:
    """Return the logarithm of the binomial coefficient of n and s."""
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(s + 1.0) - gammaln(n - s + 1.0))


class ConditionalDistribution:
    """Distribution of one arm's number of events (rewards of 1), given each environment's total of two arms.

    With `mid`, tail probabilities include half of the probability of the observed count, otherwise all of it.
    """

    def __init__(self, outcomes: _Outcomes, own: Floats, mid: bool = True) -> None:
        self.seen = float(own[0].sum())
        self.low = float(outcomes.s[outcomes.first].sum())
        self.high = self.low + outcomes.s.size - outcomes.first.size
        self._half = 0.5 if mid else 1.0
        self._found = _convolve(outcomes, self.seen) if self.low < self.high else None

    def estimate(self) -> float:
        """Return the maximum conditional likelihood estimate of the log odds ratio.

        It is NaN if only one outcome is possible.
        """
        if self._found is None:
            return math.nan
        ends = {self.low: -math.inf, self.high: math.inf}
        return ends[self.seen] if self.seen in ends else _estimate(self._found, self.seen)

    def tails(self, theta: float) -> tuple[float, float]:
        """Return the probabilities of at least, and of at most, the observed number of rewards of 1.

        They are those at the log odds ratio `theta`.
        """
        return (1.0, 1.0) if self._found is None else _tails(self._found, theta, self.seen, self._half)

    def lower(self, chance: float) -> float:
        """Return the lower confidence bound of the log odds ratio for the tail probability `chance`.

        At this log odds ratio, P(events >= observed events) is `chance`.
        """
        if self._found is None or self.seen == self.low:
            return -math.inf
        return solve_tail(lambda theta: self.tails(theta)[0], chance, self._found.theta, 1.0)

    def upper(self, chance: float) -> float:
        """Return the upper confidence bound of the log odds ratio for the tail probability `chance`.

        At this log odds ratio, P(events <= observed events) is `chance`.
        """
        if self._found is None or self.seen == self.high:
            return math.inf
        return solve_tail(lambda theta: self.tails(theta)[1], chance, self._found.theta, -1.0)


def _normalisers(outcomes: _Outcomes, theta: float) -> tuple[Floats, Floats]:
    """Return log normalising constants and log probabilities of the numbers of ones in each environment.

    The constant of an environment is the sum of c_s exp(theta s) over its outcomes s.
    """
    value = outcomes.logarithm + theta * outcomes.s
    most = np.maximum.reduceat(value, outcomes.first)
    total = most + np.log(np.add.reduceat(np.exp(value - most[outcomes.environment]), outcomes.first))
    return total, value - total[outcomes.environment]


def _convolve(outcomes: _Outcomes, wanted: float) -> _TotalDistribution:
    """Return the distribution of one arm's total number of rewards of 1, for one odds ratio.

    The odds ratio is chosen such that the mean of the distribution differs from `wanted` by less than a tenth
    of its standard deviation. At the smallest and largest possible number this holds for a finite theta, too,
    because the difference then falls like the square of the standard deviation. The distributions of the
    environments are convolved pairwise, as a tree.

    All terms are positive, so no precision is lost in the tails.
    """
    theta = 0.0
    for _ in range(100):  # Newton's method, until theta is near enough.
        p = np.exp(_normalisers(outcomes, theta)[1])
        mean = np.add.reduceat(p * outcomes.s, outcomes.first)
        variance = float(np.sum(p * (outcomes.s - mean[outcomes.environment]) ** 2))
        miss = wanted - float(mean.sum())
        if abs(miss) < 0.1 * math.sqrt(variance):
            break
        theta += max(-1.0, min(1.0, miss / variance)) if variance > 0.0 else math.copysign(1.0, miss)
    normaliser, logarithm = _normalisers(outcomes, theta)
    p = np.exp(logarithm)
    parts = [
        _trim(start, chance)
        for start, chance in zip(outcomes.s[outcomes.first], np.split(p, outcomes.first[1:]), strict=True)
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [_trim(a + b, np.convolve(x, y)) for (a, x), (b, y) in pairs]
        parts = joined + parts[len(joined) * 2 :]
    start, chance = parts[0]
    return _TotalDistribution(
        theta, np.asarray(start + np.arange(chance.size), np.float64), chance, outcomes, normaliser
    )


def _trim(start: float, chance: Floats) -> tuple[float, Floats]:
    """Remove the negligible probabilities at both ends of a distribution of the number of events."""
    kept = np.flatnonzero(chance > _NEGLIGIBLE)
    return float(start + kept[0]), chance[kept[0] : kept[-1] + 1]


def _tails(found: _TotalDistribution, theta: float, seen: float, half: float) -> tuple[float, float]:
    """Return the probabilities of at least, and of at most, the observed number of events (rewards of 1).

    They are those at the log odds ratio `theta`. The probability of the observed number itself has the
    weight `half`.

    The stored probabilities are accurate near the distribution's own theta and the observed count, and the
    normaliser at another theta is exact. So the tail that points away from there is summed, and the other is
    its complement.
    """
    change = float(np.sum(_normalisers(found.outcomes, theta)[0] - found.normaliser))
    apart = found.s - seen
    upper = theta <= found.theta
    terms = (theta - found.theta) * found.s - change
    chance = found.chance * np.exp(np.minimum(terms, 700.0))
    as_many = float(chance[apart == 0.0].sum())
    tail = float(chance[apart > 0.0 if upper else apart < 0.0].sum()) + half * as_many
    other = 1.0 - tail + (2.0 * half - 1.0) * as_many
    tail, other = min(1.0, tail), min(1.0, max(0.0, other))
    return (tail, other) if upper else (other, tail)


def _estimate(found: _TotalDistribution, seen: float) -> float:
    """Return the log odds ratio at which the expected number of rewards of 1 equals the observed number."""
    delta, apart = 0.0, found.s - seen
    for _ in range(50):
        weight = found.chance * np.exp(delta * apart)
        weight /= weight.sum()
        mean = float(weight @ apart)
        step = -mean / float(weight @ (apart - mean) ** 2)
        delta += max(-1.0, min(1.0, step))
        if abs(step) < 1e-13 * (1.0 + abs(delta)):
            break
    return found.theta + delta


def solve_tail(tail: Callable[[float], float], chance: float, start: float, sign: float) -> float:
    """Find the log odds ratio at which the tail probability of the observed data equals `chance`.

    The root is found by false position (Illinois) on the logit scale, on which a tail probability is nearly
    linear. Without any chance of error the bound is infinite.

    >>> solve_tail(lambda x: 0.5, 0.0, 0.0, 1.0), solve_tail(lambda x: 0.5, 0.0, 0.0, -1.0)
    (-inf, inf)
    """
    if chance <= _LEAST_CHANCE:
        return -sign * math.inf

    def over(x: float) -> float:
        """Return the logit of the data's tail probability at a log odds ratio, minus the logit of `chance`.

        The log odds ratio is sign * x.
        """
        p = min(max(tail(sign * x), _LEAST_CHANCE), 1.0 - 1e-16)
        return math.log(p / (1.0 - p)) - math.log(chance / (1.0 - chance))

    width = 0.5
    low, high = sign * start - width, sign * start + width
    while (at_low := over(low)) > 0.0:
        low, width = low - width, 2.0 * width
    while (at_high := over(high)) <= 0.0:
        high, width = high + width, 2.0 * width
    x, side = low, 0
    for _ in range(100):
        before, x = x, high - at_high * (high - low) / (at_high - at_low)
        if abs(x - before) < 1e-13 * (1.0 + abs(x)):
            break
        at = over(x)
        if at > 0.0:
            high, at_high = x, at
            at_low *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, at_low = x, at
            at_high *= 0.5 if side < 0 else 1.0
            side = -1
    return sign * x
