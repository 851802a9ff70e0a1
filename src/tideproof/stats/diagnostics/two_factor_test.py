"""Tests whether the effects of two environment factors, such as site and year, add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells
from tideproof.stats.solve.arm_estimators import ArmEstimators
from tideproof.stats.solve.least_squares import Solution, cell_residuals, residuals
from tideproof.stats.variance.adjusted_variances import AdjustedVariances, measure_adjusted_variances
from tideproof.stats.variance.expected_squares import residual_shares

_FEWEST_DEGREES_OF_FREEDOM = 3


@dataclass(frozen=True, slots=True)
class TwoFactorFit:
    """Result of an F test whether the effects of two environment factors add up.

    Attributes
    ----------
    F, df1, df2 : F statistic with its degrees of freedom, which are fractions if noise differs between arms.
    p : p-value; a small one means that the effects do not add up.
    against : "pairs": the alternative is a shift of its own for every pair of levels. "products": it is
        effects that grow with the level of the rewards, as factors that multiply do (Tukey's test).
    """

    F: float
    df1: float
    df2: float
    p: float
    against: Literal["pairs", "products"]


def two_factor_fit(cells: Cells, solution: Solution) -> TwoFactorFit:
    """Test whether the effects of the two environment factors add up, against the alternative the data allow.

    A shift of its own for every pair of levels needs several arms (or rewards) in the pairs; otherwise only
    products of effects can be tested.
    """
    if cells.factors is None:
        raise InputError("this test needs two columns of environments, such as 'site + year'")
    pairs = replace(cells, factors=None)
    full = pairs.solution
    gained = solution.freedom - full.freedom
    if gained > 0 and full.freedom >= _FEWEST_DEGREES_OF_FREEDOM:
        return _test_pairs(cells, solution, pairs, full)
    return _test_products(cells, solution)


def _test_pairs(cells: Cells, solution: Solution, pairs: Cells, full: Solution) -> TwoFactorFit:
    """Test additivity against a shift of its own for every pair of levels.

    The statistic is the decrease of the residual sum of squares over its expectation, and Box's approximation
    gives the degrees of freedom: for an idempotent matrix B and noise variances v, tr(B v) = sum b v, and
    tr(B v B v) is at most sum b v^2, with b the diagonal of B.

    References
    ----------
    Box (1954), Some theorems on quadratic forms applied in the study of analysis of variance problems, I;
    Brunner, Dette, Munk (1997), Box-type approximations in nonparametric factorial designs.
    """
    left, left_by_pairs = (residuals(s, c)[1] for s, c in ((solution, cells), (full, pairs)))
    b = cells.n * np.maximum(left - left_by_pairs, 0.0)
    noise = _measure_noise(pairs, full)
    parts = b * noise.variance
    mean, freedom = float(parts.sum()), noise.freedom_of(parts)
    if not freedom:
        raise InputError("two columns of environments cannot be tested: the rewards have no noise")
    F = (solution.rss - full.rss) / mean
    df1 = mean**2 / float(np.sum(parts * noise.variance))
    return TwoFactorFit(F, df1, freedom, f_tail(F, df1, freedom), "pairs")


def _test_products(cells: Cells, solution: Solution) -> TwoFactorFit:
    """Test additivity by Tukey's single degree of freedom: residuals must not follow squared expected means.

    The part of the squares that the model leaves depends on the fit alone. For normal noise with one variance
    the test is exact.

    References
    ----------
    Tukey (1955), Query 113, for Latin squares: one degree of freedom for nonadditivity.
    """
    residual = cell_residuals(solution, cells)
    expected = cells.mean - residual
    expected = expected - np.average(expected, weights=cells.n)
    left = replace(cells, mean=expected**2, squares=np.zeros(cells.n.size), slope=None)
    along = cell_residuals(left.solution, left)
    noise = _measure_noise(cells, solution)
    parts = cells.n * along**2 * noise.variance
    variance, freedom = float(parts.sum()), noise.freedom_of(parts)
    total = float(np.sum(cells.n * expected**4))
    if freedom < _FEWEST_DEGREES_OF_FREEDOM or not float(np.sum(cells.n * along**2)) > 1e-20 * total:
        raise InputError("two columns of environments cannot be tested: too few degrees of freedom are left")
    plain = float(np.sum(cells.n * along * residual)) ** 2 / variance
    F = plain * (freedom - 1.0) / max(freedom - plain, 1e-9 * freedom)  # Its own square is part of the noise.
    return TwoFactorFit(F, 1.0, freedom - 1.0, f_tail(F, 1.0, freedom - 1.0), "products")


def _measure_noise(cells: Cells, solution: Solution) -> AdjustedVariances:
    """Return the noise variances of the cells, by arm."""
    design = ArmEstimators(cells, solution).design
    residual: Floats = cell_residuals(solution, cells)
    return measure_adjusted_variances(cells, residual, residual_shares(cells, solution, design), ())
