"""Adjusted means of the arms and shifts of the environments, with confidence intervals; also raw means.

Let t_j be the share of environment j in the rewards of its group of connected arms, and let shat_j =
(weighted mean of j) - b_j'muhat. The adjusted mean of arm i is muhat_i + sum_j t_j shat_j, and the shift of
environment j is shat_j - sum_l t_l shat_l. The symbols g and b_j are those of `variance.sandwich`.

Further estimates of the same fit are the difference of two arms in each environment, and those with each
environment left out in turn. The difference of two cell means does not depend on the shift. Its variance
follows the model of the noise. Under the "clustered" model, where shifts may differ between arms, it is the
variance of the difference in this environment alone: only the noise inside cells counts, so the differences
vary by more than their intervals suggest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import student_intervals
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.environment_factors import two_way_shifts
from tideproof.stats.solve.least_squares import Solution, environment_components, residuals
from tideproof.table import Table

if TYPE_CHECKING:
    from tideproof.stats.variance.variance_models import CellNoise, Estimate

_AT_ONCE = 4_000_000  # Numbers in the matrices that are solved together.
_WORK = 2e10  # Most arithmetic operations for leaving environments out.


class MeansAndShifts(NamedTuple):
    """Adjusted mean of each arm and shift of each environment, with their variances.

    The arrays are (K,) for arms and (J,) for environments. `steady` holds the means for which the variances
    were computed, if they differ from `mean`: an arm without an event has a mean of 0, but its variance is
    not 0.
    """

    mean: Floats
    mean_variance: Floats
    shift: Floats
    shift_variance: Floats
    steady: Floats | None = None


class GroupTraffic(NamedTuple):
    """Number and mean of rewards in each group of comparable arms; NaN for a group without rewards.

    Attributes
    ----------
    share : (K,) share of each arm in the rewards of its group.
    total, mean : (groups,) number of rewards of each group, and their mean.
    home : (J,) group that each environment belongs to.
    """

    share: Floats
    total: Floats
    mean: Floats
    home: Ints


def group_traffic(solution: Solution, cells: Cells) -> GroupTraffic:
    """Count the rewards of each group of comparable arms, and compute the share of each arm in its group."""
    component = solution.component
    total = sum_by_index(component, cells.counts, component.max() + 1)
    total[total == 0.0] = np.nan
    mean = sum_by_index(component[cells.arm], cells.n * cells.mean, total.size) / total
    return GroupTraffic(cells.counts / total[component], total, mean, environment_components(solution, cells))


def adjusted_means(solution: Solution, cells: Cells) -> tuple[Floats, Floats]:
    """Return the adjusted mean of each arm, and its variance in units of the noise variance.

    The two results are (K,) each; the unit is sigma^2. Shifts are taken as fixed. The adjusted mean is the
    mean that an arm would have had in all environments of its group, weighted by traffic: muhat_i + rbar -
    (counts/N)'muhat. Its variance is 1/N + c'Pc with c = e_i - counts/N. NaN for an arm without rewards.
    """
    component, got = solution.component, group_traffic(solution, cells)
    average = _group_shares(component, got)
    variance = 1.0 / got.total[component] + quadratic_forms(solution.P, average, component)
    return got.mean[component] + solution.mu - (average @ solution.mu)[component], variance


def quadratic_forms(C: Floats, average: Floats, component: Ints) -> Floats:
    """Return, for each arm, the variance of the difference between its effect and its group's average.

    The variance, (K,), is c'Cc, with C the covariance of the effects and c = e_i minus the average of the
    group. `average` has one row of arm weights for each group: (groups, K).
    """
    across = average @ C
    own = np.sum(across * average, axis=1)
    return np.asarray(np.diag(C) - 2.0 * across[component, np.arange(len(C))] + own[component])


def _group_shares(component: Ints, got: GroupTraffic) -> Floats:
    """Return each arm's share of the rewards of its group, as a matrix of groups by arms.

    The matrix is (groups, K), with 0 for arms of other groups.
    """
    average = np.zeros((got.total.size, component.size))
    average[component, np.arange(component.size)] = got.share
    return average


def environment_shifts(solution: Solution, cells: Cells) -> tuple[Floats, Floats]:
    """Return the shift of each environment, and its variance in units of the noise variance.

    The two results are (J,) each; the unit is sigma^2. A shift is relative to the average over the traffic
    of the environment's group of arms. With h = n_j/m_j - counts/N the shift is rbar_j - rbar - h'muhat and
    its variance is 1/m_j - 1/N + h'Ph. NaN for an environment without rewards.
    """
    if cells.factors is not None:
        return two_way_shifts(cells)
    got = group_traffic(solution, cells)
    average = _group_shares(solution.component, got)
    above = cells.by_environment(cells.n * (cells.mean - got.mean[got.home[cells.environment]]))
    sizes = np.where(cells.sizes == 0.0, np.nan, cells.sizes)
    shift, variance = above / sizes, 1.0 / sizes - 1.0 / got.total[got.home]
    for rows, _, (b,) in cells.blocks(cells.shares):
        h = b - average[got.home[rows]]
        shift[rows] -= h @ solution.mu
        variance[rows] += np.sum(h @ solution.P * h, axis=1)
    return shift, np.maximum(variance, 0.0)


def means_and_shifts(
    solution: Solution, covariance: Floats, cells: Cells, variance: Floats
) -> MeansAndShifts:
    """Return adjusted arm means and environment shifts, with their variances.

    Any weights and any covariance of the arm effects are possible.

    `covariance` is that of muhat, `cells` carry the weights of the least-squares fit `solution`, and
    `variance` is the variance of each cell's mean.
    """
    cells.check_one_way("this variance model")
    mu, P, component, arm, environment = (
        solution.mu,
        solution.P,
        solution.component,
        cells.arm,
        cells.environment,
    )
    got = group_traffic(solution, cells)
    groups, home, by = got.total.size, got.home, cells.by_environment
    empty = cells.sizes == 0.0
    W = np.where(empty, np.nan, cells.totals)
    t = cells.sizes / got.total[home]
    b = cells.shares
    charge = cells.weight * b * variance
    charges = by(charge)
    z = charge - charges[environment] * b
    y = charges / W
    level = by(cells.weight * (cells.mean - got.mean[home[environment]])) / W

    def over_traffic(values: Floats) -> Floats:
        """Return the average over the traffic of each group, for values by arm: (groups, K)."""
        index = home[environment] * cells.K + arm
        return sum_by_index(index, t[environment] * values, groups * cells.K).reshape(groups, cells.K)

    average = sum_by_index(home, t * np.where(empty, 0.0, level), groups)
    tb, tz = over_traffic(b), over_traffic(z)
    ty = sum_by_index(home, t**2 * np.where(empty, 0.0, y), groups)

    mean = got.mean[component] + average[component] + mu - (tb @ mu)[component]
    tbP, tzP, tbC = tb @ P, tz @ P, tb @ covariance
    at_arm, at_average = tzP[component, np.arange(cells.K)], np.sum(tzP * tb, axis=1)
    mean_variance = ty[component] + 2.0 * (at_arm - at_average[component])
    mean_variance += quadratic_forms(covariance, tb, component)
    # With h_j = b_j - tb: h_j'mu, h_j'P (z_j - tz) and h_j'C h_j, multiplied out.
    here = home[environment], arm
    shift = level - average[home] - (by(b * mu[arm]) - (tb @ mu)[home])
    slope = by(z * (cells.times_matrix(b, P) - tbP[here]) - b * tzP[here]) + at_average[home]
    own = by(b * (cells.times_matrix(b, covariance) - 2.0 * tbC[here])) + np.sum(tbC * tb, axis=1)[home]
    shift_variance = y * (1.0 - 2.0 * t) + ty[home] - 2.0 * slope + own
    mean_variance[np.isnan(mean)] = np.nan  # The arm has no rewards.
    return MeansAndShifts(mean, np.maximum(mean_variance, 0.0), shift, np.maximum(shift_variance, 0.0))


def raw_mean(c: Cells) -> Floats:
    """Return the unadjusted mean reward of each arm: (K,); NaN for an arm without rewards.

    If rewards are quotients, it is the sum of the numerators over the sum of the denominators.
    """
    weight = c.n if c.divisor is None else c.n * c.divisor
    with np.errstate(invalid="ignore"):
        return c.by_arm(weight * c.mean) / c.by_arm(weight)


def period_mean(c: Cells) -> Floats:
    """Return each arm's mean reward, averaged over environments in proportion to their numbers of rewards.

    It is an average of the arm's cell means: (K,).
    """
    sizes = c.sizes[c.environment]
    with np.errstate(invalid="ignore"):
        return c.by_arm(sizes * c.mean) / c.by_arm(sizes)


def student_mean_intervals(found: Estimate, confidence: float) -> dict[str, Floats]:
    """Return standard errors and Student-t confidence intervals of adjusted means."""
    return student_intervals(
        found.means_and_shifts.mean, found.means_and_shifts.mean_variance, found.mean_freedom, confidence
    )


def log_scale_intervals(found: Estimate, confidence: float) -> dict[str, Floats]:
    """Return standard errors of adjusted means, and confidence intervals symmetric on the log scale."""
    plain, mean, usual = (
        student_mean_intervals(found, confidence),
        found.means_and_shifts.mean,
        _reference_means(found),
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = np.exp((plain["high"] - mean) / usual)
    return plain | {"low": mean / reach, "high": np.maximum(mean, usual) * reach}


def rate_intervals(found: Estimate, confidence: float) -> dict[str, Floats]:
    """Return standard errors of adjusted event rates, with confidence intervals between 0 and 1."""
    plain, mean = student_mean_intervals(found, confidence), found.means_and_shifts.mean
    return plain | wilson_intervals(
        mean, _reference_means(found), found.means_and_shifts.mean_variance, plain["high"] - mean
    )


def wilson_intervals(mean: Floats, usual: Floats, variance: Floats, reach: Floats) -> dict[str, Floats]:
    """Return Wilson's confidence intervals for event rates (means of 0/1 rewards).

    The sample size is the one that gives a rate of `usual` this `variance`; `reach` is half the width of the
    Student-t interval.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    rate, p = np.clip(mean, 0.0, 1.0), np.clip(usual, 1e-12, 1.0 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a huge variance: any rate
        n = p * (1.0 - p) / variance
        z2 = reach**2 / variance
        middle = (rate + 0.5 * z2 / n) / (1.0 + z2 / n)
        half = np.sqrt(z2 * (rate * (1.0 - rate) / n + 0.25 * z2 / n**2)) / (1.0 + z2 / n)
    return {"low": np.maximum(0.0, middle - half), "high": np.minimum(1.0, middle + half)}


def _reference_means(found: Estimate) -> Floats:
    """Return adjusted means that are above 0 even for arms whose rewards are all 0.

    The variances of the adjusted means were computed for these.
    """
    return (
        found.means_and_shifts.mean
        if found.means_and_shifts.steady is None
        else found.means_and_shifts.steady
    )


class EnvironmentGaps(NamedTuple):
    """Differences between two arms in each environment that has rewards of both.

    Attributes
    ----------
    environment : (G,) index of the environment, ascending.
    estimate : (G,) difference of the two cell means.
    variance : (G,) its variance; NaN if it cannot be estimated.
    freedom : (G,) degrees of freedom of the variance; a fraction where two variance estimates are added.
    """

    environment: Ints
    estimate: Floats
    variance: Floats
    freedom: Floats


def environment_gaps(c: Cells, noise: CellNoise, a: int, b: int) -> EnvironmentGaps:
    """Return the difference between two arms in each environment with rewards of both, with its variance.

    Where two independent estimates of the noise are added, degrees of freedom follow Welch and Satterthwaite.
    """
    x, y = paired_cells(c, a, b)
    own, other = noise.variance[x], noise.variance[y]
    total = own + other
    with np.errstate(divide="ignore", invalid="ignore"):  # Welch (1947), Satterthwaite (1946)
        welch = 1.0 / ((own / total) ** 2 / noise.freedom[x] + (other / total) ** 2 / noise.freedom[y])
    nu = np.where(noise.source[x] == noise.source[y], noise.freedom[x], welch)
    return EnvironmentGaps(c.environment[x], c.mean[x] - c.mean[y], total, nu)


def paired_cells(c: Cells, a: int, b: int) -> tuple[Ints, Ints]:
    """Return the indices of the data of two arms in the environments that have rewards of both arms.

    They are ordered by environment.
    """
    first, second = (np.flatnonzero(c.arm == arm) for arm in (a, b))
    _, at, also = np.intersect1d(c.environment[first], c.environment[second], return_indices=True)
    return first[at], second[also]


def influence_table(c: Cells, mu: Floats, without: Floats, sign: float, lifts: bool = False) -> Table:
    """Return a table of how leaving out each environment changes the leading arm and its lead.

    The largest change comes first. `mu` holds the arm values from all environments, and `without` (J, K)
    those with each environment left out. `sign` is -1 if a low reward is good. With `lifts` the values are
    logarithms, and leads are shown as relative lifts.

    The table lists all environments with two arms or more. The leader is None where leaving the environment
    out would disconnect the arms.
    """
    mu, without = sign * mu, sign * without
    best = int(np.argmax(mu))
    lead, now = (x[..., best] - np.delete(x, best, axis=-1).max(axis=-1) for x in (without, mu))
    if lifts:
        lead, now = np.expm1(lead), np.expm1(now)
    change = lead - now
    winner = np.where(np.isnan(without[:, 0]), -1, without.argmax(axis=1)).tolist()  # -1: unknown.
    rank = np.where(np.isnan(change), -np.inf, -np.abs(change))
    rows = np.argsort(rank, kind="stable")
    rows = rows[c.compares[rows]]
    return Table(
        {
            "environment": [c.environments[j] for j in rows.tolist()],
            "n": c.sizes[rows].astype(np.int64),
            "best": [None if winner[j] < 0 else c.arms[winner[j]] for j in rows.tolist()],
            "lead": lead[rows],
            "change": change[rows],
        }
    )


def leave_one_out_effects(c: Cells, s: Solution) -> Floats:
    """Return the arm effects estimated without each environment in turn.

    They are NaN if arms become incomparable.

    The result is (J, K). Leaving environment j out subtracts D = diag(n_j) - n_j n_j'/m_j from the
    Laplacian L. With e the sums of its residuals by arm, muhat moves by P(Dx - e), where (I - PD)x = -Pe on
    the environment's own arms. This takes O(K^2 + k^3) for an environment with k arms, without a new fit.
    Environments with the same k are solved together.
    """
    c.check_one_way("influence()")
    residual, _ = residuals(s, c)
    found = np.tile(s.mu, (c.J, 1))
    order = np.argsort(c.environment, kind="stable")
    start = np.searchsorted(c.environment[order], np.arange(c.J))
    for k in np.unique(c.arms_seen[c.compares]).tolist():
        alike = np.flatnonzero(c.arms_seen == k)
        for js in np.array_split(alike, -(-alike.size * k * c.K // _AT_ONCE)):
            here = order[start[js][:, None] + np.arange(k)]  # Cells of each environment.
            arm, n = c.arm[here], c.weight[here]
            e = (n * residual[here])[..., None]
            D = n[:, :, None] * (np.eye(k) - (n / n.sum(axis=1, keepdims=True))[:, None, :])
            block = s.P[arm[:, :, None], arm[:, None, :]]
            system = np.eye(k) - block @ D
            apart = np.linalg.svd(system, compute_uv=False)[:, -1] < 1e-9
            system[apart] = np.eye(k)
            x = np.linalg.solve(system, -block @ e)
            moved = (s.P[:, arm].transpose(1, 0, 2) @ (D @ x - e))[..., 0]
            found[js] += np.where(apart[:, None], np.nan, moved)
    return found


def can_leave_one_out(c: Cells) -> bool:
    """Return True if leaving out each environment in turn takes seconds rather than minutes."""
    return float(np.sum(c.arms_seen.astype(np.float64) ** 3)) <= _WORK
