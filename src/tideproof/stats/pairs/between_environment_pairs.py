"""Tests of arm differences in environments like those observed, if the differences vary among them.

The estimates of the arms stay the same. Their uncertainty also contains that arms may differ more or less in
other environments (interaction). The tests of two arms work on every scale of comparison.

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
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import (
    hall_transform,
    normal_from_student,
    normal_quantile,
    pair_variances,
    student_from_normal,
)
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.pairs.exact_pairs import ExactPairs
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.variance.cluster_correction import correct_for_leverage
from tideproof.stats.variance.variance_models import Estimate

FEWEST_ENVIRONMENTS = 4  # Environments that a statement about environments like them needs.
MOST_TO_COME = 20  # A prediction of more than this many times the observed environments says nothing.
MOST_TESTED_ARMS = 100  # With more arms, standard errors replace score tests.
EASE = 1.96 / 1.645  # A statement about other environments needs one about these at the level 10 %.
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
    """Standard error of the difference of two arms, and skewness of its estimate; NaN if unknown."""

    se: float
    freedom: float
    skewness: float


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


@dataclass(frozen=True, eq=False)
class SimilarEstimate(Estimate):
    """Estimated arm effects, with errors that allow for arm differences varying by environment.

    `between` holds the tests of pairs of arms by the variation between environments.
    """

    between: BetweenEnvironmentPairs | WaldPairs | None = None

    def error_of(self, i: int, k: int) -> tuple[float, float]:
        """Return the standard error of the difference of two arms, and its degrees of freedom."""
        if not isinstance(self.between, BetweenEnvironmentPairs):
            return super().error_of(i, k)
        error = self.between.error(i, k)
        return error.se, error.freedom


def for_similar_environments(found: Estimate) -> Estimate | None:
    """Return an estimate with tests for environments like those observed; None if that is impossible.

    It needs `FEWEST_ENVIRONMENTS` environments with two arms, in each group of comparable arms.
    """
    within = found.pairs
    tests = within.tests if isinstance(within, ExactPairs) else within
    if not isinstance(tests, PairTests):
        return None
    cells = tests.scale.cells
    if cells.factors is not None or not has_enough_environments(cells, found):
        return None
    covariance = _covariance(tests)
    freedom = _degrees_of_freedom(cells)
    between: BetweenEnvironmentPairs | WaldPairs = BetweenEnvironmentPairs(tests, found.mu)
    if cells.K > MOST_TESTED_ARMS:
        between = WaldPairs(found.mu, covariance, freedom)
    pairs = CautiousPairs(between, within, 1.0 if _units_return(cells) else EASE)
    posterior = None
    if found.posterior is not None:
        posterior = found.posterior + covariance - found.covariance
    return SimilarEstimate(
        **{each.name: getattr(found, each.name) for each in fields(found)}
        | {"covariance": covariance, "freedom": freedom, "pairs": pairs, "posterior": posterior},
        between=between,
    )


def _units_return(c: Cells) -> bool:
    """Return whether some unit, such as a visitor, has rewards in several environments."""
    if c.units is None or not c.dependent:
        return False
    visits = np.unique(c.units.unit * c.J + c.environment[c.units.cell]).size
    return bool(visits > np.unique(c.units.unit).size)


def environments_needed(
    deviate: float,
    freedom: float,
    observed: int,
    confidence: float,
    comparisons: int,
    allowance: float = 0.0,
) -> int | None:
    """Return how many more environments would raise a z-score between environments to its critical value.

    `deviate` is the z-score of the difference of two arms, `freedom` its degrees of freedom, `observed` the
    number of environments so far, and `confidence` the one-sided confidence level of one of `comparisons`.
    `allowance` is added to the critical value, for adaptive traffic. The result is None if it is unknown or
    above `MOST_TO_COME` times as many as observed.

    >>> environments_needed(1.7, 13.0, 14, 0.975, 1), environments_needed(0.0, 13.0, 14, 0.975, 1)
    (5, None)
    """
    if not (deviate > 0.0 and freedom > 0.0):
        return None
    needed = normal_quantile(1.0 - (1.0 - confidence) / comparisons) + allowance
    t = student_from_normal(deviate, freedom)
    low, high = observed, (MOST_TO_COME + 1) * observed
    if normal_from_student(t * math.sqrt(high / observed), freedom * high / observed) < needed:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        grown = middle / observed
        reached = normal_from_student(t * math.sqrt(grown), freedom * grown) >= needed
        low, high = (low, middle) if reached else (middle, high)
    return high - observed


def has_enough_environments(cells: Cells, found: Estimate) -> bool:
    """Return whether each group of comparable arms has enough environments with two arms or more."""
    group = np.zeros(cells.J, np.int64)
    group[cells.environment] = found.component[cells.arm]
    groups = int(found.component.max()) + 1
    arms = np.bincount(found.component, minlength=groups)
    count = np.bincount(group[cells.compares], minlength=groups)
    return bool(np.all(count[arms > 1] >= FEWEST_ENVIRONMENTS)) and bool(np.any(arms > 1))


def _degrees_of_freedom(cells: Cells) -> Floats:
    """Return approximate degrees of freedom of the variance between environments for each pair: (K, K).

    An arm whose rewards are spread evenly over J environments has J - 1; fewer if some have more rewards.
    """
    met = np.where(cells.compares[cells.environment], cells.n, 0.0)
    total, squares = cells.by_arm(met), cells.by_arm(met * met)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(squares > 0.0, total * total / squares, 1.0)
    freedom = np.maximum(effective - 1.0, 1.0)
    return np.minimum(freedom[:, None], freedom)


def _covariance(tests: PairTests) -> Floats:
    """Return the covariance of the arm effects from noise and interactions: (K, K).

    The variance of interactions, equal for all arms, is chosen so that the variances of the differences
    between arms are on average those that the scores of the environments show.
    """
    scale, c = tests.scale, tests.scale.cells
    weight = c.n * scale.slope(scale.fitted)
    residual = c.n * (c.mean - scale.fitted)
    squares = weight * weight
    total, all_squares = (c.by_environment(x)[c.environment] for x in (weight, squares))
    share = np.where(total > 0.0, weight / np.where(total > 0.0, total, 1.0), 0.0)
    cross = c.outer_sum(squares, share)
    spread = np.diag(c.by_arm(squares)) - cross - cross.T + c.outer_sum(all_squares * share, share)
    J = int(np.count_nonzero(c.compares))
    observed = pair_variances(scale.P @ c.outer_sum(residual, residual) @ scale.P) * J / (J - 1.0)
    interactions = scale.P @ spread @ scale.P
    size = float(pair_variances(interactions).sum())
    excess = float((observed - pair_variances(tests.covariance)).sum())
    omega2 = max(0.0, excess / size) if size > 0.0 else 0.0
    return np.asarray(tests.covariance + omega2 * interactions)


class CautiousPairs(Pairs):
    """Tests of two arms whose z-score is the more cautious of two tests' z-scores (nearer to 0).

    It is 0 if the two tests disagree on the sign, so that it belongs to the interval that covers both.

    Parameters
    ----------
    first : the tests that decide as a rule.
    second : tests that must agree at a lower confidence level: their z-scores are multiplied by `ease`.
    ease : factor, 1 or more.
    """

    def __init__(self, first: Pairs, second: Pairs, ease: float) -> None:
        self.first, self.second, self._ease = first, second, ease

    @property
    def scale(self) -> Any:
        """The fitted scale of comparison (difference, ratio or odds) that both tests of two arms use."""
        tests: Any = self.second
        return tests.scale

    @property
    def quick(self) -> bool:
        """True if testing many pairs of arms takes little longer than testing a few."""
        return self.first.quick and self.second.quick

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, theta_i - theta_k."""
        return self.second.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        first = self.first.deviate(i, k, gap)
        if math.isnan(first):
            return first
        second = self._ease * self.second.deviate(i, k, gap)
        if first * second < 0.0:
            return 0.0
        return first if abs(first) <= abs(second) else second

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self.second.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm i's effect minus arm k's, at the normal quantile `z`."""
        first, second = self.first.upper(i, k, z), self.second.upper(i, k, z / self._ease)
        return math.nan if math.isnan(first) or math.isnan(second) else max(first, second)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the z-scores of many pairs of arms for the hypothesis of no difference."""
        first, second = self.first.deviates(i, k), self._ease * self.second.deviates(i, k)
        found = np.where(np.abs(first) <= np.abs(second), first, second)
        return np.where(np.isnan(first), first, np.where(first * second < 0.0, 0.0, found))

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper confidence bounds of the differences of many pairs of arms."""
        return np.maximum(self.first.uppers(i, k, z), self.second.uppers(i, k, z / self._ease))
