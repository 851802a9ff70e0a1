"""Group the rows of logs that are given as columns in memory: plain sequences or NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.data.aggregated_rows import cells_from_summaries
from tideproof.data.cell_assembly import (
    Groups,
    MomentSums,
    RewardRange,
    assemble_cells,
    check_finite,
    check_missing,
    check_rows,
    is_missing,
    merge_groups,
    merge_ranges,
    wants_logs,
)
from tideproof.data.column_spec import ARM, REWARD, ColumnSpec
from tideproof.data.column_values import check_lengths, index_column, to_numbers
from tideproof.stats.cells import Cells

_MOST_KEYS = 2**62


def cells_from_arrays(
    arm: Iterable[Any], environment: Iterable[Any], reward: Iterable[Any], *, logs: bool = False
) -> Cells:
    """Group observations, given as three sequences (arm, environment, reward), by arm and environment.

    `logs` says whether to add the cells of logarithms, if all rewards are above 0.
    """
    request = ColumnSpec.of("arm", "environment", "reward")
    columns = [x if isinstance(x, Sized) else list(x) for x in (arm, environment, reward)]
    found = _from_observations(columns, request)
    if not wants_logs(found, logs):
        return found
    return replace(found, logs=_from_observations(columns, replace(request, logarithm=True)))


def cells_from_columns(data: Mapping[str, Iterable[Any]], request: ColumnSpec) -> Cells:
    """Return statistics of rewards by arm and environment, from a log given as a mapping of columns."""
    request = request.among(data)
    if request.wide:
        return cells_from_columns(_unpivot(data, request), request.long(ARM, REWARD))
    columns = [data[name] for name in request.names]
    if request.n:
        return cells_from_summaries(columns, request, ordered=True)
    return _from_observations(columns, request)


def _unpivot(data: Mapping[str, Iterable[Any]], request: ColumnSpec) -> dict[str, Iterable[Any]]:
    """Convert a wide table (one column per arm) to one row per reward; empty values are skipped."""
    rewards = [to_numbers(data[name], name, request.decimal) for name in request.wide]
    parts = [list(data[name]) for name in request.columns]
    names = (*request.columns, *request.wide)
    check_lengths(names, [*map(len, parts), *map(len, rewards)])
    table = np.array(rewards).T  # rows x arms
    row, arm = np.nonzero(~np.isnan(table))
    long: dict[str, Iterable[Any]] = {
        name: [part[i] for i in row] for name, part in zip(request.columns, parts, strict=True)
    }
    return long | {ARM: [request.wide[i] for i in arm], REWARD: table[row, arm]}


def _from_observations(columns: Sequence[Iterable[Any]], request: ColumnSpec) -> Cells:
    """Return statistics of rewards by arm and environment, from columns in which each row is one reward."""
    names = request.names
    own = len(request.labels)
    found = [index_column(column, name) for column, name in zip(columns[:own], names[:own], strict=True)]
    values = [
        to_numbers(column, name, request.decimal)
        for column, name in zip(columns[own:], names[own:], strict=True)
    ]
    check_lengths(names, (*(index.size for _, index in found), *(value.size for value in values)))
    rewards = combine_columns(values, request)
    check_rows(rewards.size)
    missing = [
        np.isin(index, [i for i, label in enumerate(distinct) if is_missing(label)])
        for distinct, index in found
    ]
    missing += [np.isnan(value) for value in values]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in missing], rewards.size)
    for name, value in zip(request.numbers, values, strict=True):
        check_finite(name, int(np.isinf(value).sum()), rewards.size)
    kept = ~np.any(missing, axis=0)

    key, keys = np.zeros(int(kept.sum()), np.int64), 1  # labels of a row as one number
    for distinct, index in found:
        if keys * len(distinct) > _MOST_KEYS:
            seen, key = np.unique(key, return_inverse=True)
            keys = seen.size
        key, keys = key * len(distinct) + index[kept], keys * len(distinct)
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    one, none = np.ones(cell.size), np.zeros(cell.size)
    n, mean, squares, tails = merge_groups(cell, one, rewards[kept], none, first.size, MomentSums(none, none))
    ends = merge_ranges(cell, RewardRange(rewards[kept], rewards[kept]), first.size)
    by = np.argsort(first)
    at = np.flatnonzero(kept)[first[by]]  # the first row of each group
    arms, environment = request.split_labels([[distinct[i] for i in index[at]] for distinct, index in found])
    groups = Groups(
        arms,
        list(zip(*environment, strict=True)) or [()] * at.size,
        n[by],
        mean[by],
        squares[by],
        ordered=True,
        dropped=int(np.count_nonzero(~kept)),
        tails=tails and MomentSums(*(values[by] for values in tails)),
        ends=RewardRange(*(values[by] for values in ends)),
    )
    return assemble_cells(groups, request)


def combine_columns(values: Sequence[Floats], request: ColumnSpec) -> Floats:
    """Return the rewards of a log, from one column or as a weighted sum of columns.

    Rewards are winsorized if requested.
    """
    found = np.zeros(values[0].size)
    factors = [factor for factor, _ in request.mix] or [1.0]
    for factor, name, value in zip(factors, request.numbers, values, strict=True):
        winsorized = (
            np.minimum(value, request.winsorize_at) if name == request.reward else value
        )  # NaN is unchanged
        with np.errstate(invalid="ignore"):  # 0 times infinity; infinities are refused later
            found += factor * np.where(np.isinf(value), value, winsorized)
    if request.logarithm:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(found > 0.0, np.log(found), np.nan)
    return found


def column_quantile(data: Mapping[str, Iterable[Any]], request: ColumnSpec, share: float) -> float:
    """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""
    request = request.among(data)
    values = [to_numbers(data[name], name, request.decimal) for name in request.numbers]
    finite = np.concatenate([value[np.isfinite(value)] for value in values])
    return float(np.quantile(finite, share)) if finite.size else math.nan
