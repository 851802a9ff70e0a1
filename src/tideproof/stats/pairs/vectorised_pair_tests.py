"""Vectorised score tests of the ratios of very many pairs of arms, with the results of tests of single pairs.

The results equal those of `pair_tests` up to rounding.

Every cell takes part in the test of a pair (i, k). But the gap affects cells of other arms only through one
factor for each environment. So these cells contribute only sums over arms of x_aj w_a^p, p = 0 to 3, with w
the direction of the pair and x a variance term of the cell. The sums are matrix products, computed once for
all gaps. For each gap only numbers for each environment remain to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import allow_for_own_shapes, deviates, normals_from_student
from tideproof.stats.cells import Cells
from tideproof.stats.variance.cell_variances import CellVariances

_CELLS = 2**24  # Largest dense matrix of arms x environments: 128 MB.
_EMPTY = 64  # With more empty entries per cell, a loop over cells is quicker.
_FAR = 300.0  # exp(300) is practically infinite and does not overflow.
_NOTHING = 1e-300
_HUGE = 1e200  # Its power 3/2 is still finite.
BLOCK_NUMBERS = 2**21  # Numbers in a block of pairs x arms: 16 MB.


class PairBatch(NamedTuple):
    """Pairs of arms that are tested together.

    Attributes
    ----------
    i, k : (B,) indices of the two arms of each pair.
    w : (B, K) test direction of each pair: the coefficient of each arm, up to a constant.
    """

    i: Ints
    k: Ints
    w: Floats

    @classmethod
    def of(cls, cells: Cells, P: Floats, i: Ints, k: Ints) -> PairBatch:
        """Make a batch of pairs of arms, with the coefficients of all arms in the test of each pair.

        The direction is w = P(e_i - e_k), centred.
        """
        w = P[i] - P[k]
        return cls(i, k, w - (w @ cells.counts / cells.counts.sum())[:, None])

    def of_pair(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the columns of an environment-by-arm matrix that belong to the two arms of each pair."""
        return x[:, self.i].T, x[:, self.k].T

    @property
    def own(self) -> tuple[Floats, Floats]:
        """Coefficients of the two arms of each pair in the test of their difference.

        They are elements of w, (B, 1) each.
        """
        rows = np.arange(self.i.size)
        return self.w[rows, self.i][:, None], self.w[rows, self.k][:, None]


class RewardVariation(NamedTuple):
    """Variances and third central moments of rewards under hypotheses about many pairs of arms.

    Attributes
    ----------
    variance, third : for other arms, pairs of an index into the power sums and coefficients (B, J).
    of_pair : for the two arms of each pair, variance and third moment of a reward: (B, J) each; and the third
        moment by the arm's own rewards, if it is known.
    own : as `third`, by the arms' own rewards; empty if they are unknown.
    """

    variance: list[tuple[int, Floats]]
    third: list[tuple[int, Floats]]
    of_pair: tuple[tuple[Floats, ...], tuple[Floats, ...]]
    own: Sequence[tuple[int, Floats]] = ()


class BatchStatistics(NamedTuple):
    """Score statistics of many pairs of arms, with the terms from which their variances are computed.

    Attributes
    ----------
    statistic : (B,) score statistic of each pair.
    centre : (B, J) mean of the pair's test direction w in each environment.
    varying : variances and third moments of the rewards.
    """

    statistic: Floats
    centre: Floats
    varying: RewardVariation


class PairGrid(Protocol):
    """Protocol for precomputed arrays with which many pairs of arms are tested at once."""

    def test_pairs(self, i: Ints, k: Ints) -> Callable[[Floats], Floats]:
        """Return the function from hypothesised differences of pairs of arms to their z-scores.

        The z-scores are those of `PairTests.deviate`. They are NaN where third moments may underflow or
        overflow.
        """


def is_dense(cells: Cells) -> bool:
    """Return True if the data are small and dense enough to store them as an environment-by-arm matrix."""
    grid = cells.J * cells.K
    return grid <= _CELLS and grid <= _EMPTY * cells.n.size


def to_matrix(cells: Cells, values: Floats) -> Floats:
    """Arrange one value for each arm-by-environment cell in an environment-by-arm matrix.

    Entries without a cell are 0.
    """
    found = np.zeros((cells.J, cells.K))
    found[cells.environment, cells.arm] = values
    return found


