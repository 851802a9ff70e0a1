"""Columns in memory, as plain sequences or NumPy arrays, to cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.frames.checks import check_finite, check_missing, check_rows, is_missing
from tideproof.frames.columns import check_lengths, labels, numbers
from tideproof.frames.groups import Groups, assemble, merged
from tideproof.frames.moments import Tails
from tideproof.frames.request import Request
from tideproof.frames.summaries import from_summaries
from tideproof.stats.cells import Cells


def cells_from_arrays(arm: Iterable[Any], environment: Iterable[Any], reward: Iterable[Any]) -> Cells:
    """Group three sequences of equal length, one entry an observation, by arm and environment."""
    request = Request.of("arm", "environment", "reward")
    return _from_observations([arm, environment, reward], request)


def from_columns(data: Mapping[str, Iterable[Any]], request: Request) -> Cells:
    """Group a mapping of columns."""
    request = request.among(data)
    columns = [data[name] for name in request.names]
    if request.n:
        return from_summaries(columns, request, ordered=True)
    return _from_observations(columns, request)


def _from_observations(columns: Sequence[Iterable[Any]], request: Request) -> Cells:
    names = request.names
    arms, arm = labels(columns[0], names[0])
    environments, environment = labels(columns[1], names[1])
    rewards = numbers(columns[2], names[2])
    check_lengths(names, (arm.size, environment.size, rewards.size))
    check_rows(rewards.size)
    missing = [
        np.isin(arm, [i for i, label in enumerate(arms) if is_missing(label)]),
        np.isin(environment, [j for j, label in enumerate(environments) if is_missing(label)]),
        np.isnan(rewards),
    ]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in missing], rewards.size)
    check_finite(names[2], int(np.isinf(rewards).sum()), rewards.size)
    kept = ~np.any(missing, axis=0)
    arm, environment, rewards = arm[kept], environment[kept], rewards[kept]

    pair, first, cell = np.unique(environment * len(arms) + arm, return_index=True, return_inverse=True)
    one, none = np.ones(cell.size), np.zeros(cell.size)
    n, mean, squares, tails = merged(cell, one, rewards, none, pair.size, Tails(none, none))
    by = np.argsort(first)
    groups = Groups(
        [arms[i] for i in (pair % len(arms))[by]],
        [environments[j] for j in (pair // len(arms))[by]],
        n[by],
        mean[by],
        squares[by],
        ordered=True,
        dropped=int(np.count_nonzero(~kept)),
        tails=tails and Tails(*(values[by] for values in tails)),
    )
    return assemble(groups, request.relabel)
