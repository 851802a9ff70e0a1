"""Lack-of-fit tests for models in which the mean determines the variance, such as models of 0/1 rewards.

They also serve multiplicative tides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.best.student_inference import chi2_tail
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import (
    Additivity,
    check_testable,
    interaction_degrees_of_freedom,
    worst_cells,
)
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps
from tideproof.stats.solve.least_squares import Solution


def log_environment_gaps(
    c: Cells, pairs: PairTests, odds: bool, x: Ints, y: Ints, freedom: float
) -> EnvironmentGaps:
    """Return the log ratio of two arms, or their log odds ratio, in each environment that has both arms.

    `x` and `y` are the cells of the two arms in these environments.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        other = 1.0 - c.mean if odds else np.ones(c.n.size)
        value = np.log(c.mean / other)
        relative = pairs.variance / (c.n * (c.mean * other) ** 2)
        gap = value[x] - value[y]
    gap[~np.isfinite(gap)] = np.nan  # One of the arms had no event.
    total = np.where(np.isnan(gap), np.nan, relative[x] + relative[y])
    return EnvironmentGaps(c.environment[x], gap, total, np.full(gap.size, freedom))


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


def leave_one_out_theta(c: Cells, scale: Any) -> Floats:
    """Return the approximate arm effects with each environment left out in turn: (J, K).

    To first order they are theta minus P times the score of the environment.
    """
    score = np.zeros((c.J, c.K))
    score[c.environment, c.arm] = scale.sums - c.n * scale.fitted
    return np.asarray(scale.theta - score @ scale.P)
