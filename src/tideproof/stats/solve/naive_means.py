"""Averages that do not know of shifts: what people compare when nobody takes the tide out."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells


def raw_mean(c: Cells) -> Floats:
    """Return the mean reward of each arm as it is: (K,); NaN for an arm unseen."""
    with np.errstate(invalid="ignore"):
        return c.by_arm(c.n * c.mean) / c.counts


def period_mean(c: Cells) -> Floats:
    """Return each arm's mean over the environments it was seen in, in proportion to their traffic: (K,)."""
    sizes = c.sizes[c.environment]
    with np.errstate(invalid="ignore"):
        return c.by_arm(sizes * c.mean) / c.by_arm(sizes)
