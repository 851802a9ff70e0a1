"""Estimates for statements about environments like those of a log, instead of about these environments only.

The estimates of the arms stay the same. Their uncertainty also contains that arms may differ more or less in
other environments (interaction).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import (
    normal_from_student,
    normal_quantile,
    pair_variances,
    student_from_normal,
)
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.between_environment_pairs import FEWEST_ENVIRONMENTS, BetweenEnvironmentPairs
from tideproof.stats.pairs.cautious_pairs import CautiousPairs
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.pairs.exact_pairs import ExactPairs
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.variance.variance_models import Estimate

MOST_TO_COME = 20  # A prediction of more than this many times the observed environments says nothing.
MOST_TESTED_ARMS = 100  # With more arms, standard errors replace score tests.
EASE = 1.96 / 1.645  # A statement about other environments needs one about these at the level 10 %.


@dataclass(frozen=True, eq=False)
class SimilarEstimate(Estimate):
    """Estimated arm effects whose uncertainty contains that arms differ from environment to environment.

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
