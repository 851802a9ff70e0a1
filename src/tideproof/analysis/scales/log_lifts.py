"""Conversion of logarithms of ratios to lifts."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats


def lifted(values: Floats) -> Floats:
    """Return the lift exp(x) - 1 of a logarithm of a ratio; values that overflow become infinite.

    >>> lifted(np.log([1.5, 1.0])).tolist(), float(lifted(np.array(1e4)))
    ([0.5, 0.0], inf)
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(values))
