"""Ratio metrics, such as revenue per session: the sum of one quantity divided by the sum of another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells

_FEW_ROWS = 20.0  # With fewer effective rows in an average cell, the delta method is too optimistic.
_FEWEST_DEGREES_OF_FREEDOM = 10  # Of the scatter of quotients, to correct it.


def ratio_cells(c: Cells, denominator: Floats, products: Floats, name: str) -> Cells:
    """Return the ratio of two sums for each arm and environment, with variances by the delta method.

    In a cell the quotient is R = sum of y / sum of x. Its error is that of the mean of (y - R x)/xbar, whose
    squared deviations become those of the cell. A bias of the size of Var(xbar)/xbar^2 remains: a few per
    cent in a cell with ten rows, negligible with hundreds. With few rows in a cell the row with the largest x
    rules its quotient, and the deviations are too small: they are multiplied by what the scatter of the
    quotients around the additive fit says of them.

    Parameters
    ----------
    c : cells of the numerator.
    denominator : (C,) mean of the denominator in each cell.
    products : (2, 2, C) sums of products of deviations from the cell means, numerator first.
    name : name of the denominator, for error messages.
    """
    wrong = np.flatnonzero(~(denominator > 0.0))
    if wrong.size:
        i, j = c.arm[wrong[0]], c.environment[wrong[0]]
        raise InputError(
            f"the denominator {name!r} must add up to more than 0 for each arm in each environment; the sum "
            f"for {c.arms[i]} in {c.environments[j]} is {denominator[wrong[0]] * c.n[wrong[0]]:g}"
        )
    R = c.mean / denominator
    squares = products[0, 0] - 2.0 * R * products[0, 1] + R**2 * products[1, 1]
    left = np.maximum(squares, 0.0) / denominator**2
    found = replace(
        c, mean=R, squares=left, cubes=None, fourths=None, low=None, high=None, divisor=denominator
    )
    spread = products[1, 1] / (c.n * denominator**2)  # squared coefficient of variation of the denominator
    worth = float(np.sum(c.n) / np.sum(1.0 + spread))  # effective rows of an average cell
    return replace(found, squares=left * _excess_scatter(found)) if worth < _FEW_ROWS else found


def _excess_scatter(c: Cells) -> float:
    """Return the variance of ratio metrics between cells divided by that expected from inside cells.

    The result is 1 at least, and 1 if the scatter has too few degrees of freedom.
    """
    if c.factors is not None:
        return 1.0
    inside, freedom = float(np.sum(c.squares)), float(np.sum(c.n - 1.0))
    between = c.solution.freedom - freedom
    if between < _FEWEST_DEGREES_OF_FREEDOM or not inside > 0.0:
        return 1.0
    return max(1.0, (c.solution.rss - inside) / between / (inside / freedom))
