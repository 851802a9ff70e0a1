"""Posterior probability that each arm is the best, under one of two priors on the arm means.

"flat" is the improper flat prior: every gap is equally likely beforehand. The result is a Student-t tail
probability. With many arms one of them leads by chance, and this prior overrates it.

"exchangeable" assumes that the arm means come from one normal distribution with an unknown mean, whose
standard deviation tau is estimated from the data (a hierarchical model). In K - 1 orthonormal contrasts

    mu ~ N(0, tau^2 I),    muhat ~ N(mu, sigma^2 V),    p(tau) ~ 1/tau for tau > s, p(sigma) ~ 1/sigma.

All orders of magnitude of tau above s are equally likely; s is the standard error of a typical arm (s^2 is
the harmonic mean of the variances lambda_i along the axes of V). A smaller tau is indistinguishable from 0.
Because tau is relative to the standard errors, the prior does not depend on the unit of the rewards. On the
scales of ratios and odds, mu are logarithms. With y_i the estimates along these axes, and tau in units of
sigma,

    p(tau | data) ~ 1/tau prod_i (tau^2 + lambda_i)^-1/2 (1 + q/nu)^-(nu + K - 1)/2,
    q = sum_i y_i^2/(tau^2 + lambda_i).

Given tau the contrasts are multivariate Student-t with nu + K - 1 degrees of freedom around w_i y_i, w_i =
tau^2/(tau^2 + lambda_i), with squared scale w_i lambda_i (nu + q)/(nu + K - 1) along axis i.

If the data allow small and large values of tau, the probabilities mostly state what the prior assumes. For
arms that nearly tie they would be far too high. Under the exchangeable prior there are therefore no
probabilities, unless one arm is the best with at least 90 % for every tau in its likelihood interval
(`is_best_for_every_tau`).

References
----------
DuMouchel (1994), Hierarchical Bayes linear models for meta-analysis.
Gelman (2006), Prior distributions for variance parameters in hierarchical models.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tideproof.checks import Prior
from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import directions, line_probabilities, probabilities_of_best

PRIOR_NAMES: dict[Prior, str] = {"exchangeable": "exchangeable prior", "flat": "flat prior"}

_SHIFTS = 8  # Random shifts of the lattice, whose scatter gives the error.
_STEPS = 512  # Grid points of log tau.
_BEYOND = 12.0  # The grid of log tau ends this far above the largest estimate.
_ZERO = 1.0 / 30.0  # A tau of this many standard errors of a typical arm counts as 0.
_ALLOWED = 1.92  # Data allow a tau if the log likelihood is at most this far below its maximum (95 %).
_TAUS = 8  # Values of tau at which the probability is computed.
_CLEAR = 0.9  # Probability that the best arm needs at each of them.


def p_best(prior: Prior, mu: Floats, C: Floats, freedom: float) -> tuple[Floats, float]:
    """Return each arm's posterior probability of having the highest mean, and the integration error.

    `C` is the covariance of the estimates `mu`; its scale is estimated with `freedom` degrees of freedom. All
    numbers are NaN under the exchangeable prior, unless `is_best_for_every_tau` holds.
    """
    if prior == "flat":
        return probabilities_of_best(mu, 1.0, C, freedom)
    if not is_best_for_every_tau(mu, C, freedom):
        return np.full(mu.size, math.nan), math.nan
    return exchangeable_probabilities(mu, C, freedom)


def is_best_for_every_tau(mu: Floats, C: Floats, freedom: float) -> bool:
    """Return whether one arm is the best with at least 90 %, whatever the spread of the arm means is.

    The spread is tau, the standard deviation of the arm means. Every tau counts that the data allow: those in
    its 95 % likelihood interval. If the interval contains 0, the arms may all be equal, and none is the best.

    Examples
    --------
    With two arms the better one needs a lead of about three standard errors:

    >>> [is_best_for_every_tau(np.array([0.0, lead]), np.eye(2) / 2.0, 90.0) for lead in (2.7, 3.2)]
    [False, True]
    """
    if not C.any():
        return True
    known = _along_axes(mu, C, freedom)
    ends = _tau_interval(known)
    if ends is None:
        return False
    points = _points(mu.size)
    chances = []
    for tau, (_, along) in zip(np.geomspace(*ends, _TAUS), _lattices(points, mu.size - 1), strict=True):
        given = np.full((points, 1), tau**2)
        chances.append(_line_probabilities(known, given, along))
    return bool(np.min(chances, axis=0).max() >= _CLEAR)


def exchangeable_probabilities(mu: Floats, C: Floats, freedom: float) -> tuple[Floats, float]:
    """Return each arm's probability of being the best under an exchangeable prior, and the integration error.

    Each integration line of `line_probabilities` has its own tau, at equally spaced quantiles of its
    posterior. The error, the largest over arms, is about 1e-5 for two arms, 2e-3 for ten, 5e-3 for a hundred
    and 2e-2 for five hundred.

    Examples
    --------
    An arm two standard errors ahead of one other arm, and of nine equal arms:

    >>> ahead = np.append(np.zeros(9), 2.0 * math.sqrt(2.0))
    >>> [f"{exchangeable_probabilities(ahead[-K:], np.eye(K), 90.0)[0][-1]:.2f}" for K in (2, 10)]
    ['0.96', '0.75']
    """
    K = mu.size
    if not C.any():
        return probabilities_of_best(mu, 0.0, C, freedom)
    known = _along_axes(mu, C, freedom)
    log_tau, below = _tau_posterior(known)
    chances = []
    for even, along in _lattices(_points(K), K - 1):
        tau2 = np.exp(2.0 * np.interp(even, below, log_tau))[:, None]
        chances.append(_line_probabilities(known, tau2, along))
    error = np.std(chances, axis=0, ddof=1).max() / math.sqrt(_SHIFTS)
    return np.clip(np.mean(chances, axis=0), 0.0, 1.0), float(error)


def _points(arms: int) -> int:
    """Return the number of lines along which one lattice (set of points) integrates numerically."""
    return max(64, min(512, 2**16 // arms))


@lru_cache(maxsize=8)
def _lattices(points: int, dimension: int) -> list[tuple[Floats, Floats]]:
    """Return randomly shifted lattices of points for a numerical integral.

    The differences between the results of the lattices show the error of the integral.
    """
    random = np.random.default_rng(20240919)
    shifts = [(random.random(), random.random(dimension)) for _ in range(_SHIFTS)]
    return [((np.arange(points) + first) / points, directions(points, rest)) for first, rest in shifts]


class _PrincipalEstimates(NamedTuple):
    """Estimated arm differences along the principal axes of their covariance, and their variances."""

    y: Floats
    variance: Floats
    axes: Floats
    freedom: float


def _along_axes(mu: Floats, C: Floats, freedom: float) -> _PrincipalEstimates:
    """Rotate the estimated arm differences to the principal axes of their covariance matrix."""
    C = C - C.mean(axis=0) - C.mean(axis=1, keepdims=True) + C.mean()
    variance, axes = np.linalg.eigh(C)  # The first axis is the common level, which is irrelevant.
    variance = np.maximum(variance[1:], 1e-12 * variance[-1])
    return _PrincipalEstimates((mu - mu.mean()) @ axes[:, 1:], variance, axes[:, 1:], freedom)


def _tau_posterior(known: _PrincipalEstimates) -> tuple[Floats, Floats]:
    """Return the posterior distribution of the standard deviation of the arm means, on a grid.

    The results are the grid of log standard deviations and the distribution function at its points.

    tau is the standard deviation of the prior on the arm means.
    """
    log_tau, likelihood = _tau_likelihood(known, 1.0)
    weight = np.exp(likelihood)
    below = np.append(0.0, np.cumsum(weight[1:] + weight[:-1]))
    return log_tau, below / below[-1]


def _tau_interval(known: _PrincipalEstimates) -> tuple[float, float] | None:
    """Return the ends of the 95 % likelihood interval of tau; None if it contains 0."""
    log_tau, likelihood = _tau_likelihood(known, _ZERO)
    allowed = np.flatnonzero(likelihood >= -_ALLOWED)
    if allowed[0] == 0:
        return None
    return math.exp(log_tau[allowed[0]]), math.exp(log_tau[allowed[-1]])


def _tau_likelihood(known: _PrincipalEstimates, least: float) -> tuple[Floats, Floats]:
    """Return a grid of log tau, and the log likelihood at its points minus its maximum.

    The grid begins at a tau of `least` standard errors of a typical arm.
    """
    typical = -0.5 * math.log(float(np.mean(1.0 / known.variance)))
    most = max(typical, math.log(float(np.abs(known.y).max()) + math.exp(typical))) + _BEYOND
    log_tau = np.linspace(typical + math.log(least), most, _STEPS)
    total = np.exp(2.0 * log_tau)[:, None] + known.variance
    nu, dimension = known.freedom, known.y.size
    q = np.sum(known.y**2 / total, axis=1)
    likelihood = -0.5 * np.log(total).sum(axis=1) - 0.5 * (nu + dimension) * np.log1p(q / nu)
    return log_tau, likelihood - likelihood.max()


def _line_probabilities(known: _PrincipalEstimates, tau2: Floats, along: Floats) -> Floats:
    """Return each arm's probability of being the best, from integration lines with given values of tau^2.

    `along` has the directions of the lines.
    """
    middle, scale = _conditional_posterior(known, tau2)
    freedom = known.freedom + known.y.size
    return line_probabilities(middle @ known.axes.T, (along * scale) @ known.axes.T, freedom)


def _conditional_posterior(known: _PrincipalEstimates, tau2: Floats) -> tuple[Floats, Floats]:
    """Return the posterior location and scale of arm differences, given the prior variance of arm means.

    The differences are those along the principal axes.
    """
    total = tau2 + known.variance
    shrunk = tau2 / total
    q = np.sum(known.y**2 / total, axis=1, keepdims=True)
    nu = known.freedom
    return shrunk * known.y, np.sqrt(shrunk * known.variance * (nu + q) / (nu + known.y.size))
