"""References that share no code with tideproof: dense least squares, brute-force groups, random designs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np


def dummies(arm, environment, arms, environments):
    """Return the (N, K + J) design matrix of r = mu_arm + s_environment + noise."""
    return np.hstack([np.eye(arms)[arm], np.eye(environments)[environment]])


@dataclass
class Dense:
    """Least squares with a dummy variable for every arm and every environment."""

    beta: np.ndarray
    covariance: np.ndarray  # of beta, divided by sigma^2; only for estimable combinations
    rss: float
    freedom: int

    @property
    def sigma(self):
        return np.sqrt(self.rss / self.freedom)

    def combination(self, c):
        """Return estimate and variance / sigma^2 of c'beta."""
        return c @ self.beta, c @ self.covariance @ c


def dense(arm, environment, reward, arms, environments):
    X = dummies(arm, environment, arms, environments)
    beta, _, rank, _ = np.linalg.lstsq(X, reward, rcond=None)
    residual = reward - X @ beta
    return Dense(
        beta, np.linalg.pinv(X.T @ X, hermitian=True), float(residual @ residual), len(reward) - rank
    )


def adjusted_mean(arm, environment, arms, environments, i):
    """Return c such that c'beta is the adjusted mean of arm i, where all arms are connected."""
    traffic = np.bincount(environment, minlength=environments) / len(environment)
    return np.concatenate([np.eye(arms)[i], traffic])


def relative_shift(arm, environment, arms, environments, j):
    """Return c such that c'beta is shift j relative to the traffic's average, arms connected."""
    traffic = np.bincount(environment, minlength=environments) / len(environment)
    return np.concatenate([np.zeros(arms), np.eye(environments)[j] - traffic])


def groups(arm, environment, arms):
    """Return the sets of connected arms, by merging until nothing changes."""
    sets = [{i} for i in range(arms)]
    sets += [set(arm[environment == j].tolist()) for j in np.unique(environment)]
    merged = True
    while merged:
        merged = False
        for a, b in combinations(sets, 2):
            if a & b:
                sets.remove(a)
                sets.remove(b)
                sets.append(a | b)
                merged = True
                break
    return {frozenset(s) for s in sets}


DESIGNS = ("complete", "incomplete", "disconnected", "one-arm environments", "lopsided")


def design(kind, arms, environments, random):
    """Draw the arms and environments of a log, in random order; cells repeat."""
    if kind == "complete":
        arm, environment = np.tile(np.arange(arms), environments), np.repeat(np.arange(environments), arms)
        extra = random.integers(arm.size, size=arm.size // 2)
        arm, environment = np.append(arm, arm[extra]), np.append(environment, environment[extra])
    elif kind == "incomplete":
        environment = np.repeat(np.arange(environments), 3)
        arm = random.integers(arms, size=environment.size)
    elif kind == "disconnected":
        environment = random.integers(environments, size=5 * environments)
        arm = 2 * random.integers(arms, size=environment.size) + environment % 2
        arm %= arms - arms % 2  # even arms in even environments
    elif kind == "one-arm environments":
        environment = np.repeat(np.arange(environments), 4)
        arm = random.integers(arms, size=environment.size)
        alone = environment % 2 == 0
        arm[alone] = environment[alone] // 2 % arms
    else:  # one arm has nearly all rewards
        environment = random.integers(environments, size=40 * environments)
        arm = np.where(
            random.random(environment.size) < 0.05, random.integers(arms, size=environment.size), 0
        )
    order = random.permutation(arm.size)
    return arm[order], environment[order]


def rewards(arm, environment, random, shift=10.0):
    """Draw rewards with unit noise, arm means of order 1 and shifts of order `shift`."""
    means, shifts = random.normal(size=arm.max() + 1), shift * random.normal(size=environment.max() + 1)
    return means[arm] + shifts[environment] + random.normal(size=arm.size)


def contrast(solution, i, k):
    """Return muhat_i - muhat_k of a solution and its variance over sigma^2; NaN for arms of two groups."""
    if solution.component[i] != solution.component[k]:
        return np.nan, np.nan
    P = solution.P
    return float(solution.mu[i] - solution.mu[k]), float(P[i, i] + P[k, k] - 2.0 * P[i, k])
