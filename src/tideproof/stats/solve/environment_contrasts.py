"""Two arms side by side, environment by environment: what each environment says of their difference.

The difference of two cell means needs no estimate of the shift. Its variance follows the model of the noise;
where shifts may differ between arms ("clustered") it is that of the difference *in this environment*, so
only the noise inside cells counts, and the differences scatter by more than their intervals say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.variance.variance_models import CellNoise


class EnvironmentGaps(NamedTuple):
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


def gaps(c: Cells, noise: CellNoise, a: int, b: int) -> EnvironmentGaps:
    """Return the gaps of arm `a` over arm `b`; two estimates of the noise are added by Welch."""
    x, y = meetings(c, a, b)
    own, other = noise.variance[x], noise.variance[y]
    total = own + other
    with np.errstate(divide="ignore", invalid="ignore"):  # Welch (1947), Satterthwaite (1946)
        welch = total**2 / (own**2 / noise.freedom[x] + other**2 / noise.freedom[y])
    nu = np.where(noise.source[x] == noise.source[y], noise.freedom[x], welch)
    return EnvironmentGaps(c.environment[x], c.mean[x] - c.mean[y], total, nu)


def meetings(c: Cells, a: int, b: int) -> tuple[Ints, Ints]:
    """Return the cells of two arms in the environments that saw both, in the order of the environments."""
    first, second = (np.flatnonzero(c.arm == arm) for arm in (a, b))
    _, at, also = np.intersect1d(c.environment[first], c.environment[second], return_indices=True)
    return first[at], second[also]
