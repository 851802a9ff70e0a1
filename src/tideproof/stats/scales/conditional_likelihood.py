"""Maximum conditional likelihood for ratios and odds ratios of arms, some of which may be infinite.

On the scales of ratios and of odds, the likelihood given the totals of the environments depends on theta
alone, is concave, and has a Laplacian on the arms as its information. Its maximum may be infinite, for
example for an arm without an event. The arms then form classes: inside a class every ratio is finite, and
between two classes it is infinite or not identified. In the limit the classes of an environment no longer
compete, so they are treated as if they were in different environments.

The fit of ratios is here, and that of odds ratios in `odds_likelihood`. The model of ratios is E r =
lambda_environment exp(theta_arm). If rewards are Poisson, the sums S_aj of an environment are multinomial
given their total T_j, with shares p_aj = n_aj exp(theta_a) / sum. The estimate is consistent whenever means
are multiplicative and rewards are not negative (money, counts, conversions). The rates of the environments
follow from the fit.

References
----------
Hausman, Hall, Griliches (1984), Econometric models for count data with an application to the patents-R&D
relationship; Gourieroux, Monfort, Trognon (1984), Pseudo maximum likelihood methods: applications to Poisson
models; Wooldridge (1999), Distribution-free estimation of some nonlinear panel data models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.least_squares import (
    FactoredInverse,
    factor_inverse,
    invert_laplacian,
    link_weights,
)

_FAR = 1.0  # Longest step of theta: further away the likelihood is not quadratic.
_CLOSE = 1e-7  # Iteration ends after a step shorter than this.
_STEPS = 200  # Safety limit, well above the distance of the maximum.
_APART = 0.1  # An infinite effect is represented by a number this far from the finite ones, or further.

Moments = Callable[[Floats], tuple[Floats, Floats | FactoredInverse]]


class LikelihoodMaximum(NamedTuple):
    """Result of maximising a conditional likelihood: arm effects, their covariance, and expected reward sums.

    `expected` holds the expected sum of the rewards of each cell. `short` holds factors of P through the
    environments, if there are many arms and few environments.
    """

    theta: Floats
    P: Floats
    expected: Floats
    short: FactoredInverse | None = None


class ConditionalFit(NamedTuple):
    """Fit of ratios or odds ratios of arms by maximum likelihood, given each environment's total reward.

    Attributes
    ----------
    theta : (K,) logarithm of the arm's factor (of rates or of odds) relative to the reference of its class;
        -inf for an arm without an event, +inf for an arm with events only (odds), NaN for an arm without
        rewards.
    rate : (J,) baseline of each environment that the factors multiply, a rate or odds; NaN without rewards.
    fitted : (C,) expected mean of each cell, given the total of its environment.
    P : (K, K) generalised inverse of the information on theta; the row of one arm of each class is 0.
    component : (K,) class of each arm, 0, 1, ... in the order of their first arms; ratios inside a class are
        finite.
    beats : (K, K) whether the first arm had an event in an environment where the second had a non-event.
    short : factors of P through the environments, if there are many arms and few environments; None
        otherwise.
    """

    theta: Floats
    rate: Floats
    fitted: Floats
    P: Floats
    component: Ints
    beats: NDArray[np.bool_]
    short: FactoredInverse | None = None

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, which may be infinite or unknown (NaN).

        It is finite if both arms are in the same class. NaN means that the data do not bound the difference
        on either side.
        """
        if self.component[i] == self.component[k]:
            return 0.0 if i == k else float(self.theta[i] - self.theta[k])
        above, below = reachable(self.beats, i)[k], reachable(self.beats, k)[i]
        return np.inf if above else -np.inf if below else np.nan


def fill_infinite(cells: Cells, wins: Floats, losses: Floats, theta: Floats) -> Floats:
    """Return the arm effects, with infinity for each arm without successes or without failures.

    An effect is -inf without a success (`wins`), inf without a failure (`losses`), and NaN without a
    reward.
    """
    never = [cells.by_arm(part) == 0.0 for part in (wins, losses)]
    return np.where(
        cells.counts == 0.0, np.nan, np.where(never[0], -np.inf, np.where(never[1], np.inf, theta))
    )


def reported_effects(found: ConditionalFit, steady: Floats, group: Ints) -> Floats:
    """Return the arm effects that are reported: the maximum likelihood estimates, where they are finite.

    If ratios of arms that have both successes and failures are infinite inside a group of comparable arms,
    all its effects are the `steady` ones, which have half an event more. `group` is the group of each arm.
    """
    eventful = np.isfinite(found.theta)
    of_class = np.full(int(group.max()) + 1, -1)
    of_class[group[eventful]] = found.component[eventful]
    torn = np.zeros(of_class.size, bool)
    torn[group[eventful][of_class[group[eventful]] != found.component[eventful]]] = True
    return np.where(torn[group], steady, found.theta)


def reported_gap(found: ConditionalFit, reported: Floats, i: int, k: int) -> float:
    """Return the reported effect of arm i minus that of arm k; not finite only if an effect is not."""
    if np.isfinite(reported[i]) and np.isfinite(reported[k]):
        return float(reported[i] - reported[k])
    return found.gap(i, k)


