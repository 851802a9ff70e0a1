"""Adjusted moments where nobody announces the tide: what `reduce` has without labels.

The filter knows the levels of all arms now, and one noise variance for all of them. So the adjusted mean of
an arm is its level, moved so that all rewards have their average, and its squared deviations are those of
that noise.
"""

from __future__ import annotations

from tideproof.core.kernel_linker import hole, kernel
from tideproof.kernels.fit.statistics_interface import freedom

SQUARES = hole("SQUARES")


@kernel
def adjust(reduction, square, data, slot, arm, n, weight):
    """Take in `n` told rewards of `arm`, which the fit has already, and adjust everything anew."""
    moments, fit = reduction.moments, data.fit
    mu = fit.mu
    moments.told[arm] += n
    reduction.first_size[0] += n
    reduction.first_mean[0] += (data.reward[0] - reduction.first_mean[0]) * (n / reduction.first_size[0])
    shift = reduction.first_mean[0]
    for k in range(mu.size):
        shift -= moments.told[k] / reduction.first_size[0] * mu[k]
    noise = fit.rss[0] / max(freedom(fit), 1)
    for i in range(mu.size):
        moments.mean[i] = mu[i] + shift
        if SQUARES:
            moments.squares[i] = noise * max(moments.told[i] - 1.0, 0.0)
