"""What data is refused, and the words for it: the same for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.errors import InputError, describe_value
from tideproof.text import format_count

MOST_ARMS = 5_000  # the covariance of so many fills 200 MB
MOST_CELLS = 2**23  # so many groups, or aggregated rows, are fetched from an engine

_SWAPPED = "are the columns of arm and environment, or of arm and reward, swapped?"


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA refuses to say
        return True


def check_rows(rows: int) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        raise InputError("the data has no rows; a fit needs at least two arms")


def check_missing(names: Sequence[str], counts: Sequence[int], rows: int) -> None:
    """Refuse missing values, counted for each column."""
    lacking = [f"{count} in {name!r}" for name, count in zip(names, counts, strict=True) if count]
    if lacking:
        raise InputError(
            f"missing values are not allowed; of {format_count(rows, 'row')} there are {', '.join(lacking)}; "
            f"missing='drop' (--drop-missing) leaves such rows out"
        )


def check_finite(name: str, infinite: int, rows: int) -> None:
    """Refuse infinite rewards."""
    if infinite:
        raise InputError(f"rewards must be finite; {infinite} of {rows} in {name!r} are infinite")


def check_arms(arms: Sequence[Any]) -> None:
    """Refuse fewer than two arms, and so many that they are no arms."""
    if not arms:
        raise InputError("no row is complete; a fit needs at least two arms")
    if len(arms) < 2:
        raise InputError(
            f"a comparison needs at least two arms; the only one here is {describe_value(arms[0])}"
        )
    if len(arms) > MOST_ARMS:
        raise too_many_arms(f"{len(arms):,}", arms[:3])


def check_fetched(fetched: int, what: str) -> None:
    """Refuse a result that was cut off: engines are asked for one row more than is allowed."""
    if fetched > MOST_CELLS:
        raise InputError(f"there are more than {MOST_CELLS:,} {what}; {_SWAPPED}")


def too_many_arms(count: str, examples: Sequence[Any]) -> InputError:
    """Build the error for a column of arms with more labels than arms can have."""
    listed = ", ".join(repr(label) for label in examples)
    return InputError(
        f"{count} distinct arms ({listed}, …) are more than the {MOST_ARMS:,} that can be compared; "
        f"{_SWAPPED}"
    )


def not_numeric(name: str, what: object) -> InputError:
    """Build the error for a column that must hold numbers: the reward, or the count of aggregated rows."""
    return InputError(f"column {name!r} must be numeric; it holds {what}")
