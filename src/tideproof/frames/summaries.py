"""Aggregated rows, each a count, a mean and a variance or standard deviation, to cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tideproof.errors import InputError
from tideproof.frames.checks import check_finite, check_missing, check_rows, is_missing
from tideproof.frames.columns import check_lengths, numbers
from tideproof.frames.groups import Groups, assemble
from tideproof.frames.request import Request
from tideproof.stats.cells import Cells


def from_summaries(columns: Sequence[Iterable[Any]], request: Request, *, ordered: bool) -> Cells:
    """Take in the columns arm, environment, mean, n, and variance or standard deviation."""
    names = request.names
    arms, environments = (list(column) for column in columns[:2])
    mean, n, spread = (numbers(column, name) for column, name in zip(columns[2:], names[2:], strict=True))
    check_lengths(names, (len(arms), len(environments), mean.size, n.size, spread.size))
    check_rows(n.size)
    spread = np.where(n <= 1.0, 0.0, spread)  # one reward has no variance
    unlabelled = [np.array([is_missing(x) for x in column], bool) for column in (arms, environments)]
    filled = ~(n == 0.0)  # a row without rewards says nothing, whatever else it holds
    missing = [filled & rows for rows in (*unlabelled, np.isnan(mean), np.isnan(n), np.isnan(spread))]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in missing], n.size)
    incomplete = np.any(missing, axis=0)
    kept = filled & ~incomplete
    wrong = kept & ((n != np.floor(n)) | (n < 0.0) | ~np.isfinite(n))
    if wrong.any():
        raise InputError(f"counts must be whole numbers; column {request.n!r} holds {n[wrong][0]:g}")
    wrong = kept & ((spread < 0.0) | ~np.isfinite(spread))
    if wrong.any():
        raise InputError(
            f"column {names[4]!r} must not be negative or infinite; it holds {spread[wrong][0]:g}"
        )
    check_finite(names[2], int(np.count_nonzero(np.isinf(mean[kept]))), n.size)
    variance = spread**2 if request.sd else spread
    at = np.flatnonzero(kept)
    groups = Groups(
        [arms[i] for i in at],
        [environments[i] for i in at],
        n[at],
        mean[at],
        (variance * (n - 1.0))[at],
        ordered,
        dropped=int(np.count_nonzero(incomplete)),
    )
    return assemble(groups, request.relabel)
