"""Numerical checks of the algebraic identities in a reproduced paper, for random numbers of pulls.

Each check returns the distance between both sides of an identity, which is zero up to rounding if it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from tideproof.core.kernel_state_arrays import Floats
from tideproof.research.paper.dummy_regression import covariance, dummies, estimate
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import connected_components, link_weights
from tideproof.table import Table

DESIGNS = 10
PRECISION = 9  # decimals that are kept; the rest is rounding
GAP = 0.5  # gap between the two arms of the example with two environments
# Pulls of the inferior and of the superior arm in each of two environments
TWO_ENVIRONMENTS = ([[5, 5], [10, 5]], [[5, 5], [6, 5]], [[5, 5], [50, 1]], [[5, 5], [5, 5]])
DISCONNECTED = [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]  # {1, 2}, {1, 2, 3}, {4, 5}
CHAINED = [[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 1, 1]]  # 1 2, then 2 3 5, then 5 4
PENALTY = 1.0  # ridge penalty of the regularised regression


class RandomDesign(NamedTuple):
    """Random numbers of pulls by arm and environment, with true arm means, true shifts, and noise.

    The noise of a single reward has the standard deviation 1.

    Attributes
    ----------
    counts : (J, K) pulls of each arm in each environment.
    means, shifts : (K,), (J,) the true means and shifts.
    noise : (C,) noise of the mean reward of each cell, in the order of `np.nonzero(counts)`.
    """

    counts: Floats
    means: Floats
    shifts: Floats
    noise: Floats

    @property
    def expected(self) -> Floats:
        """Expected reward of each arm in each environment in which it is pulled."""
        environment, arm = np.nonzero(self.counts)
        return np.asarray(self.means[arm] + self.shifts[environment])

    @property
    def rewards(self) -> Floats:
        """Observed mean reward of each arm in each environment in which it is pulled."""
        return self.expected + self.noise


def identities(seed: int, replications: int) -> Table:
    """Return a table of how far the two sides of each algebraic identity in a reproduced paper differ.

    It also contains values for the paper's examples.
    """
    rows: list[tuple[str, str, float]] = []
    for number, drawn in enumerate(_random_designs(seed), 1):
        J, K = drawn.counts.shape
        where = f"design {number}: {K} arms, {J} environments"
        found = raw_mean_identity(drawn) | least_squares_identities(drawn) | one_arm_environment_effect(drawn)
        rows += [(quantity, where, value) for quantity, value in found.items()]
    for example in TWO_ENVIRONMENTS:
        rows += _two_environments(np.array(example, float))
    rows += _connections()
    columns = ("quantity", "where", "value")
    return Table(dict(zip(columns, zip(*_rounded_rows(rows), strict=True), strict=True)))


def _rounded_rows(rows: list[tuple[str, str, float]]) -> Iterator[tuple[Any, ...]]:
    for quantity, where, value in rows:
        yield quantity, where, round(float(value), PRECISION)


def _random_designs(seed: int) -> Iterator[RandomDesign]:
    """Yield random designs of experiments in which one environment contains all arms.

    All arms can therefore be compared.
    """
    rng = np.random.default_rng(seed)
    for _ in range(DESIGNS):
        J, K = int(rng.integers(3, 13)), int(rng.integers(2, 7))
        counts = rng.integers(0, 4, (J, K)).astype(float)
        counts[counts.sum(axis=1) == 0.0, 0] = 1.0
        counts[int(rng.integers(J))] += 1.0
        shifts = rng.uniform(0.0, 20.0, J)
        noise = rng.standard_normal(np.count_nonzero(counts)) / np.sqrt(counts[counts > 0.0])
        yield RandomDesign(counts, rng.standard_normal(K), shifts - shifts[0], noise)  # the paper's s_1 = 0


def raw_mean_identity(drawn: RandomDesign) -> dict[str, float]:
    """Return the rounding error of the identity: raw mean = true mean + weighted shifts + averaged noise."""
    counts, pulls = drawn.counts, drawn.counts.sum(axis=0)
    environment, arm = np.nonzero(counts)

    def averaged(values: Floats) -> Floats:
        return np.asarray(np.bincount(arm, counts[environment, arm] * values) / pulls)

    left = averaged(drawn.rewards)
    right = drawn.means + drawn.shifts @ (counts / pulls) + averaged(drawn.noise)
    return {"raw means": _spread(left - right)}


def least_squares_identities(drawn: RandomDesign) -> dict[str, float]:
    """Return how far a reproduced paper's formulas deviate from a least-squares fit of means and shifts.

    The formulas are those of section 3.1 and appendix B.

    The values with "printed" in their name are ratios instead.
    """
    counts = drawn.counts
    J, K = counts.shape
    X, n = dummies(counts)
    fitted = estimate(counts, drawn.rewards)
    means, shifts = fitted[:K], np.concatenate([[0.0], fitted[K:]])
    environment, arm = np.nonzero(counts)
    modified = np.bincount(arm, n * (drawn.rewards - shifts[environment])) / counts.sum(axis=0)
    truth = np.concatenate([drawn.means, drawn.shifts[1:]])
    every = np.repeat(X, n.astype(int), axis=0)  # one row for each pull
    residual = np.eye(len(every)) - every @ covariance(counts) @ every.T
    last = estimate(counts, drawn.rewards, J - 1)[:K]
    A, B = every[:, :K], every[:, K:]
    first = estimate(counts[:1] + 1.0, drawn.rewards[:K])  # with one environment: the raw means of its arms
    return {
        "separate means": np.abs(_separate(A, B, drawn.rewards, n) - fitted[:K]).max(),
        "separate shifts": np.abs(_separate(B, A, drawn.rewards, n) - fitted[K:]).max(),
        "printed Cov of means over OLS": _largest_ratio(A, B, covariance(counts)[:K, :K]),
        "printed Cov of shifts over OLS": _largest_ratio(B, A, covariance(counts)[K:, K:]),
        "modified means": np.abs(modified - means).max(),
        "error without noise": np.abs(estimate(counts, drawn.expected) - truth).max(),
        "expected variance estimate": abs(np.trace(residual) / (len(every) - K - J + 1) - 1.0),
        "contrasts in another gauge": _spread(means - last),
        "one environment, raw means": np.abs(first - drawn.rewards[:K]).max(),
        "one environment, N Var": np.abs(covariance(counts[:1] + 1.0) @ (counts[0] + 1.0) - 1.0).max(),
    }


def _separate(A: Floats, B: Floats, rewards: Floats, n: Floats) -> Floats:
    """Return the least-squares coefficients of some dummy variables, with other dummies projected out.

    `A` holds the former dummies and `B` the latter. The coefficients are computed from `rewards`. They are
    (A'(I - H_B)A)^-1 A'(I - H_B) r, where H_B is the projection onto B, and A and B have one row for each
    pull.
    """
    without = np.eye(len(A)) - _hat(B)
    r = np.repeat(rewards, n.astype(int))
    return np.asarray(np.linalg.solve(A.T @ without @ A, A.T @ without @ r))


def printed_covariance(A: Floats, B: Floats) -> Floats:
    """Return the covariance matrix of estimated means or shifts by a formula printed in a reproduced paper.

    The formula is [A'(I - 2 H_B + H_B H_A H_B)A]^-1 with the projections H_A and H_B onto A and B.
    A and B have one row for each pull.
    """
    hat_a, hat_b = _hat(A), _hat(B)
    return np.asarray(np.linalg.inv(A.T @ (np.eye(len(A)) - 2.0 * hat_b + hat_b @ hat_a @ hat_b) @ A))


def _largest_ratio(A: Floats, B: Floats, true: Floats) -> float:
    return float((printed_covariance(A, B).diagonal() / true.diagonal()).max())


def _hat(A: Floats) -> Floats:
    return np.asarray(A @ np.linalg.inv(A.T @ A) @ A.T)


def one_arm_environment_effect(drawn: RandomDesign) -> dict[str, float]:
    """Return how much least-squares estimates change if an environment with only one arm is added.

    The arm is pulled three times.
    """
    J, K = drawn.counts.shape
    more = np.zeros((1, K))
    more[0, K - 1] = 3.0
    before = estimate(drawn.counts, drawn.rewards)
    after = estimate(np.vstack([drawn.counts, more]), np.append(drawn.rewards, 123.0))
    return {
        "one-arm environment, means": np.abs(after[:K] - before[:K]).max(),
        "one-arm environment, shifts": np.abs(after[K : K + J - 1] - before[K:]).max(),
    }


def _two_environments(counts: Floats) -> list[tuple[str, str, float]]:
    """Return how much shifts can bias raw means in favour of the worse arm, in an example.

    The example has two arms and two environments. The results are the weight of the second of two shifts in
    the difference, and the probabilities that the worse arm has the larger raw mean, without a shift and with
    a large one.
    """
    weight = counts[1, 0] / counts[:, 0].sum() - counts[1, 1] / counts[:, 1].sum()
    spread = np.sqrt((1.0 / counts.sum(axis=0)).sum())
    where = "pulls of the inferior arm {:g} and {:g}, of the superior {:g} and {:g}".format(*counts.T.ravel())
    found = [("weight of the second shift", where, weight)]
    if weight > 0.0:
        found += [
            ("chance of the inferior arm, no shift", where, ndtr(-GAP / spread)),
            ("chance of the inferior arm, large shift", where, ndtr((weight * 100.0 - GAP) / spread)),
        ]
    return found


def _connections() -> list[tuple[str, str, float]]:
    """Return table rows on the bias of ridge regression, for examples of test designs.

    The rows also contain the number of groups of comparable arms in each design. A ridge bias is the error of
    a regression with a ridge penalty.
    """
    rows = []
    for where, example in (
        ("{1, 2}, {1, 2, 3}, {4, 5}", DISCONNECTED),
        ("1 2, then 2 3 5, then 5 4", CHAINED),
    ):
        counts = np.array(example, float)
        X, n = dummies(counts)
        rows += [
            ("groups of arms", where, _count_groups(counts)),
            ("rank missing in X'X", where, X.shape[1] - np.linalg.matrix_rank(X.T @ (n[:, None] * X))),
        ]
        for times in (1, 100, 10_000):
            rows.append(
                ("ridge: bias of arm 1 minus arm 4", f"{where}, {times} times", _ridge_bias(times * counts))
            )
    in_turn = np.repeat(np.tile(np.eye(5), (20, 1)), 2, axis=1)  # ten arms in order, two at a time
    rows.append(("groups of arms", "ten arms in turn, 100 environments of two pulls", _count_groups(in_turn)))
    return rows


def _count_groups(counts: Floats) -> int:
    return int(connected_components(link_weights(Cells.design(counts)) > 0.0).max()) + 1


def _ridge_bias(counts: Floats) -> float:
    """Return the bias of a difference of two arms that is estimated by ridge regression.

    The result is the absolute bias for arm 1 minus arm 4, if the last environment has the shift 20 and all
    other effects are zero.
    """
    K = counts.shape[1]
    X, n = dummies(counts)
    truth = np.zeros(X.shape[1])
    truth[-1] = 20.0
    normal = X.T @ (n[:, None] * X)
    found = np.linalg.solve(normal + PENALTY * np.eye(len(normal)), normal @ truth)[:K]
    return float(abs(found[0] - found[3]))


def _spread(values: Floats) -> float:
    """Return the difference between the largest and the smallest number of an array."""
    return float(values.max() - values.min())
