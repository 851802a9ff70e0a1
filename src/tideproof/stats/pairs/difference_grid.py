"""Score tests of the differences in mean reward of very many pairs of arms, by least squares.

The results equal those of `pair_tests` up to rounding. Variance, third moment and degrees of freedom of an
estimated difference do not depend on the hypothesis, so they are computed once for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import allow_for_own_shapes, deviates, normals_from_student
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.vectorised_pair_tests import is_extreme
from tideproof.stats.variance.cell_variances import CellVariances

BLOCK_NUMBERS = 2**19  # Numbers in a block of arms x pairs: 4 MB.


class PairMoments(NamedTuple):
    """Variance, third central moment and degrees of freedom of estimated differences of two arms.

    `own` is the third moment by each arm's own rewards, and `share` the part of the variance that the arms'
    own estimates determine.
    """

    variance: Floats
    third: Floats
    freedom: Floats
    own: Floats
    share: Floats


class DifferenceGrid:
    """Tests of many pairs of arms, which loop over environments and look at the arms of each of them only.

    So arms that meet in few environments cost little.
    """

    def __init__(self, cells: Cells, mu: Floats, P: Floats, spreads: CellVariances) -> None:
        self._mu, self._P, self._freedom = mu, P, spreads.freedom
        order = np.argsort(cells.environment, kind="stable")
        order = order[cells.compares[cells.environment[order]]]  # A single arm compares nothing.
        self._arm, self._share = cells.arm[order], cells.shares[order]
        self._variance = (cells.n * spreads.variance)[order]
        self._third = (cells.n * spreads.third)[order]
        shape = spreads.own_skewness
        self._own = None if shape is None else (cells.n * shape * spreads.variance**1.5)[order]
        self._trust = spreads.arm_trust
        self._ends = np.cumsum(cells.arms_seen[cells.compares]).tolist()
        self._of_arm = _error_weights(spreads.arm_trust, spreads.arm_freedom)
        self._of_environment = _error_weights(spreads.environment_trust, spreads.environment_freedom)
        self._of_environment = self._of_environment[cells.compares]
        self._known: dict[tuple[int, int], tuple[float, ...]] = {}

    def test_pairs(self, i: Ints, k: Ints) -> Callable[[Floats], Floats]:
        """Return the function from hypothesised differences of pairs of arms to their z-scores."""
        found, difference = self._moments(i, k), self._mu[i] - self._mu[k]

        def z_scores(gap: Floats) -> Floats:
            """Return the z-score of each pair for testing that its arms' means differ by `gap`."""
            z = deviates(difference - gap, found.variance, found.third)
            if self._own is not None:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    sd = np.sqrt(found.variance)
                    t, skewness = (difference - gap) / sd, found.own / sd / sd / sd
                    z = np.where(sd > 0.0, allow_for_own_shapes(z, t, skewness, found.share), z)
            z[is_extreme(found.variance)] = np.nan
            return normals_from_student(z, found.freedom)

        return z_scores

    def _moments(self, i: Ints, k: Ints) -> PairMoments:
        """Return the moments of the estimated differences of pairs of arms; each pair is computed once."""
        pairs = list(zip(np.minimum(i, k).tolist(), np.maximum(i, k).tolist(), strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        rows = max(1, BLOCK_NUMBERS // self._mu.size)
        for start in range(0, len(new), rows):
            some = new[start : start + rows]
            found = self._find_moments(*np.array(some).T)
            self._known.update(zip(some, zip(*(x.tolist() for x in found), strict=True), strict=True))
        found = PairMoments(*np.array([self._known[pair] for pair in pairs]).reshape(-1, 5).T)
        sign = np.where(i < k, 1.0, -1.0)
        return found._replace(third=sign * found.third, own=sign * found.own)

    def _find_moments(self, i: Ints, k: Ints) -> PairMoments:
        """Return the moments of the estimated differences of pairs of arms: sums of powers of g over cells.

        g is w minus its mean in the environment, with w = P(e_i - e_k). The degrees of freedom are
        Satterthwaite's: the variance estimates of arms and of environments have errors of their own.
        """
        w = (self._P[i] - self._P[k]).T.copy()
        of_arm, skewed = np.zeros_like(w), bool(np.any(self._third))
        third, own, error, start = np.zeros(i.size), np.zeros(i.size), np.zeros(i.size), 0
        for end, weight in zip(self._ends, self._of_environment.tolist(), strict=True):
            here = slice(start, end)
            arm, start = self._arm[here], end
            g = w[arm]
            g -= self._share[here] @ g
            parts = g * g
            if skewed:
                cubes = parts * g
                third += self._third[here] @ cubes
                if self._own is not None:
                    own += self._own[here] @ cubes
            parts *= self._variance[here, None]
            of_arm[arm] += parts
            if weight:
                error += weight * parts.sum(axis=0) ** 2
        variance = of_arm.sum(axis=0)
        error += self._of_arm @ (of_arm * of_arm)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = 1.0 / (1.0 / self._freedom + error / variance / variance)
            share = self._trust @ of_arm / variance
        known = (variance > 0.0) & (self._freedom > 0.0)
        return PairMoments(variance, third, np.where(known, freedom, 0.0), own, np.where(known, share, 0.0))


def _error_weights(trust: Floats, freedom: Floats) -> Floats:
    """Return weights trust^2/freedom of variance estimates, for the degrees of freedom of their sum."""
    return np.where(trust > 0.0, trust**2 / np.where(trust > 0.0, freedom, 1.0), 0.0)
