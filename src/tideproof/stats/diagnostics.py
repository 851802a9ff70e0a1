"""Can the fit be trusted? Additivity, unequal variances, influential environments, sample ratios.

Each function takes cells and the least-squares solution and returns a small result with tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tideproof.checks import finite, whole
from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError, UnknownName
from tideproof.stats import solve as least_squares
from tideproof.stats.cells import Cells
from tideproof.stats.inference import chi2_tail, f_tail
from tideproof.stats.noise import within
from tideproof.stats.solve import Solution, sums
from tideproof.table import Table


@dataclass(frozen=True, slots=True)
class Additivity:
    """Does one shift for all arms describe the data? The F test of arm x environment interaction.

    Attributes
    ----------
    F : mean square of the cells around the model over the mean square inside the cells.
    df1, df2 : their degrees of freedom; `df2` is a fraction where variances are unequal.
    p : probability of so large an F if shifts are the same for all arms.
    worst : cells furthest from the model, in standard errors `z`; those that nothing else can check
        are left out.
    """

    F: float
    df1: int
    df2: float
    p: float
    worst: Table


@dataclass(frozen=True, slots=True)
class Spread:
    """Do rewards vary alike everywhere? F tests on the logarithms of the variances inside cells.

    Attributes
    ----------
    F_arm, df_arm, p_arm : test that all arms vary alike, environments allowed for.
    F_environment, df_environment, p_environment : test that all environments do, arms allowed for.
    df : degrees of freedom of the noise of both.
    arms, environments : tables with the standard deviation inside the cells of each, and its degrees
        of freedom.
    """

    F_arm: float
    df_arm: int
    p_arm: float
    F_environment: float
    df_environment: int
    p_environment: float
    df: int
    arms: Table
    environments: Table


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Did arms get the traffic they should? Pearson's chi-squared tests on counts.

    Attributes
    ----------
    chi2, df, p : against the expected shares among the arms seen in each environment.
    drift_chi2, drift_df, drift_p : against shares that are the same in all environments, whatever they
        are; a small p with fixed shares means that raw means compare different days.
    arms : table of arms: n, expected count, z.
    worst : environments furthest from the expected shares.
    """

    chi2: float
    df: int
    p: float
    drift_chi2: float
    drift_df: int
    drift_p: float
    arms: Table
    worst: Table


def additivity(c: Cells, s: Solution, worst: int = 5) -> Additivity:
    """Test whether one shift for all arms describes the data, and name the `worst` cells."""
    worst = whole("worst", worst, 1)
    df1, df2 = c.n.size - s.environments - s.joins, s.told - c.n.size
    inside = float(np.sum(c.squares))
    if df2 == 0:
        raise InputError("additivity needs noise to compare with: some arm seen twice in one environment")
    if df1 == 0:
        raise InputError(
            f"additivity cannot be tested: {c.n.size} cells of arm and environment are no more than "
            f"the model has parameters; two arms together in two environments would be"
        )
    if inside == 0.0:
        raise InputError("additivity needs noise to compare with: rewards never vary inside a cell")
    residual, variance = least_squares.residuals(s, c.arm, c.environment, c.n, c.mean, len(c.environments))
    F = float(np.sum(c.n * residual**2)) / df1 / (inside / df2)
    named = _worst(c, residual, inside / df2 * variance, worst, variance * c.n)
    return Additivity(F, df1, df2, f_tail(F, df1, df2), named)


