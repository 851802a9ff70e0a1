"""Reading of tables in which each row summarizes rewards: count, mean and variance, or successes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.data.cell_assembly import (
    Groups,
    MomentSums,
    assemble_cells,
    check_finite,
    check_missing,
    check_rows,
    is_missing,
)
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.column_values import check_lengths, to_numbers
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, bernoulli_moments


def cells_from_summaries(columns: Sequence[Iterable[Any]], request: ColumnSpec, *, ordered: bool) -> Cells:
    """Return statistics by arm and environment from aggregated rows (counts, means and variances).

    `columns` are the label columns, then mean, n, and variance or standard deviation; or successes and n.
    """
    count, parts = len(request.labels), len(request.counts)
    labels = [list(column) for column in columns[:count]]
    values = [
        to_numbers(column, name, request.decimal)
        for column, name in zip(columns[count:], request.numbers, strict=True)
    ]
    check_lengths(request.names, [*map(len, labels), *map(len, values)])
    names = [*request.names]
    if parts:  # the number of rewards is a sum of columns
        names[count + 1 : count + 1 + parts] = [request.n]
        values[1 : 1 + parts] = [np.sum(values[1 : 1 + parts], axis=0)]
    n = values[1]
    check_rows(n.size)
    if not request.successes:
        values[2] = np.where(n <= 1.0, 0.0, values[2])  # a single reward has no variance
    unlabelled = [np.array([is_missing(x) for x in column], bool) for column in labels]
    filled = ~(n == 0.0)  # a row without rewards carries no information
    missing = [filled & rows for rows in (*unlabelled, *map(np.isnan, values))]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in missing], n.size)
    incomplete = np.any(missing, axis=0)
    kept = filled & ~incomplete
    check_finite(request.reward, int(np.count_nonzero(np.isinf(values[0][kept]))), n.size)
    _check_counts(n[kept], request.n)
    mean, squares = (_from_successes if request.successes else _from_variances)(
        [x[kept] for x in values], request
    )
    at = np.flatnonzero(kept)
    arms, environment = request.split_labels([[column[i] for i in at] for column in labels])
    groups = Groups(
        arms,
        list(zip(*environment, strict=True)) or [()] * at.size,
        n[at],
        mean,
        squares,
        ordered,
        dropped=int(np.count_nonzero(incomplete)),
        tails=None if request.successes else _single_reward_moments(n[at]),
    )
    return assemble_cells(groups, request)


def _single_reward_moments(n: Floats) -> MomentSums | None:
    """Return zero third and fourth moments if each row summarizes only one reward; otherwise return None.

    The moments are sums of powers of deviations from the mean of the row.
    """
    return MomentSums(np.zeros(n.size), np.zeros(n.size)) if np.all(n == 1.0) else None


def _from_variances(values: list[Floats], request: ColumnSpec) -> tuple[Floats, Floats]:
    """Convert variances or standard deviations of aggregated rows to sums of squared deviations.

    Return the means and these sums.
    """
    mean, n, spread = values
    wrong = (spread < 0.0) | ~np.isfinite(spread)
    if wrong.any():
        name = request.sd or request.variance
        raise InputError(f"column {name!r} must not be negative or infinite; it holds {spread[wrong][0]:g}")
    return mean, (spread**2 if request.sd else spread) * (n - 1.0)


def _from_successes(values: list[Floats], request: ColumnSpec) -> tuple[Floats, Floats]:
    """Convert numbers of successes in aggregated rows to means and sums of squared deviations."""
    ones, n = values
    _check_counts(ones, request.reward)
    more = np.flatnonzero(ones > n)
    if more.size:
        raise InputError(
            f"successes cannot exceed n: column {request.reward!r} holds {ones[more[0]]:g} where "
            f"{request.n!r} is {n[more[0]]:g}. For counts and amounts, give means (reward) and variances "
            f"(sample_variance, --sample-variance) instead. If each of the n rewards counts independent "
            f"events, the mean and the variance are both about the number of events / n"
        )
    mean = ones / n
    return mean, bernoulli_moments(n, mean)[0]


def _check_counts(counts: Floats, name: str) -> None:
    """Raise an error unless all counts of rewards are whole numbers of 0 or more."""
    wrong = (counts != np.floor(counts)) | (counts < 0.0) | ~np.isfinite(counts)
    if wrong.any():
        raise InputError(
            f"counts must be whole numbers of at least 0; column {name!r} holds {counts[wrong][0]:g}"
        )
