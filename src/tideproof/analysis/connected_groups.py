"""Comparisons of arms inside each group of arms that shared environments connect.

Arms of different groups are never compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.best.anytime_bounds import AnytimeBounds
from tideproof.stats.best.comparisons_with_best import (
    ArmGroup,
    Comparisons,
    ReversedPairs,
    compare_with_best,
    may_be_best,
)
from tideproof.stats.best.p_best import Prior, p_best
from tideproof.stats.variance.variance_models import Estimate


def best_probabilities(
    found: Estimate, groups: Sequence[Ints], sign: float, prior: Prior
) -> tuple[Floats, float]:
    """Return the probability of each arm of being the best of its group, and their largest standard error.

    The probability is NaN for an arm that is alone in its group, where the noise is unknown, and without
    degrees of freedom (0/1 rewards can lack them, as their means determine their variance). A low reward is
    good if `sign` is -1.
    """
    chance, error = np.full(found.mu.size, np.nan), math.nan
    noise_known = not np.isnan(found.covariance).any()
    for group in groups:
        freedom = float(_fewest_degrees_of_freedom(found, group).min())
        if group.size > 1 and noise_known and freedom > 0.0:
            C = found.covariance[np.ix_(group, group)]
            chance[group], worst = p_best(prior, sign * found.mu[group], C, freedom)
            error = worst if math.isnan(error) else max(error, worst)
    return chance, error


def compare_with_group_best(
    found: Estimate,
    groups: Sequence[Ints],
    sign: float,
    level: float,
    may: NDArray[np.bool_] | None = None,
    always: AnytimeBounds | None = None,
) -> Comparisons:
    """Compare each arm with the best of the other arms of its group.

    An arm that is alone in its group gets NaN and counts as a candidate. `may` is the result of `candidates`,
    if the caller has it already.
    """
    estimate, low, high = (np.full(found.mu.size, np.nan) for _ in range(3))
    candidate = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            known = None if may is None else may[group]
            own = compare_with_best(_comparison_field(found, group, sign, level, always), known)
            estimate[group], candidate[group] = sign * own.estimate, own.candidate
            low[group], high[group] = (own.low, own.high) if sign > 0.0 else (-own.high, -own.low)
    return Comparisons(estimate, low, high, candidate)


def find_candidates(
    found: Estimate, groups: Sequence[Ints], sign: float, level: float, always: AnytimeBounds | None = None
) -> NDArray[np.bool_]:
    """Return for each arm whether the data allow it to be the best of its group."""
    may = np.ones(found.mu.size, bool)
    for group in groups:
        if group.size > 1:
            may[group] = may_be_best(_comparison_field(found, group, sign, level, always))
    return may


def anytime_critical_value(
    found: Estimate,
    groups: Sequence[Ints],
    pair: tuple[int, int],
    always: AnytimeBounds | None,
    level: float,
    alone: float | None,
) -> tuple[float, float] | None:
    """Return the critical value for the contrast of two arms that is valid at all looks, and its p-value.

    Without `alone`, the critical value holds for all pairs of the group at once at confidence level `level`;
    with `alone`, it holds for this pair only, at that confidence level. Return None if there is a single
    look, or if the noise is unknown.
    """
    if always is None or np.isnan(found.covariance).any() or not found.freedom[pair]:
        return None
    group = next(group for group in groups if pair[0] in group)
    i, k = np.searchsorted(group, pair).tolist()
    both = found.covariance[np.ix_(group, group)], found.freedom[np.ix_(group, group)]
    bars = always.all_pairs(*both, 1.0 - level) if alone is None else always.alone(*both, 1.0 - alone)
    return float(bars[i, k]), always.p_value(*both, i, k, found.pairs.deviate(*pair))


def _comparison_field(
    found: Estimate, group: Ints, sign: float, level: float, always: AnytimeBounds | None
) -> ArmGroup:
    """Return the arms of a group as input of the comparisons with the best arm."""
    pairs = found.pairs if sign > 0.0 else ReversedPairs(found.pairs)
    C = found.covariance[np.ix_(group, group)]
    field = ArmGroup(pairs, group, sign * found.mu[group], C, _fewest_degrees_of_freedom(found, group), level)
    if always is None or not field.known:
        return field
    bars = always.with_best(C, found.freedom[np.ix_(group, group)], 1.0 - field.one_sided)
    return replace(field, always=bars)


def _fewest_degrees_of_freedom(found: Estimate, group: Ints) -> Floats:
    """Return for each arm of a group the fewest degrees of freedom of its contrasts with the other arms."""
    freedom = found.freedom[np.ix_(group, group)]
    np.fill_diagonal(freedom, np.inf)
    return np.asarray(freedom.min(axis=1))
