"""Unequal noise and interactions: every step against a dense solve of generalised least squares."""

import numpy as np
import pytest
from scipy import stats

from tideproof.core.kernel_linker import kernel, link, use_interpreter
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit import unequal_noise
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom
from tideproof.kernels.fit.policy_data import Slot, enter
from tideproof.kernels.fit.unequal_noise import RATIOS, UnequalNoise, equal_noise, ratio_of_fit

CLOSE = {"rtol": 1e-8, "atol": 1e-9}
ARMS = 4


def linked(f, by_arm=False, fits=3, noise=equal_noise, ratio=ratio_of_fit):
    fill = {
        "BY_ARM": by_arm,
        "FITS": fits,
        "CALM": 1.0,
        "noise_before": noise,
        "ratio_of": ratio,
        "CELLS": True,
    }
    return link(f, use_interpreter, fill)


class Cells:
    """The kernels, driven by hand, and every reward."""

    def __init__(self, **options):
        self.observe, self.place, self.enter = (
            linked(f, **options) for f in (unequal_noise.observe, unequal_noise.place, enter)
        )
        self.pull_here, self.pull_noise = (
            linked(f, **options) for f in (unequal_noise.pull_here, unequal_noise.pull_noise)
        )
        self.fit = allocate(UnequalNoise, ARMS).view
        self.slots, self.rows = {}, []

    def slot(self, environment):
        return self.slots.setdefault(environment, allocate(Slot, ARMS)).view

    def tell(self, arm, environment, rewards):
        slot, rewards = self.slot(environment), np.atleast_1d(rewards)
        n, mean = rewards.size, rewards.mean()
        self.observe(self.fit, slot, arm, n, mean, np.square(rewards - mean).sum())
        self.enter(slot, arm, n, mean)
        self.rows += [(arm, environment, reward) for reward in rewards]

    def put(self, arm, environment, n):
        slot = self.slot(environment)
        self.place(self.fit, slot, arm, n)
        self.enter(slot, arm, n, slot.mean[0])


def generalised(rows, noise, rho):
    """Return contrasts to the first arm, their covariance, the residual squares and the log likelihood.

    Restricted, common variance integrated out, up to a constant; of rewards = arm + shift + interaction + noise.
    """
    arm, environment, y = (np.array(column) for column in zip(*rows, strict=True))
    V = np.diag(np.asarray(noise)[arm])
    V += rho * np.multiply.outer(arm + 100 * environment, np.ones(arm.size)).__eq__(
        (arm + 100 * environment)[None, :]
    )
    X = np.hstack(
        [(arm[:, None] == np.arange(1, ARMS)), environment[:, None] == np.unique(environment)]
    ).astype(float)
    W = np.linalg.inv(V)
    A = X.T @ W @ X
    beta = np.linalg.solve(A, X.T @ W @ y)
    rest = y - X @ beta
    rss = rest @ W @ rest
    nu = y.size - X.shape[1]
    log = -0.5 * (np.linalg.slogdet(V)[1] + np.linalg.slogdet(A)[1] + nu * np.log(rss))
    return beta[: ARMS - 1], np.linalg.inv(A)[: ARMS - 1, : ARMS - 1], rss, log


def design(seed, size=60, batch=3):
    random = np.random.default_rng(seed)
    shift = 20.0 * random.normal(size=6)
    for _ in range(size):
        arm, environment = int(random.integers(ARMS)), int(random.integers(6))
        n = int(random.integers(1, batch + 1))
        yield arm, environment, 0.5 * arm + shift[environment] + random.normal(size=n)


def contrasts(P, mu):
    D = np.eye(ARMS)[1:] - np.eye(ARMS)[0]
    return D @ mu, D @ P @ D.T


@pytest.mark.parametrize("seed", range(3))
def test_every_fit_is_generalised_least_squares_after_every_reward(seed):
    cells, checked = Cells(), 0
    for arm, environment, rewards in design(seed):  # environments come back
        cells.tell(arm, environment, rewards)
        if not connected(cells.fit) or degrees_of_freedom(cells.fit) <= 0:
            continue
        checked += 1
        for f, rho in enumerate(RATIOS):
            fits = cells.fit.fits
            beta, covariance, rss, _ = generalised(cells.rows, np.ones(ARMS), rho)
            found, spread = contrasts(fits.P[f], fits.mu[f])
            np.testing.assert_allclose(found, beta, **CLOSE)
            np.testing.assert_allclose(spread, covariance, **CLOSE)
            np.testing.assert_allclose(fits.rss[f], rss, **CLOSE)
    assert checked > 30


@pytest.mark.parametrize("seed", range(3))
def test_known_noise_and_interaction(seed):
    noise, rho = (0.3, 1.0, 4.0, 0.8), 0.7

    @kernel
    def told_noise(arm):
        return noise[arm]

    @kernel
    def told_ratio(f):
        return 0.7

    cells = Cells(fits=1, noise=told_noise, ratio=told_ratio)
    for arm, environment, rewards in design(seed):
        cells.tell(arm, environment, rewards)
    beta, covariance, rss, _ = generalised(cells.rows, noise, rho)
    found, spread = contrasts(cells.fit.P, cells.fit.mu)
    np.testing.assert_allclose(found, beta, **CLOSE)
    np.testing.assert_allclose(spread, covariance, **CLOSE)
    np.testing.assert_allclose(cells.fit.rss[0], rss, **CLOSE)


