"""What a policy asks of the statistics, whatever they know of the tide.

`data.fit` holds, for any of them, the estimates `mu`, up to a constant, and their covariance `P` in units of
the noise variance, of which contrasts alone mean something (`variance_to`); whether arms can be compared
(`connected`, `together`); the noise (`rss`, `freedom`, `sigma2`); the variance of an estimate in the gauge
of the beginning (`anchor`); and what a pull here and now would tell (`pull_here`, `pull_noise`).

Fixed effects by label is what stands here. `hidden_tide` and `uneven` have kernels that take the place of
`observe`, `place`, `pull_here` and `pull_noise` when a program is linked (`policies.tides`).
"""

from tideproof.kernels.fit.fixed_effects import (
    anchor,
    connected,
    freedom,
    pull_here,
    pull_noise,
    sigma2,
    together,
    variance_to,
)

__all__ = ["anchor", "connected", "freedom", "pull_here", "pull_noise", "sigma2", "together", "variance_to"]
