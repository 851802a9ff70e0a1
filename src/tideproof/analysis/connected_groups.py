"""Comparisons inside each group of connected arms; nothing is ever compared across groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.best.anytime_bounds import AnyTime
from tideproof.stats.best.comparisons_with_best import (
    Comparisons,
    Field,
    Turned,
    compare_with_best,
    may_be_best,
)
from tideproof.stats.best.p_best import Prior, p_best
from tideproof.stats.variance.variance_models import Estimate


def chances(found: Estimate, groups: Sequence[Ints], sign: float, prior: Prior) -> tuple[Floats, float]:
    """Return the probability of each arm of being the best of its group, and its largest standard error.

    NaN for an arm alone, where the noise is unknown, and without a degree of freedom, as 0/1 rewards can be
    whose means say how much they vary. A low reward is good if `sign` is -1.
    """
    chance, error = np.full(found.mu.size, np.nan), math.nan
    noise_known = not np.isnan(found.covariance).any()
    for group in groups:
        freedom = float(_freedom(found, group).min())
        if group.size > 1 and noise_known and freedom > 0.0:
            C = found.covariance[np.ix_(group, group)]
            chance[group], worst = p_best(prior, sign * found.mu[group], C, freedom)
            error = worst if math.isnan(error) else max(error, worst)
    return chance, error


def against_best(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    level: float,
    may: NDArray[np.bool_] | None = None,
    always: AnyTime | None = None,
) -> Comparisons:
    """Compare each arm with the best of the others of its group; NaN, and a candidate, if it is alone.

    `may` is what `candidates` found, if that was asked before.
    """
    estimate, low, high = (np.full(found.mu.size, np.nan) for _ in range(3))
    candidate = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            known = None if may is None else may[group]
            own = compare_with_best(_field(found, group, sign, level, always), known)
            estimate[group], candidate[group] = sign * own.estimate, own.candidate
            low[group], high[group] = (own.low, own.high) if sign > 0.0 else (-own.high, -own.low)
    return Comparisons(estimate, low, high, candidate)


def candidates(
    found: Estimate, groups: Sequence[Ints], sign: float, level: float, always: AnyTime | None = None
) -> NDArray[np.bool_]:
    """Return which arms may be the best of their group."""
    may = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            may[group] = may_be_best(_field(found, group, sign, level, always))
    return may


def ever_apart(
    found: Estimate,
    groups: Sequence[Ints],
    pair: tuple[int, int],
    always: AnyTime | None,
    level: float,
    alone: float | None,
) -> tuple[float, float] | None:
    """Return how many deviates two arms stay within at all looks, and the p-value of no difference; or None.

    At `level` all pairs of their group at once, or at the level `alone` these two.
    """
    if always is None or np.isnan(found.covariance).any() or not found.freedom[pair]:
        return None
    group = next(group for group in groups if pair[0] in group)
    i, k = np.searchsorted(group, pair).tolist()
    both = found.covariance[np.ix_(group, group)], found.freedom[np.ix_(group, group)]
    bars = always.all_pairs(*both, 1.0 - level) if alone is None else always.alone(*both, 1.0 - alone)
    return float(bars[i, k]), always.p_value(*both, i, k, found.pairs.deviate(*pair))


def _field(found: Estimate, group: Ints, sign: float, level: float, always: AnyTime | None) -> Field:
    pairs = found.pairs if sign > 0.0 else Turned(found.pairs)
    C = found.covariance[np.ix_(group, group)]
    field = Field(pairs, group, sign * found.mu[group], C, _freedom(found, group), level)
    if always is None or not field.known:
        return field
    bars = always.with_best(C, found.freedom[np.ix_(group, group)], 1.0 - field.one_sided)
    return replace(field, always=bars)


def _freedom(found: Estimate, group: Ints) -> Floats:
    """Return the fewest degrees of freedom that a comparison of each arm with another of its group has."""
    freedom = found.freedom[np.ix_(group, group)]
    np.fill_diagonal(freedom, np.inf)
    return np.asarray(freedom.min(axis=1))
