"""Cells: number, mean and spread of the rewards of each arm in each environment, and sums over cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError

if TYPE_CHECKING:
    from tideproof.stats.scales.conditional_likelihood import ConditionalFit
    from tideproof.stats.solve.least_squares import Solution

_ROUNDING = 1e-11  # Largest rounding error of a reward of size 1, on average over its cell.
BLOCK_NUMBERS = 2**20  # Numbers in a dense block of environments x arms, or pairs of cells: 8 MB.
_SPARSE = (
    400  # Dense matrices are quicker unless they hold more zeros than this for each pair of arms that meets.
)


class UnitCovariates(NamedTuple):
    """Covariates of the rewards of each unit in each cell, needed for standard errors by unit.

    Attributes
    ----------
    residual : (p, parts) mean of each covariate, minus what arms and environments explain.
    cross : (p, parts) sums of products of covariates and adjusted rewards, as deviations from their means.
    products : (p, p, parts) the same sums for two covariates.
    """

    residual: Floats
    cross: Floats
    products: Floats

    def of(self, parts: Ints) -> UnitCovariates:
        """Return the covariates of a selection of units in cells."""
        return UnitCovariates(*(values[..., parts] for values in self))


class UnitRewards(NamedTuple):
    """Rewards by unit (for example, a user) and cell (an arm in an environment), as parallel arrays.

    Attributes
    ----------
    unit, cell : (parts,) index of the unit, and index of the cell.
    n, mean : (parts,) number of rewards of the unit in the cell, and their mean.
    rows : whether units are aggregated rows, not named by a column of units.
    covariates : covariates of the same rewards; None without covariates.
    """

    unit: Ints
    cell: Ints
    n: Floats
    mean: Floats
    rows: bool = False
    covariates: UnitCovariates | None = None

    @property
    def single(self) -> bool:
        """True if every unit has one reward, so that rewards are as independent as without units."""
        return bool(np.all(self.n == 1.0)) and np.unique(self.unit).size == self.unit.size

    def of(self, cells: Ints) -> UnitRewards:
        """Select the units' rewards in the given arm-by-environment cells, and renumber these cells."""
        number = np.full(max(int(self.cell.max(initial=-1)), int(cells.max(initial=-1))) + 1, -1)
        number[cells] = np.arange(cells.size)
        at = number[self.cell]
        kept = np.flatnonzero(at >= 0)
        x = None if self.covariates is None else self.covariates.of(kept)
        return UnitRewards(self.unit[kept], at[kept], self.n[kept], self.mean[kept], self.rows, x)


class CovariateSlope(NamedTuple):
    """Record of the regression slopes with which rewards were adjusted for covariates.

    Attributes
    ----------
    by : (p,) slope for each covariate.
    imbalance : (K, p) arm effects on the covariates, estimated as if the covariates were rewards.
    inverse : (p, p) inverse of the sums of squares and products of the covariates' residuals.
    residual : (p, C) mean residual of each covariate in each cell.
    products : (p, p, C) sums of squares and products of the covariates inside the cells.
    unadjusted : cells of the rewards before the adjustment.
    """

    by: Floats
    imbalance: Floats
    inverse: Floats
    residual: Floats
    products: Floats
    unadjusted: Cells

    @property
    def loose(self) -> Floats:
        """Covariance of the arm effects due to the estimation errors of the covariates' slopes.

        It is (K, K) and is divided by sigma^2, as is P, the covariance of the arm effects muhat.
        """
        return np.asarray(self.imbalance @ self.inverse @ self.imbalance.T)


