"""Additivity tests: whether each environment shifts all arms equally, or multiplies them by one factor.

With two environment factors, such as site and year, also whether the effects of these add up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import chi2_tail, f_tail
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.arm_estimators import ArmEstimators
from tideproof.stats.solve.least_squares import Solution, cell_residuals, residuals
from tideproof.stats.variance.adjusted_variances import AdjustedVariances, measure_adjusted_variances
from tideproof.stats.variance.expected_squares import residual_shares
from tideproof.stats.variance.sandwich import Pools, arm_deviations
from tideproof.stats.variance.welch_f import welch_f
from tideproof.table import Table, to_json_values

_FEWEST_DEGREES_OF_FREEDOM = 3


@dataclass(frozen=True, slots=True)
class Additivity:
    """Result of the F test of additivity: whether each environment shifts all arms equally.

    Attributes
    ----------
    F : mean square of the cell means around the model, over the mean square inside cells.
    df1, df2 : numerator and denominator degrees of freedom; `df2` is a fraction if variances are unequal.
    p : p-value; a small one means that shifts differ between arms.
    worst : the cells that are furthest from the model, with their distance `z` in standard errors. Cells that
        no other cell can check are left out.
    """

    F: float
    df1: int
    df2: float
    p: float
    worst: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the additivity test as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def additivity(c: Cells, s: Solution, worst: int) -> Additivity:
    """Test whether each environment shifts all arms equally; list the arms and environments that fit worst.

    `worst` is the number of listed cells.
    """
    worst = require_whole_number("worst", worst, 1)
    df1, df2 = interaction_degrees_of_freedom(c, s), s.told - c.n.size
    inside = float(np.sum(c.squares))
    if df2 == 0:
        raise InputError(
            "the additivity test needs an estimate of the noise: at least two rewards of one arm in one "
            "environment"
        )
    check_testable(c, df1)
    if inside == 0.0:
        raise InputError(
            "the additivity test needs an estimate of the noise, but the rewards of each arm never vary "
            "within an environment"
        )
    residual, variance = residuals(s, c)
    F = float(np.sum(c.n * residual**2)) / df1 / (inside / df2)
    named = worst_cells(c, residual, inside / df2 * variance, worst, variance * c.n)
    return Additivity(F, df1, df2, f_tail(F, df1, df2), named)


def weighted_additivity(c: Cells, pools: Pools, worst: int) -> Additivity:
    """Test additivity of arm effects and shifts, with unequal variances: a generalised Welch F test.

    The statistic T = sum of w residual^2 with weights w = n/variance is compared with the F distribution of
    `welch_f`, which needs tr Q_p^2 and tr Q_p: Q is the projection onto residuals, and Q_p is its block of
    the cells of pool p.
    """
    c = c.weighted(c.n / pools.variance[pools.of])
    s = c.solution
    df1 = interaction_degrees_of_freedom(c, s)
    check_testable(c, df1)
    residual, variance = residuals(s, c)
    b = c.dense_shares()
    mean, spread = 0.0, 0.0
    for p, here in group_members(pools.of):
        w, j = c.weight[here], c.environment[here]
        g = arm_deviations(c, b, here)
        trace = float(np.sum(w * variance[here]))
        if np.all(j == j[0]):  # The pool is one environment.
            Q = np.eye(here.size) - (1.0 / c.totals[j[0]] + g @ s.P @ g.T) * w
            square = float(np.sum(Q * Q.T))
        else:  # The pool is one arm with one cell in each environment.
            fitted = w * np.sum(g @ s.P * g, axis=1)
            PM = s.P @ (g.T * w) @ g
            square = float(np.sum(PM * PM.T) - np.sum(fitted**2) + np.sum((w * variance[here]) ** 2))
        mean += 2.0 * square / pools.freedom[p]
        spread += 2.0 * trace**2 / pools.freedom[p]
    F, df2 = welch_f(float(np.sum(c.weight * residual**2)), df1, mean, spread)
    named = worst_cells(c, residual, variance, require_whole_number("worst", worst, 1), variance * c.weight)
    return Additivity(F, df1, df2, f_tail(F, df1, df2), named)


def lack_of_fit(c: Cells, s: Solution, pairs: PairTests, worst: int) -> Additivity:
    """Test by Pearson's chi-squared whether one shift, or factor, per environment fits all arms.

    In a cell with few expected events the squared residual varies more than that of a normal number. The
    p-value comes from a scaled chi-squared distribution that has the mean and the variance of the sum.

    References
    ----------
    McCullagh (1986), The conditional distribution of goodness-of-fit statistics for discrete data.
    """
    df1, df2 = interaction_degrees_of_freedom(c, s), s.told - c.n.size
    check_testable(c, df1)
    fitted = pairs.scale.fitted
    v = pairs.variance
    used = v > 0.0
    residual = np.where(used, c.mean - fitted, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(used, c.n * residual**2 / v, 0.0)
        peaked = np.where(used, (1.0 - 6.0 * v) / (c.n * v), 0.0) if c.binary else np.zeros(v.size)
    share = df1 / max(1, int(np.count_nonzero(used)))  # Share of each square that the fit leaves.
    X2 = float(square.sum())
    effective = 2.0 * df1**2 / max(2.0 * df1 + share**2 * float(peaked.sum()), 1e-9)
    p = chi2_tail(X2 * effective / df1, effective)
    named = worst_cells(
        c, residual, v / c.n * share, require_whole_number("worst", worst, 1), np.where(used, 1.0, 0.0)
    )
    return Additivity(X2 / df1, df1, df2, p, named)


def interaction_degrees_of_freedom(c: Cells, s: Solution) -> int:
    """Return the degrees of freedom of arm x environment interactions: number of means minus parameters."""
    return c.n.size - s.environments - s.joins


def check_testable(c: Cells, df1: int) -> None:
    """Raise `InputError` if no data are left to test whether arm effects and environment shifts add up."""
    if df1 == 0:
        raise InputError(
            f"additivity cannot be tested: the model has as many parameters as there are cells of arm and "
            f"environment ({c.n.size}); it needs, for example, two arms that both have rewards in the same "
            "two environments"
        )


def worst_cells(c: Cells, residual: Floats, variance: Floats, worst: int, free: Floats) -> Table:
    """Return a table of the arm-by-environment cells with the largest standardised residuals.

    Cells that no other cell checks (`free` is 0) are left out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(free > 1e-9, residual / np.sqrt(variance), np.nan)
    rows = np.argsort(-np.abs(z), kind="stable")[: min(worst, np.count_nonzero(~np.isnan(z)))]
    return Table(
        {
            "arm": [c.arms[i] for i in c.arm[rows]],
            "environment": [c.environments[j] for j in c.environment[rows]],
            "n": c.n[rows].astype(np.int64),
            "mean": c.mean[rows],
            "expected": (c.mean - residual)[rows],
            "z": z[rows],
        }
    )


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
    """Test if two factors' effects add up, against an interaction for each pair of their levels.

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
