"""Mixed model with random arm x environment interactions, fitted by REML.

The model is reward = arm + shift + interaction + noise.

Interactions are normal with variance omega^2, and shifts are fixed effects. A cell's mean then has the
variance v_c = omega^2 + sigma^2/n, independently of the others. So the fit is least squares with weights
1/v_c and needs only the cells of a log. omega^2 and sigma^2 come from restricted maximum likelihood (REML),
standard errors and degrees of freedom from `kenward_roger`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.solve.least_squares import Solution, residuals, solve
from tideproof.stats.variance.kenward_roger import (
    derivative_sums,
    information,
    pooled_variance_correction,
    satterthwaite,
    variance_correction,
)
from tideproof.stats.variance.sandwich import Pools

_MANY = 40  # Most arms for which each can have its own omega.
_STEPS = 100  # Limit of the steps of Fisher scoring.
_LEAST, _MOST = 1e-101, 1e101  # Range of variances whose cubes neither overflow nor underflow.


class MixedModelFit(NamedTuple):
    """Fit of the mixed model with arm x environment interactions.

    Attributes
    ----------
    omega2 : (1,) variance of interactions, or (K,) one for each arm.
    sigma2 : (1,) variance of a reward in its cell, or (pools,).
    noise_of : (C,) index into `sigma2` of each cell.
    told : whether interactions and noise can be distinguished, which needs a cell with two rewards and cells
        that check each other.
    cells : cells with the weights 1/v.
    solution : muhat and P for these weights.
    covariance, freedom : (K, K) covariance of muhat, and degrees of freedom of each contrast.
    scales : (2, 2) covariance of the relative errors of all omega^2 and of all sigma^2; NaN at omega = 0.
    """

    omega2: Floats
    sigma2: Floats
    noise_of: Ints
    told: bool
    cells: Cells
    solution: Solution
    covariance: Floats
    freedom: Floats
    scales: Floats

    @property
    def none(self) -> bool:
        """True if no interactions of arms and environments were found.

        The fit is then one without interactions.
        """
        return not self.omega2.any()

    @property
    def between(self) -> Floats:
        """Variance of the arm x environment interaction in each cell: (C,)."""
        one = self.omega2.size == 1
        return np.full(self.cells.n.size, self.omega2[0]) if one else np.asarray(self.omega2[self.cells.arm])

    @property
    def noise(self) -> Floats:
        """Noise variance of the mean reward of each cell (one arm in one environment): (C,)."""
        return np.asarray(self.sigma2[self.noise_of] / self.cells.n)

    def typical(self) -> tuple[float, float]:
        """Return the typical standard deviations of interactions and of noise.

        They are root mean squares over rewards.
        """
        n = self.cells.n
        between, noise = (float(n @ x / n.sum()) for x in (self.between, self.sigma2[self.noise_of]))
        return math.sqrt(between), math.sqrt(noise)


class RestrictedLikelihood(NamedTuple):
    """Restricted likelihood (REML) of the mixed model at one value of the variance of interactions.

    Attributes
    ----------
    cells, solution : cells weighted by 1/v, and their least-squares fit.
    residual, variance : (C,) residuals of the cells, and the expectation of their squares divided by `one`.
    one : factor of v: sigma^2 if v is relative, else 1.
    """

    cells: Cells
    solution: Solution
    residual: Floats
    variance: Floats
    one: float

    @property
    def slope(self) -> float:
        """Scaled derivative of the deviance with respect to the interaction variance; 0 at the optimum.

        It is the sum of expected weighted squares divided by that of observed ones, minus 1. It is almost
        linear in omega^2, which makes the root easy to find.
        """
        w2 = self.cells.weight**2
        found, expected = float(np.sum(w2 * self.residual**2)), self.one * float(np.sum(w2 * self.variance))
        return expected / found - 1.0 if found > 0.0 else math.inf


def reml(
    c: Cells, s: Solution, pools: Pools | None = None, *, own: bool = False, none: bool = False
) -> MixedModelFit:
    """Fit a mixed model with random arm x environment interactions by REML, given a least-squares fit `s`.

    Without `pools`, noise has one variance, and sigma^2 is estimated together with omega^2. With `pools`, the
    noise variances are those inside the cells of each pool. `own` gives every arm its own omega; `none` fits
    without interactions. Takes O(C K + K^3) a step.
    """
    c.check_one_way("an interaction model")
    if own and c.K > _MANY:
        raise InputError(f"variance='own-interaction' supports at most {_MANY} arms; there are {c.K:,}")
    df = float(np.sum(c.n - 1.0))
    told = df > 0.0 and visible_interactions(c, s) > 0
    if told and not np.any(c.squares > 0.0):
        raise InputError(
            "interactions cannot be distinguished from noise: the rewards of an arm never vary inside an "
            "environment; use variance='clustered'"
        )
    if told:
        _check_unit(float(np.sum(c.squares)) / df)
    omega2, one = _maximise(c, s, pools) if told and not none else (0.0, 1.0)
    if not omega2 > 0.0 and not (own and told and not none):
        return _fit_without_interactions(c, s, pools, own, told)
    start = VarianceParameters(np.array([omega2]), np.array([one]) if pools is None else pools.variance)
    if own:
        start = _omega_by_arm(c, s, pools, start)
        if not start.omega2.any():
            return _fit_without_interactions(c, s, pools, own, told)
    return _fit_at(c, s, pools, start)


def _check_unit(variance: float) -> None:
    """Raise `InputError` if the cube of the variance of the rewards would overflow or underflow."""
    if not _LEAST <= variance <= _MOST:
        raise InputError(
            f"the interaction model cannot handle rewards with standard deviation {math.sqrt(variance):g}; "
            f"use another unit for the rewards"
        )


def visible_interactions(c: Cells, s: Solution) -> int:
    """Return the degrees of freedom of arm x environment interactions: number of means minus parameters."""
    return c.n.size - s.environments - s.joins


class VarianceParameters(NamedTuple):
    """Variance parameters of the mixed model: the variances of interactions and those of the noise.

    Attributes
    ----------
    omega2 : (1,) variance of interactions, or (K,) one for each arm.
    sigma2 : (1,) variance of a reward in its cell, or (pools,) one for each pool of cells.
    """

    omega2: Floats
    sigma2: Floats


def _restricted_likelihood(c: Cells, s: Solution, pools: Pools | None, omega2: float) -> RestrictedLikelihood:
    """Return the restricted likelihood of the mixed model at the interaction variance `omega2`.

    Without `pools`, `omega2` and the variances v of the cell means are in units of sigma^2.
    """
    noise = 1.0 / c.n if pools is None else pools.variance[pools.of] / c.n
    cells = c.weighted(1.0 / (omega2 + noise))
    found = solve(cells)
    residual, variance = residuals(found, cells)
    one = (found.rss + float(np.sum(c.squares))) / s.freedom if pools is None else 1.0
    return RestrictedLikelihood(cells, found, residual, variance, one)


def _maximise(c: Cells, s: Solution, pools: Pools | None) -> tuple[float, float]:
    """Return the interaction variance and the noise variance that maximise the restricted likelihood.

    With `pools` the variances of the noise are known, and the second result is 1.
    """

    def slope(x: float) -> float:
        """Return the scaled derivative of the deviance with respect to the interaction variance, at x."""
        return _restricted_likelihood(c, s, pools, x).slope

    none = _restricted_likelihood(c, s, pools, 0.0)
    one = float(np.sum(c.squares) / np.sum(c.n - 1.0)) if pools is None else 1.0
    # Slope of the expected squares in omega^2.
    expected = float(np.sum(none.cells.weight**2 * none.variance))
    guess = (none.solution.rss / one - visible_interactions(c, s)) / expected  # Moment estimate.
    if none.slope < 0.0:
        low = 0.0, none.slope
    elif guess > 0.0 and (rising := [x for x in (0.1 * guess, guess, 10.0 * guess) if slope(x) < 0.0]):
        low = rising[0], slope(rising[0])  # The likelihood has a minimum before its maximum.
    else:
        return 0.0, none.one
    x = secant_root(low, max(guess, 2.0 * low[0], 1e-3 * visible_interactions(c, s) / expected), slope)
    found = _restricted_likelihood(c, s, pools, x)
    if none.slope >= 0.0 and _deviance(s, found, pools) > _deviance(s, none, pools):
        return 0.0, none.one
    return x * found.one, found.one


def secant_root(low: tuple[float, float], guess: float, f: Callable[[float], float]) -> float:
    """Return the root, above the point `low`, of a nearly linear function by a bracketed secant method.

    `low` is a point with a negative value: its position and the value there.
    """
    high, before, x = math.inf, low, guess
    for _ in range(60):
        y = f(x)
        if abs(y) < 1e-10:
            break
        if y < 0.0:
            low = x, y
        else:
            high = x
        rise = (y - before[1]) / (x - before[0])
        following = x - y / rise if rise > 0.0 else math.inf
        before = x, y
        if not low[0] < following < high:
            following = 4.0 * x if math.isinf(high) else 0.5 * (low[0] + high)
        if following == x:
            break
        x = min(following, 16.0 * x)
    return x


def _deviance(s: Solution, at: RestrictedLikelihood, pools: Pools | None) -> float:
    """Return the deviance: -2 times the log restricted likelihood, up to a constant."""
    W = at.cells.totals[at.cells.totals > 0.0]
    loose = np.flatnonzero(np.diag(at.solution.P) > 0.0)
    total = float(np.sum(np.log(W)) - np.sum(np.log(at.cells.weight)))
    total -= float(np.linalg.slogdet(at.solution.P[np.ix_(loose, loose)])[1])
    return total + (s.freedom * math.log(at.one) if pools is None else at.solution.rss)


def _fit_without_interactions(
    c: Cells, s: Solution, pools: Pools | None, own: bool, told: bool
) -> MixedModelFit:
    """Return the mixed-model fit for the case without interactions.

    Its covariances are not computed.
    """
    sigma2 = np.array([s.rss / s.freedom if s.freedom else np.nan]) if pools is None else pools.variance
    nothing = np.full((c.K, c.K), np.nan)
    omega2 = np.zeros(c.K if own else 1)
    return MixedModelFit(
        omega2, sigma2, _noise_of(c, pools), told, c, s, nothing, nothing, np.full((2, 2), np.nan)
    )


def _noise_of(c: Cells, pools: Pools | None) -> Ints:
    """Return, for each arm-by-environment cell, the index of its noise variance; 0 if there is only one."""
    return np.zeros(c.n.size, np.int64) if pools is None else pools.of


def _omega_by_arm(
    c: Cells, s: Solution, pools: Pools | None, start: VarianceParameters
) -> VarianceParameters:
    """Estimate a separate interaction variance, at least 0, for each arm by Fisher scoring.

    Without `pools`, the noise variance sigma^2 is estimated together with them.
    """
    joint, df, inside = pools is None, float(np.sum(c.n - 1.0)), float(np.sum(c.squares))
    D = np.array([(c.arm == i).astype(float) for i in range(c.K)] + ([1.0 / c.n] if joint else []))
    fixed = 0.0 if pools is None else pools.variance[pools.of] / c.n
    theta = np.append(np.full(c.K, start.omega2[0]), start.sigma2 if joint else [])
    for _ in range(_STEPS):
        cells = c.weighted(1.0 / (theta @ D + fixed))
        found = solve(cells)
        r, variance = residuals(found, cells)
        score = 0.5 * D @ (cells.weight**2 * (r**2 - variance))
        known = information(cells, found, variance, derivative_sums(cells, D))
        if joint:
            score[-1] += 0.5 * (inside / theta[-1] - df) / theta[-1]
            known[-1, -1] += 0.5 * df / theta[-1] ** 2
        free = np.flatnonzero((theta > 0.0) | (score > 0.0))
        step = np.zeros(theta.size)
        step[free] = np.linalg.pinv(known[np.ix_(free, free)], hermitian=True) @ score[free]
        after = np.maximum(theta + step, 0.0)
        if joint:
            after[-1] = max(after[-1], 0.1 * theta[-1])
        done = np.max(np.abs(after - theta)) <= 1e-10 * np.max(after)
        theta = after
        if done:
            break
    return VarianceParameters(theta[: c.K], theta[c.K :] if pools is None else pools.variance)


def _fit_at(c: Cells, s: Solution, pools: Pools | None, theta: VarianceParameters) -> MixedModelFit:
    """Fit the mixed model at the estimated variances `theta`, and apply Kenward-Roger corrections."""
    omega2, sigma2 = theta
    of, df = _noise_of(c, pools), float(np.sum(c.n - 1.0))
    between = np.broadcast_to(omega2 if omega2.size == 1 else omega2[c.arm], c.n.shape)
    noise = sigma2[of] / c.n
    cells = c.weighted(1.0 / (between + noise))
    found = solve(cells)
    _, variance = residuals(found, cells)
    free = np.flatnonzero(omega2 > 0.0).tolist()
    D = [np.ones(c.n.size)] if omega2.size == 1 else [(c.arm == i).astype(float) for i in free]
    sums = derivative_sums(cells, np.array([*D, 1.0 / c.n] if pools is None else D))
    known = information(cells, found, variance, sums)
    if pools is None:
        known[-1, -1] += 0.5 * df / sigma2[0] ** 2
    cost = variance_correction(
        cells, found, sums, np.asarray(np.linalg.pinv(known, hermitian=True), np.float64)
    )
    if pools is not None:
        cost += pooled_variance_correction(cells, found, pools)
    scales = information(cells, found, variance, derivative_sums(cells, np.array([between, noise])))
    scales[1, 1] += 0.5 * df
    return MixedModelFit(
        omega2=omega2,
        sigma2=sigma2,
        noise_of=of,
        told=True,
        cells=cells,
        solution=found,
        covariance=found.P + cost.extra,
        freedom=satterthwaite(found.P, cost.doubt),
        scales=np.asarray(np.linalg.pinv(scales, hermitian=True), np.float64),
    )
