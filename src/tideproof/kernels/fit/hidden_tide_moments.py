"""Means and variances of rewards with a hidden tide removed, for policies made for worlds without shifts.

The filter estimates the current levels of all arms, and one noise variance. The adjusted mean of an arm is
its level, moved by a constant so that the weighted mean over arms is the mean of all rewards. Its sum of
squared deviations follows from the noise variance.
"""

from __future__ import annotations

from tideproof.core.kernel_linker import hole, kernel
from tideproof.kernels.fit.statistics_interface import degrees_of_freedom

SQUARES = hole("SQUARES")


@kernel
def adjust(reduction, square, data, slot, arm, n, weight):
    """Recompute all arms' means and variances with the hidden tide removed, after `n` rewards of `arm`.

    The fit includes these rewards already.
    """
    moments, fit = reduction.moments, data.fit
    mu = fit.mu
    moments.told[arm] += n
    reduction.first_size[0] += n
    reduction.first_mean[0] += (data.reward[0] - reduction.first_mean[0]) * (n / reduction.first_size[0])
    shift = reduction.first_mean[0]
    for k in range(mu.size):
        shift -= moments.told[k] / reduction.first_size[0] * mu[k]
    noise = fit.rss[0] / max(degrees_of_freedom(fit), 1)
    for i in range(mu.size):
        moments.mean[i] = mu[i] + shift
        if SQUARES:
            moments.squares[i] = noise * max(moments.told[i] - 1.0, 0.0)
