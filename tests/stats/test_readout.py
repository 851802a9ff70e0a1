"""Read-outs under any weights and any noise, against dense least squares with a sandwich of matrices."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from oracles import contrast
from tideproof.analysis import Fit
from tideproof.stats.cells import Cells
from tideproof.stats.solve.adjusted_means import group_traffic, means_and_shifts, period_mean, raw_mean
from tideproof.stats.solve.least_squares import meat, residuals, solve
from tideproof.stats.variance.sandwich import environment_scores, hc3

CLOSE = 1e-9  # of variances of order 1


def drawn(kind, arms=5, environments=9, seed=0):
    random = np.random.default_rng([seed, arms])
    arm, environment = oracles.design(kind, arms, environments, random)
    found = Fit.from_arrays(arm, environment, oracles.rewards(arm, environment, random)).cells
    return found, random


class Dense:
    """Weighted least squares on the cell means with dummy variables: X, the estimate and its covariance."""

    def __init__(self, c, w, variance):
        self.X = oracles.dummies(c.arm, c.environment, c.K, c.J)
        bread = np.linalg.pinv(self.X.T @ (w[:, None] * self.X), hermitian=True)
        self.hat = bread @ self.X.T * w
        self.beta = self.hat @ c.mean
        self.covariance = (self.hat * variance) @ self.hat.T
        self.c = c

    def of_arms(self, reference):
        """Covariance of mu_i - mu_reference."""
        K, J = self.c.K, self.c.J
        D = np.hstack([np.eye(K) - np.eye(K)[reference], np.zeros((K, J))])
        return D @ self.covariance @ D.T

    def adjusted(self, i):
        t = self.c.sizes / self.c.sizes.sum()
        return np.concatenate([np.eye(self.c.K)[i], t])

    def shift(self, j):
        t = self.c.sizes / self.c.sizes.sum()
        return np.concatenate([np.zeros(self.c.K), np.eye(self.c.J)[j] - t])


@pytest.mark.parametrize("kind", ["complete", "lopsided"])
@pytest.mark.parametrize("seed", range(3))
def test_any_weights_and_any_noise(kind, seed):
    c, random = drawn(kind, seed=seed)
    w, variance = c.n * random.uniform(0.2, 5.0, size=c.n.size), random.uniform(0.1, 4.0, size=c.n.size)
    cells = c.weighted(w)
    s = solve(cells)
    dense = Dense(c, w, variance)
    reference = int(np.flatnonzero(~s.P.any(axis=1))[0])
    covariance = dense.of_arms(reference)
    g = np.eye(c.K)[c.arm] - cells.dense_shares()[c.environment]
    assert s.P @ (g.T * (w**2 * variance)) @ g @ s.P == pytest.approx(covariance, abs=CLOSE)
    assert s.P @ meat(cells, w**2 * variance) @ s.P == pytest.approx(covariance, abs=CLOSE)

    found = means_and_shifts(s, covariance, cells, variance)
    for i in range(c.K):
        a = dense.adjusted(i)
        assert found.mean[i] == pytest.approx(a @ dense.beta, abs=CLOSE)
        assert found.mean_variance[i] == pytest.approx(a @ dense.covariance @ a, abs=CLOSE)
    for j in range(c.J):
        h = dense.shift(j)
        assert found.shift[j] == pytest.approx(h @ dense.beta, abs=CLOSE)
        assert found.shift_variance[j] == pytest.approx(h @ dense.covariance @ h, abs=CLOSE)

    residual, left = residuals(s, cells)
    assert residual == pytest.approx(c.mean - dense.X @ dense.beta, abs=CLOSE)
    bread = np.linalg.pinv(dense.X.T @ (w[:, None] * dense.X), hermitian=True)
    assert left == pytest.approx(1 / w - np.sum(dense.X @ bread * dense.X, axis=1), abs=CLOSE)
    assert s.rss == pytest.approx(np.sum(w * residual**2))
    assert s.told == c.n.sum()
    for i in range(1, c.K):
        e = np.eye(c.K + c.J)[i] - np.eye(c.K + c.J)[0]
        assert contrast(s, i, 0) == pytest.approx((e @ dense.beta, e @ bread @ e), abs=CLOSE)


def test_hc3_and_scores_written_out():
    c, _ = drawn("complete")
    s = solve(c)
    dense = Dense(c, c.n, 1 / c.n)
    residual = c.mean - dense.X @ dense.beta
    bread = np.linalg.pinv(dense.X.T @ (c.n[:, None] * dense.X), hermitian=True)
    leverage = np.sum(dense.X @ bread * dense.X, axis=1)
    want = (c.squares + c.n * residual**2) / (1.0 - leverage) ** 2
    assert hc3(s, c) == pytest.approx(want, rel=1e-9)
    total = np.zeros((c.K, c.K))
    for j in range(c.J):
        u = np.zeros(c.K)
        here = c.environment == j
        u[c.arm[here]] = (c.n * residual)[here]
        total += np.outer(u, u)
    assert environment_scores(s, c) == pytest.approx(total, abs=CLOSE)


def test_a_cell_that_nothing_checks_has_no_hc3():
    c = Fit.from_arrays(list("AABBC"), [1, 1, 1, 1, 1], [0.0, 1.0, 2.0, 4.0, 9.0]).cells
    found = hc3(solve(c), c)
    assert np.isnan(found).tolist() == [False, False, True]


# two groups of arms, A and B in two environments, C alone, D unseen; the third environment is empty
APART = Cells(
    list("ABCD"),
    [1, 2, 3, 4],
    np.array([0, 1, 0, 1, 2]),
    np.array([0, 0, 1, 1, 3]),
    np.array([1.0, 3.0, 2.0, 2.0, 5.0]),
    np.array([1.0, 2.0, 5.0, 6.5, -4.0]),
    np.zeros(5),
)


def test_traffic_is_counted_group_by_group():
    s = solve(APART)
    got = group_traffic(s, APART)
    assert s.component.tolist() == [0, 0, 1, 2]
    assert got.share == pytest.approx([3 / 8, 5 / 8, 1.0, np.nan], nan_ok=True)
    assert got.total == pytest.approx([8.0, 5.0, np.nan], nan_ok=True)
    assert got.mean == pytest.approx([(1 + 6 + 10 + 13) / 8, -4.0, np.nan], nan_ok=True)
    assert got.home.tolist() == [0, 0, 0, 1]


def test_what_was_not_seen_has_no_number():
    s = solve(APART)
    found = means_and_shifts(s, s.P, APART, 1.0 / APART.n)
    for values in (found.mean, found.mean_variance):
        assert np.isnan(values).tolist() == [False, False, False, True]
    for values in (found.shift, found.shift_variance):
        assert np.isnan(values).tolist() == [False, False, True, False]
    assert (found.mean[2], found.mean_variance[2]) == pytest.approx((-4.0, 0.2))
    assert (found.shift[3], found.shift_variance[3]) == pytest.approx((0.0, 0.0))


def test_an_arm_unseen_may_be_the_first():
    c = Cells(["Z", *APART.arms], APART.environments, APART.arm + 1, *(
        getattr(APART, name) for name in ("environment", "n", "mean", "squares")
    ))  # fmt: skip
    s, t = solve(c), solve(APART)
    assert s.joins == t.joins == 1
    found, want = means_and_shifts(s, s.P, c, 1.0 / c.n), means_and_shifts(t, t.P, APART, 1.0 / APART.n)
    assert np.isnan(found.mean[0])
    assert found.mean[1:] == pytest.approx(want.mean, nan_ok=True)
    assert found.mean_variance[1:] == pytest.approx(want.mean_variance, nan_ok=True)
    assert found.shift == pytest.approx(want.shift, nan_ok=True)
    assert found.shift_variance == pytest.approx(want.shift_variance, nan_ok=True)


def test_averages_written_out():
    assert raw_mean(APART) == pytest.approx([11 / 3, 19 / 5, -4.0, np.nan], nan_ok=True)
    assert period_mean(APART) == pytest.approx([3.0, 4.25, -4.0, np.nan], nan_ok=True)


def test_weighted_groups_are_read_out_each_by_itself():
    first, random = drawn("complete", seed=1)
    second, _ = drawn("lopsided", seed=2)
    w, v = (random.uniform(0.2, 5.0, size=first.n.size + second.n.size) for _ in range(2))
    both = Cells(
        [*first.arms, *second.arms],
        [*first.environments, *second.environments],
        np.append(first.arm, second.arm + first.K),
        np.append(first.environment, second.environment + first.J),
        np.append(first.n, second.n),
        np.append(first.mean, second.mean),
        np.append(first.squares, second.squares),
    ).weighted(w)
    s = solve(both)
    found = means_and_shifts(s, 1.3 * s.P, both, v)
    for c, cells, arms, environments in (
        (first, slice(0, first.n.size), slice(0, first.K), slice(0, first.J)),
        (second, slice(first.n.size, None), slice(first.K, None), slice(first.J, None)),
    ):
        alone = c.weighted(w[cells])
        t = solve(alone)
        want = means_and_shifts(t, 1.3 * t.P, alone, v[cells])
        assert found.mean[arms] == pytest.approx(want.mean, abs=CLOSE)
        assert found.mean_variance[arms] == pytest.approx(want.mean_variance, abs=CLOSE)
        assert found.shift[environments] == pytest.approx(want.shift, abs=CLOSE)
        assert found.shift_variance[environments] == pytest.approx(want.shift_variance, abs=CLOSE)
