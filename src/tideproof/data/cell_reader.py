"""Reading of logs with ratio metrics, winsorizing, covariates, units, two factors or segments.

A `ReadOptions` holds the options beyond the three columns. Names that contain an operator are parsed here:
"revenue / sessions" is a ratio metric, and "cow + period" two factors, unless a column has that name.

Ratio metrics and covariates need sums of products of several numbers of the same rows, which are computed
from squares: the squares of u + v are those of u, those of v and twice the product. So every engine that can
group one column can group several, without further SQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.data.cell_assembly import (
    MomentSums,
    RewardRange,
    index_labels,
    index_tuples,
    merge_groups,
    merge_ranges,
    wants_logs,
)
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import Dataset
from tideproof.data.group_by_sql import Progress
from tideproof.errors import InputError
from tideproof.garbage_collection import pause_garbage_collection
from tideproof.stats.cells import Cells, UnitCovariates, UnitRewards, sum_by_index
from tideproof.stats.solve.covariate_adjustment import adjust_for_covariates
from tideproof.stats.solve.ratio_metric import ratio_cells


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading a log beyond its columns of arm, environment and reward.

    Attributes
    ----------
    covariates : columns of numbers that were known before the arm was assigned; their effect is removed.
    unit : column of the user or unit ID, by which standard errors are clustered; "" for none.
    by : column that defines the segments; "" for none.
    winsorize : winsorizing quantile: rewards above it are replaced by it; None for no winsorizing.
    logs : whether to read also the logarithms of rewards, if all are above 0.
    """

    covariates: tuple[str, ...] = ()
    unit: str = ""
    by: str = ""
    winsorize: float | None = None
    logs: bool = False


class WinsorizingThreshold(NamedTuple):
    """Threshold for winsorizing, a quantile of all rewards: rewards above the threshold are replaced by it.

    The threshold is `at`, the quantile at probability `share`.
    """

    share: float
    at: float


class CellReading(NamedTuple):
    """Statistics of each arm in each environment of a log, for all rows and for each segment.

    Attributes
    ----------
    cells : cells of all rows; every segment has environments of its own.
    segments : cells of each segment, all with the same list of arms; empty without segments.
    winsorizing : the winsorizing threshold, if rewards were winsorized.
    """

    cells: Cells
    segments: dict[Any, Cells]
    winsorizing: WinsorizingThreshold | None


class JointMoments(NamedTuple):
    """Means and sums of products of the reward and of other columns of a log, by arm and environment.

    Attributes
    ----------
    cells : cells of the reward; the label of an environment is a tuple of its own label and the extra labels.
    mean : (V, C) mean of each number in each cell, the reward first.
    products : (V, V, C) sums of products of deviations from the cell means.
    tails : function that reads the third and fourth moments, by cell, of the reward minus a weighted sum of
        the other columns, given the weights; None if the rows cannot be read again.
    """

    cells: Cells
    mean: Floats
    products: Floats
    tails: Callable[[Floats], MomentSums | None] | None = None

    def select(self, cells: Ints) -> JointMoments:
        """Return the statistics of the arm-by-environment cells with the given indices."""
        part = self.cells.select(cells), self.mean[:, cells], self.products[:, :, cells]
        return JointMoments(*part, partial(_select_tails, self.tails, cells))

    def of(self, key: int) -> dict[Any, JointMoments]:
        """Split the statistics by the element at index `key` of each environment's label (a tuple)."""
        c = self.cells
        labels, of = index_labels([label[key] for label in c.environments], ordered=True)
        return {label: self.select(np.flatnonzero(of[c.environment] == i)) for i, label in enumerate(labels)}


def _select_tails(
    tails: Callable[[Floats], MomentSums | None] | None, cells: Ints, weights: Floats
) -> MomentSums | None:
    """Return third and fourth moments of some cells, from the function that reads those of all cells."""
    found = None if tails is None else tails(weights)
    return None if found is None else MomentSums(found.cubes[cells], found.fourths[cells])


