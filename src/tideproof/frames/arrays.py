"""Columns in memory, as plain sequences or NumPy arrays, to cells."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.frames.groups import (
    Groups,
    assemble,
    check_finite,
    check_missing,
    check_rows,
    is_missing,
    merged,
    not_numeric,
)
from tideproof.frames.request import Request
from tideproof.stats.cells import Cells


def cells_from_arrays(arm: Iterable[Any], environment: Iterable[Any], reward: Iterable[Any]) -> Cells:
    """Group three sequences of equal length, one entry an observation, by arm and environment."""
    names = ("arm", "environment", "reward")
    request = Request.of(*names, None, None, None, "refuse")
    return _grouped([arm, environment, reward], request)


def from_columns(data: Mapping[str, Iterable[Any]], request: Request) -> Cells:
    """Group a mapping of columns."""
    request = request.among(data)
    columns = [data[name] for name in request.names]
    return summarised(columns, request, ordered=True) if request.n else _grouped(columns, request)


def _grouped(columns: Sequence[Iterable[Any]], request: Request) -> Cells:
    names = request.names
    arms, arm = _factorised(columns[0], names[0])
    environments, environment = _factorised(columns[1], names[1])
    rewards = numbers(columns[2], names[2])
    _check_lengths(names, (arm.size, environment.size, rewards.size))
    check_rows(rewards.size)
    absent = [_absent(arms, arm), _absent(environments, environment), np.isnan(rewards)]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in absent], rewards.size)
    check_finite(names[2], int(np.isinf(rewards).sum()), rewards.size)
    kept = ~(absent[0] | absent[1] | absent[2])
    arm, environment, rewards = arm[kept], environment[kept], rewards[kept]

    pair, first, cell = np.unique(environment * len(arms) + arm, return_index=True, return_inverse=True)
    ones = np.ones(cell.size)
    n, mean, squares = merged(cell, ones, rewards, np.zeros(cell.size), pair.size)
    by = np.argsort(first)
    groups = Groups(
        [arms[i] for i in (pair % len(arms))[by]],
        [environments[j] for j in (pair // len(arms))[by]],
        n[by],
        mean[by],
        squares[by],
        ordered=True,
        dropped=int(np.count_nonzero(~kept)),
    )
    return assemble(groups, request.label if request.every else None)


def summarised(columns: Sequence[Iterable[Any]], request: Request, *, ordered: bool) -> Cells:
    """Take in aggregated rows: arm, environment, mean, n, and variance or standard deviation."""
    names = request.names
    arms, environments = (list(column) for column in columns[:2])
    mean, n, spread = (numbers(column, name) for column, name in zip(columns[2:], names[2:], strict=True))
    _check_lengths(names, (len(arms), len(environments), mean.size, n.size, spread.size))
    check_rows(n.size)
    spread = np.where(n <= 1.0, 0.0, spread)  # one reward has no variance
    labels = [np.array([is_missing(x) for x in column], bool) for column in (arms, environments)]
    seen = ~(n == 0.0)  # a row without rewards says nothing, whatever else it holds
    absent = [seen & rows for rows in (*labels, np.isnan(mean), np.isnan(n), np.isnan(spread))]
    if request.missing == "refuse":
        check_missing(names, [int(rows.sum()) for rows in absent], n.size)
    kept = seen & ~np.any(absent, axis=0)
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
        dropped=int(np.count_nonzero(np.any(absent, axis=0))),
    )
    return assemble(groups, request.label if request.every else None)


def numbers(values: Iterable[Any], name: str) -> Floats:
    """Return the values as floats, NaN for what is missing."""
    array = np.asarray(values if hasattr(values, "__array__") else list(values))
    if array.dtype.kind == "O":
        array = np.array([math.nan if is_missing(value) else value for value in array.tolist()])
    try:
        if array.dtype.kind in "biufO" and array.ndim == 1:
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise not_numeric(name, "text" if array.dtype.kind in "US" else array.dtype)


def _factorised(values: Iterable[Any], name: str) -> tuple[list[Hashable], Ints]:
    """Return the distinct values in order of first appearance, and the index of each entry."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # finer ones would become integers
    index: dict[Hashable, int] = {}
    entries = values.tolist() if hasattr(values, "tolist") else values
    try:
        codes = [index.setdefault(entry, len(index)) for entry in entries]
    except TypeError:
        raise InputError(f"column {name!r} must hold labels: text, numbers or dates") from None
    return list(index), np.array(codes, np.int64)


def _absent(labels: list[Hashable], codes: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.isin(codes, [code for code, label in enumerate(labels) if is_missing(label)])


def _check_lengths(names: Sequence[str], lengths: Sequence[int]) -> None:
    if len(set(lengths)) > 1:
        raise InputError(f"columns must have one length, not {dict(zip(names, lengths, strict=True))}")
