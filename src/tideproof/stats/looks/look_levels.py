"""Error probability of a test of two arms with planned looks, as a function of the current look's z-score.

The level of a z-score is the total error probability, over all planned looks, of the test whose boundary at
the current look is that z-score. It is the p-value of the look. It is tabulated for a few levels, because
one recursion computes the boundaries of all of them, and interpolated between them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.looks.brownian_boundaries import spending_boundaries
from tideproof.stats.looks.spending_functions import SpendingName, spent_alpha

_TABULATED = np.array([1e-9, 1e-6, 5e-5, 8e-4, 5e-3, 0.016, 0.05, 0.13, 0.3, 0.6, 0.95])
_NO_INFORMATION = 1e-6  # share of the information below which a look did not tell anything
_DIGITS = 3  # of information, so that nearly equal tests share one table


class LookLevels(NamedTuple):
    """Table of critical z-scores at the current look for several error probabilities over all looks.

    Attributes
    ----------
    bounds : z-scores at the current look, ascending.
    depths : sqrt(-2 log level), which is nearly linear in the z-score.
    slopes : slopes of a spline through the depths, at the bounds.
    """

    bounds: Floats
    depths: Floats
    slopes: Floats

    def level_of(self, z: float) -> float:
        """Return the two-sided p-value of a z-score at the current look, valid over all planned looks."""
        z = abs(z)
        if z <= self.bounds[0]:
            return 1.0
        return math.exp(-0.5 * self._depth(z) ** 2)

    def _depth(self, z: float) -> float:
        """Return the transformed p-value of a z-score, interpolated in a table by a cubic spline."""
        n = min(int(np.searchsorted(self.bounds, z)) - 1, self.bounds.size - 2)
        x, x_next = self.bounds[n : n + 2].tolist()
        y, y_next = self.depths[n : n + 2].tolist()
        slope, slope_next = self.slopes[n : n + 2].tolist()
        if z > x_next:
            return float(y_next + slope_next * (z - x_next))
        h = x_next - x
        u = (z - x) / h
        first = (1.0 + 2.0 * u) * (1.0 - u) ** 2 * y + u * (1.0 - u) ** 2 * h * slope
        return float(first + u * u * (3.0 - 2.0 * u) * y_next + u * u * (u - 1.0) * h * slope_next)

    def bound_at(self, level: float) -> float:
        """Return the critical z-score at the current look for a given error probability over all looks."""
        low, high = float(self.bounds[0]), 40.0
        if self.level_of(high) > level:
            return high
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.level_of(middle) > level else (low, middle)
        return high


def find_look_levels(spending: SpendingName, shares: Floats, information: Floats) -> LookLevels:
    """Return the table of z-scores and error probabilities for the current look of a test of two arms.

    Parameters
    ----------
    spending : name of the spending function.
    shares : (L,) share of the plan that was reached at each look that was made, the current one last.
    information : (L,) information at each of these looks, as a share of the information now. At a look
        without any, the pair was not tested.

    Examples
    --------
    >>> share = np.arange(1, 6) / 14
    >>> found = find_look_levels("pocock", share, share / share[-1])
    >>> round(found.bound_at(0.05), 2), round(found.level_of(found.bound_at(0.05)), 6)
    (2.62, 0.05)
    """
    rising = np.maximum.accumulate(np.clip(information, 0.0, 1.0))
    tested = rising > _NO_INFORMATION
    tested[-1] = True
    rising[-1] = 1.0
    return _tabulate(
        spending, tuple(shares[tested].tolist()), tuple(np.round(rising[tested], _DIGITS).tolist())
    )


@lru_cache(maxsize=4096)
def _tabulate(
    spending: SpendingName, shares: tuple[float, ...], information: tuple[float, ...]
) -> LookLevels:
    spent = spent_alpha(spending, _TABULATED[:, None], np.array(shares))
    bounds = spending_boundaries(spent, np.array(information))[:, -1]
    order = np.argsort(bounds, kind="stable")
    bounds, depths = bounds[order], np.sqrt(-2.0 * np.log(_TABULATED))[order]
    return LookLevels(bounds, depths, _spline_slopes(bounds, depths))


def _spline_slopes(known: Floats, values: Floats) -> Floats:
    """Return the slopes at the knots of an increasing cubic spline (method of Fritsch and Butland)."""
    rise = np.diff(values) / np.diff(known)
    inner = 2.0 * rise[1:] * rise[:-1] / (rise[1:] + rise[:-1])
    return np.concatenate([rise[:1], inner, rise[-1:]])