def group_jointly(
    rows: Dataset, request: ColumnSpec, others: Sequence[str], progress: Progress | None = None
) -> JointMoments:
    """Return means and sums of products of the reward and the columns `others`, by arm and environment.

    Rows that lack any of these numbers are refused, or skipped for all of them.
    """
    names = (request.reward, *others)
    if len(set(names)) < len(names):
        raise InputError(
            f"the reward (or the two columns of a ratio) and the covariates must be different columns, not "
            f"{', '.join(map(repr, names))}"
        )
    if others and (request.n or request.wide):
        raise InputError(
            "ratio metrics (reward 'a / b') and covariates require a table with one row for each reward, not "
            "an aggregated or wide table"
        )
    every = request.missing == "drop"

    def group(factors: Sequence[float]) -> Cells:
        """Return statistics by arm and environment of a weighted sum of the reward and other columns."""
        used = [(factor, name) for factor, name in zip(factors, names, strict=True) if factor or every]
        if len(used) == 1 and used[0][1] == request.reward:
            return rows.group(request, progress)
        if len(used) == 1:
            return rows.group(replace(request, reward=used[0][1], winsorize_at=np.inf), progress)
        return rows.group(replace(request, mix=tuple(used)), progress)

    unit = np.eye(len(names))
    single = [group(row.tolist()) for row in unit]
    scale = np.array([_standard_deviation(cells) for cells in single])
    squares = np.array([cells.squares for cells in single]) / scale[:, None] ** 2
    products = np.zeros((len(names), len(names), squares.shape[1]))
    for i in range(len(names)):
        products[i, i] = single[i].squares
        for k in range(i):
            both = group((unit[i] / scale[i] + unit[k] / scale[k]).tolist())
            mixed = 0.5 * scale[i] * scale[k] * (both.squares - squares[i] - squares[k])
            products[i, k] = products[k, i] = mixed
    first = single[0]
    if not request.extra:
        first = replace(first, environments=[(label,) for label in first.environments])

    def tails(weights: Floats) -> MomentSums | None:
        """Return third and fourth moments of the reward minus a weighted sum of the other columns."""
        found = group([1.0, *(-weights).tolist()])
        return (
            None if found.cubes is None or found.fourths is None else MomentSums(found.cubes, found.fourths)
        )

    return JointMoments(first, np.array([cells.mean for cells in single]), products, tails)


