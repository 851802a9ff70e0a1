"""Two arms with few events, compared by the odds: tests and limits from the distribution itself.

Given the totals of the environments nothing else is unknown, so there is no approximation; half of the
probability of what was observed counts (mid-p). The promise is exact where the share of an arm inside an
environment does not depend on the rewards there.
"""

from __future__ import annotations

import math
from functools import cache

from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.best.student_inference import normal_quantile, normal_tail
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.event_distribution import Conditional, conditional_odds
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.environment_contrasts import meetings

FEW = 100  # ones, or zeros, of two arms where they met, up to which the distribution is worked out


def few_enough(cells: Cells) -> bool:
    """Tell whether there are two arms, with at most `FEW` rewards of the rarer kind where they met."""
    if cells.K != 2 or not cells.binary:
        return False
    x, y = meetings(cells, 0, 1)
    n, ones = (float(value[x].sum() + value[y].sum()) for value in (cells.n, cells.n * cells.mean))
    return 0.5 < min(ones, n - ones) < FEW + 0.5


class ExactPairs(Pairs):
    """Tests and limits of theta_i - theta_k, the logarithm of the odds ratio."""

    def __init__(self, tests: PairTests) -> None:
        self._tests, self.scale = tests, tests.scale
        self._between = cache(self._conditional)

    def _conditional(self, i: int, k: int) -> Conditional:
        return conditional_odds(self.scale.cells, i, k)

    def gap(self, i: int, k: int) -> float:
        """Return the estimate, the maximum of the conditional likelihood."""
        return self._tests.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the normal number that is as improbable as the events seen if theta_i - theta_k = gap."""
        above, below = self._between(i, k).tails(gap)
        if above <= below:
            return -normal_quantile(above) if above > 0.0 else math.inf
        return normal_quantile(below) if below > 0.0 else -math.inf

    def enough(self, i: int, k: int) -> bool:
        """Return whether there is enough of two arms for a test to exclude one of them."""
        return self._tests.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k does not exceed."""
        return self._between(i, k).upper(normal_tail(z))

    def lower(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k is not below."""
        return self._between(i, k).lower(normal_tail(z))
