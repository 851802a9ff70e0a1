"""Find the smallest budget with which a test selects a wrong arm with at most the allowed probability.

Simulations count the errors at a few budgets, and a smooth curve is fitted to the counts. The log odds of an
error are nearly linear in the budget; a term in its square root fits the remaining curvature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats

Play = Callable[[int, int], int]  # (budget, runs) -> number of runs with an error, in new random worlds

SAFETY = 2.33  # standard errors that are added to the curve to get an upper bound of the error
_FIRST_RUNS = 500  # most runs at each of the first budgets
_NEAR = (0.8, 0.92, 1.0, 1.1)  # multiples of the current guess that are simulated in each round
_ROUNDS = 5


class ErrorCount(NamedTuple):
    """Number of simulated runs with one budget, and how many of them selected a wrong arm."""

    budget: int
    runs: int
    wrong: int


class ErrorCurve(NamedTuple):
    """Fitted curve of the probability of selecting a wrong arm against the budget.

    Attributes
    ----------
    unit : the budget that counts as x = 1.
    beta : coefficients; the log odds of an error are beta'(1, sqrt(x), x) at the budget x units.
    covariance : covariance matrix of beta.
    """

    unit: float
    beta: Floats
    covariance: Floats

    def upper(self, budgets: Floats, reach: float) -> Floats:
        """Return upper bounds of the log odds of selecting a wrong arm: fit plus `reach` standard errors."""
        X = self.columns(budgets / self.unit)
        standard_error: Floats = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", X, self.covariance, X), 0.0))
        return np.asarray(X @ self.beta + reach * standard_error)

    def share(self, budgets: Floats) -> Floats:
        """Return the fitted probability of selecting a wrong arm at each budget."""
        odds: Floats = np.exp(self.columns(budgets / self.unit) @ self.beta)
        return odds / (1.0 + odds)

    @staticmethod
    def columns(x: Floats) -> Floats:
        """Return the regressors of an error-rate curve: the row (1, sqrt(x), x) for each budget x.

        x is the budget in units of `unit`.
        """
        return np.stack([np.ones_like(x), np.sqrt(x), x], axis=1)


def fit_curve(counts: list[ErrorCount]) -> ErrorCurve:
    """Fit the probability of selecting a wrong arm as a curve over the budget, by maximum likelihood.

    The method is Newton's. 1/2 is added to each error count.
    """
    budgets, runs, wrong = (np.array(column, float) for column in zip(*counts, strict=True))
    unit = float(budgets.mean())
    X, share = ErrorCurve.columns(budgets / unit), (wrong + 0.5) / (runs + 1.0)
    eta = np.log(share) - np.log1p(-share)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-eta))
        weight = runs * p * (1.0 - p)
        information = X.T @ (weight[:, None] * X) + 1e-9 * np.eye(3) * weight.sum()
        beta = np.linalg.solve(information, X.T @ (weight * eta + runs * (share - p)))
        eta = np.clip(X @ beta, -30.0, 30.0)
    return ErrorCurve(unit, beta, np.linalg.inv(information))


def find_least_budget(counts: list[ErrorCount], error: float, floor: int, reach: float = SAFETY) -> int:
    """Return the smallest budget at which a wrong arm is selected with probability `error` or less.

    An upper bound of the probability must be at most `error`. The bound is `reach` standard errors above the
    curve. The search is limited to the neighbourhood of the simulated budgets, and to budgets of at least
    `floor`.
    """
    fitted = fit_curve(counts)
    played = [count.budget for count in counts]
    tried = np.unique(np.geomspace(max(floor, 0.6 * min(played)), 1.6 * max(played), 600).round())
    kept = tried[fitted.upper(tried, reach) <= math.log(error / (1.0 - error))]
    return int(kept[0] if kept.size else tried[-1])


def search_budget(play: Play, start: list[float], error: float, floor: int, runs: int) -> list[ErrorCount]:
    """Simulate tests with various budgets, to find the smallest budget with the allowed error rate.

    Return the number of errors at each simulated budget. `start` are the first budgets to simulate; budgets
    below `floor` are replaced by it.
    """
    counts: list[ErrorCount] = []

    def simulate(budgets: list[float], runs: int) -> None:
        distinct = sorted({max(floor, math.ceil(budget)) for budget in budgets})
        counts.extend(ErrorCount(budget, runs, play(budget, runs)) for budget in distinct)

    simulate(start, min(_FIRST_RUNS, runs))
    guess = find_least_budget(counts, error, floor, reach=0.0)
    for _ in range(_ROUNDS):
        simulate([share * guess for share in _NEAR], runs)
        before, near = guess, [c for c in counts if guess / 3.0 <= c.budget <= 3.0 * guess]
        guess = find_least_budget(near, error, floor)
        if 0.85 * before <= guess <= 1.12 * before:
            break
    return counts
