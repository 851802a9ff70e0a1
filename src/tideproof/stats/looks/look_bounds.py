"""Critical z-scores for comparing several arms at planned looks (repeated analyses) of growing data.

For two arms, the level of a z-score at this look is a p-value over all planned looks (`look_levels`). For
several arms it is multiplied by the number of effective comparisons at one look,

    P(largest of all z-scores > z) / P(one z-score > z),

which is Dunnett's tail probability for comparisons with the best arm, and that of the studentized range for
all pairs, instead of the number of pairs (Bonferroni). This is a sharp bound: z-scores of two pairs that
share an arm are less alike over several looks together than at each look, and so they exceed their bounds at
different looks a little more often than the product says; but at small error probabilities an early look
counts more comparisons than a late one, and this more than makes up for it. In simulated
Brownian scores of 3 to 20 arms, with 5 to 30 looks, even and uneven traffic, the error over all looks is
4.2 to 5.0 % where 5 % are allowed (`tests/stats/test_look_bounds.py`).

References
----------
Dunnett (1955), A multiple comparison procedure for comparing several treatments with a control;
Hayter (1984), A proof of the conjecture that the Tukey-Kramer multiple comparisons procedure is conservative;
Jennison, Turnbull (2000), Group sequential methods, chapters 9 (repeated confidence intervals) and 16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import (
    dunnett_functions,
    normal_tail,
    root_between,
    student_from_normal,
)
from tideproof.stats.looks.look_levels import LookLevels, find_look_levels
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.looks.spending_functions import SpendingName

_SAME = 0.02  # information that differs by less from that of equal traffic counts as equal
_STEP = 0.04  # to a multiple of which other information is rounded down, so that few tables are needed
_TABULATED = np.array([1.0, 1.6, 2.1, 2.5, 2.9, 3.4, 4.0, 5.0])  # z-scores; between them it is nearly linear
_MANY = 500  # with more arms the number of effective comparisons is the number of comparisons
_LARGEST_FREEDOM = 1e7  # degrees of freedom of a known variance
_NODES = 96  # of an integral over the normal distribution
_UNREACHABLE = 64.0  # z-score that no data exceed
_SMALLEST = 1e-300  # p-value
_CLOSE = 1e-6  # relative error of the p-value at a bound


class LookBounds(NamedTuple):
    """Critical z-scores at the current look that are jointly valid for all planned looks.

    Attributes
    ----------
    plan : the planned looks.
    information : (k, k, L) information on the difference of each pair of arms at each look that was made, as
        a share of the information now.
    """

    plan: Looks
    information: Floats

    def of_group(self, group: Ints) -> LookBounds:
        """Return the critical z-scores of planned looks for a group of arms."""
        return LookBounds(self.plan, self.information[np.ix_(group, group)])

    def alone(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return critical z-scores that hold for each pair of arms alone, at all looks: (k, k)."""
        return self._of_pairs(lambda levels: levels.bound_at(alpha))

    def all_pairs(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return critical z-scores that hold jointly for all pairs of arms at all looks: (k, k)."""
        count = effective_pairs(self._size)
        return self._of_pairs(lambda levels: _bound(lambda z: levels.level_of(z) * count(z), levels, alpha))

    def with_best(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return critical z-scores for comparing the other arms with the best one, at all looks: (k, k).

        A row belongs to an arm that may be excluded. `alpha` is the one-sided error probability. No critical
        z-score is below that of two arms with a two-sided error probability of `alpha` (`2 alpha` for two).
        """
        k = len(C)
        if not np.all(np.isfinite(C)) or not np.all(freedom[~np.eye(k, dtype=bool)] > 0.0):
            return np.full((k, k), np.nan)
        bars = np.zeros((k, k))
        for i, count in self._effective_comparisons(C, freedom):
            known: dict[int, float] = {}
            for r in range(k):
                if r != i:
                    levels = self._levels(i, r)
                    if id(levels) not in known:
                        known[id(levels)] = _bound(_p_function(levels, count, k), levels, alpha)
                    bars[i, r] = known[id(levels)]
        return bars

    def p_value_with_best(self, C: Floats, freedom: Floats, i: int, k: int, deviate: float) -> float:
        """Return the p-value for excluding an arm as the best, given the z-score of another's lead.

        The z-score is that of arm i's lead over arm k.
        """
        if math.isnan(deviate):
            return math.nan
        behind, ahead = (k, i) if deviate > 0.0 else (i, k)
        ((_, count),) = self._effective_comparisons(C, freedom, np.array([behind]))
        return min(1.0, _p_function(self._levels(behind, ahead), count, len(C))(abs(deviate)))

    def p_value(self, C: Floats, freedom: Floats, i: int, k: int, deviate: float) -> float:
        """Return the two-sided p-value for the z-score of a pair of arms, valid over all planned looks."""
        return math.nan if math.isnan(deviate) else self._levels(i, k).level_of(deviate)

    @property
    def _tables(self) -> list[list[LookLevels]]:
        """Tables of error probabilities as a function of the z-score, for each pair of arms."""
        return _find_tables(
            self.plan.spending, self.plan.shares.tobytes(), self.information.tobytes(), self._size
        )

    @property
    def _size(self) -> int:
        return len(self.information)

    def _levels(self, i: int, k: int) -> LookLevels:
        """Return the table of error probabilities as a function of the z-score, for a pair of arms."""
        return self._tables[i][k]

    def _of_pairs(self, bound: Callable[[LookLevels], float]) -> Floats:
        """Compute a bound for each pair of arms, once for all pairs that share a table."""
        known: dict[int, float] = {}
        tables, bars = self._tables, np.zeros((self._size, self._size))
        for i in range(self._size):
            for r in range(i):
                levels = tables[i][r]
                if id(levels) not in known:
                    known[id(levels)] = bound(levels)
                bars[i, r] = bars[r, i] = known[id(levels)]
        return bars

    def _effective_comparisons(
        self, C: Floats, freedom: Floats, which: Ints | None = None
    ) -> list[tuple[int, Callable[[float], float]]]:
        """Return the effective number of comparisons of each arm with the others, as a function of z."""
        k = len(C)
        chosen = (np.arange(k) if which is None else which).tolist()
        if k == 2 or k > _MANY:
            return [(i, lambda _: k - 1.0) for i in chosen]
        fewest = freedom.copy()
        np.fill_diagonal(fewest, np.inf)
        least = np.minimum(fewest.min(axis=1), _LARGEST_FREEDOM)
        numbers = _find_effective_numbers(C.tobytes(), least.tobytes(), tuple(chosen))
        return [
            (i, partial(np.interp, xp=_TABULATED, fp=own)) for i, own in zip(chosen, numbers, strict=True)
        ]


@lru_cache(maxsize=64)
def _find_tables(spending: SpendingName, shares: bytes, information: bytes, k: int) -> list[list[LookLevels]]:
    """Return, for each pair of arms, the table of error probabilities as a function of the z-score.

    The arrays are bytes, so that the tables of one log are found once.
    """
    share = np.frombuffer(shares)
    planned = share / share[-1]
    found = []
    for row in np.frombuffer(information).reshape(k, k, share.size):
        near = np.max(np.abs(row - planned), axis=1) <= _SAME
        less = np.where(row < 1.0, np.floor(row / _STEP) * _STEP, 1.0)  # makes bounds wider
        found.append([find_look_levels(spending, share, planned if near[r] else less[r]) for r in range(k)])
    return found


@lru_cache(maxsize=16)
def _find_effective_numbers(covariance: bytes, freedom: bytes, which: tuple[int, ...]) -> list[Floats]:
    """Return each arm's effective number of independent comparisons with others, for several z-scores.

    The arrays are bytes, so that the numbers are found once for several questions about the same arms.
    """
    least = np.frombuffer(freedom)
    k = least.size
    C = np.frombuffer(covariance).reshape(k, k)
    found = []
    for i, chance in dunnett_functions(C, least, np.array(which)):
        each = [
            (1.0 - chance(student_from_normal(z, float(least[i])))) / normal_tail(z)
            for z in _TABULATED[:-1].tolist()
        ]
        found.append(np.maximum.accumulate(np.clip([*each, k - 1.0], 1.0, k - 1.0)))
    return found


def _p_function(levels: LookLevels, count: Callable[[float], float], k: int) -> Callable[[float], float]:
    """Return the function from z-score to one-sided p-value for comparisons with the best of k arms.

    With more than two arms it is at least the two-sided p-value of two.
    """

    def p(z: float) -> float:
        two_sided = levels.level_of(z)
        one_sided = 0.5 * two_sided * count(z)
        return one_sided if k == 2 else max(two_sided, one_sided)

    return p


def _bound(p: Callable[[float], float], levels: LookLevels, alpha: float) -> float:
    """Find the z-score at which a decreasing p-value function equals `alpha`."""
    low, high = float(levels.bounds[0]), max(1.0, 1.1 * float(levels.bounds[0]))
    while p(high) > alpha and high < _UNREACHABLE:
        low, high = high, 1.5 * high
    return root_between(low, high, lambda z: math.log(alpha / max(p(z), _SMALLEST)), _CLOSE)


@cache
def effective_pairs(k: int) -> Callable[[float], float]:
    """Return a function that gives, for a z-score, the effective number of comparisons among k arms.

    It is the tail probability of the studentized range over that of one pair (Tukey, Kramer).

    >>> count = effective_pairs(10)
    >>> round(count(2.0), 1), round(count(3.16), 1), round(count(8.0), 1)
    (13.2, 32.0, 45.0)
    """
    from scipy.special import log_ndtr, ndtr

    x, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    weight = weight / weight.sum()
    largest = 0.5 * k * (k - 1)

    @cache
    def count(z: float) -> float:
        # x is the largest of k values: k Phi(x)^(k-1) is its density over the normal one
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.log1p(-np.exp(log_ndtr(x - math.sqrt(2.0) * z) - log_ndtr(x)))
            beyond = -np.expm1((k - 1) * inside)
        tail = k * float(np.sum(weight * ndtr(x) ** (k - 1) * np.nan_to_num(beyond, nan=1.0)))
        return min(max(tail / (2.0 * normal_tail(z)), 1.0), largest)

    return count
