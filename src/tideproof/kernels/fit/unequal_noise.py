"""Fixed-effects fit for noise that differs between arms, and interactions of arms with environments.

A reward is arm + shift + interaction(arm, environment) + noise. The interaction is normal with variance
rho, the noise has variance v_a; both are in units of a common variance, which is estimated as in
`fixed_effects`. A cell of c rewards then has weight h = c/(v_a + c rho), and `fixed_effects` holds with
these weights in place of counts. n more rewards with mean y are, for a cell with mean m, an observation of

    m + slope (y - m) with variance slope ((c + n) rho + v_a)/n,    slope = 1 + c rho/v_a,

which makes every step exact for given v and rho, in O(K^2) (tests/kernels/test_uneven.py compares with
dense solves). An environment needs only its counts and means, so that it may return.

**rho** has one of three values (`RATIOS`). There is a fit for each, and policies read the likeliest one,
with the noise variance integrated out; it is chosen again at every eighth reward. **v** is learned from the
likelihood of each reward, and shrunk towards equality: log v is 0 or normal for each arm, weighted by the
likelihood of each. Earlier observations keep their weights when v changes. But the variance of the arm's
estimate changes by the change of v for each of its pulls.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from tideproof.core.kernel_array_access import add_at
from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Floats, Int1, IntK
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom, together

BY_ARM = hole("BY_ARM")  # whether the noise may differ between arms
FITS = hole("FITS")  # number of values of rho that are in use
CALM = hole("CALM")  # prior log odds of no interaction against each other value of rho
noise_before = hole("noise_before")  # v of an arm before its first reward
ratio_of = hole("ratio_of")  # rho of a fit

MAXIMUM_FITS = 3  # maximum number of fits
RATIOS = (0.0, 0.25, 1.5)  # values of rho: interactions with a standard deviation of 0, 0.5 and 1.2 sigmas
PRIOR = 2.0  # weight of the prior of an arm's noise, in rewards
SPREAD = 1.0  # prior variance of log v, if it is not 0
UNEQUAL = -1.0  # prior log odds of unequal noise
LARGEST_SQUARE = (
    30.0  # squared standardised residuals are truncated here, so that one outlier has a limited effect
)
TINY = 1e-300  # lower bound of RSS, so that equal rewards cause no division by 0


class RatioFits(NamedTuple):
    """Noise variance of each arm, and one fit for each candidate variance of arm-by-environment interactions.

    Attributes
    ----------
    P, mu, rss : as in `FixedEffects`, for each fit.
    spread : product of the variances of rewards since `evidence` was last updated.
    evidence : log density of the rewards, without `spread` and the residuals.
    likeliest : (1,) the fit that policies read.
    noise : (K,) v, shrunk towards equality.
    learned : (K,) v by the likelihood alone.
    known : (K,) the information behind it: at most half the number of rewards.
    pulls : (K,) number of rewards.
    share : (K,) scratch.
    """

    P: Annotated[Floats, np.float64, MAXIMUM_FITS, "K", "K"]
    mu: Annotated[Floats, np.float64, MAXIMUM_FITS, "K"]
    rss: Annotated[Floats, np.float64, MAXIMUM_FITS]
    spread: Annotated[Floats, np.float64, MAXIMUM_FITS]
    evidence: Annotated[Floats, np.float64, MAXIMUM_FITS]
    likeliest: Int1
    noise: FloatK
    learned: FloatK
    known: FloatK
    pulls: FloatK
    share: FloatK


class UnequalNoise(NamedTuple):
    """State of a fit with unequal noise variances of the arms and with arm-by-environment interactions.

    The fields of `FixedEffects` have the values of the likeliest fit; `fits` contains all fits.
    """

    P: FloatKK
    mu: FloatK
    first: FloatK
    first_size: Float1
    rss: Float1
    work: FloatK
    group: IntK
    told: Int1
    environments: Int1
    joins: Int1
    fits: RatioFits


@kernel
def equal_noise(arm):
    """Return 1, the noise variance assumed for an arm before its first reward.

    It is in units of the common variance.
    """
    return 1.0


@kernel
def ratio_of_fit(f):
    """Return the variance of arm-by-environment interactions in candidate model number f.

    It is rho, in units of the common variance.
    """
    return RATIOS[f]


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Update the fits of all candidate interaction variances with `n` rewards of `arm` in one environment."""
    if fit.told[0] == 0:
        slot.first[0] = 1
    _begin(fit.fits)
    fit.told[0] += n
    fit.fits.pulls[arm] += n
    if slot.size[0] == 0.0:
        fit.environments[0] += 1
    for f in range(FITS):
        fit.fits.rss[f] += squares / fit.fits.noise[arm]
    if BY_ARM and n > 1 and degrees_of_freedom(fit) > 0:
        _learn_squares(fit, arm, n, squares)
    _update(fit, slot, arm, n, mean, True)
    if FITS > 1 and fit.told[0] % 8 < n:
        _select_fit(fit)
    if BY_ARM and (fit.told[0] % 4 < n or fit.told[0] < 4 * fit.mu.size):
        _shrink_noise(fit)
    _read(fit)


