"""Conditional Poisson regression of rewards on arms, given the total reward of each environment.

The model is E r = lambda_environment exp(theta_arm). If rewards are Poisson, the sums S_aj of an
environment are multinomial given their total T_j, with shares p_aj = n_aj exp(theta_a) / sum. The estimate
is consistent whenever means are multiplicative and rewards are not negative (money, counts, conversions).
The rates of the environments follow from the fit.

References
----------
Hausman, Hall, Griliches (1984), Econometric models for count data with an application to the patents-R&D
relationship; Gourieroux, Monfort, Trognon (1984), Pseudo maximum likelihood methods: applications to Poisson
models; Wooldridge (1999), Distribution-free estimation of some nonlinear panel data models.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.scales.conditional_likelihood import (
    ConditionalFit,
    competing_cells,
    fill_infinite,
    find_classes,
    maximise,
    select_cells,
)
from tideproof.stats.solve.least_squares import FactoredInverse, factor_inverse, link_weights


def solve_ratio(cells: Cells) -> ConditionalFit:
    """Fit the ratios between the arms' mean rewards by maximum conditional likelihood.

    It solves sum_j S_aj - T_j p_aj = 0, the score of the multinomial distributions. A step takes O(cells J)
    for many arms in few environments, otherwise O(cells K + K^3). The information is the Laplacian sum_j
    T_j (diag(p_j) - p_j p_j'). Environments without an event or with a single arm carry no information. The
    covariance of theta is P if rewards are Poisson; otherwise it is P M P with M = `meat` of the
    `cells_with_events` and q the variance of each cell's sum.

    >>> two = Cells(["A", "B"], [0], np.array([0, 1]), np.zeros(2, int), np.array([10.0, 20.0]),
    ...             np.array([0.5, 1.5]), np.zeros(2))
    >>> bool(np.isclose(np.exp(solve_ratio(two).gap(1, 0)), 3.0))
    True
    """
    S = cell_sums(cells)
    component, beats = find_classes(cells, S, cells.n)
    part, kept = competing_cells(cells, component, S, cells.n)
    own, T = S[kept], part.by_environment(S[kept])[part.environment]

    def moments(theta: Floats) -> tuple[Floats, Floats | FactoredInverse]:
        """Return the expected reward sums by arm and environment, and the arm effects' information matrix.

        The latter is given as minus its entries off the diagonal, or as factors of its inverse.
        """
        expected = T * _shares(part, theta)
        shared = part.weighted(expected)
        if (short := factor_inverse(shared, component)) is not None:
            return expected, short
        between = link_weights(shared)
        np.fill_diagonal(between, 0.0)
        return expected, between

    theta, P, expected, short = maximise(part, own, _first_theta(part, own, T), component, moments)
    fitted, rate = cells.mean.copy(), np.where(cells.sizes > 0.0, 0.0, np.nan)
    fitted[kept] = expected / part.n
    some = np.flatnonzero(fitted > 0.0)
    rate[cells.environment[some]] = fitted[some] / np.exp(theta[cells.arm[some]])
    return ConditionalFit(fill_infinite(cells, S, cells.n, theta), rate, fitted, P, component, beats, short)


def cells_with_events(cells: Cells, found: ConditionalFit) -> tuple[Cells, Ints]:
    """Return the arm-by-environment cells whose expected reward is above 0, and their indices.

    They are weighted by their expected sums of rewards. The expected sum of a cell is T_j p_aj.
    `link_weights` of these cells is minus the information on theta off its diagonal; their `shares` are
    p_aj.
    """
    kept = np.flatnonzero(found.fitted > 0.0)
    return select_cells(cells, kept).weighted(cells.n[kept] * found.fitted[kept]), kept


def cell_sums(cells: Cells) -> Floats:
    """Return the sum of rewards of each arm-by-environment cell.

    Raise `InputError` if a sum is negative.
    """
    low = np.flatnonzero(cells.mean < 0.0)
    if low.size:
        i, j = cells.arm[low[0]], cells.environment[low[0]]
        raise InputError(
            f"scale='ratio' needs rewards of 0 or more; the mean of {cells.arms[i]} in "
            f"{cells.environments[j]} is {cells.mean[low[0]]:g}; use scale='difference'"
        )
    return np.asarray(cells.n * cells.mean)


def _shares(part: Cells, theta: Floats) -> Floats:
    """Return the share of an environment's total reward that is expected of each of its arms.

    The share of a cell, (C,), is p_aj = n_aj exp(theta_a) / sum over the arms of the environment.
    """
    exposure = part.n * np.exp(theta[part.arm])
    return np.asarray(exposure / part.by_environment(exposure)[part.environment])


def _first_theta(part: Cells, own: Floats, T: Floats) -> Floats:
    """Return starting values of the arm effects, from three steps of a fixed-point iteration.

    A step sets exp(theta_a) = sum_j S_aj / sum_j T_j n_aj/exposure_j. Each step raises the likelihood from
    any starting point (Hunter 2004, MM algorithms for generalized Bradley-Terry models).
    """
    theta, events = np.zeros(part.K), part.by_arm(own)
    seen = events > 0.0
    for _ in range(3):
        chances = part.by_arm(T * _shares(part, theta)) * np.exp(-theta)
        theta[seen] = np.log(events[seen] / chances[seen])
    return theta
