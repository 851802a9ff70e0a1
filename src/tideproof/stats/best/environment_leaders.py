"""Leading arm of each environment, in a mixed model with arm x environment interactions.

The mean of arm i in environment j, without the shift, is mu_i + u_ij. Given the variances, both terms are
normal. For a cell with rewards the best linear predictor shrinks u towards 0 by the share of noise in the
cell's mean; for other cells u keeps its prior distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.least_squares import Solution, meat, solve
from tideproof.stats.variance.interaction_reml import MixedModelFit, secant_root, visible_interactions
from tideproof.stats.variance.kenward_roger import satterthwaite

_NUMBERS = 4_000_000  # Random numbers in total for the simulation.
_FEWEST, _MOST = 64, 2_000  # Bounds of the number of draws.
_STEP = 1e-3  # Relative step of a numerical derivative.


class LeaderProbabilities(NamedTuple):
    """Probability that each arm is the best, in each observed environment and in a future one.

    Attributes
    ----------
    chance : (J, K) probability that each arm leads in each environment; NaN in environments without rewards.
    days : (K,) posterior mean of the number of environments in which each arm leads.
    low, high : (K,) interval for that number.
    to_come : (K,) probability that each arm leads in a future environment.
    """

    chance: Floats
    days: Floats
    low: Floats
    high: Floats
    to_come: Floats


class EnvironmentAverages(NamedTuple):
    """Traffic-weighted arm means over the observed environments, in a model with interactions.

    Attributes
    ----------
    mu : (K,) predicted mean of each arm, up to a constant.
    covariance, freedom : (K, K) covariance of the prediction errors, and degrees of freedom of each contrast.
    """

    mu: Floats
    covariance: Floats
    freedom: Floats


def omega_interval(c: Cells, s: Solution, found: MixedModelFit, confidence: float) -> tuple[float, float]:
    """Return a confidence interval for the standard deviation of arm-by-environment interactions.

    It is NaN if the data do not identify omega, this standard deviation.

    At the true omega^2/sigma^2 the weighted sum of squares of the cell residuals over the variance inside
    cells has an F distribution: exactly under normal noise with one variance, otherwise approximately. The
    bounds are the values at which the statistic equals its upper and lower quantile. At omega = 0 this is the
    test of additivity.

    References
    ----------
    Wald (1940), A note on the analysis of variance with unequal class frequencies.
    """
    from scipy.special import fdtri

    if not found.told:
        return math.nan, math.nan
    df1, df2 = float(visible_interactions(c, s)), float(np.sum(c.n - 1.0))
    inside = float(np.sum(c.squares)) / df2
    sigma2 = found.sigma2[found.noise_of]
    one = found.typical()[1] ** 2 if found.sigma2.size > 1 else float(sigma2[0])
    relative = 1.0 / c.n if found.sigma2.size == 1 else sigma2 / c.n

    def squares(x: float) -> float:
        total = solve(c.weighted(1.0 / (x + relative))).rss / df1
        return total / inside if found.sigma2.size == 1 else total

    def end(chance: float) -> float:
        bar = float(fdtri(df1, df2, chance))
        at_0 = squares(0.0)
        if at_0 <= bar:
            return 0.0
        x = secant_root((0.0, bar / at_0 - 1.0), float(np.mean(relative)), lambda x: bar / squares(x) - 1.0)
        return math.sqrt(x * (one if found.sigma2.size == 1 else 1.0))

    return end(0.5 + 0.5 * confidence), end(0.5 - 0.5 * confidence)


def leader_probabilities(
    found: MixedModelFit, mu: Floats, covariance: Floats, sign: float, confidence: float, seed: int = 20261116
) -> LeaderProbabilities:
    """Estimate by simulation the probability that each arm is the best one in each environment.

    The arm means and the interactions are simulated.

    The variances are taken as known. The best arm is the lowest if `sign` is -1.
    """
    c = found.cells
    J, K, j, arm = c.J, c.K, c.environment, c.arm
    between, v = found.between, found.between + found.noise
    share = np.divide(between, v, out=np.zeros_like(v), where=v > 0.0)
    W = sum_by_index(j, 1.0 / v, J)
    own = c.weighted(1.0 / v)
    random = np.random.default_rng(seed)
    draws = int(np.clip(_NUMBERS // (J * K), _FEWEST, _MOST))
    spread = np.sqrt(found.omega2 if found.omega2.size > 1 else np.full(K, found.omega2[0]))
    root = _root(covariance)
    led, counts, to_come = np.zeros((J, K)), np.zeros((draws, K)), np.zeros(K)
    above, there = own.centred(c.mean), c.arms_seen > 0
    rows = np.arange(J)
    for draw in range(draws):
        m = mu + root @ random.standard_normal(K)
        level_j = random.standard_normal(J) / np.sqrt(np.where(W > 0.0, W, 1.0))  # Shifts are estimates, too.
        left = own.centred(above - m[arm]) - level_j[j]
        at = np.broadcast_to(m, (J, K)) + spread * random.standard_normal((J, K))
        around = np.sqrt(between * (1.0 - share)) * random.standard_normal(arm.size)
        at[j, arm] = m[arm] + share * left + around
        first = np.argmax(sign * at, axis=1)
        led[rows, first] += 1.0
        counts[draw] = np.bincount(first[there], minlength=K)
        to_come[np.argmax(sign * (m + spread * random.standard_normal(K)))] += 1.0
    chance = led / draws
    chance[~there] = np.nan
    low, high = np.quantile(
        counts, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], axis=0, method="nearest"
    )
    # Without interactions a future environment has the same leaders as the observed ones.
    new = np.mean(chance[there], axis=0) if found.none else to_come / draws
    return LeaderProbabilities(chance, counts.mean(axis=0), low, high, new)


def _root(C: Floats) -> Floats:
    """Return a square root R, with R R' = C, of a positive semidefinite matrix C."""
    value, axes = np.linalg.eigh(C)
    return np.asarray(axes * np.sqrt(np.maximum(value, 0.0)))


