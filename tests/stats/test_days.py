"""Who leads where, and these days against days to come: by closed forms and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f as f_law
from scipy.stats import norm

import oracles
from tideproof.stats.best.environment_leaders import (
    environment_averages,
    leader_probabilities,
    omega_interval,
)
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.interaction_reml import reml


def balanced(J=8, K=3, n=5, omega=1.0, seed=0, uneven=False):
    random = np.random.default_rng(seed)
    counts = random.integers(2, 3 * n, (J, K)).astype(float) if uneven else np.full((J, K), float(n))
    if uneven:
        counts[np.arange(J), np.arange(J) % K] *= random.random(J) < 0.6
    own = omega * random.normal(size=(J, K))
    environment, arm = np.nonzero(counts)
    n_ = counts[environment, arm]
    mean = own[environment, arm] + random.normal(size=n_.size) / np.sqrt(n_)
    return Cells(list(range(K)), list(range(J)), arm, environment, n_, mean, random.chisquare(n_ - 1.0)), own


def test_limits_of_omega_are_those_of_the_f_test_in_a_balanced_table():
    """There they have a closed form: (F/quantile - 1)/n times sigma^2."""
    cells, _ = balanced()
    s = solve(cells)
    found = reml(cells, s)
    residual = cells.centred(cells.mean - s.mu[cells.arm])
    F = np.sum(5 * residual**2) / 14 / (cells.squares.sum() / 96)
    for end, tail in zip(omega_interval(cells, s, found, 0.95), (0.975, 0.025), strict=True):
        wanted = max(0.0, (F / f_law.ppf(tail, 14, 96) - 1.0) / 5 * found.sigma2[0])
        assert end == pytest.approx(np.sqrt(wanted), rel=1e-6)


def test_limits_of_omega_hold_where_cells_are_uneven():
    """Of 100 logs limits of 95 % miss 17 or more in 2 of 100,000 such tests."""
    for omega in (0.0, 0.6):
        missed = 0
        for seed in range(100):
            cells, _ = balanced(omega=omega, seed=seed, uneven=True)
            s = solve(cells)
            low, high = omega_interval(cells, s, reml(cells, s), 0.95)
            missed += not low <= omega <= high
        assert missed < 17


def dense_error(cells, omega2, sigma2, t):
    """Return the covariance of errors of mu_i + sum_j t_j u_ij by Henderson's equations, all u in them."""
    K, J = cells.K, cells.J
    X = oracles.dummies(cells.arm, cells.environment, K, J)
    Z = np.zeros((cells.n.size, J * K))
    Z[np.arange(cells.n.size), cells.environment * K + cells.arm] = 1.0
    R = np.diag(cells.n / sigma2)
    A = np.block([[X.T @ R @ X, X.T @ R @ Z], [Z.T @ R @ X, Z.T @ R @ Z + np.eye(J * K) / omega2]])
    G = np.linalg.pinv(A, hermitian=True)
    solution = G @ np.concatenate([X.T @ R @ cells.mean, Z.T @ R @ cells.mean])
    T = np.zeros((K, A.shape[0]))
    T[:, :K] = np.eye(K)
    for j in range(J):
        T[:, K + J + j * K : K + J + (j + 1) * K] = t[j] * np.eye(K)
    return T @ solution, T @ G @ T.T


def test_these_days_are_those_of_hendersons_equations():
    cells, _ = balanced(seed=2, uneven=True)
    found = reml(cells, solve(cells))
    assert found.omega2[0] > 0.0
    ours = environment_averages(found)
    mu, C = dense_error(cells, found.omega2[0], found.sigma2[0], cells.sizes / cells.sizes.sum())
    assert ours.mu - ours.mu[0] == pytest.approx(mu - mu[0], abs=1e-9)
    assert pair_variances(ours.covariance) == pytest.approx(pair_variances(C), abs=1e-9)
    assert np.all(pair_variances(ours.covariance)[0, 1:] < pair_variances(found.covariance)[0, 1:])