class PowerSums:
    """Precomputed sums over arms, from which the variance of each pair's test statistic follows.

    They are sums, over all arms except the two of the pair, of cell values x times powers of the test
    direction w. `power[p][x]` is the sum of x w^p for each pair and environment, (B, J).
    """

    def __init__(self, batch: PairBatch, x: list[Floats]) -> None:
        rows, others = np.arange(batch.i.size), batch.w.copy()
        others[rows, batch.i] = others[rows, batch.k] = 0.0
        self.power = [[each.sum(axis=1) - sum(batch.of_pair(each)) for each in x]]
        squared = others * others
        for weight in (others, squared, squared * others):
            self.power.append([weight @ each.T for each in x])

    def second(self, x: int, centre: Floats) -> Floats:
        """Return sums over the other arms of squared coefficients in the test of each pair of arms.

        They are sums of x (w - centre)^2, with w the test direction, for each pair and environment: (B, J).
        """
        p = self.power
        return np.asarray(p[2][x] - centre * (2.0 * p[1][x] - centre * p[0][x]))

    def third(self, x: int, centre: Floats) -> Floats:
        """Return sums over the other arms of cubed coefficients in the test of each pair of arms.

        They are sums of x (w - centre)^3, with w the test direction, for each pair and environment: (B, J).
        """
        p = self.power
        return np.asarray(p[3][x] - centre * (3.0 * p[2][x] - centre * (3.0 * p[1][x] - centre * p[0][x])))


