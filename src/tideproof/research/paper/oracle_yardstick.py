"""Error rate of an oracle that knows all means and divides its pulls among arms in the best fixed way.

The worlds have no shifts.

A plan is a number of pulls for each arm that does not depend on the rewards. The oracle knows every mean and
the noise while it plans. It must then select by the data, as any policy does: the arm with the highest sample
mean. With n_i pulls of arm i, b the best arm, sigma = 1, gaps d_i = mu_b - mu_i and z the standardised sample
mean of b,

    PICS(n) = integral of phi(z) (1 - prod_{i != b} Phi(sqrt(n_i) (d_i + z/sqrt(n_b)))) dz.

This is the best *fixed* plan and no bound for policies: one that uses its rewards may do better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tideproof.checks import require_whole_number
from tideproof.core.kernel_state_arrays import Floats
from tideproof.research.paper.panels import ARMS, CONFIGURATIONS, contrast_panel_name, panels
from tideproof.table import Table

FRACTION = 2.0**-7  # of a pull; smaller fractions change PICS by less than 1e-5 of it

# The integrand is analytic, so the trapezoid rule is exact up to rounding. Its error is the integrand's
# Fourier transform at w = 2 pi/step, which decays as exp(-w^2 / (2 (1 + sum n_i/n_b))): 3e-18 for the step
# below. The neglected tails amount to 4e-33. Logarithms keep the digits of small probabilities.
_STEP, _END = 0.7, 12.0


class OraclePlan(NamedTuple):
    """Numbers of pulls of each arm, and the probability of selecting a wrong arm after these pulls."""

    pulls: Floats
    pics: float


def plan_pics(means: Sequence[float], pulls: ArrayLike) -> Floats:
    """Return the probability of selecting a wrong arm, for given numbers of pulls of each arm.

    `pulls` is an array (..., K) of one plan or several. Pulls are positive and may be fractional.

    Means are in units of sigma, and one of them is the largest.

    >>> float(plan_pics([0.0, 0.5], [16, 16]).round(6))  # Phi(-0.5 / sqrt(1/16 + 1/16))
    0.07865
    """
    from scipy.special import log_ndtr

    best, n = int(np.argmax(means)), np.asarray(pulls, float)
    gaps = np.delete(means[best] - np.asarray(means, float), best)
    mine, others = n[..., best, None, None], np.delete(n, best, axis=-1)[..., None, :]
    step = _STEP / np.sqrt(1.0 + (others.sum(axis=-1, keepdims=True) / mine).max())
    z = np.arange(-_END, _END + step, step)
    right = log_ndtr(np.sqrt(others) * (gaps + z[:, None] / np.sqrt(mine))).sum(axis=-1)
    weight = step * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(-np.expm1(right) @ weight)


def best_plan(means: Sequence[float], pulls: int, finest: float = 1.0) -> OraclePlan:
    """Divide a number of pulls among the arms so that a wrong arm is selected least often.

    The pulls of each arm are a multiple of `finest`.

    The search starts from equal shares and moves pulls from one arm to another, in steps that are halved
    until no move of `finest` helps. Every arm keeps at least `finest` pulls, because an arm without pulls
    has no mean.

    Parameters
    ----------
    means
        True means in units of sigma; one of them is the largest.
    pulls
        Total number of pulls, at least one for each arm.
    finest
        1 for whole pulls; `FRACTION` for a plan that no whole one can beat.

    Examples
    --------
    >>> best_plan([0.0, 0.0, 0.5], 60)
    OraclePlan(pulls=array([18., 18., 24.]), pics=...)
    """
    K = len(means)
    total = require_whole_number("pulls", pulls, K)
    plan = np.full(K, total // K) + (np.arange(K) < total % K).astype(float)
    pics, step = float(plan_pics(means, plan)), 2.0 ** int(np.log2(total / K))
    give, take = np.nonzero(~np.eye(K, dtype=bool))
    moves = np.eye(K)[take] - np.eye(K)[give]
    while step >= finest:
        tried = plan + step * moves
        tried = tried[(tried >= finest).all(axis=1)]
        found = plan_pics(means, tried) if len(tried) else np.array([pics])
        if found.min() < pics * (1.0 - 1e-12):  # the decrease exceeds rounding
            plan, pics = tried[np.argmin(found)], float(found.min())
        else:
            step /= 2.0
    return OraclePlan(plan, pics)


def yardstick(seed: int, replications: int) -> Table:
    """Return a table of an oracle's error rates, by pattern of arm means, number of arms and budget."""
    rows = [
        (means, arms, budget, best_plan(CONFIGURATIONS[means](arms).means, budget, FRACTION).pics)
        for means in CONFIGURATIONS
        for arms in ARMS
        for budget in panels()[contrast_panel_name(f"{means}-{arms}-stationary")].budgets
    ]
    columns = ("configuration", "arms", "budget", "pics")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))
