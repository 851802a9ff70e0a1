"""Conversion of earlier rewards (a fit or a log) into the summaries with which an experiment starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tideproof.analysis import Fit, fit
from tideproof.checks import LARGEST_EXACT_INTEGER, require_finite
from tideproof.errors import InputError, UnknownName
from tideproof.experiment.pull import Label, checked_label
from tideproof.stats.cells import Cells

Cell = tuple[int, Label, int, float, float]  # arm, label, n, mean and squared deviations


def cells_before(
    data: Any, arms: Sequence[str], columns: dict[str, Any], reward: Callable[[str, Any], float]
) -> tuple[Cell, ...]:
    """Summarise rewards from before an experiment by arm and environment.

    `data` is a log or a result of `tp.fit`. `columns` has the names of the columns and other options of
    `tp.fit`. `reward` checks and returns a mean.

    Raises
    ------
    InputError
        If columns are missing or not allowed, if an arm or an option is unknown, or if a label cannot be used
        in an ask.
    """
    options = [*inspect.signature(fit).parameters][1:]
    for name in columns:
        if name not in options:
            raise UnknownName.with_suggestion("option", name, options, "of tp.fit")
    found = _cells(data, {name: value for name, value in columns.items() if value is not None})
    for arm in found.arms:
        if arm not in arms:
            raise UnknownName.with_suggestion("arm", arm, arms)
    numbers = [arms.index(arm) for arm in found.arms]
    labels = [checked_label(label) for label in found.environments]
    return tuple(
        (
            numbers[a],
            labels[j],
            _count(n),
            reward("mean", mean),
            require_finite("squared deviations", squares, 0.0),
        )
        for a, j, n, mean, squares in zip(
            found.arm.tolist(),
            found.environment.tolist(),
            found.n.tolist(),
            found.mean.tolist(),
            found.squares.tolist(),
            strict=True,
        )
    )


def _cells(data: Any, columns: dict[str, Any]) -> Cells:
    if isinstance(data, Fit):
        if columns:
            raise InputError(f"a Fit has no columns: omit {', '.join(f'{name}=' for name in columns)}")
        return data.cells
    missing = [f"{name}=" for name in ("arm", "environment", "reward") if name not in columns]
    if missing:
        raise InputError(
            f"warm_start(log) requires the names of the columns of the log: {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing"
        )
    return fit(data, **columns).cells


def _count(n: float) -> int:
    if n > LARGEST_EXACT_INTEGER or n != round(n):
        raise InputError(
            f"a cell must have a whole number of rewards, at most {LARGEST_EXACT_INTEGER}, not {n!r}"
        )
    return round(n)
