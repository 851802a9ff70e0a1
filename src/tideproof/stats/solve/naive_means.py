"""Averages that ignore the shifts, for comparison with adjusted means."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells


def raw_mean(c: Cells) -> Floats:
    """Return the plain mean reward of each arm: (K,); NaN for an arm without rewards."""
    with np.errstate(invalid="ignore"):
        return c.by_arm(c.n * c.mean) / c.counts


def period_mean(c: Cells) -> Floats:
    """Return each arm's average of cell means, weighted by the traffic of the environments: (K,)."""
    sizes = c.sizes[c.environment]
    with np.errstate(invalid="ignore"):
        return c.by_arm(sizes * c.mean) / c.by_arm(sizes)