def merge_cells(j: JointMoments, kept: int) -> tuple[JointMoments, Ints]:
    """Merge an arm's statistics of environments whose labels (tuples) agree in the first `kept` elements."""
    c = j.cells
    environments, of = index_tuples(list(zip(*c.environments, strict=True))[:kept], ordered=True)
    pair, cell = np.unique(of[c.environment] * c.K + c.arm, return_inverse=True)
    size = pair.size
    tails = None if c.cubes is None or c.fourths is None else MomentSums(c.cubes, c.fourths)
    n, mean, squares, tails = merge_groups(cell, c.n, c.mean, c.squares, size, tails)
    means = np.array([merge_groups(cell, c.n, value, np.zeros(c.n.size), size).mean for value in j.mean])
    off = j.mean - means[:, cell]
    V = len(means)
    products = np.array(
        [
            [sum_by_index(cell, j.products[i, k] + c.n * off[i] * off[k], size) for k in range(V)]
            for i in range(V)
        ]
    )
    ends = None if c.low is None or c.high is None else merge_ranges(cell, RewardRange(c.low, c.high), size)
    made = Cells(c.arms, environments, pair % c.K, pair // c.K, n, mean, squares, c.dropped)
    if tails is not None:
        made = replace(made, cubes=tails.cubes, fourths=tails.fourths)
    if ends is not None:
        made = replace(made, low=ends.low, high=ends.high)
    return JointMoments(made, means, products), cell


def _standard_deviation(cells: Cells) -> float:
    """Return the standard deviation of all rewards around their overall mean, or 1 if it is 0."""
    centre = np.sum(cells.n * cells.mean) / np.sum(cells.n)
    squares = float(np.sum(cells.squares + cells.n * (cells.mean - centre) ** 2))
    return float(np.sqrt(squares / np.sum(cells.n))) or 1.0


class LabelStructure(NamedTuple):
    """How the labels of environments are composed, and which columns are read besides the reward."""

    factors: bool
    by: bool
    unit: bool
    per: str
    covariates: tuple[str, ...]

    @property
    def plain(self) -> bool:
        """Whether the log is read without a second environment factor, units, ratio metric and covariates."""
        return not (self.factors or self.unit or self.per or self.covariates)


def read_cells(
    rows: Dataset, request: ColumnSpec, wish: ReadOptions, progress: Progress | None = None
) -> CellReading:
    """Group the rows of a log by arm and environment, and return the statistics of the rewards."""
    with pause_garbage_collection():
        return _read_cells(rows, request, wish, progress)


def _read_cells(
    rows: Dataset, request: ColumnSpec, wish: ReadOptions, progress: Progress | None
) -> CellReading:
    """Group the rows of a log by arm and environment, while the garbage collector is disabled."""
    request, shape = _parse_names(request, wish, rows.columns)
    threshold = None
    if wish.winsorize is not None:
        threshold = _winsorizing_threshold(rows, request, wish.winsorize)
        request = replace(request, winsorize_at=threshold.at)
    others = (*((shape.per,) if shape.per else ()), *shape.covariates)
    found = group_jointly(rows, request, others, progress)
    if threshold is not None and found.cells.low is not None and threshold.at <= found.cells.low.min():
        raise InputError(
            f"winsorize={threshold.share!r} is too low: the {threshold.share:g} quantile of the rewards is "
            f"{threshold.at:g}, the lowest reward, so all rewards would become equal"
        )
    logs = None
    if shape.plain and not request.n and wants_logs(found.cells, wish.logs):
        logs = group_jointly(rows, replace(request, logarithm=True), (), progress)
    cells, parts = _split_segments(found, shape)
    cells = replace(cells, utc=found.cells.utc)
    if logs is not None:
        of_logs, log_parts = _split_segments(logs, shape)
        cells = replace(cells, logs=of_logs)
        parts = {label: replace(part, logs=log_parts[label]) for label, part in parts.items()}
    return CellReading(cells, parts, threshold)


def _split_segments(found: JointMoments, shape: LabelStructure) -> tuple[Cells, dict[Any, Cells]]:
    """Return the statistics of rewards by arm and environment: for all rows, and for each segment of them."""
    index = 2 if shape.factors else 1
    parts = found.of(index) if shape.by else {}
    return _make_cells(found, shape), {
        label: _make_cells(part, shape, apart=True) for label, part in parts.items()
    }


def _parse_names(
    request: ColumnSpec, wish: ReadOptions, columns: Collection[str]
) -> tuple[ColumnSpec, LabelStructure]:
    """Split column options, such as the reward "a / b" or the environment "a + b", into single columns.

    Return the specification of all columns to read, including those of segments and units. The second value
    returned says which of these there are.
    """
    reward, per = _split_name(request.reward, "/", columns)
    environment, second = _split_name(request.environment, "+", columns)
    if wish.by is not None and environment not in columns:
        _check_by(environment, wish.by)
    extra = tuple(name for name in (second, wish.by, wish.unit) if name)
    if request.n and (second or wish.by):
        raise InputError(
            "segments and two environment columns need one row for each reward, not aggregated rows"
        )
    changed = replace(
        request,
        reward=reward,
        environment=environment,
        parts=(*((environment,) if environment else ()), *extra),
        extra=extra,
        unit=wish.unit,
    )
    return changed, LabelStructure(bool(second), bool(wish.by), bool(wish.unit), per, wish.covariates)


def _check_by(environment: str, by: str) -> None:
    """Raise an error if the column that defines the segments is also one of several parts of the environment.

    Segments are analyzed separately.
    """
    parts = [part.strip() for part in environment.split(":")]
    rest = ":".join(part for part in parts if part != by)
    if by in parts and rest:
        raise InputError(
            f"by={by!r} (--by {by}) fits each {by} separately: use environment={rest!r} (--environment "
            f"{rest}) instead of {environment!r}"
        )


def _split_name(name: str, sign: str, columns: Collection[str]) -> tuple[str, str]:
    """Split a name such as "a / b" at the operator into two column names, unless one column is named "a / b".

    >>> _split_name("a / b", "/", ["a", "b"]), _split_name("a / b", "/", ["a / b"])
    (('a', 'b'), ('a / b', ''))
    >>> _split_name("a/b", "/", [])
    ('a/b', '')
    """
    halves = name.split(f" {sign} ")
    if name in columns or len(halves) == 1:
        return name, ""
    if len(halves) > 2:
        raise InputError(f"{name!r} has more than one {sign!r}; two columns are allowed")
    return halves[0].strip(), halves[1].strip()


def columns_in_name(name: str, columns: Collection[str]) -> list[str]:
    """Return the two columns that a reward "a / b" or an environment "a + b" combines, or an empty list.

    >>> columns_in_name("revenue / sessions", ["revenue", "sessions"]), columns_in_name("a", [])
    (['revenue', 'sessions'], [])
    >>> columns_in_name("cow + period", [])
    ['cow', 'period']
    """
    return [half for sign in "/+" for half in _split_name(name, sign, columns) if half not in (name, "")]


def _winsorizing_threshold(rows: Dataset, request: ColumnSpec, share: float) -> WinsorizingThreshold:
    """Return the threshold for winsorizing: the quantile of the rewards at probability `share`."""
    if not 0.0 < share < 1.0:
        raise InputError(
            f"winsorize must be a quantile between 0 and 1, such as 0.999 (--winsorize 99.9%), not {share!r}"
        )
    if request.n:
        raise InputError("winsorize needs one row for each reward, not aggregated rows")
    at = rows.quantile(request, share)
    return WinsorizingThreshold(share, at if math.isfinite(at) else math.inf)


def _make_cells(fine: JointMoments, shape: LabelStructure, apart: bool = False) -> Cells:
    """Return statistics of rewards by arm and environment, adjusted for a divisor, covariates and units.

    With `apart`, the labels of environments omit the segment.
    """
    if shape.unit:
        found, cell = merge_cells(fine, len(fine.cells.environments[0]) - 1)
    else:
        found, cell = fine, np.arange(fine.cells.n.size)
    made = found.cells
    if shape.per:
        made = ratio_cells(made, found.mean[1], found.products[:2, :2], shape.per)
    if shape.covariates:
        _check_alone(shape)
        made = adjust_for_covariates(
            _with_factors(made, shape), found.mean[1:], found.products, shape.covariates
        )
        made = _with_tails(made, found)
    if shape.unit:
        made = replace(made, units=_make_units(fine, found, made, cell, shape))
    return _with_readable_labels(_with_factors(made, shape), shape, apart)


def _with_tails(made: Cells, found: JointMoments) -> Cells:
    """Add the third and fourth moments of rewards that were adjusted for covariates."""
    if made.slope is None or found.tails is None or (tails := found.tails(made.slope.by)) is None:
        return made
    return replace(made, cubes=tails.cubes, fourths=tails.fourths)


def _check_alone(shape: LabelStructure) -> None:
    """Raise an error if covariates and a ratio metric are combined."""
    if shape.per:
        raise InputError(
            f"covariates cannot be combined with a reward that is divided by {shape.per!r}; leave out one"
        )


def _make_units(
    fine: JointMoments, found: JointMoments, made: Cells, cell: Ints, shape: LabelStructure
) -> UnitRewards:
    """Return the rewards of each unit, such as a user, in each arm-by-environment cell."""
    c = fine.cells
    _, of = index_labels([label[-1] for label in c.environments], ordered=True)
    mean, covariates = c.mean, None
    if shape.per:  # delta method: (y - R x) / mean of x
        R, x = made.mean, found.mean[1]
        mean = R[cell] + (fine.mean[0] - R[cell] * fine.mean[1]) / x[cell]
    if made.slope is not None:
        mean = (
            made.mean[cell]
            + (fine.mean[0] - found.mean[0][cell])
            - made.slope.by @ (fine.mean[1:] - found.mean[1:, cell])
        )
        inside = fine.products[1:, 1:]
        covariates = UnitCovariates(
            fine.mean[1:] - found.mean[1:, cell] + made.slope.residual[:, cell],
            fine.products[1:, 0] - np.einsum("i,ijc->jc", made.slope.by, inside),
            inside,
        )
    return UnitRewards(of[c.environment], cell, c.n, mean, covariates=covariates)


def _with_factors(c: Cells, shape: LabelStructure) -> Cells:
    """Add the two factors of each environment, such as cow and period, to the statistics.

    Nothing is added if environments have only one factor. Segments have their own levels.
    """
    if not shape.factors:
        return c
    levels = [
        index_labels([(label[i], *label[2:]) for label in c.environments], ordered=True)[1] for i in (0, 1)
    ]
    return replace(c, factors=(levels[0], levels[1]))


def _with_readable_labels(c: Cells, shape: LabelStructure, apart: bool) -> Cells:
    """Join the parts of each environment's label (factors and segment) into one readable label."""
    own = 2 if shape.factors else 1
    labels: list[Any] = [
        f"{label[0]} + {label[1]}" if shape.factors else label[0] for label in c.environments
    ]
    if shape.by and not apart:
        labels = [f"{label}, {old[own]}" for label, old in zip(labels, c.environments, strict=True)]
    return replace(c, environments=labels)
