"""Analysis of a log without environment labels: arm means, the hidden tide's curve and its jumps.

Time is cut into pieces of about the same traffic, which serve as environments in the tables of the fit.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.fit.tide_likelihood import PAUSED, SAME, USUAL, TimedRows
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.solve.adjusted_means import MeansAndShifts, quadratic_forms
from tideproof.stats.tide.tide_curve import TideCurve, TideJump, find_jumps, smooth_tide
from tideproof.stats.tide.tide_law import TideLaw, average_laws, weight_laws
from tideproof.stats.variance.variance_models import CellNoise, Estimate, uniform_estimate

PIECES = 40  # Largest number of pieces of time in which arms are compared.
REWARDS_PER_PIECE = 3  # Approximate number of rewards of each arm in a piece.
POINTS = 240  # Points of the curve in charts.
PAUSE_FACTOR = 20.0  # A gap this many times longer than the mean gap is a pause.


class TidePieces(NamedTuple):
    """Average of the hidden tide in each time interval, relative to its traffic-weighted average.

    There are J pieces, and all arrays but `piece` are (J,).

    Attributes
    ----------
    piece : (T,) piece that each moment of the curve belongs to.
    start : index of the first moment of each piece.
    n : number of rewards.
    shift, variance : average tide, and its variance.
    """

    piece: Ints
    start: Ints
    n: Floats
    shift: Floats
    variance: Floats

    def where(self, moment: int) -> float:
        """Convert a point in time to a fractional number of time intervals: 2.5 is inside the third."""
        ends = np.append(self.start, self.piece.size)
        at = int(self.piece[moment])
        return at + float((moment - ends[at]) / (ends[at + 1] - ends[at]))


class UnlabelledTideFit(NamedTuple):
    """Fit of a log without environment labels: arm means and a hidden tide.

    Attributes
    ----------
    cells : rewards by arm and piece of time.
    still : the same cells after subtraction of the tide.
    found : estimates of the arms and of the tide in each piece, with covariances.
    law : most probable law of the tide.
    likely : its posterior probability.
    sigma : standard deviation of the noise.
    freedom : degrees of freedom of the noise.
    changes : jumps that are more likely than not.
    curve : the tide at each moment.
    points : the tide in pieces fine enough for a chart.
    """

    cells: Cells
    still: Cells
    found: Estimate
    law: TideLaw
    likely: float
    sigma: float
    freedom: int
    changes: list[TideJump]
    curve: TideCurve
    points: TidePieces

    def noise(self) -> CellNoise:
        """Return the noise variance of the mean rewards by arm and piece of time, given the tide."""
        size = self.cells.n.size
        known, nu = self.sigma**2 / self.cells.n, np.full(size, float(self.freedom))
        return CellNoise(known, nu, np.zeros(size, np.int64))


def follow_tide(
    arms: list[Any], arm: Ints, time: Floats, n: Floats, mean: Floats, squares: Floats, clock: bool
) -> UnlabelledTideFit:
    """Estimate arm means and the hidden tide from the rows of a log in the order of time.

    `clock` means that moments are seconds since 1970.
    """
    K, centre = len(arms), float(np.average(mean, weights=n))
    rows = TimedRows(arm, n, mean - centre, squares, move_codes(time))
    laws = weight_laws(rows, K)
    mu, C, noise = average_laws(laws)
    freedom = round(float(n.sum())) - K
    tide = smooth_tide(rows, time, mu, noise, laws)
    share = sum_by_index(arm, n, K) / n.sum()
    gauge = float(np.average(mean, weights=n)) - centre - float(share @ mu)  # Average tide.
    coarse = max(1, min(PIECES, int(n.sum() / (REWARDS_PER_PIECE * K))))
    parts, points = (
        _cut_into_pieces(rows, tide, count, C, noise, share, gauge) for count in (coarse, POINTS)
    )
    average = quadratic_forms(C, share[None, :], np.zeros(K, np.int64))
    mean_variance = np.maximum(noise / n.sum() + average, 0.0)
    means_and_shifts = MeansAndShifts(centre + gauge + mu, mean_variance, parts.shift, parts.variance)
    moment = np.searchsorted(tide.first, np.arange(arm.size), side="right") - 1
    of, labels = parts.piece[moment], moment_labels(tide.time[parts.start], clock)
    still = rows.mean - (tide.level - gauge)[moment]
    component = np.zeros(K, np.int64)
    pairs = WaldPairs(mu, C, np.full((K, K), float(freedom)))
    return UnlabelledTideFit(
        cells=_cells(arms, labels, arm, of, n, mean, squares),
        still=_cells(arms, labels, arm, of, n, still + centre, squares),
        found=uniform_estimate(mu, C, means_and_shifts, float(freedom), pairs, component),
        law=laws[0].law,
        likely=laws[0].weight,
        sigma=float(np.sqrt(noise)),
        freedom=freedom,
        changes=find_jumps(tide),
        curve=tide,
        points=points,
    )


def move_codes(time: Floats) -> Ints:
    """Return a code for each row of a log that says whether the tide may have moved since the row before.

    The codes are SAME, USUAL and PAUSED, as in `TimedRows`.

    >>> move_codes(np.array([0.0, 1.0, 1.0, 2.0])).tolist()
    [1, 1, 0, 1]
    """
    gaps = np.diff(time, prepend=time[0])
    found = np.where(gaps > 0.0, USUAL, SAME)
    between = gaps[gaps > 0.0]
    if between.size:
        found = np.where(gaps > PAUSE_FACTOR * between.mean(), PAUSED, found)
    found[0] = USUAL
    return found.astype(np.int64)


def _cut_into_pieces(
    rows: TimedRows, tide: TideCurve, count: int, C: Floats, noise: float, share: Floats, gauge: float
) -> TidePieces:
    """Cut time into `count` pieces with about the same traffic, and return the average tide in each.

    If there are fewer points in time than that, each of them is a piece.

    The level of a piece rests on about noise/variance rewards around it. The uncertainty about the arms
    enters through their shares among those rewards, compared with their overall `share`.
    """
    if count >= tide.n.size:
        start = piece = np.arange(tide.n.size)
    else:
        before = np.floor(count * (np.cumsum(tide.n) - tide.n) / tide.n.sum())
        _, start, piece = np.unique(before, return_index=True, return_inverse=True)
    N, J = float(rows.n.sum()), start.size
    size = sum_by_index(piece, tide.n, J)
    shift = sum_by_index(piece, tide.n * tide.level, J) / size - gauge
    variance = sum_by_index(piece, tide.n * tide.variance, J) / size
    told = np.zeros((rows.arm.size + 1, share.size))  # rewards of each arm before each row
    told[np.arange(1, rows.arm.size + 1), rows.arm] = rows.n
    np.cumsum(told, axis=0, out=told)
    total = told.sum(axis=1)
    row = np.append(tide.first[start], rows.arm.size)
    middle = 0.5 * (total[row[:-1]] + total[row[1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = 0.5 * np.nan_to_num(noise / variance, nan=N, posinf=N)
    low = np.minimum(np.searchsorted(total, middle - reach), row[:-1])
    high = np.maximum(np.searchsorted(total, middle + reach, side="right") - 1, row[1:])
    around = told[high] - told[low]
    h = around / around.sum(axis=1, keepdims=True) - share
    variance = np.maximum(variance + np.sum(h @ C * h, axis=1), 0.0)
    return TidePieces(piece, start, size, shift, variance)


def _cells(
    arms: list[Any], labels: list[Any], arm: Ints, of: Ints, n: Floats, mean: Floats, squares: Floats
) -> Cells:
    """Group the rows of a log into cells, one for each arm and piece of time."""
    pair, cell = np.unique(of * len(arms) + arm, return_inverse=True)
    size = sum_by_index(cell, n, pair.size)
    centre = sum_by_index(cell, n * mean, pair.size) / size
    inside = sum_by_index(cell, squares + n * (mean - centre[cell]) ** 2, pair.size)
    return Cells(arms, labels, pair % len(arms), pair // len(arms), size, centre, inside)


def moment_labels(time: Floats, clock: bool, span: float | None = None) -> list[Any]:
    """Return points in time as text, with as many digits as are needed to distinguish them.

    If `span`, the length of the log in seconds, is given, it determines the digits instead. Points in time
    that are not clock times stay numbers.

    >>> moment_labels(np.array([1714744800.0, 1714748400.0]), True)
    ['2024-05-03 14:00', '2024-05-03 15:00']
    >>> moment_labels(np.array([1714744800.25]), True, span=7200.0)
    ['2024-05-03 14:00:00']
    >>> moment_labels(np.array([3.0, 17.5]), False)
    [3, 17.5]
    """
    if not clock:
        return [int(x) if x == int(x) else float(x) for x in time.tolist()]
    near = float(np.diff(time).min(initial=np.inf)) if span is None else span / 1440.0
    digits = "minutes" if near >= 60.0 else "seconds" if near >= 1.0 else "microseconds"
    start = dt.datetime(1970, 1, 1)
    moments = [start + dt.timedelta(seconds=x) for x in time.tolist()]
    if span is None and all(moment.time() == dt.time() for moment in moments):
        return [moment.date().isoformat() for moment in moments]
    return [moment.isoformat(" ", digits) for moment in moments]