@dataclass(frozen=True, eq=False)
class Cells:
    """Sufficient statistics of a log of rewards: one cell for each arm and environment that have rewards.

    Attributes
    ----------
    arms, environments : names, in the order of first appearance if the source has an ordered list of rows;
        sorted for files, databases and lazy frames. An arm may be listed without having a cell.
    arm, environment : (C,) index of the arm and of the environment of each cell.
    n, mean, squares : (C,) number of rewards, their mean, and the sum of their squared deviations from the
        mean.
    dropped : number of rows that were left out because a value was missing.
    other_weight : (C,) weights of the cells in least squares, if they differ from the counts.
    cubes, fourths : (C,) sums of the third and fourth powers of the deviations; None if they are unknown.
    low, high : (C,) lowest and highest reward; None if they are unknown.
    factors : two (J,) arrays of factor levels, if each environment is a pair of levels and its shift is their
        sum.
    units : rewards by unit; None if units are unknown or every row is a unit of its own.
    slope : slope of the covariates that were removed from the rewards; None without covariates.
    logs : cells of the logarithms of the same rewards; None if they are unknown or not needed.
    utc : the periods that are environments, such as "days", if times with a time zone were converted to UTC;
        "" otherwise.
    divisor : (C,) mean of the column by which rewards are divided, if they are quotients; otherwise None.
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
    units: UnitRewards | None = None
    slope: CovariateSlope | None = None
    logs: Cells | None = None
    utc: str = ""
    divisor: Floats | None = None

    @classmethod
    def design(cls, counts: Floats) -> Cells:
        """Return a data set of zero rewards with the given numbers of pulls by environment and arm.

        `counts` is (J, K).
        """
        environment, arm = np.nonzero(counts)
        n = counts[environment, arm]
        arms, environments = list(range(counts.shape[1])), list(range(counts.shape[0]))
        return cls(arms, environments, arm, environment, n, np.zeros(n.size), np.zeros(n.size))

    def weighted(self, weight: Floats) -> Cells:
        """Return a copy of the data in which least squares uses other weights.

        The copy has the same arm-by-environment means, and no variance around them.
        """
        return replace(self, squares=np.zeros(self.n.size), other_weight=weight, cubes=None, fourths=None)

    def select(self, cells: Ints, label: Callable[[Any], Any] | None = None) -> Cells:
        """Return the data of the given arm-by-environment cells.

        The function `label` may rename environments.

        All arms stay listed, also those that have no cell left. The slope of the covariates is dropped.
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
        """Return a copy of the data without the arms that have no rewards."""
        left, arm = np.unique(self.arm, return_inverse=True)
        logs, slope = None if self.logs is None else self.logs.seen(), self.slope
        if slope is not None:
            slope = slope._replace(imbalance=slope.imbalance[left], unadjusted=slope.unadjusted.seen())
        return replace(self, arms=[self.arms[i] for i in left], arm=arm, logs=logs, slope=slope)

    def check_one_way(self, what: str) -> None:
        """Raise `InputError` if environments are pairs of two factors, but a method allows only one factor.

        `what` names the method.
        """
        if self.factors is not None:
            raise InputError(f"{what} requires one column of environments, not two such as 'day + site'")

    @property
    def K(self) -> int:  # noqa: N802
        """Number of arms."""
        return len(self.arms)

    @property
    def J(self) -> int:  # noqa: N802
        """Number of environments."""
        return len(self.environments)

    @property
    def weight(self) -> Floats:
        """Weight of each arm-by-environment cell in least squares, by default its number of rewards.

        It is `other_weight` if that is given. The shape is (C,).
        """
        return self.n if self.other_weight is None else self.other_weight

    @cached_property
    def dependent(self) -> bool:
        """True if rewards of the same unit, such as a visitor, may depend on each other."""
        return self.units is not None and not self.units.single

    @property
    def positive(self) -> bool:
        """True if every reward is known to be above 0."""
        return self.low is not None and self.low.size > 0 and bool(self.low.min() > 0.0)

    @cached_property
    def binary(self) -> bool:
        """True if every reward was 0 or 1, up to rounding.

        The sums of squares, cubes and fourth powers then equal those of a whole number of ones among n
        rewards. Together they imply that the sum of x^2 (1 - x)^2 is 0, which holds only for rewards of 0 and
        1. The sum of squares alone can match by chance.
        """
        n, mean = self.n, self.mean
        ones = n * mean
        if not n.size or np.any((mean < 0.0) | (mean > 1.0)):
            return False
        if np.all(np.round(ones) == 0.0):  # The rewards are all 0, or small numbers.
            return not (np.any(mean) or np.any(self.squares))
        wanted = (np.round(ones), *bernoulli_moments(n, mean))
        found = (ones, self.squares, self.cubes, self.fourths)
        pairs = [(x, y) for x, y in zip(found, wanted, strict=True) if x is not None]
        return all(bool(np.all(np.abs(x - y) <= _ROUNDING * n)) for x, y in pairs)

    @cached_property
    def solution(self) -> Solution:
        """Least-squares fit of arm effects and shifts, computed only once, because cells never change."""
        from tideproof.stats.solve.least_squares import solve

        return solve(self)

    @cached_property
    def ratio_fit(self) -> ConditionalFit:
        """Estimated ratios between the means of arms, by conditional likelihood, computed only once."""
        from tideproof.stats.scales.conditional_likelihood import solve_ratio

        return solve_ratio(self)

    @cached_property
    def odds_fit(self) -> ConditionalFit:
        """Conditional likelihood fit of the odds ratios of arms to 0/1 rewards, computed only once."""
        from tideproof.stats.scales.odds_likelihood import solve_odds

        return solve_odds(self)

    @cached_property
    def counts(self) -> Floats:
        """Number of rewards of each arm: (K,)."""
        return self.by_arm(self.n)

    @cached_property
    def sizes(self) -> Floats:
        """Number of rewards of each environment, m_j: (J,)."""
        return self.by_environment(self.n)

    @cached_property
    def totals(self) -> Floats:
        """Total least-squares weight of each environment, W_j, by default its number of rewards: (J,)."""
        return self.by_environment(self.weight)

    @cached_property
    def arms_seen(self) -> Ints:
        """Number of arms that have rewards in each environment: (J,)."""
        return np.bincount(self.environment, minlength=self.J)

    @cached_property
    def compares(self) -> NDArray[np.bool_]:
        """Mask of the environments in which two or more arms have rewards and can be compared.

        It is (J,).
        """
        return self.arms_seen > 1

    @cached_property
    def shares(self) -> Floats:
        """Share of each arm-by-environment cell in the weight of its environment, w/W_j: (C,)."""
        return np.asarray(self.weight / self.totals[self.environment])

    def dense_shares(self) -> Floats:
        """Return each arm's share in the weight of each environment, as an environment-by-arm matrix.

        The matrix is (J, K), and b_j is its row j.
        """
        self.check_one_way("this variance model")
        b = np.zeros((self.J, self.K))
        b[self.environment, self.arm] = self.shares
        return b

    def by_arm(self, values: Floats) -> Floats:
        """Sum a quantity that is given by arm and environment over environments, for each arm: (K,)."""
        return sum_by_index(self.arm, values, self.K)

    def by_environment(self, values: Floats) -> Floats:
        """Sum a quantity that is given by arm and environment over arms, for each environment: (J,)."""
        return sum_by_index(self.environment, values, self.J)

    def centred(self, values: Floats) -> Floats:
        """Subtract from each value the weighted mean of all arms' values in the same environment: (C,)."""
        mean = self.by_environment(self.weight * values)[self.environment] / self.totals[self.environment]
        return np.asarray(values - mean)

    def outer_sum(self, x: Floats, y: Floats) -> Floats:
        """Return the sum over environments of x_j y_j', with x and y given by arm and environment: (K, K)."""
        total = np.zeros((self.K, self.K))
        if self.arms_meet_rarely:
            for one, other in self._cell_pairs():
                pair = self.arm[one] * self.K + self.arm[other]
                total += sum_by_index(pair, x[one] * y[other], total.size).reshape(total.shape)
            return total
        for _, _, (left, right) in self.blocks(x, y):
            total += left.T @ right
        return total

    def times_matrix(self, x: Floats, matrix: Floats) -> Floats:
        """Return the product of a vector per environment with matrix M, at the arms of the cells: (C,).

        M is the (K, K) `matrix`, and x is given by arm and environment.
        """
        found = np.zeros(x.size)
        if self.arms_meet_rarely:
            for one, other in self._cell_pairs():
                found += sum_by_index(one, x[other] * matrix[self.arm[other], self.arm[one]], x.size)
            return found
        for rows, here, (left,) in self.blocks(x):
            found[here] = (left @ matrix)[self.environment[here] - rows.start, self.arm[here]]
        return found

    @property
    def arms_meet_rarely(self) -> bool:
        """Whether most pairs of arms share few environments, so that dense matrices would be mostly empty."""
        return float(np.sum(self.arms_seen.astype(np.float64) ** 2)) * _SPARSE < self.J * self.K**2

    def _cell_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield all pairs of cells of the same environment, also of a cell with itself, in blocks."""
        order = np.argsort(self.environment, kind="stable")
        environment = self.environment[order]
        count, first = self.arms_seen[environment], np.searchsorted(environment, environment)
        done = np.cumsum(count)
        start = 0
        while start < order.size:
            most = (done[start - 1] if start else 0) + BLOCK_NUMBERS
            stop = max(start + 1, int(np.searchsorted(done, most, side="right")))
            here = count[start:stop]
            other = np.arange(here.sum()) - np.repeat(np.cumsum(here) - here - first[start:stop], here)
            yield np.repeat(order[start:stop], here), order[other]
            start = stop

    def blocks(self, *values: Floats) -> Iterator[tuple[slice, Ints, Floats]]:
        """Yield environment-by-arm matrices of given quantities, one block of environments at a time.

        Elements without a cell are 0. Each item holds a slice of environments, the indices of their cells,
        and one dense matrix for each of the `values`.
        """
        order = np.argsort(self.environment, kind="stable")
        rows = max(1, BLOCK_NUMBERS // self.K)
        for start in range(0, self.J, rows):
            stop = min(start + rows, self.J)
            first, last = np.searchsorted(self.environment, [start, stop], sorter=order)
            cells = order[first:last]
            dense = np.zeros((len(values), stop - start, self.K))
            dense[:, self.environment[cells] - start, self.arm[cells]] = [value[cells] for value in values]
            yield slice(start, stop), cells, dense


def bernoulli_moments(n: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return sums of powers 2, 3 and 4 of the deviations of n rewards of 0 or 1 from their mean.

    For n p ones and n (1 - p) zeros they are n p q, n p q (q - p) and n p q (1 - 3 p q), with q = 1 - p.

    >>> [float(x[0]) for x in bernoulli_moments(np.array([4.0]), np.array([0.25]))]
    [0.75, 0.375, 0.328125]
    """
    q = 1.0 - mean
    squares = n * mean * q
    return squares, squares * (q - mean), squares * (1.0 - 3.0 * mean * q)


def sum_by_index(index: Ints, values: Floats, length: int) -> Floats:
    """Add up the values that have the same index, for each index from 0 to `length` - 1."""
    return np.asarray(np.bincount(index, values, length), np.float64)


def group_members(label: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each distinct value of an array in ascending order, with the positions at which it occurs.

    >>> [(label, where.tolist()) for label, where in group_members(np.array([3, 0, 3]))]
    [(0, [1]), (3, [0, 2])]
    """
    order = np.argsort(label, kind="stable")
    labels, first = np.unique(label[order], return_index=True)
    yield from zip(labels.tolist(), np.split(order, first)[1:], strict=True)
