"""Normal equations that are updated row by row, against dense least squares of all rewards."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import oracles
from tideproof.experiment.state.running_laplacian import RunningLaplacian

ARMS, ENVIRONMENTS, ROWS = 4, 7, 60


class Log:
    """Rewards with their arms and environments, and their summaries by row and arm."""

    def __init__(self, noise, arms=ARMS, seed=0):
        random = np.random.default_rng(seed)
        self.arm, self.environment = (
            random.integers(arms, size=ROWS),
            random.integers(ENVIRONMENTS, size=ROWS),
        )
        shift = random.normal(0.0, 3.0, ENVIRONMENTS)[self.environment]
        self.reward = 0.5 * self.arm + shift + noise * random.normal(size=ROWS)

    def read(self, upto=ROWS):
        """Return a function that returns counts, means and squared deviations of some rows."""
        shape = (ENVIRONMENTS, ARMS)
        n, mean, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for j, k in np.ndindex(shape):
            own = self.reward[:upto][(self.environment[:upto] == j) & (self.arm[:upto] == k)]
            if own.size:
                n[j, k], mean[j, k], squares[j, k] = own.size, own.mean(), own.size * own.var()
        return lambda which: (n[which], mean[which], squares[which])


def followed(log):
    """Return the normal equations after three updates, each with the rows that changed since the last."""
    sums, before = RunningLaplacian(ARMS), 0
    for upto in (5, 30, ROWS):
        sums.changed |= set(log.environment[before:upto].tolist())
        sums.update(log.read(upto))
        before = upto
    return sums


@pytest.mark.parametrize("noise", [1.0, 0.01])
@pytest.mark.parametrize("arms", [ARMS, ARMS - 1])  # the last arm may have no rewards
def test_a_solution_is_that_of_dense_least_squares(noise, arms):
    log = Log(noise, arms)
    found = followed(log).solution()
    dense = oracles.dense(log.arm, log.environment, log.reward, ARMS, ENVIRONMENTS)
    for i, k in combinations(range(arms), 2):
        c = np.zeros(len(dense.beta))
        c[i], c[k] = 1.0, -1.0
        estimate, variance = dense.combination(c)
        assert found.mu[i] - found.mu[k] == pytest.approx(estimate, rel=1e-9)
        assert found.P[i, i] + found.P[k, k] - 2.0 * found.P[i, k] == pytest.approx(variance, rel=1e-9)
    assert found.rss == pytest.approx(dense.rss, rel=1e-7)
    assert (found.rss < 1.0) == (noise < 1.0)
    assert (found.told, found.environments, found.joins) == (ROWS, ENVIRONMENTS, arms - 1)
    assert len(set(found.component.tolist())) == ARMS - arms + 1


def test_rewards_without_noise_leave_no_residual():
    assert 0.0 <= followed(Log(0.0)).solution().rss < 1e-12


def test_the_quadratic_form_is_the_sum_of_squares_at_given_means():
    """By brute force: take the means from the rewards, then the average of each environment."""
    log = Log(1.0)
    form = followed(log).quadratic
    for mu in np.random.default_rng(1).normal(size=(3, ARMS)):
        left = log.reward - mu[log.arm]
        left -= np.array([left[log.environment == j].mean() for j in range(ENVIRONMENTS)])[log.environment]
        assert form.c - 2.0 * form.b @ mu + mu @ form.L @ mu == pytest.approx(left @ left, rel=1e-9)
    assert form.n == ROWS - ENVIRONMENTS


def test_restored_sums_are_the_same():
    log = Log(1.0)
    sums, other = followed(log), RunningLaplacian(ARMS)
    sums.changed.add(2)
    other.refill(sums.contents())
    assert other.changed == {2}
    one, two = (each.solve(log.read()) for each in (sums, other))
    assert np.array_equal(one.mu, two.mu)
    assert np.array_equal(one.P, two.P)
    assert one.rss == two.rss
