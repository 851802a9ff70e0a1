"""Tests of two arms whose differences vary from environment to environment, on every scale of comparison.

The estimated effect of arm i minus that of arm k is, to first order, a sum over environments of u_j, the
weighted residuals of their cells (`pair_tests` defines the weights). If environments are a sample of many,
and in each of them the arms differ a little more or less than on average (interaction), then the u_j are
independent, and their variation shows how uncertain the sum is, whatever its cause. Let h_j be the share of
environment j in the information. The variance is that of `cluster_correction`, a sum of c_j u_j^2, unbiased
if the true term has the variance tau_j = v_j + omega^2 q_j. Here v_j is the noise inside the cells, q_j the
squared influence of interactions of size 1, and omega^2 follows from the u_j by the method of moments. For
two arms with equal numbers of rewards and with noise that is equal in all environments, it is a t-test of the
differences by environment.

The skewness of the rewards is allowed for by Hall's transformation of a Student statistic.

References
----------
Hall (1992), On the removal of skewness by transformation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import normal_from_student, student_from_normal
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.variance.cluster_correction import correct_for_leverage

FEWEST_ENVIRONMENTS = 4  # Environments that a statement about environments like them needs.
_KNOWN_NOISE = 10  # Degrees of freedom inside cells with which the noise of an environment is known.
_SYMMETRIC = 1e-9  # Smaller skewness is none.
_TINY = 1e-300  # Weight of a cell without an expected event.
_NOTHING = 1e-12  # Share of the largest information below which an environment says nothing.


class ScoreVariance(NamedTuple):
    """Variance of a score statistic, estimated from its variation between environments.

    Attributes
    ----------
    variance : estimated variance; NaN if it is unknown.
    freedom : its degrees of freedom.
    model : variance that the noise inside the cells and the estimated interactions explain.
    """

    variance: float
    freedom: float
    model: float


def score_variance(score: Floats, information: Floats, noise: Floats, influence: Floats) -> ScoreVariance:
    """Return the variance of a sum over environments, given its residual terms.

    Parameters
    ----------
    score : (J,) u_j, the residual terms of the sum.
    information : (J,) information of each environment, up to a factor.
    noise : (J,) v_j, variance of each term due to noise inside cells.
    influence : (J,) q_j, variance of each term due to interactions of variance 1.

    Examples
    --------
    For equal environments it is J times the variance between them, as in a t-test.

    >>> one = np.ones(4)
    >>> found = score_variance(np.array([-2.0, -1.0, 1.0, 2.0]), one, one, one)
    >>> round(found.variance, 6), round(found.freedom, 6)
    (13.333333, 3.0)
    """
    known = information > _NOTHING * information.max(initial=0.0)
    if np.count_nonzero(known) < FEWEST_ENVIRONMENTS:
        return ScoreVariance(math.nan, 0.0, math.nan)
    score, noise, influence = score[known], noise[known], influence[known]
    share = information[known] / information[known].sum()
    squares = (score - share * score.sum()) ** 2  # the sum is 0, but for arms with few events
    left, whole = 1.0 - 2.0 * share, float(share @ share)
    expected = float(noise @ left) + whole * float(noise.sum())
    per_interaction = float(influence @ left) + whole * float(influence.sum())
    excess = float(squares.sum()) - expected
    omega2 = excess / per_interaction if excess > 0.0 and per_interaction > 0.0 else 0.0
    terms = noise + omega2 * influence
    model = float(terms.sum())
    if not model > 0.0:
        return ScoreVariance(math.nan, 0.0, math.nan)
    factor, freedom = correct_for_leverage(terms, share)
    return ScoreVariance(float(factor @ squares), freedom, model)


class DifferenceError(NamedTuple):
    """Standard error of the difference of two arms; NaN if unknown. The skewness is that of its estimate."""

    se: float
    freedom: float
    skewness: float


def hall_transform(t: float, skewness: float) -> float:
    """Return a Student statistic without the effect of the skewness of the sum in its numerator.

    >>> hall_transform(2.0, 0.0), round(hall_transform(-2.0, 0.3), 2)
    (2.0, -1.58)
    """
    cubic = t + skewness * t * t / 3.0 + skewness * skewness * t**3 / 27.0
    return cubic + skewness / 6.0


def inverse_hall_transform(x: float, skewness: float) -> float:
    """Return the Student statistic that `hall_transform` turns into x.

    >>> round(inverse_hall_transform(hall_transform(-2.0, 0.3), 0.3), 9)
    -2.0
    """
    if abs(skewness) < _SYMMETRIC:
        return x
    return 3.0 * (float(np.cbrt(1.0 + skewness * (x - skewness / 6.0))) - 1.0) / skewness


def _is_noise_known(c: Cells) -> bool:
    """Return whether each environment has enough rewards inside its cells to show how noisy it is.

    Otherwise its own variance would follow from the same residuals as the variation between environments.
    """
    inside = c.by_environment(c.n - 1.0)[c.compares]
    return bool(np.all(inside >= _KNOWN_NOISE))


class BetweenEnvironmentPairs(Pairs):
    """Tests and confidence bounds for two arms on average over environments like those of a log.

    `tests` compare the same arms on the observed environments; `mu` are the effects of the arms, finite even
    for an arm without an event.
    """

    def __init__(self, tests: PairTests, mu: Floats) -> None:
        self.tests, self._mu = tests, mu
        scale, c = tests.scale, tests.scale.cells
        moments = tests.law.moments(scale.fitted)
        self._weight = c.n * scale.slope(scale.fitted)
        self._centre = c.weighted(np.maximum(self._weight, _TINY))
        self._residual = c.n * (c.mean - scale.fitted)
        variance = moments.variance
        if moments.spreads is not None and not _is_noise_known(c):
            variance = variance / moments.spreads.environment_factor[c.environment]
        self._noise, self._skewness = np.sqrt(variance), moments.skewness
        self._units = None if c.units is None or not c.dependent else c.units
        self._known: dict[tuple[int, int], DifferenceError] = {}

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, theta_i - theta_k."""
        return float(self._mu[i] - self._mu[k])

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        error, above = self.error(i, k), self.gap(i, k) - gap
        if not error.se > 0.0:  # unknown, or equal differences in all environments
            return math.nan if math.isnan(error.se) else math.copysign(math.inf, above) if above else 0.0
        t = hall_transform(above / error.se, error.skewness)
        return normal_from_student(t, error.freedom)

    def freedom(self, i: int, k: int) -> float:
        """Return the degrees of freedom of the test of two arms; 0 if it is impossible."""
        return self.error(i, k).freedom

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self.tests.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm i's effect minus arm k's, at the normal quantile `z`."""
        error = self.error(i, k)
        if not error.se > 0.0:
            return math.nan if math.isnan(error.se) else self.gap(i, k)
        t = inverse_hall_transform(-student_from_normal(z, error.freedom), error.skewness)
        return self.gap(i, k) - t * error.se

    def error(self, i: int, k: int) -> DifferenceError:
        """Return the standard error of the difference of two arms, with degrees of freedom and skewness."""
        pair = min(i, k), max(i, k)
        if pair not in self._known:
            self._known[pair] = self._find_error(*pair)
        found = self._known[pair]
        return found if pair == (i, k) else found._replace(skewness=-found.skewness)

    def _find_error(self, i: int, k: int) -> DifferenceError:
        c, P = self.tests.scale.cells, self.tests.scale.P
        g = self._centre.centred((P[:, i] - P[:, k])[c.arm])
        noise = g * self._noise
        found = score_variance(
            c.by_environment(g * self._residual),
            c.by_environment(g * g * self._weight),
            c.by_environment(c.n * noise * noise),
            c.by_environment((g * self._weight) ** 2),
        )
        if math.isnan(found.variance):
            return DifferenceError(math.nan, 0.0, 0.0)
        across, units = self._across_environments(g)
        variance, freedom = found.variance + across, found.freedom
        if across > 0.0:
            freedom = variance**2 / (found.variance**2 / freedom + across**2 / max(units, 1.0))
        relative = noise / math.sqrt(max(found.model, variance))
        skewness = float(np.dot(c.n * relative * relative * relative, self._skewness))
        return DifferenceError(math.sqrt(variance), freedom, skewness)

    def _across_environments(self, g: Floats) -> tuple[float, float]:
        """Return the covariances of terms of different environments that share units, such as visitors.

        Also return their degrees of freedom. The sum is 0 if each unit has all its rewards in one
        environment, and counts as 0 where it is negative.
        """
        c, units = self.tests.scale.cells, self._units
        if units is None:
            return 0.0, 0.0
        score = g[units.cell] * units.n * (units.mean - self.tests.scale.fitted[units.cell])
        unit = np.unique(units.unit, return_inverse=True)[1]
        visit = np.unique(unit * c.J + c.environment[units.cell], return_inverse=True)[1]
        whole, apart = (float(np.sum(np.bincount(of, score) ** 2)) for of in (unit, visit))
        size = np.bincount(unit, g[units.cell] * units.n) ** 2  # of the variance of a unit, up to a factor
        freedom = float(size.sum()) ** 2 / float(size @ size) - 1.0 if size.any() else 0.0
        return max(0.0, whole - apart), freedom
