"""Least-squares fit of the effects of arms and environments to a complete log of rewards.

The model is reward = mu_arm + s_environment + noise, and the data are the cells of the log. The estimator
is the same as `kernels.fit.fixed_effects`, which updates it after every reward. This one runs once for each
fit, interpreted and over arrays of any length, so it is vectorised NumPy and not a `@kernel`. It never
builds an array of size J x J or J x K x K. Variances are relative: multiply them by sigma^2.

Profiling out the shifts from the normal equations leaves the Laplacian L = sum_j diag(w_j) - w_j w_j'/W_j on
the graph of the arms, whose edges are the comparisons within environments. Its components are the groups of
comparable arms, and its inverse P is the covariance of their effects divided by sigma^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.solve.environment_factors import fit_two_way, residual_variance

MOST_DENSE_ARMS = 500  # With more arms the factored inverse saves time.
_ARMS_PER_ENVIRONMENT = 4  # The factored inverse needs this many arms per environment.


class Solution(NamedTuple):
    """Least-squares fit of arm effects and environment shifts.

    The attributes are named as in `FixedEffects`.

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
        """Residual degrees of freedom: number of rewards minus number of fitted parameters.

        It is rewards - arms with rewards - environments + groups of arms - covariates.
        """
        return self.told - self.environments - self.joins - self.spent


