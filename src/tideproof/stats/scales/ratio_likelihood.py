"""Tides that multiply: E r = lambda_environment exp(theta_arm), environments conditioned out.

If rewards are Poisson, the sums S_aj of an environment are multinomial given their total T_j, with shares
p_aj = n_aj exp(theta_a) / sum. The estimate, and that it is consistent, needs no more than that means
multiply and rewards are not negative (money, counts, conversions). Rates of environments are read out.

References
----------
Hausman, Hall, Griliches (1984), Econometric models for count data with an application to the patents-R&D
relationship; Gourieroux, Monfort, Trognon (1984), Pseudo maximum likelihood methods: applications to Poisson
models; Wooldridge (1999), Distribution-free estimation of some nonlinear panel data models.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.scales.conditional_likelihood import (
    ConditionalFit,
    classes,
    climb,
    endless,
    split,
    subset,
)
from tideproof.stats.solve.laplacian import Through, links, through


def solve_ratio(cells: Cells) -> ConditionalFit:
    """Solve sum_j S_aj - T_j p_aj = 0, the score of the multinomials; O(cells K + K^3) a step.

    Of many arms in few environments O(cells J). The information is the Laplacian sum_j T_j (diag(p_j) - p_j
    p_j'). Environments without an event or with a single arm say nothing. The covariance of theta is P if
    rewards are Poisson; otherwise P M P with M = `weighting.meat` of the cells `sharing` events, q the
    variance of each cell's sum.

    >>> two = Cells(["A", "B"], [0], np.array([0, 1]), np.zeros(2, int), np.array([10.0, 20.0]),
    ...             np.array([0.5, 1.5]), np.zeros(2))
    >>> bool(np.isclose(np.exp(solve_ratio(two).gap(1, 0)), 3.0))
    True
    """
    S = sums_of(cells)
    component, beats = classes(cells, S, cells.n)
    part, kept = split(cells, component, S, cells.n)
    own, T = S[kept], part.by_environment(S[kept])[part.environment]

    def moments(theta: Floats) -> tuple[Floats, Floats | Through]:
        expected = T * _shares(part, theta)
        shared = part.weighted(expected)
        if (short := through(shared, component)) is not None:
            return expected, short
        between = links(shared)
        np.fill_diagonal(between, 0.0)
        return expected, between

    theta, P, expected, short = climb(part, own, _start(part, own, T), component, moments)
    fitted, rate = cells.mean.copy(), np.where(cells.sizes > 0.0, 0.0, np.nan)
    fitted[kept] = expected / part.n
    some = np.flatnonzero(fitted > 0.0)
    rate[cells.environment[some]] = fitted[some] / np.exp(theta[cells.arm[some]])
    return ConditionalFit(endless(cells, S, cells.n, theta), rate, fitted, P, component, beats, short)


def sharing(cells: Cells, found: ConditionalFit) -> tuple[Cells, Ints]:
    """Return the cells that share events, with weights T_j p_aj, and which cells they are.

    `links` of them is minus the information on theta, off its diagonal; their `shares` are p_aj.
    """
    kept = np.flatnonzero(found.fitted > 0.0)
    return subset(cells, kept).weighted(cells.n[kept] * found.fitted[kept]), kept


def sums_of(cells: Cells) -> Floats:
    """Return the sum of the rewards of each cell, (C,); rewards below 0 cannot multiply."""
    low = np.flatnonzero(cells.mean < 0.0)
    if low.size:
        i, j = cells.arm[low[0]], cells.environment[low[0]]
        raise InputError(
            f"scale='ratio' needs rewards of 0 or more; the mean of {cells.arms[i]} in "
            f"{cells.environments[j]} is {cells.mean[low[0]]:g}; use scale='difference'"
        )
    return np.asarray(cells.n * cells.mean)


def _shares(part: Cells, theta: Floats) -> Floats:
    """Return p_aj = n_aj exp(theta_a) / sum over the arms there: (C,)."""
    exposure = part.n * np.exp(theta[part.arm])
    return np.asarray(exposure / part.by_environment(exposure)[part.environment])


def _start(part: Cells, own: Floats, T: Floats) -> Floats:
    """Return a theta near the maximum: three steps of exp(theta_a) = sum_j S_aj / sum_j T_j n_aj/exposure_j.

    Each raises the likelihood, however far away (Hunter 2004, MM algorithms for generalized Bradley-Terry
    models).
    """
    theta, events = np.zeros(part.K), part.by_arm(own)
    seen = events > 0.0
    for _ in range(3):
        chances = part.by_arm(T * _shares(part, theta)) * np.exp(-theta)
        theta[seen] = np.log(events[seen] / chances[seen])
    return theta