def test_the_likeliest_is_that_of_the_restricted_likelihood():
    for seed in range(8):
        random = np.random.default_rng(seed)
        cells, omega = Cells(), random.choice([0.0, 1.0, 2.0])
        alone = omega * random.normal(size=(ARMS, 6))
        for arm, environment, rewards in design(seed, size=79, batch=1):
            cells.tell(arm, environment, rewards + alone[arm, environment])
        cells.tell(0, 0, 1.0)  # the eightieth
        logs = [generalised(cells.rows, np.ones(ARMS), rho)[3] for rho in RATIOS]
        logs[0] += 1.0
        assert cells.fit.fits.likeliest[0] == np.argmax(logs)
        nu = degrees_of_freedom(cells.fit)
        ours = cells.fit.fits.evidence - 0.5 * nu * np.log(cells.fit.fits.rss)
        np.testing.assert_allclose(ours - ours[0], np.array(logs) - logs[0], atol=1e-8)


def test_a_pull_tells_what_is_said_beforehand():
    cells = Cells()
    for arm, environment, rewards in design(4, batch=1):
        cells.tell(arm, environment, rewards + 3.0 * ((arm + environment) % 2))
    assert cells.fit.fits.likeliest[0] > 0
    for arm in range(ARMS):
        for environment in (2, 3):
            slot, here = cells.slot(environment), np.zeros(ARMS)
            P = cells.fit.P.copy()
            common = cells.pull_here(cells.fit, slot, here)
            under = common + P[arm, arm] - 2.0 * here[arm] + cells.pull_noise(cells.fit, slot, arm)
            gap = P[arm] - here
            less = (gap[:, None] - gap[None, :]) ** 2 / under
            before = np.add.outer(np.diag(P), np.diag(P)) - 2.0 * P
            cells.put(arm, environment, 1)
            P = cells.fit.P
            np.testing.assert_allclose(
                np.add.outer(np.diag(P), np.diag(P)) - 2.0 * P, before - less, atol=1e-10
            )


def learn(sigma, length, pulls, seed=0):
    """Return v after so many pulls of all arms in turn, relative to the first arm's."""
    random, cells = np.random.default_rng(seed), Cells(by_arm=True, fits=1)
    for t in range(pulls):
        arm = int(random.integers(ARMS))
        cells.tell(arm, t // length, 9.0 * (t // length) + sigma[arm] * random.normal())
    return np.array(cells.fit.fits.noise) / cells.fit.fits.noise[0]


@pytest.mark.parametrize("length", [2, 3, 40])
def test_the_noise_of_arms_is_learned_in_short_environments_too(length):
    """By the likelihood of 3,000 rewards variances are known to 10 %: six standard errors."""
    found = learn((1.0, 1.0, 3.0, 0.5), length, 3000)
    np.testing.assert_allclose(np.log(found), np.log([1.0, 1.0, 9.0, 0.25]), atol=0.6)


def test_a_mean_of_rewards_teaches_as_much_noise_as_the_rewards():
    """Batches of four: the noise of their mean is a quarter, and its share in the residual is, too.

    By the likelihood of 4,000 rewards variances are known to 10 %: six standard errors.
    """
    random, cells = np.random.default_rng(3), Cells(by_arm=True, fits=1)
    for t in range(1000):
        arm = int(random.integers(ARMS))
        cells.tell(arm, t // 5, 9.0 * (t // 5) + (1.0, 1.0, 3.0, 0.5)[arm] * random.normal(size=4))
    found = np.array(cells.fit.fits.noise) / cells.fit.fits.noise[0]
    np.testing.assert_allclose(np.log(found), np.log([1.0, 1.0, 9.0, 0.25]), atol=0.6)


def test_equal_noise_is_found_equal():
    assert np.abs(np.log([learn((2.0,) * ARMS, 10, 400, seed) for seed in range(10)])).mean() < 0.15


def test_a_few_pulls_do_not_make_an_arm_quiet():
    """An arm that looks quiet early is not looked at again, so doubt must outlast six pulls of each."""
    found = np.abs(np.log([learn((2.0,) * ARMS, 10, 24, seed) for seed in range(40)]))
    assert found.max() < np.log(1.5)
    assert found.mean() < 0.05


def test_one_reward_far_off_does_not_break_it():
    cells = Cells(by_arm=True)
    for arm, environment, rewards in design(1, batch=1):
        cells.tell(arm, environment, rewards)
    cells.tell(1, 2, 1e9)
    assert np.isfinite(cells.fit.P).all()
    assert (cells.fit.fits.noise > 0.0).all()
    assert stats.gmean(cells.fit.fits.noise) < 30.0