def solve(cells: Cells) -> Solution:
    """Fit the effects of arms and the shifts of environments by weighted least squares.

    This solves L muhat = b, with L the Laplacian. Rewards are first centred within each environment and
    residuals are added up after centring, so that large shifts do not cost precision. Takes O(cells K +
    K^3), or O(J K^2) for many arms in few environments. An arm that shares no environment with another
    keeps P = 0 and muhat = 0.
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
    """Fit by least squares with environment shifts that are sums of two factors, such as day and site.

    All arms must be connected.
    """
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
    """Return the number of degrees of freedom that covariates use: one for each covariate."""
    return 0 if cells.slope is None else cells.slope.by.size


def environment_components(solution: Solution, cells: Cells) -> Ints:
    """Return, for each environment, the index of the group of comparable arms that it contains: (J,)."""
    found = np.zeros(cells.J, np.int64)
    found[cells.environment] = solution.component[cells.arm]
    return found


def residuals(solution: Solution, cells: Cells) -> tuple[Floats, Floats]:
    """Return residuals of arm-by-environment means, and their variances in units of the noise variance.

    The two results are (C,) each; the unit is sigma^2. With g = e_arm - b_j and b_j the shares of the arms
    in the environment, the variance is 1/w - 1/W_j - g'Pg. It is 0, up to rounding, for a cell that
    determines its own expected value alone.
    """
    if cells.factors is not None:
        found = fit_two_way(cells)
        return found.residual, residual_variance(cells, found)
    arm, environment = cells.arm, cells.environment
    variance = 1.0 / cells.weight - 1.0 / cells.totals[environment] - np.diag(solution.P)[arm]
    product = cells.times_matrix(cells.shares, solution.P)
    variance += 2.0 * product - cells.by_environment(cells.shares * product)[environment]
    return cell_residuals(solution, cells), np.maximum(variance, 0.0)


def cell_residuals(solution: Solution, cells: Cells) -> Floats:
    """Return each arm-by-environment mean reward minus the mean that the fitted model expects: (C,)."""
    return _centred_residuals(cells, solution.mu) if cells.factors is None else fit_two_way(cells).residual


def _centred_residuals(cells: Cells, mu: Floats) -> Floats:
    """Return each arm-by-environment mean minus arm effect and shift, accurately even if shifts are large.

    For this, means are centred first.
    """
    return cells.centred(cells.centred(cells.mean) - mu[cells.arm])


def group_labels(component: Ints) -> Ints:
    """Number the groups of comparable arms 1, 2, ...; an arm that is comparable with no other gets 0."""
    shared = np.bincount(component) > 1
    return np.where(shared[component], np.cumsum(shared)[component], 0)


def group_components(group: Ints) -> Ints:
    """Return the index of each arm's group of comparable arms.

    An arm without a group gets an index, too.
    """
    alone = np.arange(len(group)) + group.max() + 1
    return np.where(group == 0, alone, group)


def link_weights(cells: Cells) -> Floats:
    """Return, for every two arms, the statistical information from their comparisons within environments.

    The result is (K, K), the sum of w_j w_j'/W_j over environments.

    w_j are the weights of the arms in environment j, and W_j is their sum. The entries off the diagonal are
    the edge weights of the Laplacian: the information from direct comparisons of two arms. The matrix is
    symmetric to the last bit.
    """
    lower = np.tril(cells.outer_sum(cells.shares, cells.weight))
    return lower + np.tril(lower, -1).T


def laplacian_matrix(cells: Cells) -> Floats:
    """Return the Laplacian matrix of the graph that links compared arms.

    It is L, (K, K). `invert_laplacian` solves with it without cancellation.
    """
    return np.asarray(np.diag(cells.by_arm(cells.weight)) - link_weights(cells))


def connected_components(linked: NDArray[np.bool_]) -> Ints:
    """Return the connected component of each node of a graph, numbered in the order of first nodes."""
    lowest = np.arange(len(linked))
    while True:  # Each node takes its neighbours' lowest index until none changes.
        near = np.minimum(lowest, np.where(linked, lowest, len(linked)).min(axis=1))
        if np.array_equal(near, lowest):
            return np.unique(lowest, return_inverse=True)[1]
        lowest = near[near]


def invert_laplacian(between: Floats, component: Ints) -> Floats:
    """Return a generalised inverse P of the Laplacian of a graph with the edge weights `between`.

    Rows and columns of reference arms are 0. The reference of each component is the arm with the largest sum
    of edge weights. L is diagonally dominant with zero row sums, so its diagonal is computed as the sum of
    the other entries, without cancellation. P = X'X with X the inverse of a Cholesky factor is symmetric and
    positive semidefinite to the last bit.
    """
    X = _root_of_inverse(between, component)
    return np.asarray(X.T @ X)


def _root_of_inverse(between: Floats, component: Ints) -> Floats:
    """Return a square root X of the generalised inverse of a graph's Laplacian: X'X is the inverse.

    The inverse is that of `invert_laplacian`.
    """
    degree = between.sum(axis=1)
    reference = _references(degree, component)
    laplacian = np.diag(degree) - between
    laplacian[reference, :] = laplacian[:, reference] = 0.0
    laplacian[reference, reference] = 1.0
    X = np.linalg.solve(np.linalg.cholesky(laplacian), np.eye(len(between)))
    X[reference, reference] = 0.0
    return np.asarray(X)


def _references(degree: Floats, component: Ints) -> Ints:
    """Return the arm with the largest sum of edge weights in each connected component of arms."""
    heaviest = np.lexsort((-degree, component))
    return np.asarray(heaviest[np.unique(component[heaviest], return_index=True)[1]])


class FactoredInverse(NamedTuple):
    """Factored generalised inverse of the Laplacian matrix, for many arms that share few environments.

    Eliminating the arms instead of the environments leaves a Laplacian M on the environments, with edge
    weights sum_a w_aj w_al/w_a: of size J instead of K. Let X'X be its inverse and S = X (w_aj/w_a). Then
    diag(1/w_a) + S'S equals the inverse of L up to constants for each row and column of a component.
    Contrasts do not depend on these constants; they are chosen so that the rows of the references are 0.
    Takes O(J K^2) instead of O(K^3).

    Attributes
    ----------
    own : (K,) 1/w_a.
    by : (J, K) S.
    component : (K,) connected component of each arm.
    reference : (groups,) the arm of each component whose row is 0.
    """

    own: Floats
    by: Floats
    component: Ints
    reference: Ints

    def inverse(self) -> Floats:
        """Return the generalised inverse P of a graph's Laplacian as a dense matrix.

        It equals the result of `invert_laplacian` up to rounding.
        """
        P = self.by.T @ self.by
        P[np.diag_indices(self.own.size)] += self.own
        return self._fixed(P)

    def sandwich(self, middle: Floats) -> Floats:
        """Return the sandwich covariance of the arm effects, given its middle matrix.

        It is P M P, with M the matrix `middle`, and is computed from the factors of P.
        """
        left = self.own[:, None] * middle + self.by.T @ (self.by @ middle)
        return self._fixed(left * self.own + (left @ self.by.T) @ self.by)

    def solve(self, score: Floats) -> Floats:
        """Solve the linear system with a graph's Laplacian as its matrix and `score` on the right-hand side.

        The elements of `score` must add up to 0 in each component.
        """
        x = self.own * score + self.by.T @ (self.by @ score)
        return np.asarray(x - x[self.reference][self.component])

    def _fixed(self, P: Floats) -> Floats:
        """Shift rows and columns of a Laplacian's inverse by constants so that reference arms have zeros."""
        level = P[self.reference[self.component], np.arange(self.own.size)]
        level -= 0.5 * level[self.reference][self.component]
        P -= level[:, None] + level
        P[self.reference, :] = P[:, self.reference] = 0.0
        if self.reference.size > 1:
            P[self.component[:, None] != self.component] = 0.0
        return P


