"""What a cell is: all that was observed of one arm in one environment. And sums over cells, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import InputError

_ROUNDING = 1e-11  # of a reward of size 1, on average over its cell
_BLOCK = 2**20  # numbers in a dense block of environments x arms: 8 MB


class Units(NamedTuple):
    """Rewards of one unit (a visitor, a user, a cow) in one cell, a part for each: (parts,) arrays.

    Attributes
    ----------
    unit, cell : indices of the unit and of the cell.
    n, mean : rewards of the unit in the cell, and their mean.
    """

    unit: Ints
    cell: Ints
    n: Floats
    mean: Floats

    def of(self, cells: Ints) -> Units:
        """Return the parts of some cells, which are numbered as they are listed."""
        number = np.full(max(int(self.cell.max(initial=-1)), int(cells.max(initial=-1))) + 1, -1)
        number[cells] = np.arange(cells.size)
        at = number[self.cell]
        return Units(self.unit[at >= 0], at[at >= 0], self.n[at >= 0], self.mean[at >= 0])


class Slope(NamedTuple):
    """How rewards rise with covariates, as it was estimated and taken out of the cells.

    Attributes
    ----------
    by : (p,) slope of each covariate.
    imbalance : (K, p) effect of each arm on the covariates, as if they were rewards.
    inverse : (p, p) inverse of the sums of squares and products of the covariates around their fit.
    """

    by: Floats
    imbalance: Floats
    inverse: Floats

    @property
    def loose(self) -> Floats:
        """(K, K) what not knowing the slope exactly adds to P, the covariance of muhat over sigma^2."""
        return np.asarray(self.imbalance @ self.inverse @ self.imbalance.T)


@dataclass(frozen=True, eq=False)
class Cells:
    """All that was observed, one cell for each arm in each environment where it was seen.

    Attributes
    ----------
    arms, environments : their labels, in the order of first appearance where rows have an order (files,
        databases, lazy frames: sorted). An arm may be listed without a cell.
    arm, environment : (C,) index of the arm and the environment of each cell.
    n, mean, squares : (C,) rewards, their mean, and the sum of their squared deviations from it.
    dropped : rows left out because a value was missing.
    other_weight : (C,) weights of the cells in least squares where these are not the counts.
    cubes, fourths : (C,) sums of third and fourth powers of the deviations; None where they are unknown.
    low, high : (C,) the lowest and the highest reward; None where they are unknown.
    factors : two (J,) arrays of levels, where an environment is a pair of them and its shift their sum.
    units : who the rewards of each cell came from; None where that is unknown, or every row is its own.
    slope : the covariates that were taken out of the rewards; None without.
    logs : the same cells of the rewards' logarithms; None where these are unknown, or nobody needs them.
    """

    arms: list[Any]
    environments: list[Any]
    arm: Ints
    environment: Ints
    n: Floats
    mean: Floats
    squares: Floats
    dropped: int = 0
    other_weight: Floats | None = None
    cubes: Floats | None = None
    fourths: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    factors: tuple[Ints, Ints] | None = None
    units: Units | None = None
    slope: Slope | None = None
    logs: Cells | None = None

    @classmethod
    def design(cls, counts: Floats) -> Cells:
        """Return the cells of a design, (J, K) pulls of each arm in each environment; rewards are 0."""
        environment, arm = np.nonzero(counts)
        n = counts[environment, arm]
        arms, environments = list(range(counts.shape[1])), list(range(counts.shape[0]))
        return cls(arms, environments, arm, environment, n, np.zeros(n.size), np.zeros(n.size))

    def weighted(self, weight: Floats) -> Cells:
        """Return the same cells with other weights; what varied inside them is forgotten."""
        return replace(self, squares=np.zeros(self.n.size), other_weight=weight, cubes=None, fourths=None)

    def select(self, cells: Ints, label: Callable[[Any], Any] | None = None) -> Cells:
        """Return some of the cells, with the environments that are left, relabelled by `label`.

        Arms stay as they are, also those without a cell; covariates are forgotten.
        """
        left, environment = np.unique(self.environment[cells], return_inverse=True)
        per_cell: dict[str, Any] = {
            field.name: value[cells]
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        per_cell |= {"environment": environment}
        factors = None if self.factors is None else (self.factors[0][left], self.factors[1][left])
        labels = [self.environments[j] if label is None else label(self.environments[j]) for j in left]
        units = None if self.units is None else self.units.of(cells)
        logs = None if self.logs is None else self.logs.select(cells, label)
        return replace(
            self, environments=labels, factors=factors, units=units, slope=None, logs=logs, **per_cell
        )

    def seen(self) -> Cells:
        """Return the same cells without the arms that have none."""
        left, arm = np.unique(self.arm, return_inverse=True)
        logs = None if self.logs is None else self.logs.seen()
        return replace(self, arms=[self.arms[i] for i in left], arm=arm, logs=logs)

    def check_one_way(self, what: str) -> None:
        """Refuse environments that are sums of two factors, for `what` cannot handle them."""
        if self.factors is not None:
            raise InputError(f"{what} needs environments of one factor, not the sum of two")

    @property
    def K(self) -> int:  # noqa: N802
        """The number of arms."""
        return len(self.arms)

    @property
    def J(self) -> int:  # noqa: N802
        """The number of environments."""
        return len(self.environments)

    @property
    def weight(self) -> Floats:
        """(C,) weight of each cell in least squares: its count, unless others were given."""
        return self.n if self.other_weight is None else self.other_weight

    @cached_property
    def binary(self) -> bool:
        """Whether every reward was 0 or 1, to rounding.

        Squares, cubes and fourths are then those of a whole number of ones among n. Only 0 and 1 have
        all of them, as the sum of x^2 (1 - x)^2 follows from them. Squares alone can be met by chance.
        """
        n, mean = self.n, self.mean
        ones = n * mean
        if not n.size or np.any((mean < 0.0) | (mean > 1.0)):
            return False
        wanted = (np.round(ones), *bernoulli(n, mean))
        found = (ones, self.squares, self.cubes, self.fourths)
        pairs = [(x, y) for x, y in zip(found, wanted, strict=True) if x is not None]
        return all(bool(np.all(np.abs(x - y) <= _ROUNDING * n)) for x, y in pairs)

    @cached_property
    def counts(self) -> Floats:
        """(K,) rewards of each arm."""
        return self.by_arm(self.n)

    @cached_property
    def sizes(self) -> Floats:
        """(J,) rewards of each environment, m_j."""
        return self.by_environment(self.n)

    @cached_property
    def totals(self) -> Floats:
        """(J,) weight of each environment, W_j; its size, unless other weights were given."""
        return self.by_environment(self.weight)

    @cached_property
    def arms_seen(self) -> Ints:
        """(J,) number of arms seen in each environment."""
        return np.bincount(self.environment, minlength=self.J)

    @cached_property
    def compares(self) -> NDArray[np.bool_]:
        """(J,) whether an environment saw two arms or more; one with a single arm compares nothing."""
        return self.arms_seen > 1

    @cached_property
    def shares(self) -> Floats:
        """(C,) share of each cell in the weight of its environment, w/W_j."""
        return np.asarray(self.weight / self.totals[self.environment])

    def dense_shares(self) -> Floats:
        """Return the shares of all arms in each environment, b_j: (J, K)."""
        self.check_one_way("this model of the noise")
        b = np.zeros((self.J, self.K))
        b[self.environment, self.arm] = self.shares
        return b

    def by_arm(self, values: Floats) -> Floats:
        """Add up a value of each cell over the cells of each arm: (K,)."""
        return sums(self.arm, values, self.K)

    def by_environment(self, values: Floats) -> Floats:
        """Add up a value of each cell over the cells of each environment: (J,)."""
        return sums(self.environment, values, self.J)

    def centred(self, values: Floats) -> Floats:
        """Subtract from the value of each cell the weighted mean over its environment: (C,)."""
        mean = self.by_environment(self.weight * values)[self.environment] / self.totals[self.environment]
        return np.asarray(values - mean)

    def blocks(self, *values: Floats) -> Iterator[tuple[slice, Ints, Floats]]:
        """Spread values of each cell over dense blocks of environments x arms.

        Yields the environments of a block, its cells, and a block for each of the `values`.
        """
        order = np.argsort(self.environment, kind="stable")
        rows = max(1, _BLOCK // self.K)
        for start in range(0, self.J, rows):
            stop = min(start + rows, self.J)
            first, last = np.searchsorted(self.environment, [start, stop], sorter=order)
            cells = order[first:last]
            dense = np.zeros((len(values), stop - start, self.K))
            dense[:, self.environment[cells] - start, self.arm[cells]] = [value[cells] for value in values]
            yield slice(start, stop), cells, dense


def bernoulli(n: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return squares, cubes and fourths of n rewards that are 0 or 1.

    Of n p ones and n (1 - p) zeros: n p q, n p q (q - p) and n p q (1 - 3 p q), with q = 1 - p.

    >>> [float(x[0]) for x in bernoulli(np.array([4.0]), np.array([0.25]))]
    [0.75, 0.375, 0.328125]
    """
    q = 1.0 - mean
    squares = n * mean * q
    return squares, squares * (q - mean), squares * (1.0 - 3.0 * mean * q)


def sums(index: Ints, values: Floats, length: int) -> Floats:
    """Add up the values that share an index: (length,)."""
    return np.asarray(np.bincount(index, values, length), np.float64)


def members(label: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each label that occurs, in order, and where it does.

    >>> [(label, where.tolist()) for label, where in members(np.array([3, 0, 3]))]
    [(0, [1]), (3, [0, 2])]
    """
    order = np.argsort(label, kind="stable")
    labels, first = np.unique(label[order], return_index=True)
    yield from zip(labels.tolist(), np.split(order, first)[1:], strict=True)