def environment_averages(found: MixedModelFit) -> EnvironmentAverages:
    """Return the traffic-weighted mean of each arm over the observed environments.

    Predicted interactions of arms and environments are included.

    They are mu_i + sum_j t_j u_ij, with t_j the share of environment j in all rewards.

    With L_j the Laplacian of an environment, A = sum_j t_j L_j and Omega the diagonal matrix of omega^2, the
    covariance of the errors is P + Omega sum t^2 - Omega (sum t^2 L_j - A P A) Omega - P A Omega - Omega A P.
    It describes these environments, not future ones.
    """
    scales = found.scales
    mu, now = _over_these(found, 1.0, 1.0)
    near = [_over_these(found, *at)[1] for at in ((1.0 + _STEP, 1.0), (1.0, 1.0 + _STEP))]
    slope = np.array([pair_variances(each) - pair_variances(now) for each in near]) / _STEP
    doubt = 0.5 * np.einsum("ij,ikl,jkl->kl", scales, slope, slope)
    return EnvironmentAverages(mu, now, satterthwaite(now, doubt))


def _over_these(found: MixedModelFit, omega: float, sigma: float) -> tuple[Floats, Floats]:
    """Return the traffic-weighted arm means and their covariance, given the variance parameters.

    The variances of interactions and of noise are multiplied by `omega` and `sigma`.
    """
    c = found.cells
    between = omega * found.between
    c = c.weighted(1.0 / (between + sigma * found.noise))
    s = c.solution
    t = (c.sizes / c.sizes.sum())[c.environment]
    r = c.centred(c.centred(c.mean) - s.mu[c.arm])
    Omega = omega * (found.omega2 if found.omega2.size > 1 else np.full(c.K, found.omega2[0]))
    total = float(np.sum((c.sizes / c.sizes.sum()) ** 2))
    A, twice = meat(c, t * c.weight), meat(c, t**2 * c.weight)
    PA = s.P @ A * Omega
    C = s.P + np.diag(Omega) * total - Omega[:, None] * (twice - A @ s.P @ A) * Omega - PA - PA.T
    return s.mu + c.by_arm(t * between * c.weight * r), C
