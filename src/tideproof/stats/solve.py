"""Least squares for r = mu_arm + s_environment + noise in one go, from the cells of a whole log.

The same estimator as `fixed_effects`, which follows one observation after another. This one runs
once a fit, interpreted and over arrays of any length, so it is vectorised NumPy and not a `@kernel`.
Nothing of size J x J or J x K x K is ever built. Multiply what is called a variance by sigma^2.

A *cell* is all that was observed of one arm in one environment: arrays of equal length hold, for
each, the index of its arm and its environment, the count n, the mean reward, and the sum of squared
deviations from that mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.arrays import Floats, Ints
from tideproof.kernels.fixed_effects import together, variance_to

_BLOCK = 2**20  # numbers in a dense block of environments x arms: 8 MB


class Solution(NamedTuple):
    """What a log says about its arms, in the names of `FixedEffects`.

    Attributes
    ----------
    P : (K, K) generalised inverse of the Laplacian, one block for each group of connected arms; the
        row of one arm a group, its reference, is 0.
    mu : (K,) muhat, relative to the reference of the arm's group.
    rss : residual sum of squares.
    group : (K,) label of the arm's group, 1, 2, ...; 0 for an arm unseen or that met no other.
    told : rewards, N.
    environments : environments with a reward, J.
    joins : arms seen minus their groups.
    """

    P: Floats
    mu: Floats
    rss: float
    group: Ints
    told: int
    environments: int
    joins: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom, N - K - J + groups, K the arms seen."""
        return self.told - self.environments - self.joins


def solve(
    arm: Ints, environment: Ints, n: Floats, mean: Floats, squares: Floats, arms: int, environments: int
) -> Solution:
    """Solve L muhat = b for distinct cells of `arms` arms and `environments` environments.

    L = sum_j diag(n_j) - n_j n_j'/m_j is diagonally dominant with zero row sums: its diagonal is the
    sum of its other entries, added up without cancellation. Rewards are centred inside each
    environment first and residuals are summed as such, so that shifts, however large, do no harm.
    O(cells K + K^3); an arm that meets no other keeps P = 0 and muhat = 0.
    """
    size = sums(environment, n, environments)
    weight = np.zeros((arms, arms))
    for _, _, block in _blocks(arm, environment, n / np.sqrt(size[environment]), arms, environments):
        weight += block.T @ block
    np.fill_diagonal(weight, 0.0)

    part = _parts(weight > 0.0)
    P = _inverse(weight, part)
    mu = np.zeros(arms)
    residual = _residual(mu, arm, environment, n, mean, size)
    for _ in range(2):  # once to solve, once more to refine
        mu += P @ sums(arm, n * residual, arms)
        residual = _residual(mu, arm, environment, n, mean, size)

    seen = sums(arm, n, arms) > 0.0
    return Solution(
        P=P,
        mu=mu,
        rss=float(np.sum(squares) + np.sum(n * residual**2)),
        group=_labels(part),
        told=round(float(np.sum(n))),
        environments=int(np.count_nonzero(size)),
        joins=int(np.count_nonzero(seen) - np.unique(part[seen]).size),
    )


def contrast(solution: Solution, i: int, k: int) -> tuple[float, float]:
    """Return muhat_i - muhat_k and its variance; NaN for arms of different groups."""
    if not together(solution, i, k):
        return np.nan, np.nan
    P, mu = solution.P, solution.mu
    return float(mu[i] - mu[k]), max(float(variance_to(P, i, P[i, i], P[i], k)), 0.0)