@kernel
def place(fit, slot, arm, n):
    """Update the fits of all candidate interaction variances for `n` pending pulls of `arm`.

    The residual of the pulls counts as 0.
    """
    _begin(fit.fits)
    _update(fit, slot, arm, n, 0.0, False)
    _read(fit)


@kernel
def pull_here(fit, slot, here):
    """Precompute how much one more pull in this environment would reduce the variances of arm differences.

    See `fixed_effects.pull_here` for the results.
    """
    P, noise, counts, K = fit.P, fit.fits.noise, slot.counts, here.size
    rho = ratio_of(fit.fits.likeliest[0])
    total, quadratic = 0.0, 0.0
    for i in range(K):
        here[i] = 0.0
    for k in range(K):
        if counts[k] != 0.0:
            h = counts[k] / (noise[k] + counts[k] * rho)
            total += h
            quadratic += h * (2.0 * here[k] + h * P[k, k])  # here holds the sum over the arms before k
            for i in range(K):
                here[i] += h * P[k, i]
    each = 1.0 / total
    for k in range(K):
        here[k] *= each
    quadratic *= each * each
    return 1.0 + each + quadratic


@kernel
def pull_noise(fit, slot, arm):
    """Return how much the noise variance of a pull of `arm` exceeds the common noise variance.

    The common variance is 1.
    """
    v, rho = fit.fits.noise[arm], ratio_of(fit.fits.likeliest[0])
    c = slot.counts[arm]
    return (1.0 + c * rho / v) * ((c + 1.0) * rho + v) - 1.0


@kernel
def _begin(fits):
    """Initialise the noise variances of all arms and the evidence for each model, once only."""
    if fits.noise[0] == 0.0:
        for i in range(fits.noise.size):
            fits.noise[i] = noise_before(i)
            fits.learned[i] = 1.0
            fits.known[i] = 0.5 * PRIOR
        for f in range(FITS):
            fits.spread[f] = 1.0
        fits.evidence[0] = CALM
        fits.likeliest[0] = 0 if CALM >= 0.0 else 1


@kernel
def _shares(fits, slot, rho):
    """Compute each arm's share of the total weight of an environment, and return the total weight.

    A cell of c rewards has the weight h = c/(v + c rho).
    """
    share, noise, counts = fits.share, fits.noise, slot.counts
    total = 0.0
    for k in range(share.size):
        share[k] = counts[k] / (noise[k] + counts[k] * rho)
    for k in range(share.size):
        total += share[k]
    each = 1.0 / total
    for k in range(share.size):
        share[k] *= each
    return total


@kernel
def _update(fit, slot, arm, n, mean, told):
    """Update estimates and covariances of all fits, for rewards or for pending pulls.

    `told` is False for pending pulls.
    """
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    if slot.size[0] == 0.0:
        return
    fits, work, K = fit.fits, fit.work, fit.mu.size
    share, v, c, here = fits.share, fits.noise[arm], slot.counts[arm], slot.means[arm]
    meets = fit.joins[0] == K - 1 or together(fit, arm, slot.arm[0])
    if not meets and fit.group[arm] == 0:
        fit.group[arm] = -1  # temporary number for a group of one arm
    for f in range(FITS):
        rho = ratio_of(f)
        total = _shares(fits, slot, rho)
        centre, fitted, quadratic = 0.0, fits.mu[f, arm], 0.0
        for i in range(K):
            work[i] = fits.P[f, arm, i]
        for k in range(K):
            if share[k] != 0.0:
                centre += share[k] * slot.means[k]
                fitted -= share[k] * fits.mu[f, k]
                for i in range(K):
                    work[i] -= share[k] * fits.P[f, k, i]
        quadratic = work[arm]
        for k in range(K):
            quadratic -= share[k] * work[k]
        slope = 1.0 + c * rho / v
        seen = here + slope * (mean - here) if c > 0.0 else mean
        residual = seen - centre - fitted if told else 0.0
        variance = slope * ((c + n) * rho + v) / n + 1.0 / total + quadratic
        if not meets:
            _join(fit, f, fit.group[arm], residual, variance)
            continue
        less = 1.0 / variance
        step = residual * less
        for i in range(K):
            fits.mu[f, i] += step * work[i]
            for k in range(K):
                fits.P[f, i, k] -= less * (work[i] * work[k])
        fits.rss[f] += step * residual
        if told and FITS > 1:
            fits.spread[f] *= variance / (slope * slope)
        if told and BY_ARM and f == fits.likeliest[0] and degrees_of_freedom(fit) > 0:
            _learn(fit, f, slot, arm, n, residual, variance, slope)
    if not meets:
        _merge(fit, fit.group[arm], fit.group[slot.arm[0]], slot.arm[0])


