"""Logarithms of ratios as lifts."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats


def lifted(values: Floats) -> Floats:
    """Return exp(x) - 1; infinite rather than an error.

    >>> lifted(np.log([1.5, 1.0])).tolist(), float(lifted(np.array(1e4)))
    ([0.5, 0.0], inf)
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(values))