def meat(cells: Cells, q: Floats) -> Floats:
    """Return the middle matrix of a sandwich estimator for the covariance of the arm effects.

    It is the sum of q g g' over cells, (K, K), with g = e_arm - b_j and b_j the shares of the arms in the
    environment.
    """
    cells.check_one_way("this variance model")
    b, charges = cells.shares, cells.by_environment(q)[cells.environment]
    cross = cells.outer_sum(q, b)
    return np.asarray(np.diag(cells.by_arm(q)) + (cells.outer_sum(charges * b, b) - cross - cross.T))


def sandwich(P: Floats, middle: Floats, short: FactoredInverse | None) -> Floats:
    """Return the sandwich covariance of the arm effects from its outer and its middle matrix.

    It is P M P, with P an inverse of the Laplacian and M the matrix `middle`. `middle` is symmetric, and
    its rows add up to 0 in each component. `short` is the factored form of P, which is quicker; None if
    there is none.
    """
    return P @ middle @ P if short is None else short.sandwich(middle)


def factor_inverse(cells: Cells, component: Ints | None = None) -> FactoredInverse | None:
    """Return the factored generalised inverse of the Laplacian of the graph of compared arms.

    The result is None unless there are many arms and few environments.
    """
    if cells.K <= MOST_DENSE_ARMS or _ARMS_PER_ENVIRONMENT * cells.J > cells.K:
        return None
    w = np.zeros((cells.J, cells.K))
    w[cells.environment, cells.arm] = cells.weight
    total = w.sum(axis=0)
    own = np.where(total > 0.0, 1.0 / np.where(total > 0.0, total, 1.0), 0.0)
    between = (w * own) @ w.T
    between = 0.5 * (between + between.T)
    np.fill_diagonal(between, 0.0)
    environment_component = connected_components(between > 0.0)
    if component is None:
        component = _arm_components(cells, environment_component)
    degree = cells.by_arm(cells.weight * (1.0 - cells.shares))
    by = _root_of_inverse(between, environment_component) @ (w * own)
    return FactoredInverse(own, by, component, _references(degree, component))


def _arm_components(cells: Cells, environment_component: Ints) -> Ints:
    """Derive the connected component of each arm from the connected components of the environments."""
    label = cells.J + np.arange(cells.K)  # An arm without rewards is alone.
    label[cells.arm] = environment_component[cells.environment]
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group])
