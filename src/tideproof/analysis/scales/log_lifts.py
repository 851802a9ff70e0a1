"""Conversion of logarithms of ratios to lifts."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats


def to_lift(values: Floats) -> Floats:
    """Return the lift exp(x) - 1 of a logarithm of a ratio; values that overflow become infinite.

    >>> to_lift(np.log([1.5, 1.0])).tolist(), float(to_lift(np.array(1e4)))
    ([0.5, 0.0], inf)
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(values))
