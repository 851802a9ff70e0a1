"""Comparisons inside each group of connected arms; nothing is ever compared across groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tideproof.core.arrays import Floats, Ints
from tideproof.stats.comparisons import Comparisons, Field, Turned, compare_with_best, may_be_best
from tideproof.stats.noise import Estimate
from tideproof.stats.prior import Prior, p_best


def chances(found: Estimate, groups: Sequence[Ints], sign: float, prior: Prior) -> tuple[Floats, float]:
    """Return the probability of each arm of being the best of its group, and its largest standard error.

    NaN for an arm alone and where the noise is unknown. A low reward is good if `sign` is -1.
    """
    chance, error = np.full(found.mu.size, np.nan), math.nan
    noise_known = not np.isnan(found.covariance).any()
    for group in groups:
        if group.size > 1 and noise_known:
            C = found.covariance[np.ix_(group, group)]
            freedom = float(_freedom(found, group).min())
            chance[group], worst = p_best(prior, sign * found.mu[group], C, freedom)
            error = worst if math.isnan(error) else max(error, worst)
    return chance, error


def against_best(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    level: float,
    may: NDArray[np.bool_] | None = None,
) -> Comparisons:
    """Compare each arm with the best of the others of its group; NaN, and a candidate, if it is alone.

    `may` is what `candidates` found, if that was asked before.
    """
    estimate, low, high = (np.full(found.mu.size, np.nan) for _ in range(3))
    candidate = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            known = None if may is None else may[group]
            own = compare_with_best(_field(found, group, sign, level), known)
            estimate[group], candidate[group] = sign * own.estimate, own.candidate
            low[group], high[group] = (own.low, own.high) if sign > 0.0 else (-own.high, -own.low)
    return Comparisons(estimate, low, high, candidate)


def candidates(found: Estimate, groups: Sequence[Ints], sign: float, level: float) -> NDArray[np.bool_]:
    """Return which arms may be the best of their group."""
    may = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            may[group] = may_be_best(_field(found, group, sign, level))
    return may


def _field(found: Estimate, group: Ints, sign: float, level: float) -> Field:
    pairs = found.pairs if sign > 0.0 else Turned(found.pairs)
    C = found.covariance[np.ix_(group, group)]
    return Field(pairs, group, sign * found.mu[group], C, _freedom(found, group), level)


def _freedom(found: Estimate, group: Ints) -> Floats:
    """Return the fewest degrees of freedom that a comparison of each arm with another of its group has."""
    freedom = found.freedom[np.ix_(group, group)]
    np.fill_diagonal(freedom, np.inf)
    return np.asarray(freedom.min(axis=1))
