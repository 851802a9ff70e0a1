"""Least squares for the model reward = mu_arm + s_environment + noise, from the cells of a whole log.

The estimator is the same as `kernels.fit.fixed_effects`, which updates it after every reward. This one runs
once for each fit, interpreted and over arrays of any length, so it is vectorised NumPy and not a `@kernel`.
It never builds an array of size J x J or J x K x K. Variances are relative: multiply them by sigma^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.solve.laplacian import (
    FactoredInverse,
    connected_components,
    factor_inverse,
    invert_laplacian,
    link_weights,
)
from tideproof.stats.solve.two_factors import fit_two_way, residual_variance


class Solution(NamedTuple):
    """Least-squares fit of arm effects and shifts; the attributes are named as in `FixedEffects`.

    Attributes
    ----------
    P : (K, K) generalised inverse of the Laplacian, one block for each group of connected arms; the row of
        one arm of each group, its reference, is 0.
    mu : (K,) arm effects muhat, relative to the reference of the arm's group.
    rss : residual sum of squares.
    component : (K,) index of the connected group of each arm, 0, 1, ... in the order of the first arm of each
        group; an arm that shares no environment with another is a group of its own.
    group : (K,) label of the arm's group, 1, 2, ...; 0 for an arm without rewards or connected to no other.
    told : number of rewards, N.
    environments : number of environments with a reward, J.
    joins : number of arms with rewards minus the number of their groups.
    spent : degrees of freedom used by covariates.
    short : factors of P through the environments, if there are many arms and few environments; None
        otherwise.
    """

    P: Floats
    mu: Floats
    rss: float
    component: Ints
    group: Ints
    told: int
    environments: int
    joins: int
    spent: int = 0
    short: FactoredInverse | None = None

    @property
    def freedom(self) -> int:
        """Residual degrees of freedom: rewards - arms with rewards - environments + groups - covariates."""
        return self.told - self.environments - self.joins - self.spent


def solve(cells: Cells) -> Solution:
    """Fit arm effects and shifts by weighted least squares: solve L muhat = b.

    Rewards are first centred within each environment and residuals are added up after centring, so that large
    shifts do not cost precision. Takes O(cells K + K^3), or O(J K^2) for many arms in few environments. An
    arm that shares no environment with another keeps P = 0 and muhat = 0.
    """
    if cells.factors is not None:
        return _solve_two_way(cells)
    short = factor_inverse(cells)
    if short is None:
        between = link_weights(cells)
        np.fill_diagonal(between, 0.0)
        component = connected_components(between > 0.0)
        P = invert_laplacian(between, component)
    else:
        component, P = short.component, short.inverse()
    mu = np.zeros(cells.K)
    residual = _centred_residuals(cells, mu)
    for _ in range(2):  # The second step refines the solution.
        mu += P @ cells.by_arm(cells.weight * residual)
        residual = _centred_residuals(cells, mu)

    return Solution(
        P=P,
        mu=mu,
        rss=float(np.sum(cells.squares) + np.sum(cells.weight * residual**2)),
        component=component,
        group=group_labels(component),
        told=round(float(np.sum(cells.n))),
        environments=int(np.count_nonzero(cells.sizes)),
        joins=cells.K - np.unique(component).size,  # Each arm without rewards is a group of its own.
        spent=_covariate_count(cells),
        short=short,
    )


def _solve_two_way(cells: Cells) -> Solution:
    """Fit by least squares with shifts that are sums of two factors; all arms must be connected."""
    found = fit_two_way(cells)
    joins = cells.K - 1
    return Solution(
        P=found.inverse[: cells.K, : cells.K],
        mu=found.theta[: cells.K],
        rss=float(np.sum(cells.squares) + np.sum(cells.weight * found.residual**2)),
        component=np.zeros(cells.K, np.int64),
        group=np.ones(cells.K, np.int64),
        told=round(float(np.sum(cells.n))),
        environments=found.rank - joins,
        joins=joins,
        spent=_covariate_count(cells),
    )


def _covariate_count(cells: Cells) -> int:
    """Return the degrees of freedom used by covariates: one for each."""
    return 0 if cells.slope is None else cells.slope.by.size


def environment_components(solution: Solution, cells: Cells) -> Ints:
    """Return the index of the connected group of arms to which each environment belongs: (J,)."""
    found = np.zeros(cells.J, np.int64)
    found[cells.environment] = solution.component[cells.arm]
    return found


def residuals(solution: Solution, cells: Cells) -> tuple[Floats, Floats]:
    """Return the residual of each cell's mean and its variance divided by sigma^2: (C,) each.

    With g = e_arm - b_j and b_j the shares of the arms in the environment, the variance is 1/w - 1/W_j -
    g'Pg. It is 0, up to rounding, for a cell that determines its own expected value alone.
    """
    if cells.factors is not None:
        found = fit_two_way(cells)
        return found.residual, residual_variance(cells, found)
    arm, environment = cells.arm, cells.environment
    variance = 1.0 / cells.weight - 1.0 / cells.totals[environment] - np.diag(solution.P)[arm]
    for rows, here, (b,) in cells.blocks(cells.shares):
        row = environment[here] - rows.start
        product = b @ solution.P
        variance[here] += 2.0 * product[row, arm[here]] - np.sum(product * b, axis=1)[row]
    return cell_residuals(solution, cells), np.maximum(variance, 0.0)


def cell_residuals(solution: Solution, cells: Cells) -> Floats:
    """Return the residual of each cell: its mean minus the mean that the fitted model expects (C,)."""
    return _centred_residuals(cells, solution.mu) if cells.factors is None else fit_two_way(cells).residual


def _centred_residuals(cells: Cells, mu: Floats) -> Floats:
    """Return each cell's mean minus arm effect and shift, centred first because shifts may be large."""
    return cells.centred(cells.centred(cells.mean) - mu[cells.arm])


def group_labels(component: Ints) -> Ints:
    """Return the label of each arm's group: 1, 2, ... for groups of two or more arms, 0 for an arm alone."""
    shared = np.bincount(component) > 1
    return np.where(shared[component], np.cumsum(shared)[component], 0)


def group_components(group: Ints) -> Ints:
    """Return group indices 0, 1, ... from group labels; each arm without a group gets an index of its own."""
    alone = np.arange(len(group)) + group.max() + 1
    return np.where(group == 0, alone, group)
