"""Functions that check an argument of a call and raise `InputError` if its value is not allowed.

Valid values are returned. The error message says what is allowed.
"""

from __future__ import annotations

import math
from typing import Any, Literal, cast, get_args

import numpy as np

from tideproof.errors import InputError, describe_value
from tideproof.text import join_names

Direction = Literal["maximize", "minimize"]  # whether high rewards or low rewards are good
Prior = Literal["exchangeable", "flat"]  # prior of the probability to be the best

LARGEST_EXACT_INTEGER = 2**53  # larger whole numbers cannot all be represented by a float


def require_whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int, or raise an error unless it is a whole number from `low` to `high`.

    >>> require_whole_number("n0", 1, 2)
    Traceback (most recent call last):
    tideproof.errors.InputError: n0 must be a whole number of at least 2, not 1
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    too_large = is_whole and high is not None and value > high
    if not is_whole or value < low or too_large:
        open_end = high is None or (high == LARGEST_EXACT_INTEGER and not too_large)
        limit = f"of at least {low}" if open_end else f"from {low} to {high}"
        raise InputError(f"{name} must be a whole number {limit}, not {describe_value(value)}")
    return int(value)


def require_finite(name: str, value: Any, low: float | None = None) -> float:
    """Return `value` as a float, or raise an error unless it is finite and at least `low` (if given).

    >>> require_finite("reward", float("nan"))
    Traceback (most recent call last):
    tideproof.errors.InputError: reward must be a finite number, not nan
    """
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or (low is not None and number < low):
        limit = "" if low is None else f" of at least {low:g}"
        raise InputError(f"{name} must be a finite number{limit}, not {describe_value(value)}")
    return number


def require_list(name: str, values: Any) -> list[Any]:
    """Return the items of an iterable as a list, or raise an error if `values` is not iterable.

    >>> require_list("rewards", 3)
    Traceback (most recent call last):
    tideproof.errors.InputError: rewards must be several values, such as a list, not 3
    """
    try:
        iterator = iter(values)
    except TypeError:
        raise InputError(f"{name} must be several values, such as a list, not {values!r}") from None
    return list(iterator)


def require_confidence(value: Any) -> float:
    """Return a confidence level as a float, or raise an error unless it is strictly between 0 and 1.

    >>> require_confidence(95)
    Traceback (most recent call last):
    tideproof.errors.InputError: confidence of intervals must be between 0 and 1, such as 0.95, not 95
    """
    if not 0.0 < require_finite("confidence", value) < 1.0:
        raise InputError(f"confidence of intervals must be between 0 and 1, such as 0.95, not {value!r}")
    return float(value)


def require_direction(value: Any) -> Direction:
    """Return the direction, 'maximize' or 'minimize'; raise an error for any other value.

    >>> require_direction("up")
    Traceback (most recent call last):
    tideproof.errors.InputError: direction must be 'maximize' or 'minimize', not 'up'
    """
    if not isinstance(value, str) or value not in get_args(Direction):
        raise InputError(
            f"direction must be {join_names(map(repr, get_args(Direction)), 'or')}, not {value!r}"
        )
    return cast(Direction, value)


def require_prior(value: Any) -> Prior:
    """Return the name of a prior distribution, or raise an error unless it is 'exchangeable' or 'flat'.

    >>> require_prior("beta")
    Traceback (most recent call last):
    tideproof.errors.InputError: prior must be 'exchangeable' or 'flat', not 'beta'
    """
    if not isinstance(value, str) or value not in get_args(Prior):
        raise InputError(f"prior must be {join_names(map(repr, get_args(Prior)), 'or')}, not {value!r}")
    return cast(Prior, value)
