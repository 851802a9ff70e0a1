"""What is assumed of the noise, and the standard errors that follow.

One function a model, all with one result. The formulas are in `kernels.weighting`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats import weighting
from tideproof.stats.cells import Cells
from tideproof.stats.readout import Readout, read_out
from tideproof.stats.solve import Solution, adjusted, shifts, sums

Variance = Literal["common", "by-arm", "by-environment", "robust", "clustered"]

FEWEST = 5  # degrees of freedom of a variance that may become a weight


class Estimate(NamedTuple):
    """Arms, shifts and how well they are known.

    Attributes
    ----------
    mu : (K,) muhat, up to a constant for each group of arms.
    covariance : (K, K) of muhat.
    freedom : (K, K) degrees of freedom of each contrast.
    readout : adjusted means and shifts with their variances.
    overall : degrees of freedom of an adjusted mean.
    """

    mu: Floats
    covariance: Floats
    freedom: Floats
    readout: Readout
    overall: float


def estimate(cells: Cells, solution: Solution, variance: Variance) -> Estimate:
    """Estimate under the assumption named by `variance`; `solution` is that of least squares."""
    if variance not in get_args(Variance):
        allowed = ", ".join(map(repr, get_args(Variance)))
        raise InputError(f"variance must be one of {allowed}, not {variance!r}")
    if variance == "common":
        return _common(cells, solution)
    if not solution.freedom:
        raise InputError(f"variance={variance!r} needs a degree of freedom; there is none")
    if variance == "robust":
        return _robust(cells, solution)
    if variance == "clustered":
        return _clustered(cells, solution)
    return _weighted(cells, variance)


def sigma2(solution: Solution) -> float:
    """Return the variance of the noise if it is the same everywhere; NaN without a degree of freedom."""
    return solution.rss / solution.freedom if solution.freedom else np.nan


def _common(c: Cells, s: Solution) -> Estimate:
    one, K, J = sigma2(s), len(c.arms), len(c.environments)
    mean, mean_variance = adjusted(s, c.arm, c.n, c.mean)
    shift, shift_variance = shifts(s, c.arm, c.environment, c.n, c.mean, J)
    readout = Readout(mean, one * mean_variance, shift, one * shift_variance)
    return Estimate(s.mu, one * s.P, np.full((K, K), float(s.freedom)), readout, s.freedom)


def _robust(c: Cells, s: Solution) -> Estimate:
    """Sandwich with HC3: any variance for any reward, at the price of a few degrees of freedom."""
    K, J = len(c.arms), len(c.environments)
    q = weighting.hc3(s, c.arm, c.environment, c.n, c.mean, c.squares, J)
    alone = np.bincount(c.environment, minlength=J)[c.environment] == 1
    unchecked = np.flatnonzero(np.isnan(q) & ~alone)
    if unchecked.size:
        i, j = c.arm[unchecked[0]], c.environment[unchecked[0]]
        raise InputError(
            f"variance='robust' cannot know how much {c.arms[i]} varies in {c.environments[j]}: a single "
            f"reward, which no other checks; use variance='common'"
        )
    q = np.where(np.isnan(q), sigma2(s) * c.n, q)
    size = sums(c.environment, c.n, J)
    meat = weighting.spread(c.arm, c.environment, c.n / size[c.environment], q, K, J)
    C = s.P @ meat @ s.P
    readout = read_out(s, C, c.arm, c.environment, c.n, c.mean, J, c.n, q / c.n**2)
    return Estimate(s.mu, C, np.full((K, K), float(s.freedom)), readout, s.freedom)


def _clustered(c: Cells, s: Solution) -> Estimate:
    """Sandwich with one score an environment: shifts may differ between arms, at random.

    CRV1 with the small-sample factors J/(J - 1) and (N - 1)/(N - k), k the number of arms
    (Cameron, Miller 2015; shifts are nested in the clusters and not counted), and J - 1 degrees of
    freedom.
    """
    K, J = len(c.arms), len(c.environments)
    clusters = s.environments
    if clusters < 2:
        raise InputError("variance='clustered' needs at least two environments")
    meat = weighting.scores(s, c.arm, c.environment, c.n, c.mean, K, J)
    factor = clusters / (clusters - 1) * (s.told - 1) / (s.told - s.joins - 1)
    C = factor * s.P @ meat @ s.P
    readout = read_out(s, C, c.arm, c.environment, c.n, c.mean, J, c.n, sigma2(s) / c.n)
    return Estimate(s.mu, C, np.full((K, K), float(clusters - 1)), readout, clusters - 1)


def _weighted(c: Cells, variance: Literal["by-arm", "by-environment"]) -> Estimate:
    """Least squares weighted by variances that are measured inside the cells of each arm or environment."""
    K, J = len(c.arms), len(c.environments)
    part, s2, freedom = parts(c, variance)
    found = weighting.weighted(c.arm, c.environment, c.n, c.mean, K, J, part, s2, freedom)
    C, w = found.covariance, found.weight
    readout = read_out(found.solution, C, c.arm, c.environment, c.n, c.mean, J, w, 1.0 / w)
    return Estimate(found.solution.mu, C, found.freedom, readout, float(np.sum(c.n - 1.0)))


def parts(c: Cells, variance: Literal["by-arm", "by-environment"]) -> tuple[Ints, Floats, Floats]:
    """Return the part of each cell, its arm or environment, and each part's variance and its freedom."""
    J = len(c.environments)
    by_arm = variance == "by-arm"
    part, names = (c.arm, c.arms) if by_arm else (c.environment, c.environments)
    s2, freedom = within(part, c, len(names))
    seen = np.bincount(part, minlength=len(names)) > 0
    if not by_arm:  # an environment with one arm compares nothing: any weight will do
        seen &= np.bincount(c.environment, minlength=J) > 1
    _check_parts(variance, names, seen, s2, freedom)
    pooled = float(np.sum(c.squares) / np.sum(np.maximum(c.n - 1.0, 0.0)))
    vague = ~(s2 > 0.0)
    return part, np.where(vague, pooled, s2), np.where(vague, np.sum(c.n - 1.0), freedom)


def within(part: Ints, c: Cells, parts: int) -> tuple[Floats, Floats]:
    """Return the variance inside the cells of each part, and its degrees of freedom."""
    freedom = sums(part, c.n - 1.0, parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums(part, c.squares, parts) / freedom, freedom


def _check_parts(variance: str, names: list[Any], seen: Any, s2: Floats, freedom: Floats) -> None:
    few = np.flatnonzero(seen & (freedom < FEWEST))
    if few.size:
        raise InputError(
            f"variance={variance!r} needs at least {FEWEST} degrees of freedom inside the cells of each; "
            f"{names[few[0]]} has {freedom[few[0]]:.0f}; use variance='robust'"
        )
    still = np.flatnonzero(seen & (s2 == 0.0))
    if still.size:
        raise InputError(
            f"variance={variance!r} would trust {names[still[0]]} without limit: its rewards never vary "
            f"inside a cell; use variance='robust'"
        )
