"""How groups of rows that an engine returned become cells: merged, ordered, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, sums
from tideproof.words import counted

Missing = Literal["refuse", "drop"]

MOST_ARMS = 5_000  # the covariance of so many fills 200 MB
MOST_CELLS = 2**23  # so many groups are fetched from an engine


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Statistics of groups of rows, one group or several for each arm and environment.

    Attributes
    ----------
    arm, environment : (G,) labels.
    n, mean, squares : (G,) rows, mean reward and squared deviations from it.
    ordered : whether groups come in the order of first appearance.
    dropped : rows left out because a value was missing.
    """

    arm: Sequence[Any]
    environment: Sequence[Any]
    n: Floats
    mean: Floats
    squares: Floats
    ordered: bool = False
    dropped: int = 0


def assemble(groups: Groups, relabel: Callable[[Any], Any] | None = None) -> Cells:
    """Turn groups into cells, those of one arm and environment merged.

    `relabel` gives the label of the environment, such as the week of a day. The squared deviations of
    merged groups are their own plus those of their means, n (mean - merged mean)^2.
    """
    environment = groups.environment
    if relabel is not None:
        label = {old: relabel(old) for old in dict.fromkeys(environment)}
        environment = [label[old] for old in environment]
    arms, arm = indexed(groups.arm, groups.ordered)
    environments, at = indexed(environment, groups.ordered)
    check_arms(arms)
    pair, cell = np.unique(at * len(arms) + arm, return_inverse=True)
    if pair.size == arm.size:  # nothing to merge: keep every digit
        by = np.argsort(cell)
        n, mean, squares = groups.n[by], groups.mean[by], groups.squares[by]
    else:
        n, mean, squares = merged(cell, groups.n, groups.mean, groups.squares, pair.size)
    return Cells(arms, environments, pair % len(arms), pair // len(arms), n, mean, squares, groups.dropped)


def merged(cell: Ints, n: Floats, mean: Floats, squares: Floats, cells: int) -> tuple[Floats, Floats, Floats]:
    """Return count, mean and squared deviations of each cell from those of its parts."""
    total = sums(cell, n, cells)
    centre = sums(cell, n * mean, cells) / total
    centre += sums(cell, n * (mean - centre[cell]), cells) / total  # removes the rounding of a long sum
    return total, centre, sums(cell, squares + n * (mean - centre[cell]) ** 2, cells)


def indexed(labels: Sequence[Any], ordered: bool) -> tuple[list[Any], Ints]:
    """Return the distinct labels, sorted unless they are ordered already, and the index of each entry."""
    distinct = list(dict.fromkeys(labels))
    if not ordered:
        try:
            distinct.sort()
        except TypeError:  # labels of several kinds
            distinct.sort(key=lambda label: (type(label).__name__, str(label)))
    index = {label: i for i, label in enumerate(distinct)}
    return distinct, np.array([index[label] for label in labels], np.int64)


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
    found = [f"{count} in {name!r}" for name, count in zip(names, counts, strict=True) if count]
    if found:
        raise InputError(
            f"missing values are not allowed; of {counted(rows, 'row')} there are {', '.join(found)}; "
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
        raise InputError(f"a comparison needs at least two arms; the only one here is {arms[0]!r}")
    if len(arms) > MOST_ARMS:
        raise too_many(f"{len(arms):,}", arms[:3])


def too_many(count: str, examples: Sequence[Any]) -> InputError:
    """Build the error for a column of arms with more labels than arms can have."""
    shown = ", ".join(repr(label) for label in examples)
    return InputError(
        f"{count} distinct arms ({shown}, …) are more than the {MOST_ARMS:,} that can be compared; "
        f"are the columns of arm and environment, or of arm and reward, swapped?"
    )


def not_numeric(name: str, kind: object) -> InputError:
    """Build the error for a reward that is no number."""
    return InputError(f"the reward must be numeric; column {name!r} holds {kind}")
