"""Growth of the noise variance with the mean reward of an environment, from the squared residuals of a fit.

On the scale of ratios a variance proportional to the mean is only a first guess: that of durations and prices
grows with the square of the mean. Environments with a high mean have most influence on a ratio, so the
variance of the ratio would be too small if environments with few rewards each all got the common variance.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells

_MOST_STEPS, _LARGEST_STEP = 30, 1.0
_STEEPEST = 4.0  # Largest power of the mean.


def growth_factors(cells: Cells, fitted: Floats, squares: Floats, left: Floats, noise: float) -> Floats:
    """Return the factor level^k of the variance of each cell, (C,), relative to its first guess.

    `squares` are squared residuals in units of the first guess, with `left` degrees of freedom. A squared
    residual has the variance `noise` times its squared expectation. k is the maximum likelihood estimate for
    normal noise (a gamma regression), shrunk to 0 by its standard error. The result is 1 in all cells if the
    levels of environments are not above 0 or do not differ.
    """
    freedom, total = cells.by_environment(left), cells.by_environment(squares)
    level = cells.by_environment(cells.n * fitted) / np.maximum(cells.sizes, 1.0)
    seen = freedom > 0.0
    if not np.all(level[seen] > 0.0):
        return np.ones(cells.n.size)
    x = np.log(np.where(seen, level, 1.0))
    x -= np.average(x, weights=freedom)
    information = float(np.sum(freedom * x**2))
    if not information > 1e-9 * float(freedom.sum()):
        return np.ones(cells.n.size)
    k = 0.0
    for _ in range(_MOST_STEPS):  # Fisher scoring; the common variance is the one that fits best for this k.
        expected = freedom * np.exp(k * x)
        expected *= total.sum() / expected.sum()
        ratio = np.divide(total, expected, out=np.ones_like(total), where=seen)
        step = float(np.sum(freedom * x * ratio)) / information
        k = float(np.clip(k + np.clip(step, -_LARGEST_STEP, _LARGEST_STEP), -_STEEPEST, _STEEPEST))
        if abs(step) < 1e-9:
            break
    shrunk = k * max(0.0, 1.0 - noise / information / k**2) if k else 0.0
    return np.asarray(np.where(seen, np.exp(shrunk * x), 1.0)[cells.environment])
