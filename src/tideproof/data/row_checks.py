"""Checks of input data and their error messages, shared by all sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.errors import InputError, describe_value
from tideproof.text import format_count

MOST_ARMS = 5_000  # their covariance matrix takes 200 MB
MOST_CELLS = 2**23  # largest number of groups or aggregated rows that are fetched from an engine

_SWAPPED = "are the columns of arm and environment, or of arm and reward, swapped?"


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or the NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # the NA of pandas has no truth value
        return True


def check_rows(rows: int) -> None:
    """Raise an error for a table without rows."""
    if rows == 0:
        raise InputError("the data has no rows; a fit needs at least two arms")


def check_missing(names: Sequence[str], counts: Sequence[int], rows: int) -> None:
    """Raise an error that counts the missing values in each column, if there are any."""
    lacking = [f"{count} in {name!r}" for name, count in zip(names, counts, strict=True) if count]
    if lacking:
        raise InputError(
            f"missing values are not allowed; {format_count(rows, 'row')} have {', '.join(lacking)}; "
            f"missing='drop' (--drop-missing) skips such rows"
        )


def check_finite(name: str, infinite: int, rows: int) -> None:
    """Raise an error if there are infinite rewards."""
    if infinite:
        raise InputError(f"rewards must be finite; {infinite} of {rows} in {name!r} are infinite")


def check_arms(arms: Sequence[Any]) -> None:
    """Raise an error for fewer than two arms, or for more than can be compared."""
    if not arms:
        raise InputError(
            "no row is complete (a complete row has a value in every column that is used); a fit needs at "
            "least two arms"
        )
    if len(arms) < 2:
        raise InputError(
            f"a comparison needs at least two arms; the only one here is {describe_value(arms[0])}"
        )
    if len(arms) > MOST_ARMS:
        raise too_many_arms_error(f"{len(arms):,}", arms[:3])


def check_fetched(fetched: int, what: str) -> None:
    """Raise an error if a result was cut off; engines are asked for one row more than is allowed."""
    if fetched > MOST_CELLS:
        raise InputError(f"there are more than {MOST_CELLS:,} {what}; {_SWAPPED}")


def too_many_arms_error(count: str, examples: Sequence[Any]) -> InputError:
    """Return the error for a column of arms with too many distinct labels."""
    listed = ", ".join(repr(label) for label in examples)
    return InputError(
        f"{count} distinct arms ({listed}, …) are more than the {MOST_ARMS:,} that can be compared; "
        f"{_SWAPPED}"
    )


def not_numeric_error(name: str, what: object) -> InputError:
    """Return the error for a column that must hold numbers, such as the reward."""
    return InputError(f"column {name!r} must be numeric; it holds {what}")
