"""Standard errors of arms compared inside environments, from the variation between groups of environments.

An environment is a test item, for example, and a cluster is an item or a group of items, such as the
questions about one passage. Clusters are independent; nothing is assumed about rewards inside a cluster, such
as repeated samples of an item. All numbers are about environments like those observed.

The estimates are those of least squares. Let z_g be the sum of the residuals of cluster g by arm, times P.
The estimated difference of two arms is, up to a constant, a sum over clusters of z_gi - z_gk, so the
covariance of the arm effects is sum c_g z_g z_g', with the factors of `correct_for_leverage`. The share of a
cluster in the information is that for an average contrast, trace(P L_g) / rank, with L_g the cluster's part
of the Laplacian. The true sizes tau_g are fitted as a h_g + b h_g^2: the first part is for terms that are
independent inside a cluster, the second for terms that are equal there.

If two arms have almost the same 0/1 rewards, the few differences do not show how many there are elsewhere:
without any, the standard error would be 0. So standard errors are at least those of four disagreements.

For two arms with one reward in each environment this is the paired t-test, and for 0/1 rewards its statistic
t is a function of McNemar's: chi^2 = J t^2 / (J - 1 + t^2).

Adjusted means weight environments by the mean number of rewards of an arm in them, so that the mean of an
arm with rewards everywhere is its raw mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import BLOCK_NUMBERS, Cells, group_members, sum_by_index
from tideproof.stats.solve.adjusted_means import MeansAndShifts, environment_shifts, raw_mean
from tideproof.stats.solve.least_squares import Solution, cell_residuals
from tideproof.stats.variance.cluster_correction import ClusterCorrection, correct_for_leverage
from tideproof.text import join_labels

FEWEST_CLUSTERS = 4  # Clusters that a statement about clusters like them needs.
FEWEST_DISAGREEMENTS = 4  # Two arms with fewer different 0/1 rewards count as if they had so many.
_TINY = 1e-300


def cluster_of_environment(c: Cells) -> Ints:
    """Return the index of the cluster (group of dependent rewards) of each environment: (J,)."""
    if c.units is None:
        return np.arange(c.J)
    u = c.units
    environment = c.environment[u.cell]
    found = np.zeros(c.J, np.int64)
    found[environment] = u.unit
    split = np.flatnonzero(found[environment] != u.unit)
    if split.size:
        where = c.environments[environment[split[0]]]
        raise InputError(
            f"variance='paired' needs units that contain whole environments, but environment {where!r} "
            f"contains several units"
        )
    return np.unique(found, return_inverse=True)[1]


def count_clusters(c: Cells) -> int:
    """Return the number of clusters that contain an environment with two arms or more."""
    return int(np.unique(cluster_of_environment(c)[c.compares]).size)


@dataclass(frozen=True, eq=False)
class PairedClusters:
    """Covariance matrix of arm effects, and adjusted means, from the variation between clusters.

    Attributes
    ----------
    covariance : (K, K) covariance of the arm effects.
    freedom : (K,) degrees of freedom of comparisons with each arm of the same group.
    mean, mean_variance : (K,) adjusted means and their variances.
    least : (K, K) smallest standard errors of differences, for 0/1 rewards; None for others.
    """

    covariance: Floats
    freedom: Floats
    mean: Floats
    mean_variance: Floats
    least: Floats | None

    @classmethod
    def of(cls, c: Cells, s: Solution) -> PairedClusters:
        """Compute standard errors from the variation between clusters, given a least-squares fit."""
        c.check_one_way("variance='paired'")
        cluster, K = cluster_of_environment(c), c.K
        covariance, freedom = np.zeros((K, K)), np.zeros(K)
        mean, mean_variance = np.full((2, K), np.nan)
        home = np.zeros(c.J, np.int64)
        home[c.environment] = s.component[c.arm]
        scored = c.n * cell_residuals(s, c)
        leverage = _leverage(c, s)
        for group, arms in group_members(s.component):
            here = np.flatnonzero((home == group) & (c.sizes > 0.0))
            if not here.size:
                continue
            part = _ComparableArms.of(c, s, arms, here, cluster)
            share = sum_by_index(part.cluster, leverage[here], part.clusters)
            correction = part.correction(scored, share)
            own = part.covariance(scored, correction)
            covariance[np.ix_(arms, arms)], freedom[arms] = own, correction.freedom
            mean[arms], mean_variance[arms] = part.means(scored, correction)
        least = _least_errors(s) if c.binary else None
        return cls(covariance, np.round(freedom, 9), mean, mean_variance, least)


def _least_errors(s: Solution) -> Floats:
    """Return minimum standard errors of differences between arms with 0/1 rewards: (K, K).

    A disagreement in one reward changes the estimated difference by about half its variance, relative to that
    of a reward: by 1/J with J environments that have one reward of each arm.
    """
    same = s.component[:, None] == s.component
    return np.where(same, math.sqrt(FEWEST_DISAGREEMENTS) * 0.5 * pair_variances(s.P), 0.0)


def _leverage(c: Cells, s: Solution) -> Floats:
    """Return each environment's share of the information about all differences between arms: (J,)."""
    own = c.by_environment(c.n * np.diag(s.P)[c.arm])
    both = c.by_environment(c.n * c.times_matrix(c.n, s.P)) / np.maximum(c.sizes, 1.0)
    return np.asarray(np.where(c.compares, np.maximum(own - both, 0.0), 0.0))


