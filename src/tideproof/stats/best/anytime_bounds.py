"""Bounds that hold at all looks at once: how far estimates stray, ever, while a log grows.

While traffic does not answer to rewards, the estimate of a gap is Brownian motion in the time of its
information. Its likelihood ratio, averaged over gaps that are normal around the true one, is a martingale
that begins at 1 and reaches 1/alpha with probability alpha at most (Robbins; Ville). With r the variance of
those gaps over that of the estimate, t the estimate over its standard error and nu degrees of freedom it is

    (1 + r)^(-1/2) ((1 + t^2/nu) / (1 + t^2/(nu (1 + r))))^((nu + 1)/2),

exact for normal rewards of one unknown variance, as it does not depend on their scale. Where traffic does
answer to rewards (by differences within environments), the average is over all gaps of all arms at once: one
martingale, with a determinant in place of 1 + r.

How gaps vary is fixed before the first reward: as the estimate of a gap does from EVENTS events of each arm,
or from that many rewards where there are no events. So lifts vary by 20 %. Of two arms at 95 %, bounds are
lowest, 3.0 standard errors, at about nine times as many events, 3.7 at as many, 3.6 at a thousand times.

References
----------
Robbins (1970), Statistical methods related to the law of the iterated logarithm;
Lindon, Ham, Tingley, Bojinov (2022), Anytime-valid linear models and regression adjusted causal inference.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.best.student_inference import normal_tail, pair_variances
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.skewed_tails import student_from_normal
from tideproof.stats.scales.scale_choice import Compared

EVENTS = 50  # of each arm; what people stop at is some hundreds to some thousands
_SMALLEST = -690.0  # logarithm of a p-value


class AnyTime(NamedTuple):
    """What all looks together are allowed.

    Attributes
    ----------
    usual : variance of the gaps over which is averaged, on the scale of the estimates.
    joint : whether traffic answers to rewards.
    """

    usual: float
    joint: bool

    def alone(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return the deviates that the estimate of each pair stays within at all looks: (k, k).

        But for a chance of alpha for each. `C` is the covariance of the arms, `freedom` that of each pair.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bars = _as_normal(_bound(*self._paths(C), freedom, math.log(alpha)), freedom)
        np.fill_diagonal(bars, 0.0)
        return bars

    def all_pairs(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return the deviates that all pairs stay within at all looks, but for a chance of alpha: (k, k)."""
        count = 1.0 if self.joint else 0.5 * len(C) * (len(C) - 1)
        return self.alone(C, freedom, alpha / count)

    def with_best(self, C: Floats, freedom: Floats, alpha: float) -> Floats:
        """Return the deviates that no arm exceeds at any look against the best one, but for alpha: (k, k).

        One side of the others: averaged over gaps above 0 only, the martingale is at least 2 Phi(s) times the
        one above where that is 1/a, s^2 = -2 log a.
        """
        if self.joint:
            return self.alone(C, freedom, alpha)
        each = min(alpha / (len(C) - 1), 0.25)
        return self.alone(
            C, freedom, 2.0 * each * (1.0 - normal_tail(math.sqrt(-2.0 * math.log(2.0 * each))))
        )

    def p_value(self, C: Floats, freedom: Floats, i: int, k: int, deviate: float) -> float:
        """Return the least alpha at which a deviate of this pair is excluded: valid at any look."""
        if math.isnan(deviate):
            return math.nan
        r, weight = (x if x.ndim == 1 else x[i, k] for x in self._paths(C))
        nu = np.array(freedom[i, k])
        t = abs(student_from_normal(deviate, float(nu)))
        low, high = _SMALLEST, 0.0  # of its logarithm
        if not np.sqrt(_bound(r, weight, nu, high)) < t:
            return 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if np.sqrt(_bound(r, weight, nu, middle)) < t:
                high = middle
            else:
                low = middle
        return math.exp(high)

    def _paths(self, C: Floats) -> tuple[Floats, Floats]:
        """Return r along independent directions, and what share of a pair's variance each of them has.

        A pair alone has one direction: (k, k, 1) each. Jointly: (k - 1,) and (k, k, k - 1).
        """
        if not self.joint:
            with np.errstate(divide="ignore", invalid="ignore"):
                r = (self.usual / pair_variances(C))[..., None]
            return r, np.ones_like(r)
        against = np.eye(len(C))[1:] - np.eye(len(C))[0]  # each arm against the first
        try:
            L = np.linalg.cholesky(against @ C @ against.T)
        except np.linalg.LinAlgError:  # no noise to be seen, as before the first event: nothing is bounded
            return np.zeros(len(C) - 1), np.ones((len(C), len(C), len(C) - 1))
        T = 0.5 * self.usual * against @ against.T
        half = np.linalg.solve(L, T)
        r, U = np.linalg.eigh(np.linalg.solve(L, half.T))
        along = np.vstack([np.zeros(len(r)), L @ U])
        apart = (along[:, None, :] - along[None, :, :]) ** 2
        with np.errstate(invalid="ignore"):
            return r, apart / apart.sum(axis=-1, keepdims=True)


def usual_variance(scale: Compared, cells: Cells, sigma: float) -> float:
    """Return the variance of gaps: as of the estimate of one from EVENTS events, or rewards, of each arm."""
    if scale != "difference":
        return 2.0 / EVENTS
    if not cells.binary:
        return 2.0 * sigma**2 / EVENTS
    rate = float(np.average(cells.mean, weights=cells.n))
    return 2.0 * rate**2 / EVENTS


def _bound(r: Floats, weight: Floats, freedom: Floats, log_alpha: float) -> Floats:
    """Return the square of t at which the martingale is 1/alpha, or infinity; the last axis is directions.

    With g = (prod(1 + r) / alpha^2)^(1/(nu + d)) it is nu (g - 1) sum(weight / (1 - g/(1 + r))).
    """
    room = np.log1p(r).sum(axis=-1) - 2.0 * log_alpha
    each = room / (freedom + r.shape[-1])
    reach = np.where(np.isinf(freedom), room, freedom * np.expm1(each))
    left = 1.0 - np.exp(each)[..., None] / (1.0 + r)
    inside = np.all(left > 0.0, axis=-1)
    return np.where(inside, reach * np.sum(weight / np.where(left > 0.0, left, 1.0), axis=-1), np.inf)


def _as_normal(square: Floats, freedom: Floats) -> Floats:
    """Return the normal deviates that are exceeded as seldom as these squares of Student-t numbers."""
    from scipy.special import ndtri, stdtr

    t = np.sqrt(square)
    return np.where(np.isinf(freedom), t, -ndtri(stdtr(freedom, -t)))
