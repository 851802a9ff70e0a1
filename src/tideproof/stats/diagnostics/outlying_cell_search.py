"""Search for outlying cells (one arm in one environment), for example after a logging error or an outage.

They are left out of the fit.

A cell is outlying if it is further from the value that the other cells predict than their scatter explains.
The scatter has the variance s_c^2 = tau^2 + sigma^2/n, with tau and sigma estimated from medians. If shifts
differ between arms, tau is large, and only extreme cells count as outlying. If no cell is outlying, the fit
is exactly that of all cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.cell_variances import ROUNDING

Mask = NDArray[np.bool_]

CUT = 5.0  # Standard errors; one normal cell in 1.7 million is further away.
_SEARCH_THRESHOLD = 3.5  # If no cell is further than this from least squares, no search is needed.
_HUBER_CONSTANT = 1.0  # Huber's constant of the first fit, in standard errors.
_STARTS, _ROUNDS = 12, 20  # Steps of the first fit; most rounds of leaving out.
_CHI2_MEDIAN = 0.45493642311957  # Median of a squared standard normal number.
_MEDIAN_VARIANCE_RATIO = 0.5 * np.pi  # Variance of a median over that of a mean.
_ENVIRONMENT_SHARE = 0.5  # With this share of outlying cells an environment is left out as a whole.
LARGEST_OUTLYING_SHARE = 1.0 / 3.0  # With a larger share of outlying cells none is left out.


class TrustedCells(NamedTuple):
    """Result of a search for outlying data: which arm-by-environment cells and environments are kept.

    Attributes
    ----------
    cells : (C,) whether each cell is kept.
    z : (C,) distance of each cell from the value that the other cells predict, in standard errors; NaN if no
        other cell checks it.
    environments : (J,) whether the whole environment is left out, because half of its cells or more are
        outlying.
    torn : whether so many cells are outlying that none was left out.
    """

    cells: Mask
    z: Floats
    environments: Mask
    torn: bool


def find_outlying_cells(cells: Cells, cut: float = CUT) -> TrustedCells:
    """Find arm-by-environment means more than `cut` standard errors from what the other means predict.

    The search begins with Huber's M-estimate, which limits the influence of a cell to that of one standard
    error. Then it alternates between leaving out outlying cells and checking all cells against those that are
    left. Takes O(rounds (C K + K^3)).

    References
    ----------
    Huber (1964), Robust estimation of a location parameter; Hampel et al. (1986), Robust statistics.
    """
    cells.check_one_way("robust='cells'")
    checked = cells.compares[cells.environment]
    rounding = _rounding_variance(cells)
    inside = max(_robust_variance(cells), rounding)
    if np.count_nonzero(checked) <= cells.solution.joins + np.count_nonzero(cells.compares):
        return _all_cells_kept(
            cells, np.full(cells.n.size, np.nan), torn=False
        )  # no cell is checked by another
    believed, whole = np.ones(cells.n.size, bool), np.zeros(cells.J, bool)
    z = np.full(cells.n.size, np.nan)
    if inside > 0.0:  # Most logs have no distant cell and end here.
        r, left = _prediction_errors(cells, believed, inside / cells.n)
        z[checked] = (r / np.sqrt(np.maximum(left, 1e-9 * inside / cells.n)))[checked]
        if not np.any(np.abs(z) > _SEARCH_THRESHOLD):
            return _all_cells_kept(cells, z, torn=False)
    believed, tau2 = _first_huber_fit(cells, checked, inside)
    for _ in range(_ROUNDS):
        before = believed
        inside = max(_pooled_variance(cells, believed, inside), rounding)
        z, tau2 = _distances(cells, believed, checked, inside, tau2)
        believed = ~(np.abs(z) > cut)  # Cells with NaN are kept.
        believed, whole = _leave_out_environments(cells, believed)
        believed = _keep_connected(cells, believed, z)
        if np.array_equal(before, believed):
            break
    if np.count_nonzero(~believed) > LARGEST_OUTLYING_SHARE * np.count_nonzero(checked):
        return _all_cells_kept(cells, z, torn=True)
    return TrustedCells(
        believed, z, whole & (cells.by_environment((~believed).astype(float)) > 0.0), torn=False
    )


def _all_cells_kept(cells: Cells, z: Floats, torn: bool) -> TrustedCells:
    """Return the result of a search for outliers in which no data are excluded."""
    return TrustedCells(np.ones(cells.n.size, bool), z, np.zeros(cells.J, bool), torn)


def _robust_variance(cells: Cells) -> float:
    """Return a robust noise variance: the weighted median of the variances inside arm-by-environment cells.

    Each cell variance is median-unbiased under normal noise.
    """
    from scipy.special import gammaincinv

    freedom = cells.n - 1.0
    seen = freedom > 0.0
    if not seen.any():
        return 0.0
    df = freedom[seen]
    kinds, which = np.unique(df, return_inverse=True)
    variance = cells.squares[seen] / (2.0 * gammaincinv(0.5 * kinds, 0.5))[which]
    order = np.argsort(variance, kind="stable")
    half = np.searchsorted(np.cumsum(df[order]), 0.5 * df.sum())
    found = float(variance[order[half]])
    return found if found > 0.0 else float(np.sum(cells.squares) / df.sum())


def _rounding_variance(cells: Cells) -> float:
    """Return the variance of a reward below which the means of all cells may differ by rounding alone."""
    return float((ROUNDING * np.max(np.abs(cells.mean))) ** 2 * np.max(cells.n))


def _pooled_variance(cells: Cells, believed: Mask, otherwise: float) -> float:
    """Return the noise variance of the data that are not outlying.

    The result is `otherwise` if this variance cannot be estimated.
    """
    freedom = float(np.sum(cells.n[believed] - 1.0))
    return float(np.sum(cells.squares[believed])) / freedom if freedom else otherwise


def _first_huber_fit(cells: Cells, checked: Mask, inside: float) -> tuple[Mask, float]:
    """Return which arm-by-environment means agree with a Huber fit, an outlier-resistant regression.

    The second result is tau^2, the variance of the means beyond sampling noise.
    """
    C = cells.n.size
    noise = inside / cells.n
    s = cells.solution
    free = np.count_nonzero(checked) - s.joins - np.count_nonzero(cells.compares)
    # Average share of the variance that residuals keep.
    share = max(free / np.count_nonzero(checked), 1.0 / C)
    pull, tau2, ratio = np.ones(C), 0.0, np.zeros(C)
    for step in range(_STARTS):
        v = noise + tau2 if step else 1.0 / cells.n  # a variance of 0 has ended the loop
        weighted = cells.weighted(pull / v)
        r = weighted.centred(weighted.centred(cells.mean) - solve(weighted).mu[cells.arm])
        tau2 = _scatter(r[checked], share, noise[checked])
        if not tau2 + inside > 0.0:  # Most cells fit exactly; the others are outlying.
            return r**2 <= 1e-18 * float(np.max(np.abs(cells.mean))) ** 2, 0.0
        ratio = np.abs(r) / np.sqrt(share * (noise + tau2))
        pull = _HUBER_CONSTANT / np.maximum(ratio, _HUBER_CONSTANT)
    return ratio <= CUT, tau2


def _scatter(r: Floats, share: Floats | float, noise: Floats) -> float:
    """Estimate the variance of arm-by-environment means beyond sampling noise, from squared residuals.

    It is tau^2, for normally distributed residuals `r`.
    """
    return max(0.0, float(np.median(r**2 / (_CHI2_MEDIAN * share) - noise)))


def _distances(
    cells: Cells, believed: Mask, checked: Mask, inside: float, tau2: float
) -> tuple[Floats, float]:
    """Return how many standard errors each arm-by-environment mean is from its prediction.

    Distances are in standard errors. The cells in `believed` predict the values. The second result is tau^2,
    the variance of cell means beyond sampling noise.
    """
    noise = inside / cells.n
    z = np.full(cells.n.size, np.nan)
    for _ in range(2):  # First to estimate tau, then to use it.
        v = noise + tau2
        if not np.all(v > 0.0):
            v = 1.0 / cells.n
        r, left = _prediction_errors(cells, believed, v)
        good = checked & believed & (left > 1e-9 * v)
        if not good.any():
            return z, tau2
        tau2 = _scatter(r[good], (left / v)[good], noise[good])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(left > 1e-9 * v, r / np.sqrt(left / v * (noise + tau2)), np.nan)
    z[~checked] = np.nan
    return z, tau2


def _prediction_errors(cells: Cells, believed: Mask, v: Floats) -> tuple[Floats, Floats]:
    """Return the prediction error of each arm-by-environment mean, and the error's variance.

    Arm effects and shifts come from the kept cells. In an environment without a kept cell the shift is the
    median of its residuals. A kept cell has taken part in the estimate and gets the variance v - h; another
    cell gets v + h.
    """
    s = solve(cells.select(np.flatnonzero(believed)).weighted(1.0 / v[believed]))
    j, arm = cells.environment, cells.arm
    alive = cells.by_environment(believed.astype(float)) > 0.0
    own = cells.weighted(np.where(believed | ~alive[j], 1.0 / v, 0.0))
    high = own.centred(cells.mean)  # Centre first, because shifts may be large.
    r = own.centred(high - s.mu[arm])
    for environment in np.flatnonzero(~alive & cells.compares).tolist():
        here = np.flatnonzero(j == environment)
        r[here] -= np.median(r[here])
    shift = np.where(alive, 1.0, _MEDIAN_VARIANCE_RATIO)[j] / own.totals[j]
    spread = np.diag(s.P)[arm]
    for rows, here, (b,) in own.blocks(own.shares):
        row = j[here] - rows.start
        product = b @ s.P
        spread[here] += np.sum(product * b, axis=1)[row] - 2.0 * product[row, arm[here]]
    return r, np.where(believed, v - shift - spread, v + shift + spread)


def _leave_out_environments(cells: Cells, believed: Mask) -> tuple[Mask, Mask]:
    """Exclude each environment in which the rewards of at least half of the arms are outlying.

    Either half of the cells may be the wrong one.
    """
    off = cells.by_environment((~believed).astype(float))
    whole = (off >= _ENVIRONMENT_SHARE * cells.arms_seen) & cells.compares & (off > 0.0)
    return believed & ~whole[cells.environment], whole


def _keep_connected(cells: Cells, believed: Mask, z: Floats) -> Mask:
    """Restore one excluded environment for each arm that would otherwise be comparable with no other arm.

    It is the environment of the arm's least outlying cell.
    """
    if believed.all():
        return believed
    now, then = cells.solution, solve(cells.select(np.flatnonzero(believed)))
    lost = np.flatnonzero((now.group > 0) & (then.group == 0))
    for i in lost.tolist():
        mine = np.flatnonzero((cells.arm == i) & cells.compares[cells.environment])
        best = mine[np.argmin(np.nan_to_num(np.abs(z[mine]), nan=np.inf))]
        believed = believed | (cells.environment == cells.environment[best])
    return believed
