"""Conversion of a column in memory to numbers, or to distinct labels and indices."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.data.cell_assembly import is_missing, not_numeric_error
from tideproof.data.number_text import parse_numbers
from tideproof.errors import InputError


def to_numbers(values: Iterable[Any], name: str, decimal: str = "") -> Floats:
    """Return the values of a column as floats; text is parsed, and missing values become NaN."""
    array = np.asarray(values)
    if array.dtype.kind == "O":  # also the type of values from an iterator
        entries = [math.nan if is_missing(value) else value for value in array.tolist()]
        if any(isinstance(entry, str) for entry in entries):
            return parse_numbers(entries, name, decimal)
        array = np.array(entries)
    if array.dtype.kind == "U" and array.ndim == 1:
        return parse_numbers(array.tolist(), name, decimal)
    try:
        if array.dtype.kind in "biufO" and array.ndim == 1:
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise not_numeric_error(name, "text" if array.dtype.kind in "US" else array.dtype)


def index_column(values: Iterable[Any], name: str) -> tuple[list[Hashable], Ints]:
    """Return the distinct labels of a column by first appearance, and the index of each entry among them."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")  # a finer unit would give integers
    index: dict[Hashable, int] = {}
    entries = values.tolist() if hasattr(values, "tolist") else values
    try:
        at = [index.setdefault(entry, len(index)) for entry in entries]
    except TypeError:
        raise InputError(f"column {name!r} must hold labels: text, numbers or dates") from None
    return list(index), np.array(at, np.int64)


def check_lengths(names: Sequence[str], lengths: Sequence[int]) -> None:
    """Raise an error unless all columns have the same length."""
    if len(set(lengths)) > 1:
        raise InputError(f"columns must have the same length, not {dict(zip(names, lengths, strict=True))}")