def adjusted(solution: Solution, arm: Ints, n: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the adjusted mean of each arm and its variance, environments fixed: (K,) and (K,).

    The mean an arm would have had in every environment of its group in proportion to traffic,
    muhat_i + rbar - (counts/N)'muhat; its variance is 1/N + c'Pc, c = e_i - counts/N. NaN for an arm
    unseen.
    """
    part, share, total, grand = _traffic(solution, arm, n, mean)
    c = np.eye(share.size) - np.where(part[:, None] == part, share, 0.0)
    return grand[part] + c @ solution.mu, 1.0 / total[part] + np.sum(c @ solution.P * c, axis=1)


def shifts(
    solution: Solution, arm: Ints, environment: Ints, n: Floats, mean: Floats, environments: int
) -> tuple[Floats, Floats]:
    """Return the shift of each environment and its variance: (J,) and (J,).

    Relative to the average over the traffic of the environment's group of arms: with
    h = n_j/m_j - counts/N the shift is rbar_j - rbar - h'muhat, its variance 1/m_j - 1/N + h'Ph.
    NaN for an environment without rewards.
    """
    arms = solution.mu.size
    part, share, total, grand = _traffic(solution, arm, n, mean)
    traffic = np.zeros((total.size, arms))
    traffic[part, np.arange(arms)] = share

    size = sums(environment, n, environments)
    home = np.zeros(environments, np.int64)  # the group of each environment
    home[environment] = part[arm]
    above = sums(environment, n * (mean - grand[home[environment]]), environments)
    size[size == 0.0] = np.nan
    shift, variance = above / size, 1.0 / size - 1.0 / total[home]
    for rows, _, block in _blocks(arm, environment, n / size[environment], arms, environments):
        h = block - traffic[home[rows]]
        shift[rows] -= h @ solution.mu
        variance[rows] += np.sum(h @ solution.P * h, axis=1)
    return shift, np.maximum(variance, 0.0)


def residuals(
    solution: Solution, arm: Ints, environment: Ints, n: Floats, mean: Floats, environments: int
) -> tuple[Floats, Floats]:
    """Return how far the mean of each cell is from what the model expects, and its variance.

    With g = e_arm - n_j/m_j the variance is 1/n - 1/m_j - g'Pg; 0 (to rounding) where the cell alone
    determines what is expected of it.
    """
    size = sums(environment, n, environments)
    residual = _residual(solution.mu, arm, environment, n, mean, size)
    variance = 1.0 / n - 1.0 / size[environment] - np.diag(solution.P)[arm]
    share, arms = n / size[environment], solution.mu.size
    for rows, cells, block in _blocks(arm, environment, share, arms, environments):
        row = environment[cells] - rows.start
        product = block @ solution.P
        variance[cells] += 2.0 * product[row, arm[cells]] - np.sum(product * block, axis=1)[row]
    return residual, np.maximum(variance, 0.0)


def sums(index: Ints, values: Floats, length: int) -> Floats:
    """Add up the values that share an index: (length,)."""
    return np.asarray(np.bincount(index, values, length), np.float64)


def _residual(mu: Floats, arm: Ints, environment: Ints, n: Floats, mean: Floats, size: Floats) -> Floats:
    """Return mean - muhat_arm - shat_environment of each cell, centred first: shifts may be large."""
    return _centred(_centred(mean, environment, n, size) - mu[arm], environment, n, size)


def _centred(values: Floats, environment: Ints, n: Floats, size: Floats) -> Floats:
    """Subtract from the value of each cell the weighted mean over its environment."""
    mean = sums(environment, n * values, size.size)[environment] / size[environment]
    return np.asarray(values - mean)


def _blocks(
    arm: Ints, environment: Ints, values: Floats, arms: int, environments: int
) -> Iterator[tuple[slice, Ints, Floats]]:
    """Spread a value for each cell over dense blocks of environments x arms.

    Yields the environments of a block, its cells, and the block.
    """
    order = np.argsort(environment, kind="stable")
    rows = max(1, _BLOCK // arms)
    for start in range(0, environments, rows):
        stop = min(start + rows, environments)
        first, last = np.searchsorted(environment, [start, stop], sorter=order)
        cells = order[first:last]
        block = np.zeros((stop - start, arms))
        block[environment[cells] - start, arm[cells]] = values[cells]
        yield slice(start, stop), cells, block


def _parts(linked: NDArray[np.bool_]) -> Ints:
    """Count through the connected groups of arms, 0, 1, ... by their first arm; an arm may be alone."""
    lowest = np.arange(len(linked))
    while True:  # every arm takes the lowest arm it knows of, until nobody learns of a lower one
        near = np.minimum(lowest, np.where(linked, lowest, len(linked)).min(axis=1))
        if np.array_equal(near, lowest):
            return np.unique(lowest, return_inverse=True)[1]
        lowest = near[near]


def _labels(part: Ints) -> Ints:
    """Label the groups of two arms or more 1, 2, ...; 0 for an arm alone."""
    shared = np.bincount(part) > 1
    return np.where(shared[part], np.cumsum(shared)[part], 0)


def _inverse(weight: Floats, part: Ints) -> Floats:
    """Invert the Laplacian with these weights, less one arm a group: the one with most links.

    P = X'X, X the inverse of a Cholesky factor, is symmetric and positive semidefinite to the last
    bit.
    """
    degree = weight.sum(axis=1)
    heaviest = np.lexsort((-degree, part))
    reference = heaviest[np.unique(part[heaviest], return_index=True)[1]]
    laplacian = np.diag(degree) - weight
    laplacian[reference, :] = laplacian[:, reference] = 0.0
    laplacian[reference, reference] = 1.0
    X = np.linalg.solve(np.linalg.cholesky(laplacian), np.eye(len(weight)))
    X[reference, reference] = 0.0
    return np.asarray(X.T @ X)


def _traffic(solution: Solution, arm: Ints, n: Floats, mean: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Return the group of each arm and its share there; the rewards and mean reward of each group.

    NaN where nothing was seen.
    """
    alone = solution.group == 0
    part = np.unique(np.where(alone, -1 - np.arange(alone.size), solution.group), return_inverse=True)[1]
    counts = sums(arm, n, alone.size)
    total = sums(part, counts, part.max() + 1)
    total[total == 0.0] = np.nan
    return part, counts / total[part], total, sums(part[arm], n * mean, total.size) / total
