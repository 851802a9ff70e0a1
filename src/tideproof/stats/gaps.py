"""Two arms side by side, environment by environment: what each environment says of their difference.

The difference of two cell means needs no estimate of the shift. Its variance follows the model of the noise;
where shifts may differ between arms ("clustered") it is that of the difference *in this environment*, so
only the noise inside cells counts, and the differences scatter by more than their intervals say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.noise import Variance, pools, robust_freedom, sigma2
from tideproof.stats.solve import Solution
from tideproof.stats.weighting import hc3


class Gaps(NamedTuple):
    """How far one arm was above another in each environment that saw both.

    Attributes
    ----------
    environment : (G,) index, ascending.
    estimate : (G,) difference of the two cell means.
    variance : (G,) its variance; NaN where nothing tells.
    freedom : (G,) degrees of freedom behind the variance, a fraction where two variances are added.
    """

    environment: Ints
    estimate: Floats
    variance: Floats
    freedom: Floats


def gaps(c: Cells, solution: Solution, variance: Variance, a: int, b: int) -> Gaps:
    """Return the gaps of arm `a` over arm `b`; variances of two arms of their own are added by Welch."""
    first, second = (np.flatnonzero(c.arm == arm) for arm in (a, b))
    environment, at, also = np.intersect1d(c.environment[first], c.environment[second], return_indices=True)
    x, y = first[at], second[also]
    noise, freedom = _noise(c, solution, variance)
    own, other = noise[x], noise[y]
    total = own + other
    nu = freedom[x]
    if variance == "by-arm":  # Welch (1947), Satterthwaite (1946); else one estimate serves both
        nu = total**2 / (own**2 / freedom[x] + other**2 / freedom[y])
    return Gaps(environment, c.mean[x] - c.mean[y], total, nu)


def _noise(c: Cells, s: Solution, variance: Variance) -> tuple[Floats, Floats]:
    """Return the variance of each cell's mean, and its degrees of freedom."""
    if variance in ("by-arm", "by-environment"):
        pooled = pools(c, variance)
        return pooled.variance[pooled.of] / c.n, pooled.freedom[pooled.of]
    if variance == "robust":
        return hc3(s, c) / c.n**2, robust_freedom(c, s)[c.arm]
    if variance == "clustered":
        inside = float(np.sum(c.n - 1.0))
        one = float(np.sum(c.squares)) / inside if inside else np.nan
        return one / c.n, np.full(c.n.size, inside)
    return sigma2(s) / c.n, np.full(c.n.size, float(s.freedom))
