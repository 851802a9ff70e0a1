"""Adjusted means of arms and shifts of environments in logs with covariates or two factors, with any noise.

The symbols are those of `environment_factors.two_way_shifts`: a shift is the mean of a level l of the larger
factor minus the overall mean plus h'theta. So a reward of a cell with design row g has the coefficient
[cell in l]/W_l - 1/N + h'Ag in it.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.adjusted_means import (
    MeansAndShifts,
    adjusted_means,
    means_and_shifts,
    quadratic_forms,
)
from tideproof.stats.solve.arm_estimators import ArmEstimators, TwoFactorDesign
from tideproof.stats.solve.environment_factors import shift_designs, two_way_shifts
from tideproof.stats.solve.least_squares import Solution


def adjusted_means_and_shifts(
    cells: Cells, solution: Solution, estimators: ArmEstimators, covariance: Floats, variance: Floats
) -> MeansAndShifts:
    """Return adjusted arm means and environment shifts, with variances for the given noise of each cell.

    `covariance` is that of the arm effects, and `variance` that of a reward in each cell.
    """
    if not isinstance(estimators.design, TwoFactorDesign):
        return means_and_shifts(solution, covariance, cells, variance / cells.n)
    total = float(np.sum(cells.n))
    mean, _ = adjusted_means(solution, cells)
    share, overlap = cells.counts / total, estimators.overlap(variance)
    mean_variance = float(np.sum(cells.n * variance)) / total**2 + 2.0 / total * (overlap - share @ overlap)
    mean_variance += quadratic_forms(covariance, share[None], solution.component)
    shift, _ = two_way_shifts(cells)
    shift_variance = _shift_variances(cells, estimators.design, cells.n * variance)
    return MeansAndShifts(mean, np.maximum(mean_variance, 0.0), shift, np.maximum(shift_variance, 0.0))


def _shift_variances(c: Cells, design: TwoFactorDesign, q: Floats) -> Floats:
    """Return the variance of the shift of each environment, if q is the variance of the sum of each cell."""
    found, A, total = design.found, design.inverse, float(np.sum(c.n))
    middle, along = np.zeros_like(A), np.zeros((design.total.size, len(A)))
    for here, g in design.blocks():
        middle += (g.T * q[here]) @ g
        np.add.at(along, design.level[here], q[here, None] * g)
    of_level, W = sum_by_index(design.level, q, design.total.size), design.total
    outer, everywhere = A @ middle @ A, A @ along.sum(axis=0)
    variance = np.full(c.J, np.nan)
    for here, h in shift_designs(c, found):
        level = design.level[here]
        fixed = of_level[level] * (1.0 / W[level] - 2.0 / total) / W[level] + float(q.sum()) / total**2
        moved = np.sum(h @ A * along[level], axis=1) / W[level] - h @ everywhere / total
        variance[c.environment[here]] = fixed + 2.0 * moved + np.sum(h @ outer * h, axis=1)
    return variance
