"""Noise variances of cells in logs with covariates or with two environment factors.

As in `cell_variances`, the variance of a reward is common x arm factor x factor of each environment factor,
and all factors are shrunk towards 1 as far as their sampling errors explain them. But here blocks may be
small, so squared residuals are compared with what the noise of all arms makes of them (`residual_shares`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.variance.cell_variances import (
    VarianceFactors,
    is_exact,
    shrink_ratios,
    shrink_variances,
)

_ROUNDS = 200  # Steps of the arms' own variances towards the solution.
_UNSEEN = 1e-9  # Eigenvalues below this share of the largest count as 0.
_SMALL = 1e-12  # Variances below this share of the common one count as 0.


class LabelFactors(NamedTuple):
    """Relative noise variance at each level of a factor, such as the arms, with each cell's level."""

    label: Ints
    factors: VarianceFactors


class AdjustedVariances(NamedTuple):
    """Variance and third central moment of the rewards in each cell, with degrees of freedom.

    Attributes
    ----------
    variance, third : (C,) second and third central moment of a single reward.
    freedom : degrees of freedom of the common variance.
    factors : variance factors of the arms and of each environment factor.
    """

    variance: Floats
    third: Floats
    freedom: float
    factors: tuple[LabelFactors, ...]

    def freedom_of(self, parts: Floats) -> float:
        """Return Satterthwaite's degrees of freedom of the sum of `parts`, multiples of the variances."""
        total = float(parts.sum())
        if not self.freedom > 0.0 or not total > 0.0:
            return 0.0
        error = 1.0 / self.freedom
        for label, factors in self.factors:
            own = sum_by_index(label, parts, factors.trust.size)
            here = factors.trust > 0.0
            error += float(np.sum((factors.trust[here] * own[here] / total) ** 2 / factors.freedom[here]))
        return 1.0 / error

    def covariance_with(self, parts: Floats, coefficients: Floats) -> float:
        """Return the covariance of a sum of rewards with the estimate of its own variance.

        `coefficients` are the sums of the coefficients of the rewards in each cell, and `parts` those of
        their squares times the variances. The covariance is not 0 for skewed rewards of an arm with its own
        variance.
        """
        label, arm = self.factors[0]
        here = (arm.trust > 0.0) & (arm.freedom > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            skewed = np.where(self.variance > 0.0, coefficients * self.third / self.variance, 0.0)
        both = sum_by_index(label, parts, arm.trust.size) * sum_by_index(label, skewed, arm.trust.size)
        return float(np.sum(arm.trust[here] * both[here] / arm.freedom[here]))


def measure_adjusted_variances(
    cells: Cells, residual: Floats, shares: Floats, levels: tuple[Ints, ...]
) -> AdjustedVariances:
    """Estimate the variance of rewards by arm and by the levels of each environment factor.

    `residual` holds the mean residual of each cell, `shares` the result of `residual_shares`, and `levels`
    the level of each cell in each environment factor.
    """
    c, left = cells, shares.sum(axis=1)
    squares = c.squares + c.n * residual**2
    freedom = float(left.sum())
    common = float(squares.sum()) / freedom if freedom > 0.0 else 0.0
    if is_exact(math.sqrt(common), float(np.abs(c.mean).max())):
        none = np.full(c.n.size, np.nan)
        return AdjustedVariances(none, none, 0.0, ())
    squares = squares / common
    own = _arm_ratios(c, squares, shares)
    alone = (left / c.n) ** 2 * own.value[c.arm]
    kurtosis = _excess_kurtosis(c, residual, common * alone, common * (shares @ own.value) / c.n)
    arm = _shrink_arms(own, kurtosis)
    factor = arm.value[c.arm]
    expected = shares @ arm.value
    found = [LabelFactors(c.arm, arm)]
    for level in levels:
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(expected > 0.0, squares * left / expected, 0.0)
        if relative.any():  # Shrunk factors do not explain all squares; levels must not absorb the rest.
            relative *= left.sum() / relative.sum()
        here = shrink_variances(level, relative, left, int(level.max()) + 1, 2.0)
        found.append(LabelFactors(level, here))
        factor, expected = factor * here.value[level], expected * here.value[level]
    skewness = _skewness(c, residual, common * (left / c.n) ** 2 * factor, common * expected / c.n)
    variance = common * factor
    return AdjustedVariances(variance, skewness * variance * np.sqrt(variance), freedom, tuple(found))


class ArmRatios(NamedTuple):
    """The arms' own noise variances relative to the common one, (K,), before they are shrunk.

    Attributes
    ----------
    value : the ratios.
    error : variances of their errors, divided by 2 plus the excess kurtosis of the rewards; infinite for an
        arm that the data do not separate from others.
    freedom : degrees of freedom.
    """

    value: Floats
    error: Floats
    freedom: Floats


def _arm_ratios(c: Cells, squares: Floats, shares: Floats) -> ArmRatios:
    """Return the arms' own variances x relative to the common one, from squared residuals in its units.

    They solve Q x = squares of the arms, with Q the shares added up by arm, and are approached by steps that
    keep them positive. For equal variances their errors have the covariance 2 Q^-1.
    """
    Q = np.array([c.by_arm(column) for column in shares.T]).T
    Q = 0.5 * (Q + Q.T)
    wanted, x = c.by_arm(squares), np.ones(c.K)
    known = Q.sum(axis=1) > 0.0
    for _ in range(_ROUNDS):
        expected = np.where(known, Q @ x, 1.0)
        x = np.where(known, np.maximum(x * wanted / np.maximum(expected, _SMALL), _SMALL), 1.0)
    value, axes = np.linalg.eigh(Q)
    seen = value > _UNSEEN * max(float(value[-1]), 0.0)
    error = (axes[:, seen] ** 2) @ (1.0 / value[seen])
    error[np.any(np.abs(axes[:, ~seen]) > 1e-6, axis=1)] = np.inf
    return ArmRatios(x, error, Q.sum(axis=1))


def _shrink_arms(own: ArmRatios, kurtosis: float) -> VarianceFactors:
    """Shrink the arms' own variances towards the common one, but hardly where they clearly differ.

    With few arms the variance t between them is itself uncertain. The usual weight t/(t + error) of an own
    variance leaves a noisy arm too quiet, so it is sharpened to t^2/(t^2 + error^2).
    """
    usual = shrink_ratios(own.value, own.error * (2.0 + kurtosis), own.freedom)
    square = usual.trust**2
    trust = square / (square + (1.0 - usual.trust) ** 2)
    return VarianceFactors(np.where(trust > 0.0, 1.0 + trust * (own.value - 1.0), 1.0), trust, own.freedom)


def _excess_kurtosis(c: Cells, residual: Floats, own: Floats, expected: Floats) -> float:
    """Return the excess kurtosis of rewards around their expected means, at least 0.

    `expected` is the expected squared residual of a reward, and `own` the part of it that is due to the
    reward's own noise. The fourth power of a residual is about 3 expected^2 + kurtosis own^2. Residuals with
    little noise of their own count little.
    """
    if c.fourths is None or c.cubes is None:
        return 0.0
    used = expected > _SMALL * float(expected.max())
    fourths = c.fourths + residual * (4.0 * c.cubes + residual * (6.0 * c.squares + c.n * residual**2))
    part = (own[used] / expected[used]) ** 2
    scaled = float(np.sum(part * (fourths[used] / expected[used] ** 2 - 3.0 * c.n[used])))
    return max(0.0, scaled / max(float(np.sum(c.n[used] * part**2)), _SMALL))


def _skewness(c: Cells, residual: Floats, own: Floats, expected: Floats) -> float:
    """Return the skewness of rewards around their expected means, if it is the same everywhere.

    The arguments are those of `_excess_kurtosis`. The third power of a residual is about skewness own^(3/2).
    """
    if c.cubes is None:
        return 0.0
    used = expected > _SMALL * float(expected.max())
    cubes = c.cubes + residual * (3.0 * c.squares + c.n * residual**2)
    part = (own[used] / expected[used]) ** 1.5
    scaled = float(np.sum(part * cubes[used] / expected[used] ** 1.5))
    return scaled / max(float(np.sum(c.n[used] * part**2)), _SMALL)