class PairBatchTests:
    """Score tests of a batch of pairs of arms, for any hypothesised differences."""

    def __init__(self, grid: RatioGrid, batch: PairBatch) -> None:
        self._grid, self._batch = grid, batch
        self._sums = PowerSums(batch, grid.x)

    def deviates(self, gap: Floats) -> Floats:
        """Return the z-score of each pair of arms for testing that the two arms differ by `gap`.

        The z-scores, (B,), are those of `PairTests.deviate`. They are NaN where third moments may underflow
        or overflow.
        """
        case = self._grid.case(self._batch, self._sums, gap)
        centre, varying = case.centre, case.varying
        parts = sum(c * self._sums.second(x, centre) for x, c in varying.variance)
        thirds = [
            sum(c * self._sums.third(x, centre) for x, c in each) for each in (varying.third, varying.own)
        ]
        own = []
        for n, w, (v, *third) in zip(
            self._batch.of_pair(self._grid.n), self._batch.own, varying.of_pair, strict=True
        ):
            direction = w - centre
            squares = direction * direction
            own.append(n * v * squares)
            parts = parts + own[-1]
            for number, t in enumerate(third):
                thirds[number] = thirds[number] + n * t * squares * direction
        parts = np.maximum(np.asarray(parts), 0.0)
        variance = parts.sum(axis=1)
        z = deviates(case.statistic, variance, np.asarray(thirds[0]).sum(axis=1))
        spreads = self._grid.spreads
        if spreads is None:
            z[is_extreme(variance)] = np.nan
            return z
        of_arm = self._of_arm(spreads, centre, varying, own)
        if varying.own and of_arm is not None:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                sd, total = np.sqrt(variance), np.asarray(thirds[1]).sum(axis=1)
                share = of_arm @ spreads.arm_trust / variance
                moved = allow_for_own_shapes(z, case.statistic / sd, total / sd / sd / sd, share)
                z = np.where(variance > 0.0, moved, z)
        z[is_extreme(variance)] = np.nan
        return normals_from_student(z, self._freedom(spreads, parts, of_arm))

    def _of_arm(
        self, s: CellVariances, centre: Floats, varying: RewardVariation, own: list[Floats]
    ) -> Floats | None:
        """Return the variance contributed by each arm to each pair's test; None if arms vary equally."""
        if not np.any(s.arm_trust > 0.0):
            return None
        w, of_arm = self._batch.w, np.zeros_like(self._batch.w)
        for x, c in varying.variance:
            each = self._grid.x[x]
            of_arm += w * (w * (c @ each) - 2.0 * ((c * centre) @ each)) + (c * centre**2) @ each
        rows = np.arange(self._batch.i.size)
        of_arm[rows, self._batch.i], of_arm[rows, self._batch.k] = (part.sum(axis=1) for part in own)
        return of_arm

    def _freedom(self, s: CellVariances, parts: Floats, of_arm: Floats | None) -> Floats:
        """Return the degrees of freedom of each pair's test, by Satterthwaite's formula; 0 if unknown."""
        total = parts.sum(axis=1)
        if not s.freedom > 0.0:
            return np.zeros(total.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = 1.0 / s.freedom + _satterthwaite_terms(
                s.environment_trust, s.environment_freedom, parts, total
            )
            if of_arm is not None:
                error = error + _satterthwaite_terms(s.arm_trust, s.arm_freedom, of_arm, total)
            return np.where(total > 0.0, 1.0 / error, 0.0)


def is_extreme(variance: Floats) -> NDArray[np.bool_]:
    """Return where a power of a variance may underflow or overflow."""
    return (variance > 0.0) & ~((variance > 1.0 / _HUGE) & (variance < _HUGE))


def _satterthwaite_terms(trust: Floats, freedom: Floats, parts: Floats, total: Floats) -> Floats:
    """Return the terms of Satterthwaite's degrees of freedom that are due to estimated variance factors.

    The variance factors are those of arms or those of environments.
    """
    here = trust > 0.0
    return np.asarray((parts[:, here] / total[:, None]) ** 2 @ (trust[here] ** 2 / freedom[here]))


class RatioGrid:
    """Matrices for testing the ratios of mean rewards of many pairs of arms.

    The model is E r = lambda_j exp(theta_arm). Names are those of `RatioPairScale`.

    With `spreads`, variances were measured and are proportional to the expected mean. Without, rewards are 0
    or 1, and the variance in an environment is corrected as in `BinaryRewards`.
    """

    def __init__(
        self,
        cells: Cells,
        theta: Floats,
        P: Floats,
        weight: Floats,
        total: Floats,
        spreads: CellVariances | None,
    ) -> None:
        self._cells, self._P = cells, P
        self.spreads, self._theta, self._weight, self._total = spreads, theta, weight, total
        self._f = np.exp(np.clip(theta, -_FAR, _FAR))
        self.n = to_matrix(cells, cells.n)
        self._events = cells.by_arm(cells.n * cells.mean)
        exposure = self.n * self._f
        self._exposed = exposure.sum(axis=1)
        self._highest = np.where(self.n > 0.0, self._f, 0.0).max(axis=1)
        self.x = [exposure]
        if spreads is None:
            self._correction = np.where(
                cells.sizes > 1.0, cells.sizes / np.maximum(cells.sizes - 1.0, 1.0), 0.0
            )
            self.x += [exposure * self._f, exposure * self._f**2]
        else:
            self._each = [to_matrix(cells, spreads.variance), to_matrix(cells, spreads.third)]
            if spreads.own_skewness is not None:
                self._each.append(to_matrix(cells, spreads.own_skewness * spreads.variance**1.5))
            self.x += [self.n * each for each in self._each]

    def test_pairs(self, i: Ints, k: Ints) -> Callable[[Floats], Floats]:
        """Return the function from hypothesised log ratios of pairs of arms to their z-scores."""
        return PairBatchTests(self, PairBatch.of(self._cells, self._P, i, k)).deviates

    def case(self, batch: PairBatch, sums: PowerSums, gap: Floats) -> BatchStatistics:
        """Return the score statistic of each pair for testing that its arms have the log ratio `gap`.

        It is NaN if an expected rate of 0/1 rewards exceeds 1.
        """
        theta, i, k = self._theta, batch.i, batch.k
        both = self._weight[i] + self._weight[k]
        share = np.where(both > 0.0, self._weight[i] / np.where(both > 0.0, both, 1.0), 0.5)
        middle = share * (theta[i] - gap) + (1.0 - share) * theta[k]
        moved = [np.exp(np.clip(at, -_FAR, _FAR))[:, None] for at in (middle + gap, middle)]
        n, w = batch.of_pair(self.n), batch.own
        own = [each * f for each, f in zip(n, moved, strict=True)]
        exposed = np.maximum(sums.power[0][0], 0.0) + own[0] + own[1]
        known = np.maximum(exposed, _NOTHING)
        rate = self._total / known
        centre = (sums.power[1][0] + own[0] * w[0] + own[1] * w[1]) / known
        statistic = batch.w @ self._events - centre @ self._total
        if self.spreads is not None:
            return BatchStatistics(statistic, centre, self._measured(batch, rate, moved))
        too_high = np.any(rate * self._highest > 1.0, axis=1)
        return BatchStatistics(np.where(too_high, np.nan, statistic), centre, self._chances(rate, moved))

    def _chances(self, rate: Floats, moved: list[Floats]) -> RewardVariation:
        """Return the variances and third central moments of 0/1 rewards at the expected event rates."""
        c = self._correction
        variance = [(0, c * rate), (1, -c * rate**2)]
        third = [(0, rate), (1, -3.0 * rate**2), (2, 2.0 * rate**3)]
        pair = []
        for f in moved:
            m = np.clip(rate * f, 0.0, 1.0)
            v = m * (1.0 - m)
            pair.append((c * v, v * (1.0 - 2.0 * m)))
        return RewardVariation(variance, third, (pair[0], pair[1]))

    def _measured(self, batch: PairBatch, rate: Floats, moved: list[Floats]) -> RewardVariation:
        """Return the measured variances and third central moments of rewards, scaled to expected means."""
        fitted = self._total / np.maximum(self._exposed, _NOTHING)
        more = np.where(fitted > 0.0, rate / np.where(fitted > 0.0, fitted, 1.0), 1.0)
        pair = []
        of_pair = [batch.of_pair(each) for each in self._each]
        for arm, (at, f) in enumerate(zip((batch.i, batch.k), moved, strict=True)):
            own = np.where(fitted > 0.0, more * f / self._f[at][:, None], 1.0)
            thirds = [each[arm] * own**1.5 for each in of_pair[1:]]
            pair.append((of_pair[0][arm] * own, *thirds))
        shapes = [(3, more**1.5)] if len(self._each) > 2 else []
        return RewardVariation([(1, more)], [(2, more**1.5)], (pair[0], pair[1]), shapes)


def upper_bounds(
    deviate: Callable[[Floats], Floats], middle: Floats, step: Floats, z: Floats, doublings: int, close: float
) -> Floats:
    """Return the upper confidence bound of the effect difference for each of many pairs of arms.

    The bounds are the differences with z-scores -z. The results are those of `PairTests.upper`.
    """

    def excess(gap: Floats) -> Floats:
        """Evaluate the functions whose zeros are the upper confidence bounds of differences between arms.

        They are -z minus the z-scores of the candidate differences.
        """
        return -z - deviate(gap)

    low, step = np.where(np.isfinite(middle), middle, 0.0), step.copy()
    high = low + step
    at_low, at_high = excess(low), excess(high)
    unknown = np.isnan(middle) | np.isnan(at_low)
    for _ in range(doublings - 1):  # Upwards, until the z-score is at most -z.
        short = at_high < 0.0
        if not short.any():
            break
        low, at_low = np.where(short, high, low), np.where(short, at_high, at_low)
        step = np.where(short, 2.0 * step, step)
        high = np.where(short, high + step, high)
        at_high = np.where(short, excess(high), at_high)
    endless = at_high < 0.0
    for _ in range(doublings - 1):  # Downwards, if it is below -z at the start.
        deep = at_low > 0.0
        if not deep.any():
            break
        high, at_high = np.where(deep, low, high), np.where(deep, at_low, at_high)
        step = np.where(deep, 2.0 * step, step)
        low = np.where(deep, low - step, low)
        at_low = np.where(deep, excess(low), at_low)
    bottomless = at_low > 0.0
    found = np.where(at_low >= 0.0, low, high)
    going = (at_low < 0.0) & (at_high > 0.0) & ~unknown
    for _ in range(60):  # False position, as in `root_between`.
        if not going.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(going, high - at_high * (high - low) / (at_high - at_low), found)
        y = excess(x)
        found = np.where(going, x, found)
        going &= ~(np.abs(y) < close)
        below, above = going & (y < 0.0), going & ~(y < 0.0)
        low, at_low = np.where(below, x, low), np.where(below, y, np.where(above, 0.5 * at_low, at_low))
        high, at_high = np.where(above, x, high), np.where(above, y, np.where(below, 0.5 * at_high, at_high))
    found = np.where(endless, np.inf, np.where(bottomless, -np.inf, found))
    return np.where(middle == np.inf, np.inf, np.where(unknown, np.nan, found))