@kernel
def _learn(fit, f, slot, arm, n, residual, variance, slope):
    """Update the estimated noise of all arms that contribute to the residual of a new observation.

    With d the share of an arm's noise in the variance S of the residual e, the log likelihood has the
    derivative d (e^2/S - 1)/2 in log v and the information d^2/2. Expects the shares of the environment;
    writes to `work`.
    """
    fits, counts, share = fit.fits, slot.counts, fit.fits.share
    learned, noise, K = fits.learned, fits.noise, fits.noise.size
    parts, own = fit.work, slope * slope / n
    for k in range(K):
        parts[k] = own if k == arm else 0.0
        if counts[k] > 0.0:
            parts[k] += share[k] * share[k] / counts[k]
        variance += parts[k] * (learned[k] - noise[k])
    common = max(fits.rss[f], TINY) / degrees_of_freedom(fit)
    each = 1.0 / variance
    off = min(residual * residual * each / common, LARGEST_SQUARE) - 1.0
    for k in range(K):
        if parts[k] > 0.0:
            d = parts[k] * learned[k] * each
            fits.known[k] += 0.5 * d * d
            learned[k] *= 1.0 + 0.5 * d * off / fits.known[k]


@kernel
def _learn_squares(fit, arm, n, squares):
    """Update the estimated noise of an arm with the squared deviations of `n` rewards from their mean.

    The rewards were reported as a mean.
    """
    fits = fit.fits
    common = max(fits.rss[fits.likeliest[0]], TINY) / degrees_of_freedom(fit)
    off = min(squares / (fits.learned[arm] * common * (n - 1.0)), LARGEST_SQUARE) - 1.0
    fits.known[arm] += 0.5 * (n - 1.0)
    fits.learned[arm] *= 1.0 + 0.5 * (n - 1.0) * off / fits.known[arm]


@kernel
def _shrink_noise(fit):
    """Set the noise variance of each arm, relative to the other arms and shrunk towards 1."""
    fits = fit.fits
    learned, known, noise, logs = fits.learned, fits.known, fits.noise, fits.share
    centre, total = 0.0, 0.0
    for k in range(noise.size):
        logs[k] = math.log(learned[k])
        weight = known[k] / (1.0 + known[k])
        centre += weight * logs[k]
        total += weight
    centre /= total
    for k in range(noise.size):
        gap, worth = logs[k] - centre, known[k] * SPREAD
        kept = worth / (1.0 + worth)
        against = math.sqrt(1.0 + worth) * math.exp(-0.5 * known[k] * gap * gap * kept - UNEQUAL)  # odds
        before, noise[k] = noise[k], math.exp(gap * kept / (1.0 + against))
        if connected(fit):
            for f in range(FITS):
                fits.P[f, k, k] += (noise[k] - before) / fits.pulls[k]


@kernel
def _select_fit(fit):
    """Select the likeliest of the fits, which differ in the variance of interactions."""
    fits, nu = fit.fits, degrees_of_freedom(fit)
    if nu <= 0:
        return
    best, top = 0, 0.0
    for f in range(FITS):
        fits.evidence[f] -= 0.5 * math.log(fits.spread[f])
        fits.spread[f] = 1.0
        log = fits.evidence[f] - 0.5 * nu * math.log(max(fits.rss[f], TINY))
        if f == 0 or log > top:
            best, top = f, log
    fits.likeliest[0] = best


@kernel
def _read(fit):
    """Copy the likeliest fit to the fields that policies read."""
    fits, K = fit.fits, fit.mu.size
    f = fits.likeliest[0]
    fit.rss[0] = fits.rss[f]
    for i in range(K):
        fit.mu[i] = fits.mu[f, i]
        for k in range(K):
            fit.P[i, k] = fits.P[f, i, k]


@kernel
def _join(fit, f, own, residual, variance):
    """Merge two groups of comparable arms in one of the fits, when an observation links the groups.

    See `fixed_effects`. Expects work = Pg.
    """
    P, mu, work, group = fit.fits.P, fit.fits.mu, fit.work, fit.group
    K = work.size
    for i in range(K):
        if group[i] == own:
            mu[f, i] += residual
            work[i] -= 0.5 * variance
    for i in range(K):
        for k in range(K):
            B = work[k] if group[i] == own else 0.0
            C = work[i] if group[k] == own else 0.0
            P[f, i, k] -= B + C


@kernel
def _merge(fit, own, others, other):
    """Give two groups of comparable arms the same number, after they were merged in every fit."""
    group = fit.group
    joined = max(own, others)
    if joined <= 0:
        joined = fit.joins[0] + 1
    for i in range(group.size):
        if group[i] == own or (others != 0 and group[i] == others):
            group[i] = joined
    group[other] = joined
    fit.joins[0] += 1
