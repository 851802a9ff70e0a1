"""Posterior probability that each arm is the best, under one of two priors on the arm means.

"flat" is the improper flat prior: every gap is equally likely beforehand. The result is a Student-t tail
probability. With many arms one of them leads by chance, and this prior overrates it.

"exchangeable" assumes that the arm means come from one normal distribution with an unknown mean, whose
standard deviation tau is estimated from the data (a hierarchical model). In K - 1 orthonormal contrasts

    mu ~ N(0, tau^2 I),    muhat ~ N(mu, sigma^2 V),    p(tau) ~ 1/tau for tau > s/3, p(sigma) ~ 1/sigma.

All orders of magnitude of tau above s/3 are equally likely; s is the standard error of a typical arm (s^2 is
the harmonic mean of the variances lambda_i along the axes of V). A smaller tau is indistinguishable from 0.
With s instead of s/3, arms that nearly tie would be called the best too confidently.
Because tau is relative to the standard errors, the prior does not depend on the unit of the rewards. On the
scales of ratios and odds, mu are logarithms. With y_i the estimates along these axes, and tau in units of
sigma,

    p(tau | data) ~ 1/tau prod_i (tau^2 + lambda_i)^-1/2 (1 + q/nu)^-(nu + K - 1)/2,
    q = sum_i y_i^2/(tau^2 + lambda_i).

Where the data do not show that arms differ at all, tau could be anything below the standard errors, and the
probability would state the prior. `arms_differ` finds out; probabilities are not shown otherwise.

Given tau the contrasts are multivariate Student-t with nu + K - 1 degrees of freedom around w_i y_i, w_i =
tau^2/(tau^2 + lambda_i), with squared scale w_i lambda_i (nu + q)/(nu + K - 1) along axis i.

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
from tideproof.stats.best.student_inference import (
    directions,
    f_tail,
    line_probabilities,
    probabilities_of_best,
)

PRIOR_NAMES: dict[Prior, str] = {"exchangeable": "exchangeable prior", "flat": "flat prior"}

_LEAST_TAU = 1.0 / 3.0  # Smallest tau, in standard errors of a typical arm.
_DIFFERENCE_P = 0.05  # Arms differ if the p-value of the hypothesis of equal arms is below.
_SHIFTS = 8  # Random shifts of the lattice, whose scatter gives the error.
_STEPS = 512  # Grid points of log tau.
_BEYOND = 12.0  # The grid of log tau ends this far above the largest estimate.


def p_best(prior: Prior, mu: Floats, C: Floats, freedom: float) -> tuple[Floats, float]:
    """Return each arm's posterior probability of having the highest mean, and the integration error.

    `C` is the covariance of the estimates `mu`; its scale is estimated with `freedom` degrees of freedom.
    """
    if prior == "flat":
        return probabilities_of_best(mu, 1.0, C, freedom)
    return exchangeable_probabilities(mu, C, freedom)


def arms_differ(mu: Floats, C: Floats, freedom: float) -> bool:
    """Return whether an F test rejects at 5 % that all arms have the same mean.

    `C` is the covariance of the estimates `mu`; its scale is estimated with `freedom` degrees of freedom.

    >>> [arms_differ(np.array([0.0, 0.0, lead]), np.eye(3), 60.0) for lead in (3.0, 3.2)]
    [False, True]
    """
    if not C.any():
        return True
    known = _along_axes(mu, C, freedom)
    return f_tail(float(np.mean(known.y**2 / known.variance)), mu.size - 1.0, freedom) < _DIFFERENCE_P


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
    ['0.93', '0.49']
    """
    K = mu.size
    if not C.any():
        return probabilities_of_best(mu, 0.0, C, freedom)
    known = _along_axes(mu, C, freedom)
    log_tau, below = _tau_posterior(known)
    points = max(64, min(512, 2**16 // K))
    chances = []
    for even, along in _lattices(points, K - 1):
        middle, scale = _conditional_posterior(known, np.exp(2.0 * np.interp(even, below, log_tau))[:, None])
        v = along * scale
        chances.append(line_probabilities(middle @ known.axes.T, v @ known.axes.T, freedom + K - 1.0))
    error = np.std(chances, axis=0, ddof=1).max() / math.sqrt(_SHIFTS)
    return np.clip(np.mean(chances, axis=0), 0.0, 1.0), float(error)


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
    least = math.log(_LEAST_TAU) - 0.5 * math.log(float(np.mean(1.0 / known.variance)))
    most = max(least, math.log(float(np.abs(known.y).max()) + math.exp(least))) + _BEYOND
    log_tau = np.linspace(least, most, _STEPS)
    total = np.exp(2.0 * log_tau)[:, None] + known.variance
    nu, dimension = known.freedom, known.y.size
    q = np.sum(known.y**2 / total, axis=1)
    weight = -0.5 * np.log(total).sum(axis=1) - 0.5 * (nu + dimension) * np.log1p(q / nu)
    weight = np.exp(weight - weight.max())
    below = np.append(0.0, np.cumsum(weight[1:] + weight[:-1]))
    return log_tau, below / below[-1]


def _conditional_posterior(known: _PrincipalEstimates, tau2: Floats) -> tuple[Floats, Floats]:
    """Return the posterior location and scale of arm differences, given the prior variance of arm means.

    The differences are those along the principal axes.
    """
    total = tau2 + known.variance
    shrunk = tau2 / total
    q = np.sum(known.y**2 / total, axis=1, keepdims=True)
    nu = known.freedom
    return shrunk * known.y, np.sqrt(shrunk * known.variance * (nu + q) / (nu + known.y.size))
