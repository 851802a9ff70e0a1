"""Conditional logistic regression of 0/1 rewards on arms, given the number of ones in each environment.

The model is logit P(r = 1) = lambda_environment + theta_arm. Given its total T_j, the events of an
environment have a noncentral hypergeometric distribution, whatever lambda_j: the likelihood of theta needs
no estimate of it. With any lambda, p_a = 1/(1 + exp(-lambda - theta_a)) and z_a(t) = 1 - p_a + p_a exp(it),
the probability that independent events add up to T is the integral of

    W(t) = exp(-itT) prod_a z_a(t)^n_a / 2 pi    over a period.

E[s_a] and E[s_a s_b] given T are averages of n_a u_a and n_a n_b u_a u_b (a != b) with weights W, where u_a =
p_a exp(it)/z_a. The sum over M equidistant t equals the integral exactly if M > m_j, and up to P(s = T +-
M)/P(s = T) otherwise, which is below 1e-15 if M exceeds 8.6 standard deviations plus 12. With lambda such
that T is the mean, no precision is lost. So the conditional likelihood is exact up to rounding, with few
events and with many: about a dozen values of t suffice for either.

The inference is exact if allocation inside an environment does not depend on the rewards there.

References
----------
Breslow, Day (1980), Statistical methods in cancer research I, chapter 7; Gail, Lubin, Rubinstein (1981),
Likelihood calculations for matched case-control studies; Trefethen, Weideman (2014), The exponentially
convergent trapezoidal rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

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
    newton_step,
)
from tideproof.stats.solve.least_squares import link_weights

_BATCH_NUMBERS = 2**17  # Complex numbers in one batch: 2 MB.
_FEWEST_ALIKE = 100  # With fewer environments, it is not worth while to search for equal ones.
_NOTHING = 37.0  # exp(-37) is negligible compared with 1.


def solve_odds(cells: Cells) -> ConditionalFit:
    """Fit the odds ratios of the arms by maximum conditional likelihood.

    Takes O(cells K + K^3) a step.

    >>> pairs = Cells(["A", "B"], [0, 1, 2], np.array([0, 1] * 3), np.repeat(np.arange(3), 2), np.ones(6),
    ...               np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]), np.zeros(6))
    >>> bool(np.isclose(np.exp(solve_odds(pairs).gap(0, 1)), 2.0))  # McNemar: 2 pairs against 1
    True
    """
    S, F = count_ones_and_zeros(cells)
    component, beats = find_classes(cells, S, F)
    part, kept = competing_cells(cells, component, S, F)
    own = S[kept]
    T = part.by_environment(own)

    start = _first_theta(part, own, T, component)
    moments = partial(conditional_moments, part, T, kinds=find_kinds(part, T))
    theta, P, expected, _ = maximise(part, own, start, component, moments)
    fitted, rate = cells.mean.copy(), np.full(cells.J, np.nan)
    fitted[kept] = expected / part.n
    with np.errstate(divide="ignore"):
        rate[cells.environment] = fitted / (1.0 - fitted) / np.exp(theta[cells.arm])
    rate[cells.environment[kept]] = np.exp(solve_levels(part, T, theta))[part.environment]
    return ConditionalFit(fill_infinite(cells, S, F, theta), rate, fitted, P, component, beats)


def count_ones_and_zeros(cells: Cells) -> tuple[Floats, Floats]:
    """Return the number of ones and of zeros among the rewards of each arm-by-environment cell.

    The two results are (C,) each.
    """
    if not cells.binary:
        raise InputError("scale='odds' needs rewards that are all 0 or 1; use scale='ratio' or 'difference'")
    S = np.rint(cells.n * cells.mean)
    return S, cells.n - S


def conditional_moments(
    part: Cells,
    T: Floats,
    theta: Floats,
    weight: Floats | None = None,
    kinds: EnvironmentKinds | None = None,
) -> tuple[Floats, Floats]:
    """Return the expected number of rewards of 1 of each arm in each environment.

    The second result holds the negative covariances of these numbers between arms.

    The shapes are (C,) and (K, K). The diagonal of the second is 0. Both are given the totals `T` of the
    environments, which must be above 0 and below the environment's size. The covariances are added up over
    environments, each multiplied by its `weight`. `kinds` is the result of `find_kinds`, if it is known.
    """
    kinds = kinds or find_kinds(part, T)
    part, T = kinds.part, kinds.totals
    by_kind = np.bincount(kinds.of_environment, weight, T.size)
    expected, between = np.zeros(part.n.size), np.zeros((part.K, part.K))
    for found in _quadratures(part, T, theta):
        expected[found.cells] = found.mean + found.moved
        rows, points = found.environments.size, found.d.shape[1]
        at = part.arm[found.cells], found.row
        by = by_kind[found.environments]
        moved = np.zeros((part.K, rows))
        moved[at] = found.moved
        between += (by * moved) @ moved.T
        d, e, Wd, We = np.zeros((4, part.K, rows, points))
        d[at], e[at] = found.d, found.e
        Wd[at], We[at] = (by[found.row, None] * x for x in (found.Wd, found.We))
        flat = (part.K, rows * points)
        between -= Wd.reshape(flat) @ d.reshape(flat).T - We.reshape(flat) @ e.reshape(flat).T
    between = np.maximum(0.5 * (between + between.T), 0.0)  # Covariances given a total are negative.
    np.fill_diagonal(between, 0.0)
    return expected[kinds.of_cell], between


def conditional_means(part: Cells, T: Floats, theta: Floats) -> Floats:
    """Return the expected number of ones of each cell, the first result of `conditional_moments`: (C,)."""
    expected = np.zeros(part.n.size)
    for found in _quadratures(part, T, theta):
        expected[found.cells] = found.mean + found.moved
    return expected


class EnvironmentKinds(NamedTuple):
    """Groups of identical environments: equal numbers of rewards of every arm, and equal totals.

    Their conditional distributions are equal, so that each kind needs to be computed only once.

    Attributes
    ----------
    part : cells of one environment of each kind.
    totals : (kinds,) its number of ones.
    of_environment : (J,) kind of each environment.
    of_cell : (C,) for each cell, the index of the cell in `part` that is like it.
    """

    part: Cells
    totals: Floats
    of_environment: Ints
    of_cell: Ints


def find_kinds(part: Cells, T: Floats) -> EnvironmentKinds:
    """Group identical environments; without grouping unless at least half of them are repeated.

    The numbers of rewards are hashed, and environments with equal hashes are compared exactly.
    """
    alone = EnvironmentKinds(part, T, np.arange(part.J), np.arange(part.n.size))
    if part.J < _FEWEST_ALIKE:
        return alone
    random = np.random.default_rng(0).random((2, part.K))  # the hash, which does not influence results
    key = np.array([*(part.by_environment(part.n * weight[part.arm]) for weight in random), T, part.sizes])
    order = np.lexsort(key)
    new = np.append(True, np.any(np.diff(key[:, order], axis=1) != 0.0, axis=0))
    if 2 * np.count_nonzero(new) > part.J:
        return alone
    of_environment = np.empty(part.J, np.int64)
    of_environment[order] = np.cumsum(new) - 1
    first = order[new]
    cells = np.lexsort((part.arm, part.environment))  # by environment, then by arm
    start = np.cumsum(part.arms_seen) - part.arms_seen
    environment = part.environment[cells]
    model = first[of_environment[environment]]
    like = cells[np.minimum(start[model] + np.arange(cells.size) - start[environment], cells.size - 1)]
    same = (part.arm[like] == part.arm[cells]) & (part.n[like] == part.n[cells])
    if not np.all(same) or np.any(part.arms_seen[first[of_environment]] != part.arms_seen):
        return alone
    kept = np.flatnonzero(first[of_environment[part.environment]] == part.environment)
    index, rank = np.zeros(part.n.size, np.int64), np.zeros(part.J, np.int64)
    index[kept] = np.arange(kept.size)
    rank[np.sort(first)] = np.arange(first.size)  # `select` numbers environments by their old order
    of_cell = np.empty(part.n.size, np.int64)
    of_cell[cells] = index[like]
    return EnvironmentKinds(part.select(kept), T[np.sort(first)], rank[first[of_environment]], of_cell)


class _Quadrature(NamedTuple):
    """Terms of numerical integrals for a batch of environments, by cell, or by cell and integration point.

    Attributes
    ----------
    environments : (rows,) the environments.
    cells, row : (c,) indices of their cells, and of each cell's environment in `environments`.
    mean, moved : (c,) n p, and the difference between it and the expected number of ones.
    d, e : real and imaginary part of n (u - p).
    Wd, We : real and imaginary part of W n (u - p).
    """

    environments: Ints
    cells: Ints
    row: Ints
    mean: Floats
    moved: Floats
    d: Floats
    e: Floats
    Wd: Floats
    We: Floats


def _quadratures(part: Cells, T: Floats, theta: Floats) -> Iterator[_Quadrature]:
    """Yield the terms of the integrals for expected numbers of ones and their covariances, in batches."""
    centre = solve_levels(part, T, theta)
    with np.errstate(over="ignore"):
        p = 1.0 / (1.0 + np.exp(-centre[part.environment] - theta[part.arm]))
    deviation = np.sqrt(part.by_environment(part.n * p * (1.0 - p)))
    period = np.minimum(part.sizes + 1.0, np.ceil(8.6 * deviation + 12.0))
    period += 1.0 - period % 2.0  # Odd, because z = 0 at t = pi for p = 1/2.
    for rows, cells, points in _batches(part, period, deviation):
        count = part.arms_seen[rows]
        row, first = np.repeat(np.arange(rows.size), count), np.cumsum(count) - count
        n, odds = part.n[cells, None], p[cells, None]
        rest = 1.0 - odds
        t = 2.0 * np.pi / period[rows, None] * np.arange(points)
        sine, fall = np.sin(t)[row], (1.0 - np.cos(t))[row]
        length = (odds - rest) ** 2 + 2.0 * odds * rest * (2.0 - fall)  # |z|^2
        size = 0.5 * np.add.reduceat(n * np.log(length), first)
        angle = np.add.reduceat(n * np.arctan2(odds * sine, 1.0 - odds * fall), first) - t * T[rows, None]
        W = _quadrature_weights(t) * np.exp(size)
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN at effects beyond the range of numbers
            W /= np.sum(W * np.cos(angle), axis=1, keepdims=True)
        real, imaginary = (W * np.cos(angle))[row], (W * np.sin(angle))[row]
        slope = n * odds * rest / length  # d = n (u - p) = slope (i sin t - (1 - 2p)(1 - cos t))
        d, e = slope * fall * (odds - rest), slope * sine
        Wd, We = real * d - imaginary * e, real * e + imaginary * d
        yield _Quadrature(rows, cells, row, (n * odds)[:, 0], Wd.sum(axis=1), d, e, Wd, We)


def _quadrature_weights(t: Floats) -> Floats:
    """Return the weight of each point of a numerical integral over the period from -pi to pi.

    The weight is 1 at t = 0, 2 for t below pi, because -t contributes as much as t, and 0 beyond.
    """
    return np.where(t == 0.0, 1.0, np.where(t < np.pi, 2.0, 0.0))


def _batches(part: Cells, period: Floats, deviation: Floats) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield batches of environments that need similar numbers of quadrature points.

    Each item holds the environments, their cells in the order of these, and the number of points.

    |W(t)| is below exp(-deviation^2 (1 - cos t)): points where that is negligible are not needed.
    """
    reach = np.arccos(np.maximum(-1.0, 1.0 - _NOTHING / np.maximum(deviation**2, 1e-9)))
    points = np.minimum(np.floor(period / 2.0), np.ceil(reach / (2.0 * np.pi) * period)).astype(np.int64) + 1
    order = np.argsort(points, kind="stable")
    by_rank = np.empty(part.J, np.int64)
    by_rank[order] = np.arange(part.J)
    rank = by_rank[part.environment]
    sequence = np.argsort(rank, kind="stable")
    start = 0
    while start < part.J:
        most = max(1, _BATCH_NUMBERS // (part.K * int(points[order[start]])))
        stop = min(start + most, part.J)
        stop = min(stop, start + max(1, int(most * points[order[start]] / points[order[stop - 1]])))
        first, last = np.searchsorted(rank, [start, stop], sorter=sequence)
        yield order[start:stop], sequence[first:last], int(points[order[stop - 1]])
        start = stop


def solve_levels(part: Cells, T: Floats, theta: Floats) -> Floats:
    """Solve for the baseline log odds of each environment, given its expected number `T` of rewards of 1.

    They are the lambda of the model, (J,). Newton's method is applied to the logit of the mean, where the
    slope is below 1; steps are at most twice the difference.
    """
    wanted = np.log(T / (part.sizes - T))
    found = wanted - part.by_environment(part.n * theta[part.arm]) / part.sizes
    for _ in range(100):
        with np.errstate(over="ignore"):
            p = 1.0 / (1.0 + np.exp(-found[part.environment] - theta[part.arm]))
        mean, variance = (part.by_environment(x) for x in (part.n * p, part.n * p * (1.0 - p)))
        if np.all(np.abs(mean - T) < 0.01 * np.sqrt(variance) + 1e-3):
            break
        slope = variance * part.sizes / (mean * (part.sizes - mean))
        found += (wanted - np.log(mean / (part.sizes - mean))) / np.maximum(slope, 0.5)
    return found


def _first_theta(part: Cells, own: Floats, T: Floats, component: Ints) -> Floats:
    """Return starting values of the arm effects, from one Newton step that begins at 0.

    The covariances of the events are hypergeometric.
    """
    m = part.sizes
    spread = T * (m - T) / (m * (m - 1.0))
    between = link_weights(part.weighted(part.n * spread[part.environment]))
    np.fill_diagonal(between, 0.0)
    score = part.by_arm(own - (T / m)[part.environment] * part.n)
    return newton_step(between, component, score)[0]