@dataclass(frozen=True, eq=False)
class _ComparableArms:
    """Group of arms connected by shared environments, with these environments in numbered clusters.

    `at` are the indices of the environments, `cluster` the cluster of each, and `weight` its weight in
    adjusted means; the weights add up to 1.
    """

    cells: Cells
    solution: Solution
    arms: Ints
    at: Ints
    cluster: Ints
    clusters: int
    weight: Floats

    @classmethod
    def of(cls, c: Cells, s: Solution, arms: Ints, at: Ints, cluster: Ints) -> _ComparableArms:
        """Return a group of comparable arms with its environments `at`, numbering their clusters."""
        labels, own = np.unique(cluster[at], return_inverse=True)
        weight = c.sizes[at] / c.arms_seen[at]
        return cls(c, s, arms, at, own, labels.size, weight / weight.sum())

    def correction(self, scored: Floats, share: Floats) -> ClusterCorrection:
        """Return the small-sample correction of cluster variances; `share` is each cluster's information."""
        used = share > 0.0
        if self.arms.size < 2 or np.count_nonzero(used) < FEWEST_CLUSTERS:
            if self.arms.size > 1:
                names = join_labels(self.cells.arms[i] for i in self.arms)
                raise InputError(
                    f"variance='paired' needs at least {FEWEST_CLUSTERS} items or groups of items that "
                    f"compare arms; there are {np.count_nonzero(used)} for {names}"
                )
            even = np.full(self.clusters, 1.0 / self.clusters)
            return correct_for_leverage(even, even) if self.clusters > 1 else ClusterCorrection(even, 0.0)
        share = share / share.sum()
        sizes = np.zeros(self.clusters)
        for rows, z in self._effects(scored):
            sizes[rows] = self.arms.size * np.sum(z * z, axis=1) - z.sum(axis=1) ** 2
        found = correct_for_leverage(fit_sizes(sizes[used], share[used]), share[used])
        factor = np.ones(self.clusters)  # a cluster without comparisons has no terms
        factor[used] = found.factor
        return ClusterCorrection(factor, found.freedom)

    def covariance(self, scored: Floats, correction: ClusterCorrection) -> Floats:
        """Return the covariance matrix of the estimated arm effects."""
        total = np.zeros((self.arms.size, self.arms.size))
        for rows, z in self._effects(scored):
            total += (z * correction.factor[rows, None]).T @ z
        return total

    def means(self, scored: Floats, correction: ClusterCorrection) -> tuple[Floats, Floats]:
        """Return the adjusted mean of each arm, and the variance of this estimate."""
        c, s = self.cells, self.solution
        here = np.full(c.J, -1)
        here[self.at] = np.arange(self.at.size)
        level = c.by_environment(c.shares * (c.mean - s.mu[c.arm]))[self.at]
        middle = float(self.weight @ level)
        average = np.zeros(c.K)  # the mean share of each arm in an environment
        used = here[c.environment] >= 0
        np.add.at(average, c.arm[used], self.weight[here[c.environment[used]]] * c.shares[used])
        deviation = sum_by_index(self.cluster, self.weight * (level - middle), self.clusters)
        variance = np.zeros(self.arms.size)
        for rows, z in self._effects(scored):
            own = deviation[rows, None] + z - (z @ average[self.arms])[:, None]
            variance += correction.factor[rows] @ own**2
        return _exact_means(c, self.arms, self.at, middle + s.mu[self.arms]), variance

    def _effects(self, scored: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield the contribution of each cluster to the estimated arm effects, in blocks of clusters."""
        c, k = self.cells, self.arms.size
        column = np.zeros(c.K, np.int64)
        column[self.arms] = np.arange(k)
        row = np.full(c.J, -1)
        row[self.at] = self.cluster
        P = self.solution.P[np.ix_(self.arms, self.arms)]
        cell = np.flatnonzero(row[c.environment] >= 0)
        key = row[c.environment[cell]] * k + column[c.arm[cell]]
        step = max(1, BLOCK_NUMBERS // k)
        if self.clusters > step:
            order = np.argsort(key, kind="stable")
            cell, key = cell[order], key[order]
        ends = (
            np.searchsorted(key, np.arange(0, self.clusters + step, step) * k)
            if self.clusters > step
            else [0, key.size]
        )
        for n, start in enumerate(range(0, self.clusters, step)):
            stop, inside = min(start + step, self.clusters), slice(int(ends[n]), int(ends[n + 1]))
            total = np.bincount(key[inside] - start * k, scored[cell[inside]], (stop - start) * k)
            yield slice(start, stop), total.reshape(stop - start, k) @ P


def _exact_means(c: Cells, arms: Ints, at: Ints, mean: Floats) -> Floats:
    """Return adjusted means without rounding errors: raw means for arms seen in all environments `at`.

    Both are equal for an arm whose rewards are spread over the environments like those of all arms; the raw
    mean has no rounding errors.
    """
    if c.divisor is not None or c.slope is not None:
        return mean
    per_arm = (c.sizes / np.maximum(c.arms_seen, 1))[c.environment]
    like_all = c.by_arm((np.abs(c.n - per_arm) < 1e-9 * per_arm).astype(float))
    whole = like_all[arms] == at.size
    exact = c.by_arm(np.round(c.n * c.mean)) / np.maximum(c.counts, 1.0) if c.binary else raw_mean(c)
    return np.asarray(np.where(whole, exact[arms], mean))


def fit_sizes(sizes: Floats, share: Floats) -> Floats:
    """Fit the expected squared residuals of clusters by a h + b h^2, for information shares h: (G,).

    >>> fit_sizes(np.array([1.0, 1.0, 4.0, 4.0]), np.array([0.1, 0.1, 0.4, 0.4])).round(3)
    array([1., 1., 4., 4.])
    >>> fit_sizes(np.array([1.0, 1.0, 16.0, 16.0]), np.array([0.1, 0.1, 0.4, 0.4])).round(3)
    array([ 1.,  1., 16., 16.])
    """
    if not sizes.any():
        return share
    # sums of sizes and of sizes / h, as for terms whose variance is proportional to h
    whole, each = float(sizes.sum()), float(np.sum(sizes / share))
    squares, count, total = float(share @ share), share.size, float(share.sum())
    determinant = squares * count - total * total  # 0 for clusters of equal shares
    if determinant < 1e-9 * squares * count:
        return share
    b = (count * whole - total * each) / determinant
    a = (whole - b * squares) / total
    if b < 0.0:
        return share
    if a < 0.0:
        return np.asarray(share * share)
    return np.asarray(a * share + b * share * share)


def means_of(found: PairedClusters, c: Cells, s: Solution) -> MeansAndShifts:
    """Return adjusted means of the arms for the observed environments, and the environments' shifts.

    The variances of shifts are those of noise that is equal for all rewards.
    """
    shift, relative = environment_shifts(s, c)
    noise = s.rss / s.freedom if s.freedom else math.nan
    return MeansAndShifts(found.mean, found.mean_variance, shift, noise * relative)