def finite_effects(reported: Floats, steady: Floats, group: Ints) -> Floats:
    """Return arm effects in the order of the reported ones, with finite numbers for the infinite ones.

    An effect of -inf becomes the `steady` one, or a number below all finite ones of its group if the steady
    one is not; and similarly above for inf.

    >>> theta, steady = np.array([0.5, -np.inf, 0.3]), np.array([0.5, 0.4, 0.3])
    >>> finite_effects(theta, steady, np.zeros(3, int)).round(9).tolist()
    [0.5, 0.2, 0.3]
    """
    found = reported.copy()
    for label in np.unique(group):
        own = group == label
        known = own & np.isfinite(reported)
        below, above = own & np.isneginf(reported), own & np.isposinf(reported)
        if not known.any():
            found[own] = steady[own]
            continue
        moved = steady + np.mean(reported[known] - steady[known])  # the two may have different references
        found[below] = np.minimum(moved[below], reported[known].min() - _APART)
        found[above] = np.maximum(moved[above], reported[known].max() + _APART)
    return np.where(np.isnan(found), steady, found)


def find_classes(cells: Cells, wins: Floats, losses: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Find the classes of arms within which maximum likelihood ratios are finite.

    The second result tells which ratios are bounded below.

    The two results are (K,) and (K, K). Arm a beats arm b if a has a win and b a loss in the same
    environment. If theta_a - theta_b went to minus infinity, that outcome would have probability 0: it
    bounds theta_a - theta_b from below. A ratio is finite if it is bounded on both sides, possibly through
    other arms: if the two arms are strongly connected.

    References
    ----------
    Albert, Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models;
    Ford (1957), Solution of a ranking problem from binary comparisons.
    """
    won, lost = (np.asarray(x > 0.0, np.float64) for x in (wins, losses))
    met = cells.outer_sum(won, lost) > 0.0
    label = np.full(cells.K, -1)
    for i in range(cells.K):
        if label[i] < 0:
            both = reachable(met, i)
            if np.count_nonzero(both) > 1:
                both &= reachable(met.T, i)
            label[both] = label.max() + 1
    return label, met


def reachable(edges: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    """Return a mask of the nodes of a directed graph that can be reached from `start`, including `start`."""
    found = np.arange(len(edges)) == start
    new = found
    while new.any():
        new = np.any(edges[new], axis=0) & ~found
        found = found | new
    return np.asarray(found)


def competing_cells(cells: Cells, component: Ints, wins: Floats, losses: Floats) -> tuple[Cells, Ints]:
    """Return the arm-by-environment cells that carry information on the ratios between arms.

    Also return their indices. In the result, each environment is split by class of arms. Cells without
    another cell of their class in the environment are left out, and so are environments in which all have
    won or all have lost.
    """
    stratum = cells.environment * (int(component.max()) + 1) + component[cells.arm]
    own, label = np.unique(stratum, return_inverse=True)
    competing = np.bincount(label) > 1
    for part in wins, losses:
        competing &= sum_by_index(label, part, own.size) > 0.0
    kept = np.flatnonzero(competing[label])
    label = np.cumsum(competing)[label[kept]] - 1
    return replace(
        select_cells(cells, kept), environments=list(range(int(competing.sum()))), environment=label
    ), kept


def select_cells(cells: Cells, kept: Ints) -> Cells:
    """Return the data of the given arm-by-environment cells.

    All arms and environments stay listed.
    """
    values = {field.name: getattr(cells, field.name) for field in fields(cells)}
    some: dict[str, Any] = {name: x[kept] for name, x in values.items() if isinstance(x, np.ndarray)}
    return replace(cells, **some)


def maximise(part: Cells, own: Floats, theta: Floats, component: Ints, moments: Moments) -> LikelihoodMaximum:
    """Maximise a concave conditional likelihood by Newton's method.

    `own` is the sum of each cell. `moments(theta)` returns the expected sums and either minus the information
    on theta off its diagonal, or factors of its inverse. The error of a step is about the square of its size.
    """
    last = np.inf
    for _ in range(_STEPS):
        expected, between = moments(theta)
        step, size = newton_step(between, component, part.by_arm(own - expected))
        theta = theta + step
        if size < _CLOSE or (size < 1e-6 and size > 0.5 * last):  # The next step would be rounding.
            break
        last = size
    expected, between = moments(theta)
    short, P = None, np.empty(0)
    if isinstance(between, FactoredInverse):
        short, P = between, between.inverse()
    else:
        P = invert_laplacian(between, component)
    reference = np.flatnonzero(np.diag(P) == 0.0)
    zero = np.zeros(int(component.max()) + 1)
    zero[component[reference]] = theta[reference]
    return LikelihoodMaximum(theta - zero[component], P, expected, short)


def newton_step(between: Floats | FactoredInverse, component: Ints, score: Floats) -> tuple[Floats, float]:
    """Return the next Newton step of the arm effects while maximising a likelihood.

    It is shortened to at most 1. The second result is its original size.

    The step is the x with L x = score. L is the Laplacian with the edge weights `between`; x is 0 for one
    arm of each class. A step takes a seventh of the time of inverting L.
    """
    if isinstance(between, FactoredInverse):
        x: Floats = between.solve(score)
    else:
        laplacian = np.diag(between.sum(axis=1)) - between
        reference = np.unique(component, return_index=True)[1]
        laplacian[reference, :] = laplacian[:, reference] = 0.0
        laplacian[reference, reference] = 1.0
        score = score.copy()
        score[reference] = 0.0
        x = np.asarray(np.linalg.solve(laplacian, score), np.float64)
    size = float(np.abs(x).max(initial=0.0))
    return np.asarray(x * min(1.0, _FAR / size if size else 1.0)), size


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
