"""The least budget that keeps an error: played at a few budgets, a smooth curve through what was counted.

The logarithm of the odds of an error is nearly a straight line in the budget; roots of it take up the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats

Play = Callable[[int, int], int]  # (budget, runs) -> how many runs were wrong, each time in new worlds

SURE = 2.33  # standard errors of the curve that are added before it is believed
_SCOUTS = 500  # runs of each budget that is played first
_NEAR = (0.8, 0.92, 1.0, 1.1)  # of the budget that is looked for, played often
_ROUNDS = 5


class Count(NamedTuple):
    """How many of so many runs with one budget selected a wrong arm."""

    budget: int
    runs: int
    wrong: int


class ErrorCurve(NamedTuple):
    """The odds of an error against the budget.

    Attributes
    ----------
    unit : the budget that is 1.
    beta : their logarithm is beta'(1, sqrt(x), x), x the budget in units.
    covariance : of beta.
    """

    unit: float
    beta: Floats
    covariance: Floats

    def upper(self, budgets: Floats, reach: float) -> Floats:
        """Return the logarithm of the odds, and as many of its standard errors above it."""
        X = self.columns(budgets / self.unit)
        spread: Floats = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", X, self.covariance, X), 0.0))
        return np.asarray(X @ self.beta + reach * spread)

    def share(self, budgets: Floats) -> Floats:
        """Return the error that the curve has."""
        odds: Floats = np.exp(self.columns(budgets / self.unit) @ self.beta)
        return odds / (1.0 + odds)

    @staticmethod
    def columns(x: Floats) -> Floats:
        """Return one row a budget."""
        return np.stack([np.ones_like(x), np.sqrt(x), x], axis=1)


def curve(counts: list[Count]) -> ErrorCurve:
    """Fit the curve by maximum likelihood (Newton's steps), half an error added to each count."""
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


def least(counts: list[Count], error: float, floor: int, reach: float = SURE) -> int:
    """Return the least budget whose error is surely small enough, near to those that were played."""
    found = curve(counts)
    played = [count.budget for count in counts]
    tried = np.unique(np.geomspace(max(floor, 0.6 * min(played)), 1.6 * max(played), 600).round())
    kept = tried[found.upper(tried, reach) <= math.log(error / (1.0 - error))]
    return int(kept[0] if kept.size else tried[-1])


def search(play: Play, start: list[float], error: float, floor: int, runs: int) -> list[Count]:
    """Play around the least budget until it does not move; return all that was counted.

    `start` are the budgets to begin with; none is below the `floor`.
    """
    counts: list[Count] = []

    def look(budgets: list[float], often: int) -> None:
        distinct = sorted({max(floor, math.ceil(budget)) for budget in budgets})
        counts.extend(Count(budget, often, play(budget, often)) for budget in distinct)

    look(start, min(_SCOUTS, runs))
    guess = least(counts, error, floor, reach=0.0)
    for _ in range(_ROUNDS):
        look([share * guess for share in _NEAR], runs)
        before, near = guess, [c for c in counts if guess / 3.0 <= c.budget <= 3.0 * guess]
        guess = least(near, error, floor)
        if 0.85 * before <= guess <= 1.12 * before:
            break
    return counts
