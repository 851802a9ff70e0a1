"""Exact odds-ratio tests and confidence bounds for two arms with 0/1 rewards and few events.

Given the totals of the environments the odds ratio is the only unknown parameter, and no approximation is
needed. Tail probabilities include half of the probability of the observed outcome (mid-p). The error rate is
exact if an arm's share of an environment does not depend on the rewards there.
"""

from __future__ import annotations

import math
from functools import cache

from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import normal_quantile, normal_tail
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.exact_odds_distribution import ConditionalDistribution, conditional_odds
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.adjusted_means import paired_cells

MOST_EXACT_EVENTS = 100  # Most events (ones or zeros) of two arms for exact inference.


def few_enough(cells: Cells) -> bool:
    """Return True if two arms with 0/1 rewards have few enough events for exact inference.

    That is at most `MOST_EXACT_EVENTS` rewards of the rarer kind in the environments where they met.
    """
    if cells.K != 2 or not cells.binary:
        return False
    x, y = paired_cells(cells, 0, 1)
    n, ones = (float(value[x].sum() + value[y].sum()) for value in (cells.n, cells.n * cells.mean))
    return 0.5 < min(ones, n - ones) < MOST_EXACT_EVENTS + 0.5


class ExactPairs(Pairs):
    """Exact tests and confidence bounds for the log odds ratio of two arms with 0/1 rewards."""

    def __init__(self, tests: PairTests) -> None:
        self.tests, self.scale = tests, tests.scale
        self._between = cache(self._conditional)

    def _conditional(self, i: int, k: int) -> ConditionalDistribution:
        """Return the distribution of arm i's number of rewards of 1, given the totals of arms i and k."""
        return conditional_odds(self.scale.cells, i, k)

    def gap(self, i: int, k: int) -> float:
        """Return the maximum conditional likelihood estimate of the log odds ratio of two arms."""
        return self.tests.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the log odds ratio of two arms is `gap`.

        It is the normal quantile of the exact tail probability of the events.
        """
        above, below = self._between(i, k).tails(gap)
        if above <= below:
            return -normal_quantile(above) if above > 0.0 else math.inf
        return normal_quantile(below) if below > 0.0 else -math.inf

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self.tests.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of the log odds ratio of two arms at the normal quantile `z`."""
        return self._between(i, k).upper(normal_tail(z))

    def lower(self, i: int, k: int, z: float) -> float:
        """Return the lower confidence bound of the log odds ratio of two arms at the normal quantile `z`."""
        return self._between(i, k).lower(normal_tail(z))