def weighted_additivity(c: Cells, part: Ints, s2: Floats, freedom: Floats, worst: int = 5) -> Additivity:
    """Test additivity where arms or environments do not vary alike: Welch and James's test.

    T = sum of w residual^2 with weights w = n/s2, divided by a constant that makes up for the weights'
    being estimates, is compared with an F distribution. With Q the projection onto residuals and Q_p its
    block of the cells of part p, A = sum_p (tr Q_p^2 + (tr Q_p)^2)/(2 freedom_p); the constant is
    df1 + 2A - 6A/(df1 + 2), the second degree of freedom df1 (df1 + 2)/(3A).

    References
    ----------
    Johansen (1980), The Welch-James approximation to the distribution of the residual sum of squares in
    a weighted linear regression.
    """
    K, J, w = len(c.arms), len(c.environments), c.n / s2[part]
    s = least_squares.solve(c.arm, c.environment, w, c.mean, np.zeros(w.size), K, J)
    df1 = c.n.size - s.environments - s.joins
    if df1 == 0:
        raise InputError(
            f"additivity cannot be tested: {c.n.size} cells of arm and environment are no more than "
            f"the model has parameters; two arms together in two environments would be"
        )
    residual, variance = least_squares.residuals(s, c.arm, c.environment, w, c.mean, J)
    size = sums(c.environment, w, J)
    b = np.zeros((J, K))
    b[c.environment, c.arm] = w / size[c.environment]
    A = 0.0
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(s2.size + 1))
    for p in np.flatnonzero(np.diff(bounds)):
        cells = order[bounds[p] : bounds[p + 1]]
        own, j = w[cells], c.environment[cells]
        g = -b[j]
        g[np.arange(cells.size), c.arm[cells]] += 1.0
        trace = float(np.sum(own * variance[cells]))
        if np.all(j == j[0]):  # the part is an environment
            Q = np.eye(cells.size) - (1.0 / size[j[0]] + g @ s.P @ g.T) * own
            square = float(np.sum(Q * Q.T))
        else:  # an arm: one cell in each environment
            fitted = own * np.sum(g @ s.P * g, axis=1)
            PM = s.P @ (g.T * own) @ g
            square = float(np.sum(PM * PM.T) - np.sum(fitted**2) + np.sum((own * variance[cells]) ** 2))
        A += 0.5 * (square + trace**2) / freedom[p]
    F = float(np.sum(w * residual**2)) / (df1 + 2.0 * A - 6.0 * A / (df1 + 2.0))
    df2 = df1 * (df1 + 2.0) / (3.0 * A)
    named = _worst(c, residual, variance, whole("worst", worst, 1), variance * w)
    return Additivity(F, df1, df2, f_tail(F, df1, df2), named)


def _worst(c: Cells, residual: Floats, variance: Floats, worst: int, free: Floats) -> Table:
    """Return the cells furthest from the model; those that nothing else checks (`free` = 0) are left out."""
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


def spread(c: Cells) -> Spread:
    """Test whether all arms, and all environments, vary alike.

    ln s^2 of each cell, its bias under normal noise taken out, is fitted by an arm and an environment
    effect with weights 1/trigamma(df/2). What is left over measures how far the tails of the noise
    spread the variances, so that heavy tails do not count as unequal variances.

    References
    ----------
    Bartlett, Kendall (1946), The statistical analysis of variance-heterogeneity and the logarithmic
    transformation; Layard (1973), Robust large-sample tests for homogeneity of variances.
    """
    from scipy.special import polygamma, psi

    K, J = len(c.arms), len(c.environments)
    used = np.flatnonzero((c.n >= 3.0) & (c.squares > 0.0))
    arm, environment, half = c.arm[used], c.environment[used], 0.5 * (c.n[used] - 1.0)
    y = np.log(c.squares[used] / (2.0 * half)) - (psi(half) - np.log(half))
    w = 1.0 / np.asarray(polygamma(1, half))
    s = least_squares.solve(arm, environment, w, y, np.zeros(w.size), K, J)
    df = w.size - s.environments - s.joins
    df_arm, df_environment = s.joins, s.environments - np.unique(arm).size + s.joins
    if df <= 0 or df_arm <= 0 or not s.rss > 0.0:
        raise InputError(
            "unequal variances cannot be tested: that takes two arms seen three times each in each of "
            "two environments"
        )
    noise = s.rss / df
    F_arm = (_around(environment, w, y, J) - s.rss) / df_arm / noise
    F_environment = (_around(arm, w, y, K) - s.rss) / df_environment / noise if df_environment else 0.0
    tables = []
    for name, part, labels in (("arm", c.arm, c.arms), ("environment", c.environment, c.environments)):
        s2, freedom = within(part, c, len(labels))
        tables.append(Table({name: labels, "sd": np.sqrt(s2), "freedom": freedom.astype(np.int64)}))
    return Spread(
        F_arm=F_arm,
        df_arm=df_arm,
        p_arm=f_tail(F_arm, df_arm, df),
        F_environment=F_environment,
        df_environment=df_environment,
        p_environment=f_tail(F_environment, df_environment, df) if df_environment else 1.0,
        df=df,
        arms=tables[0],
        environments=tables[1],
    )


