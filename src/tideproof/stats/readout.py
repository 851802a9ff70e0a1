"""Adjusted means and shifts under any weights and any noise; `solve` has their common-noise form.

With t_j the traffic's share of environment j among those of its group of arms, the adjusted mean of
arm i is muhat_i + sum_j t_j shat_j and the shift of environment j is shat_j - sum_l t_l shat_l,
shat_j = (weighted mean of j) - b_j'muhat. In g and b_j this follows `weighting`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.stats.solve import Solution, _traffic, sums


class Readout(NamedTuple):
    """What people read: (K,) adjusted means and their variances, (J,) shifts and theirs."""

    mean: Floats
    mean_variance: Floats
    shift: Floats
    shift_variance: Floats


def read_out(
    solution: Solution,
    covariance: Floats,
    arm: Ints,
    environment: Ints,
    n: Floats,
    mean: Floats,
    environments: int,
    weight: Floats,
    variance: Floats,
) -> Readout:
    """Return adjusted means, shifts and their variances.

    `covariance` is that of muhat, `weight` what the solution was found with, and `variance` that of
    the mean of each cell. O(J K^2).
    """
    mu, P, arms = solution.mu, solution.P, solution.mu.size
    part, _, total, grand = _traffic(solution, arm, n, mean)
    home = np.zeros(environments, np.int64)
    home[environment] = part[arm]
    size, W = sums(environment, n, environments), sums(environment, weight, environments)
    W[size == 0.0] = np.nan
    t = size / total[home]
    b, z = np.zeros((environments, arms)), np.zeros((environments, arms))
    b[environment, arm] = weight / W[environment]
    charge = weight**2 * variance / W[environment]
    z[environment, arm] = charge
    z -= sums(environment, charge, environments)[:, None] * b
    y = sums(environment, charge, environments) / W
    level = sums(environment, weight * (mean - grand[home[environment]]), environments) / W

    belongs = np.zeros((total.size, environments))
    belongs[home, np.arange(environments)] = np.where(size > 0.0, t, 0.0)
    known = np.where(size > 0.0, 1.0, 0.0)
    clean = {name: np.where(np.isnan(x), 0.0, x) for name, x in {"level": level, "y": y}.items()}
    average = belongs @ clean["level"]
    tb, tz, ty = belongs @ b, belongs @ z, belongs**2 @ clean["y"]

    c = np.eye(arms) - tb[part]
    found = grand[part] + average[part] + c @ mu
    found_variance = ty[part] + 2.0 * np.sum(c @ P * tz[part], axis=1) + np.sum(c @ covariance * c, axis=1)
    h = b - tb[home]
    shift = np.where(known > 0.0, level - average[home] - h @ mu, np.nan)
    shift_variance = (
        y * (1.0 - 2.0 * t)
        + ty[home]
        - 2.0 * np.sum(h @ P * (z - tz[home]), axis=1)
        + np.sum(h @ covariance * h, axis=1)
    )
    return Readout(found, np.maximum(found_variance, 0.0), shift, np.maximum(shift_variance, 0.0))
