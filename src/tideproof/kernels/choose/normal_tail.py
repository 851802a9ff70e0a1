"""Logarithm of the expected excess of a normal variable over a threshold, finite for high thresholds, too."""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.student_tail import FURTHEST, fraction

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@kernel
def log_gain(z):
    """Return the logarithm of the expected excess of a standard normal variable over z >= 0.

    It is log E max(Z - z, 0) = log(phi(z) - z Phi(-z)). Where this difference would cancel, it is computed
    as phi(z) r/(1 + r), with r the continued fraction of Mills' ratio.
    """
    z = min(float(z), FURTHEST)
    square = z * z
    if square < 64.0:
        density = math.exp(-0.5 * square) / _ROOT_TWO_PI
        return math.log(density - 0.5 * z * math.erfc(z * _ROOT_HALF))
    r = fraction(square, 0.0)
    return math.log(r / ((1.0 + r) * _ROOT_TWO_PI)) - 0.5 * square
