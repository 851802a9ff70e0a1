"""Covariate adjustment (CUPED): regress rewards on covariates measured before the arm was assigned.

Least squares for reward = mu_arm + s_environment + slope'x + noise, from sums of squares and products inside
cells. By the Frisch-Waugh-Lovell theorem the covariates are fitted as if they were rewards, and then
residuals are regressed on residuals. The arm cannot change what was measured before it was drawn, so the
adjustment reduces noise without adding bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, CovariateSlope
from tideproof.stats.solve.least_squares import cell_residuals, solve


def adjust_for_covariates(c: Cells, x: Floats, products: Floats, names: Sequence[str]) -> Cells:
    """Return the data with rewards adjusted for covariates, but with the same overall mean reward.

    The overall mean of the covariates' effect stays in the rewards.

    Parameters
    ----------
    c : cells of the reward.
    x : (p, C) mean of each covariate in each cell.
    products : (p + 1, p + 1, C) sums of products of deviations from the cell means, reward first.
    names : names of the covariates, for error messages.

    References
    ----------
    Deng, Xu, Kohavi, Walker (2013), Improving the sensitivity of online controlled experiments by
    utilizing pre-experiment data; Frisch, Waugh (1933), Lovell (1963).
    """
    centre = (x @ c.n) / np.sum(c.n)
    values = np.vstack([c.mean, x - centre[:, None]])
    fits = [replace(c, mean=value, squares=np.zeros(c.n.size)) for value in values]
    solutions = [solve(cells) for cells in fits]
    residual = np.array([cell_residuals(s, cells) for s, cells in zip(solutions, fits, strict=True)])
    R = products.sum(axis=2) + (residual * c.weight) @ residual.T
    own = np.diag(R)[1:]
    _check_variation(own, np.diag(products.sum(axis=2))[1:] + values[1:] ** 2 @ c.n, names)
    scale = np.sqrt(own)
    correlation = R[1:, 1:] / np.outer(scale, scale)
    if np.linalg.eigvalsh(correlation)[0] < 1e-9:
        raise InputError(
            f"covariates are collinear: one of {list(names)} is a linear combination of the others; "
            "leave one out"
        )
    inverse = np.linalg.inv(correlation) / np.outer(scale, scale)
    by = inverse @ R[1:, 0]
    turn = np.concatenate([[1.0], -by])
    squares = np.maximum(np.einsum("i,ijc,j->c", turn, products, turn), 0.0)
    imbalance = np.array([s.mu for s in solutions[1:]]).T
    slope = CovariateSlope(by, imbalance, inverse, residual[1:], products[1:, 1:], c)
    return replace(
        c, mean=turn @ values, squares=squares, low=None, high=None, slope=slope, cubes=None, fourths=None
    )


def _check_variation(left: Floats, total: Floats, names: Sequence[str]) -> None:
    """Raise `InputError` for a covariate without variation beyond the effects of arms and environments."""
    constant = np.flatnonzero(left <= 1e-12 * total)
    if constant.size:
        raise InputError(
            f"covariate {names[constant[0]]!r} does not vary beyond the effects of arms and environments; "
            f"leave it out"
        )
