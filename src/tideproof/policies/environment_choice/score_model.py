"""Estimates of arm means from scores of some arms in some environments, with random environment effects.

The model is `score = arm + environment + e`, in which environments have the variance `ratio * noise` and `e`
the variance `noise`. An environment that was asked of the arms M adds to the information matrix A and to g:

    A += diag(1_M) - ratio / (1 + ratio |M|) 1_M 1_M',   g += y_M - ratio / (1 + ratio |M|) sum(y_M) 1_M

The estimates are A^-1 g. As the ratio grows, they become those of fixed effects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.kernels.simulate.pair_rules import FIRST_RATIO, LARGEST_SHARE, PRIOR_PAIRS, PRIOR_SHARE, RIDGE


class ScoreModel(NamedTuple):
    """Estimated arm means and variances, from scores of some arms in some environments.

    Attributes
    ----------
    mean : estimated mean of each arm.
    inverse : inverse of the information matrix A.
    ratio, noise : variance of the environments divided by that of the noise; variance of the noise.
    """

    mean: Floats
    inverse: Floats
    ratio: float
    noise: float


def information(asked: Floats, counts: Floats, ratio: float) -> Floats:
    """Return the information matrix of the arm means, from which arms were pulled in each environment."""
    weight = counts * ratio / (1.0 + ratio * asked.sum(axis=1))
    matrix = np.diag(counts @ asked) - asked.T @ (asked * weight[:, None])
    return np.asarray(matrix + RIDGE * np.eye(asked.shape[1]))


def fit_scores(has_score: Floats, scores: Floats) -> ScoreModel:
    """Estimate the means of the arms, and the variances of environments and of noise, from scores.

    Both arguments have a row for each environment and a column for each arm; `has_score` is 0 or 1, and
    `scores` is 0 where there is no score.
    """
    ratio, noise = FIRST_RATIO, 1.0
    for _ in range(2):
        mean, _inverse = _solve(has_score, scores, ratio)
        ratio, noise = _variances(has_score, (scores - mean) * has_score)
    return ScoreModel(*_solve(has_score, scores, ratio), ratio, noise)


def _solve(has_score: Floats, scores: Floats, ratio: float) -> tuple[Floats, Floats]:
    weight = ratio / (1.0 + ratio * has_score.sum(axis=1))
    inverse: Floats = np.linalg.inv(information(has_score, np.ones(len(has_score)), ratio)).astype(float)
    return inverse @ (scores.sum(axis=0) - has_score.T @ (weight * scores.sum(axis=1))), inverse


def _variances(has_score: Floats, residuals: Floats) -> tuple[float, float]:
    """Estimate the ratio of environment variance to noise variance, and the latter, from residuals.

    The moments are those of pairs of residuals in one environment, shrunk towards a prior share.
    """
    count, size = has_score.sum(), has_score.sum(axis=1)
    squares, sums = (residuals**2).sum(axis=1), residuals.sum(axis=1)
    variance = max(float(squares.sum() / max(count, 1.0)), 1e-12)
    pairs = float((size * (size - 1.0)).sum())
    covariance = float((sums**2 - squares).sum())
    share = (covariance + PRIOR_SHARE * variance * PRIOR_PAIRS) / (pairs + PRIOR_PAIRS) / variance
    share = min(max(share, 0.0), LARGEST_SHARE)
    return share / (1.0 - share), variance * (1.0 - share)
