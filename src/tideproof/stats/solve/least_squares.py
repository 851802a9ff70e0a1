"""Least squares for r = mu_arm + s_environment + noise in one go, from the cells of a whole log.

The same estimator as `fixed_effects`, which follows one observation after another. This one runs
once a fit, interpreted and over arrays of any length, so it is vectorised NumPy and not a `@kernel`.
Nothing of size J x J or J x K x K is ever built. Multiply what is called a variance by sigma^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.solve.laplacian import Through, components, inverse, links, through
from tideproof.stats.solve.two_factors import residual_variance, two_way


class Solution(NamedTuple):
    """What a log says about its arms, in the names of `FixedEffects`.

    Attributes
    ----------
    P : (K, K) generalised inverse of the Laplacian, one block for each group of connected arms; the
        row of one arm a group, its reference, is 0.
    mu : (K,) muhat, relative to the reference of the arm's group.
    rss : residual sum of squares.
    component : (K,) which connected group the arm belongs to, 0, 1, ... by their first arm; an arm that
        met no other is a group of its own.
    group : (K,) label of the arm's group, 1, 2, ...; 0 for an arm unseen or that met no other.
    told : rewards, N.
    environments : environments with a reward, J.
    joins : arms seen minus their groups.
    spent : degrees of freedom that covariates took.
    short : the way from many arms to P through few environments; None otherwise.
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
    short: Through | None = None

    @property
    def freedom(self) -> int:
        """Degrees of freedom, N - K - J + groups, K the arms seen, less one for each covariate."""
        return self.told - self.environments - self.joins - self.spent


def solve(cells: Cells) -> Solution:
    """Solve L muhat = b.

    Rewards are centred inside each environment first and residuals are summed as such, so that shifts,
    however large, do no harm. O(cells K + K^3), or of many arms in few environments O(J K^2); an arm that
    meets no other keeps P = 0 and muhat = 0.
    """
    if cells.factors is not None:
        return _solve_two_way(cells)
    short = through(cells)
    if short is None:
        between = links(cells)
        np.fill_diagonal(between, 0.0)
        component = components(between > 0.0)
        P = inverse(between, component)
    else:
        component, P = short.component, short.inverse()
    mu = np.zeros(cells.K)
    residual = _residual(cells, mu)
    for _ in range(2):  # once to solve, once more to refine
        mu += P @ cells.by_arm(cells.weight * residual)
        residual = _residual(cells, mu)

    return Solution(
        P=P,
        mu=mu,
        rss=float(np.sum(cells.squares) + np.sum(cells.weight * residual**2)),
        component=component,
        group=labels(component),
        told=round(float(np.sum(cells.n))),
        environments=int(np.count_nonzero(cells.sizes)),
        joins=cells.K - np.unique(component).size,  # an arm unseen is a group of its own
        spent=_spent(cells),
        short=short,
    )


def _solve_two_way(cells: Cells) -> Solution:
    """Solve where an environment is the sum of two factors: all arms are connected, or that raises."""
    found = two_way(cells)
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
        spent=_spent(cells),
    )


def _spent(cells: Cells) -> int:
    return 0 if cells.slope is None else cells.slope.by.size


def home(solution: Solution, cells: Cells) -> Ints:
    """Return the component that each environment belongs to: (J,)."""
    found = np.zeros(cells.J, np.int64)
    found[cells.environment] = solution.component[cells.arm]
    return found


def residuals(solution: Solution, cells: Cells) -> tuple[Floats, Floats]:
    """Return how far the mean of each cell is from what the model expects, and its variance.

    With g = e_arm - b_j, b_j the shares in the environment, the variance is 1/w - 1/W_j - g'Pg; 0 (to
    rounding) where the cell alone determines what is expected of it.
    """
    if cells.factors is not None:
        found = two_way(cells)
        return found.residual, residual_variance(cells, found)
    arm, environment = cells.arm, cells.environment
    variance = 1.0 / cells.weight - 1.0 / cells.totals[environment] - np.diag(solution.P)[arm]
    for rows, here, (b,) in cells.blocks(cells.shares):
        row = environment[here] - rows.start
        product = b @ solution.P
        variance[here] += 2.0 * product[row, arm[here]] - np.sum(product * b, axis=1)[row]
    return leftover(solution, cells), np.maximum(variance, 0.0)


def leftover(solution: Solution, cells: Cells) -> Floats:
    """Return how far the mean of each cell is from what the model expects: (C,)."""
    return _residual(cells, solution.mu) if cells.factors is None else two_way(cells).residual


def _residual(cells: Cells, mu: Floats) -> Floats:
    """Return mean - muhat_arm - shat_environment of each cell, centred first: shifts may be large."""
    return cells.centred(cells.centred(cells.mean) - mu[cells.arm])


def labels(component: Ints) -> Ints:
    """Label the groups of two arms or more 1, 2, ...; 0 for an arm alone."""
    shared = np.bincount(component) > 1
    return np.where(shared[component], np.cumsum(shared)[component], 0)


def component_of(group: Ints) -> Ints:
    """Number the groups of such labels, each arm alone after them."""
    alone = np.arange(len(group)) + group.max() + 1
    return np.where(group == 0, alone, group)
