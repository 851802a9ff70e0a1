"""Differences between two arms, one for each environment in which both have rewards.

The difference of two cell means does not depend on the shift. Its variance follows the model of the noise.
Under the "clustered" model, where shifts may differ between arms, it is the variance of the difference in
this environment alone: only the noise inside cells counts, so the differences vary by more than their
intervals suggest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.variance.variance_models import CellNoise


class EnvironmentGaps(NamedTuple):
    """Differences between two arms in each environment that has rewards of both.

    Attributes
    ----------
    environment : (G,) index of the environment, ascending.
    estimate : (G,) difference of the two cell means.
    variance : (G,) its variance; NaN if it cannot be estimated.
    freedom : (G,) degrees of freedom of the variance; a fraction where two variance estimates are added.
    """

    environment: Ints
    estimate: Floats
    variance: Floats
    freedom: Floats


def environment_gaps(c: Cells, noise: CellNoise, a: int, b: int) -> EnvironmentGaps:
    """Return the difference between arms `a` and `b` in each environment that has both, with variances.

    Where two independent estimates of the noise are added, degrees of freedom follow Welch and Satterthwaite.
    """
    x, y = paired_cells(c, a, b)
    own, other = noise.variance[x], noise.variance[y]
    total = own + other
    with np.errstate(divide="ignore", invalid="ignore"):  # Welch (1947), Satterthwaite (1946)
        welch = total**2 / (own**2 / noise.freedom[x] + other**2 / noise.freedom[y])
    nu = np.where(noise.source[x] == noise.source[y], noise.freedom[x], welch)
    return EnvironmentGaps(c.environment[x], c.mean[x] - c.mean[y], total, nu)


def paired_cells(c: Cells, a: int, b: int) -> tuple[Ints, Ints]:
    """Return the cells of two arms in the environments that have both, ordered by environment."""
    first, second = (np.flatnonzero(c.arm == arm) for arm in (a, b))
    _, at, also = np.intersect1d(c.environment[first], c.environment[second], return_indices=True)
    return first[at], second[also]
