"""Fit that compares arms by ratios or odds, in the form that the functions of a policy read.

The kernels read one fit: estimates, a matrix P in units of pulls, and the noise variance of a pull. Here
these come from the likelihood on the other scale, given the totals of the environments: theta, the inverse of
its information in units of the information of an average pull, and the inverse of that unit. So a pull in an
environment with many events counts more than a pull with few, and an arm with few events is uncertain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.kernels.fit.fixed_effects import degrees_of_freedom
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.odds_pairs import OddsPairScale
from tideproof.stats.pairs.ratio_pairs import RatioPairScale
from tideproof.stats.scales.scale_properties import Scale

_PAIR_SCALES: dict[Scale, type[OddsPairScale] | type[RatioPairScale]] = {
    "odds": OddsPairScale,
    "ratio": RatioPairScale,
}


class RescaledFit(NamedTuple):
    """Estimates of arms that are compared by ratios or odds.

    Attributes
    ----------
    theta : (K,) logarithms of the arms' rates or odds, up to a constant.
    P : (K, K) inverse of the information about theta, times the information of an average pull.
    noise : inverse of the information of an average pull: the variance of theta_i - theta_k is `noise` times
        that of P.
    """

    theta: Floats
    P: Floats
    noise: float

    def write(self, fit: Any, sign: float) -> None:
        """Write the estimates of the arms into the fit that the policy reads.

        `sign` is -1 if low rewards are good.
        """
        fit.P[:], fit.mu[:] = self.P, sign * self.theta
        fit.rss[0] = self.noise * degrees_of_freedom(fit)


def rescaled_fit(scale: Scale, n: Floats, mean: Floats, squares: Floats) -> RescaledFit | None:
    """Return a fit that compares arms by ratios or odds, or None if the rewards do not suffice for it.

    It is computed from (J, K) arrays with the cells of J environments and K arms. It needs rewards of every
    arm, and rewards that differ. Half an event is added to each arm, as in `Fit`, to keep the estimates
    finite.
    """
    environment, arm = np.nonzero(n)
    at = environment, arm
    cells = Cells(
        list(range(n.shape[1])), list(range(len(n))), arm, environment, n[at], mean[at], squares[at]
    )
    if not cells.counts.all():
        return None
    try:
        found = _PAIR_SCALES[scale](cells)
    except InputError:  # no rewards above 0 or, for odds, no rewards of 0
        return None
    P, variance = found.P, found.fitted  # variance of one reward, by the likelihood
    if isinstance(found, OddsPairScale):
        P = np.asarray(np.linalg.inv(found.information), np.float64)
        variance = found.fitted * (1.0 - found.fitted)
    spread = float(np.sum(cells.squares + cells.n * np.square(cells.mean - found.fitted)))
    average = float(np.sum(cells.n * variance) / np.sum(cells.n))
    dispersion = spread / (average * float(np.sum(cells.n)))
    return RescaledFit(found.theta, P * average, dispersion / average) if dispersion > 0.0 else None