def test_degrees_of_freedom_of_these_days_allow_for_the_errors_of_both_variances():
    """Satterthwaite's 2 V^2/Var(V), with derivatives of V from Henderson's equations."""
    cells, _ = balanced(seed=2, uneven=True)
    found = reml(cells, solve(cells))
    freedom, share = environment_averages(found).freedom, cells.sizes / cells.sizes.sum()

    def variances(omega, sigma):
        return pair_variances(dense_error(cells, omega * found.omega2[0], sigma * found.sigma2[0], share)[1])

    for pair in ((0, 1), (0, 2), (1, 2)):
        slope = np.array(
            [
                (variances(*up)[pair] - variances(*down)[pair]) / 0.02
                for up, down in (((1.01, 1.0), (0.99, 1.0)), ((1.0, 1.01), (1.0, 0.99)))
            ]
        )
        assert abs(slope[0]) > 1e-5
        expected = 2.0 * variances(1.0, 1.0)[pair] ** 2 / (slope @ found.scales @ slope)
        assert freedom[pair] == pytest.approx(expected, rel=2e-2)  # derivatives of finite steps


def test_these_days_of_a_balanced_table_have_the_noise_and_nothing_else():
    """2 sigma^2/(n J), with the degrees of freedom of sigma^2, 96."""
    cells, _ = balanced(seed=3)
    ours, found = environment_averages(reml(cells, solve(cells))), reml(cells, solve(cells))
    assert pair_variances(ours.covariance)[0, 1] == pytest.approx(2.0 * found.sigma2[0] / 40.0)
    assert ours.freedom[0, 1] == pytest.approx(96.0, rel=1e-2)  # a derivative of finite steps


def test_who_leads_is_what_the_posterior_of_two_arms_says():
    """Many rewards, so that mu and u are known: each day's leader is seen, and a day to come is a normal tail."""
    cells, own = balanced(J=200, K=2, n=400, seed=4)
    found = reml(cells, solve(cells))
    who = leader_probabilities(found, found.solution.mu, found.covariance, 1.0, 0.95)
    truth = np.count_nonzero(own[:, 1] > own[:, 0])
    assert who.days.sum() == pytest.approx(200.0)
    assert abs(who.days[1] - truth) < 4.0
    assert who.low[1] <= truth <= who.high[1]
    assert np.nanmean((who.chance[:, 1] > 0.5) == (own[:, 1] > own[:, 0])) > 0.97
    gap = found.solution.mu[1] - found.solution.mu[0]
    chance = norm.cdf(gap / np.sqrt(2.0 * found.omega2[0] + pair_variances(found.covariance)[0, 1]))
    assert who.to_come[1] == pytest.approx(chance, abs=0.05)  # four standard errors of 2,000 draws
    turned = leader_probabilities(found, found.solution.mu, found.covariance, -1.0, 0.95)
    assert turned.days[0] == pytest.approx(who.days[1], abs=3.0)


def test_thin_days_are_drawn_to_the_average():
    """With little seen of each day the arm that is ahead on average leads nearly everywhere, by shrinkage."""
    random = np.random.default_rng(5)
    J, n = 300, 2.0
    arm, environment = np.tile([0, 1], J), np.repeat(np.arange(J), 2)
    mean = 0.6 * arm + 0.2 * random.normal(size=2 * J) + random.normal(size=2 * J) / np.sqrt(n)
    cells = Cells(
        [0, 1], list(range(J)), arm, environment, np.full(2 * J, n), mean, random.chisquare(1.0, 2 * J)
    )
    found = reml(cells, solve(cells))
    raw = np.count_nonzero(mean[1::2] > mean[::2])
    who = leader_probabilities(found, found.solution.mu, found.covariance, 1.0, 0.95)
    assert raw < 0.8 * J < who.days[1]