def without_each(c: Cells, s: Solution) -> Floats:
    """Return muhat with each environment left out in turn, (J, K); NaN where that disconnects arms.

    Leaving environment j out takes D = diag(n_j) - n_j n_j'/m_j out of L and, with e the sum of its
    residuals by arm, moves muhat by P(Dx - e), where (I - PD)x = -Pe on the environment's own arms.
    O(K^2 + k^3) for an environment with k arms, instead of a fit.
    """
    J = len(c.environments)
    residual, _ = least_squares.residuals(s, c.arm, c.environment, c.n, c.mean, J)
    found = np.tile(s.mu, (J, 1))
    order = np.argsort(c.environment, kind="stable")
    bounds = np.searchsorted(c.environment[order], np.arange(J + 1))
    for j in range(J):
        cells = order[bounds[j] : bounds[j + 1]]
        if cells.size < 2:
            continue
        arm, n = c.arm[cells], c.n[cells]
        e = n * residual[cells]
        D = np.diag(n) - np.outer(n, n) / n.sum()
        block = s.P[np.ix_(arm, arm)]
        system = np.eye(arm.size) - block @ D
        if np.linalg.svd(system, compute_uv=False)[-1] < 1e-9:
            found[j] = np.nan
            continue
        x = np.linalg.solve(system, -block @ e)
        found[j] += s.P[:, arm] @ (D @ x - e)
    return found


def sample_ratio(c: Cells, expected: Mapping[Any, float] | None = None, worst: int = 5) -> SampleRatio:
    """Test whether the arms got the shares of the traffic they should; equal ones unless told."""
    K, J = len(c.arms), len(c.environments)
    share = _shares(c.arms, expected)
    size = sums(c.environment, c.n, J)
    here = sums(c.environment, share[c.arm], J)
    want = size[c.environment] * share[c.arm] / here[c.environment]
    terms = (c.n - want) ** 2 / want
    chi2, df = float(np.sum(terms)), int(c.n.size - np.count_nonzero(size))
    drift, drift_df = _drift(c, K, J)
    n, target = sums(c.arm, c.n, K), sums(c.arm, want, K)
    variance = sums(c.arm, want * (1.0 - share[c.arm] / here[c.environment]), K)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0.0, (n - target) / np.sqrt(variance), np.nan)
    by_environment = sums(c.environment, terms, J)
    rows = np.argsort(-by_environment, kind="stable")[: whole("worst", worst, 1)]
    return SampleRatio(
        chi2=chi2,
        df=df,
        p=chi2_tail(chi2, df),
        drift_chi2=drift,
        drift_df=drift_df,
        drift_p=chi2_tail(drift, drift_df),
        arms=Table({"arm": c.arms, "n": n.astype(np.int64), "expected": target, "z": z}),
        worst=Table(
            {
                "environment": [c.environments[j] for j in rows],
                "n": size[rows].astype(np.int64),
                "chi2": by_environment[rows],
            }
        ),
    )


def _around(part: Ints, w: Floats, y: Floats, parts: int) -> float:
    """Return the weighted sum of squares of y around the mean of each part."""
    total = sums(part, w, parts)
    centre = sums(part, w * y, parts)[part] / total[part]
    return float(np.sum(w * (y - centre) ** 2))


def _drift(c: Cells, K: int, J: int) -> tuple[float, int]:
    """Test one set of shares for all environments in which the same arms were seen.

    Shares of each set of arms are their own: an arm that was not shown is no change of ratio.
    """
    order = np.lexsort((c.arm, c.environment))
    arms: list[list[int]] = [[] for _ in range(J)]
    for cell in order:
        arms[c.environment[cell]].append(int(c.arm[cell]))
    index: dict[tuple[int, ...], int] = {}
    kind = np.array([index.setdefault(tuple(found), len(index)) for found in arms])[c.environment]
    size = sums(c.environment, c.n, J)
    pair, group = np.unique(kind * K + c.arm, return_inverse=True)
    total, whole_kind = sums(group, c.n, pair.size), sums(kind, c.n, len(index))
    want = size[c.environment] * total[group] / whole_kind[kind]
    used = np.flatnonzero(size)
    kinds = np.unique(kind).size
    df = c.n.size - used.size - (pair.size - kinds)
    return float(np.sum((c.n - want) ** 2 / want)), int(df)


def _shares(arms: list[Any], expected: Mapping[Any, float] | None) -> Floats:
    if expected is None:
        return np.full(len(arms), 1.0)
    for arm in expected:
        if arm not in arms:
            raise UnknownName.among("arm", arm, arms)
    if lacking := [arm for arm in arms if arm not in expected]:
        raise InputError(f"expected shares are needed for all arms; there is none for {lacking[0]!r}")
    share = np.array([finite(f"the share of {arm}", expected[arm]) for arm in arms])
    if np.any(share <= 0.0):
        raise InputError(f"expected shares must be positive, not {min(share.tolist())!r}")
    return share / math.fsum(share)
