"""Confidence intervals for pairs of arms that cover every scale of comparison the data do not reject.

If arms met in different environments, different scales give different estimates: with an additive tide, a 20
% lift at low tide is a smaller relative lift at high tide. If the tests do not decide between scales, an
interval on one of them alone is too narrow. A gap on another scale implies means of both arms in each
environment; over all traffic these imply a gap on this scale. So the interval is extended to the bounds of
every such scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import DifferencePairScale, WaldPairs
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, ScaleName
from tideproof.stats.variance.variance_models import Estimate

_AGREE = 0.2  # Differences between scales below this many standard errors are ignored.
MOST_SCORE_CELLS = 20_000  # With more cells, Wald tests replace the slower score tests.
_FAR = 50.0  # A log ratio that is practically infinite without overflow in exp.


class _OtherScale(NamedTuple):
    """Estimate and tests of pairs of arms on an alternative scale (differences, ratios or odds)."""

    found: Estimate
    pairs: Pairs


class ScaleUnion(Pairs):
    """Tests of two arms on the chosen scale, whose confidence bounds also cover the other possible scales.

    Scales whose estimates agree to a fifth of a standard error count as one.
    """

    def __init__(self, scale: ScaleName, shown: Estimate, others: Sequence[Estimate]) -> None:
        self._scale, self._shown = scale, shown
        self._others = [_OtherScale(found, quick_tests(found)) for found in others]
        self._near: dict[tuple[int, int], list[_OtherScale]] = {}

    def gap(self, i: int, k: int) -> float:
        """Return the estimated difference of two arms' effects on the chosen scale of comparison.

        It is theta_i - theta_k.
        """
        return self._shown.pairs.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that two arms differ by `gap` on the chosen scale of comparison.

        For a gap of 0 it is the z-score nearest to 0 over all possible scales, and 0 if scales disagree on
        which arm is better.
        """
        found = self._shown.pairs.deviate(i, k, gap)
        if gap or math.isnan(found):
            return found
        rest = [other.pairs.deviate(i, k) for other in self._apart(i, k)]
        scores = [found, *(z for z in rest if not math.isnan(z))]
        return min(scores, key=abs) if min(scores) > 0.0 or max(scores) < 0.0 else 0.0

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self._shown.pairs.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the largest upper confidence bound of two arms' difference over all scales of comparison."""
        found = self._shown.pairs.upper(i, k, z)
        rest = (self._seen(other, i, k, other.pairs.upper(i, k, z)) for other in self._apart(i, k))
        return max((found, *(bound for bound in rest if bound > found)))

    def _apart(self, i: int, k: int) -> list[_OtherScale]:
        """Return the other scales of comparison, such as ratios, that disagree noticeably about two arms.

        Their estimates differ noticeably from that of the chosen scale.
        """
        pair = min(i, k), max(i, k)
        if pair not in self._near:
            C = self._shown.covariance
            near = _AGREE * math.sqrt(max(0.0, float(C[i, i] + C[k, k] - 2.0 * C[i, k])))
            own = self.gap(*pair)
            self._near[pair] = [
                other
                for other in self._others
                if not abs(self._seen(other, *pair, other.pairs.gap(*pair)) - own) <= near
            ]
        return self._near[pair]

    def _seen(self, other: _OtherScale, i: int, k: int, gap: float) -> float:
        """Convert a difference of two arms from another scale of comparison to the chosen one.

        The result is NaN if it is undefined.
        """
        scale = _scale(other.found)
        if math.isnan(gap) or (math.isinf(gap) and isinstance(scale, DifferencePairScale)):
            return gap
        if not isinstance(scale, DifferencePairScale):
            gap = min(max(gap, -_FAR), _FAR)
        x, y = scale.met(i, k, gap)
        share = _traffic(other.found, scale.cells, i)
        return SCALE_PROPERTIES[self._scale].gap_over_traffic(share, x, y)


def _scale(found: Estimate) -> Any:
    """Return the fitted scale (differences, ratios or odds) on which an estimate compares arms."""
    pairs: Any = found.pairs
    return pairs.scale


def quick_tests(found: Estimate) -> Pairs:
    """Return the tests of pairs of arms that belong to an estimate of the arm effects.

    For very large data these are the quicker Wald tests.
    """
    many = _scale(found).cells.n.size > MOST_SCORE_CELLS
    return WaldPairs(found.mu, found.covariance, found.freedom) if many else found.pairs


def _traffic(found: Estimate, cells: Cells, i: int) -> Floats:
    """Return each environment's share of all rewards of the arms that are comparable with arm i.

    The shares, (J,), add up to 1.
    """
    here = np.zeros(cells.J)
    here[cells.environment[found.component[cells.arm] == found.component[i]]] = 1.0
    return np.asarray(here * cells.sizes / float(here @ cells.sizes))
