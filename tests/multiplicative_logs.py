"""Logs with multiplicative shifts, and conditional likelihoods by enumeration."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import numpy as np

from tideproof.stats.cells import Cells, bernoulli_moments


def conversions(counts, chance, random):
    """Return cells of drawn 0/1 rewards; counts and probabilities of 1 are (J, K) arrays."""
    return from_events(counts, random.binomial(counts.astype(int), chance))


def from_events(counts, events):
    """Return the cells of 0/1 rewards; both arrays (J, K)."""
    environment, arm = np.nonzero(counts)
    n = counts[environment, arm].astype(float)
    mean = events[environment, arm] / n
    labels = list(range(counts.shape[1])), list(range(counts.shape[0]))
    squares, cubes, fourths = bernoulli_moments(n, mean)
    return Cells(*labels, arm, environment, n, mean, squares, cubes=cubes, fourths=fourths)


def from_sums(counts, total):
    """Return the cells of rewards with these counts and sums, (J, K) arrays."""
    environment, arm = np.nonzero(counts)
    n = counts[environment, arm].astype(float)
    labels = list(range(counts.shape[1])), list(range(counts.shape[0]))
    return Cells(*labels, arm, environment, n, total[environment, arm] / n, np.ones(n.size))


def rows(cells):
    """Return arm, environment and 0/1 reward of every row."""
    ones = np.rint(cells.n * cells.mean).astype(int)
    zeros = cells.n.astype(int) - ones
    arm = np.concatenate([np.repeat(cells.arm, ones), np.repeat(cells.arm, zeros)])
    environment = np.concatenate([np.repeat(cells.environment, ones), np.repeat(cells.environment, zeros)])
    return arm, environment, np.repeat([1.0, 0.0], [ones.sum(), zeros.sum()])


def outcomes(n, T):
    """Yield every division of T events among arms with n rewards each, and its number of arrangements."""
    for s in product(*(range(min(int(size), int(T)) + 1) for size in n)):
        if sum(s) == T:
            yield (
                np.array(s, float),
                prod(float(comb(int(size), x)) for size, x in zip(n, s, strict=True)),
            )


def given_total(n, T, theta):
    """Return mean and covariance of the arms' events, given their total, by enumeration."""
    s, ways = zip(*outcomes(n, T), strict=True)
    s = np.array(s)
    chance = np.array(ways) * np.exp(s @ theta)
    chance /= chance.sum()
    mean = chance @ s
    return mean, (s - mean).T @ (chance[:, None] * (s - mean))


LIFTS = np.array([1.05, 1.00, 1.12])


def on_scale(scale, rate, lift):
    """Return the (J, K) probability of each arm in each environment, with equal effects on that scale."""
    rate = rate[:, None]
    if scale == "ratio":
        return rate * lift
    if scale == "difference":
        return rate + 0.015 * (lift - 1.0)
    odds = rate / (1.0 - rate) * lift
    return odds / (1.0 + odds)


def multiplying_log(random, scale, tests=100, size=3000):
    """Draw tests with base rates .002 to .08: A and B met where rates are high, B and C where they are low."""
    rate = np.sort(np.exp(random.uniform(np.log(0.002), np.log(0.08), tests)))
    counts = random.integers(size // 2, size, (tests, 3))
    counts[tests // 2 :, 2] = counts[: tests // 2, 0] = 0
    return conversions(counts, on_scale(scale, rate, LIFTS), random)


def sparse_log(random, scale, tests=150, size=60):
    """Draw environments with a few events each, and large effects."""
    rate = np.exp(random.uniform(np.log(0.01), np.log(0.1), tests))
    counts = random.integers(1, size, (tests, 4))
    return conversions(counts, on_scale(scale, rate, np.array([1.0, 1.2, 1.5, 0.8])), random)


def money_log(random, scale, environments=20, size=60):
    """Draw lognormal money in an incomplete design, with levels from 1 to 8."""
    level = np.exp(random.uniform(0.0, np.log(8.0), environments))
    lift = np.array([1.0, 1.1, 1.3, 0.9])
    mean = level[:, None] * lift if scale == "ratio" else level[:, None] + 3.0 * (lift - 1.0)
    counts = random.integers(size // 2, size, (environments, 4)) * (random.random((environments, 4)) < 0.8)
    environment, arm = np.nonzero(counts)
    n = counts[environment, arm]
    cell = np.repeat(np.arange(n.size), n)
    reward = mean[environment, arm][cell] * np.exp(random.normal(size=cell.size) - 0.5)
    average = np.bincount(cell, reward) / n
    squares = np.bincount(cell, (reward - average[cell]) ** 2)
    labels = list(range(4)), list(range(environments))
    return Cells(*labels, arm, environment, n.astype(float), average, squares)
