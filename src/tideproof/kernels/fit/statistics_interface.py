"""Functions through which policies read the statistics of rewards, whatever model of the tide is in use.

For every model, `data.fit` contains the estimates `mu`, up to a constant, and their covariance `P` in units
of the noise variance, of which only contrasts are meaningful (`variance_to`). Further functions return
whether arms are comparable (`connected`, `together`), the noise (`rss`, `freedom`, `sigma2`), the variance
of an estimate in the gauge of the first environment (`anchor`), and the information in another pull
(`pull_here`, `pull_noise`).

The functions here are those of fixed effects by environment. `hidden_tide`, `unequal_noise` and
`outlying_cells` have kernels that replace `observe`, `place`, `pull_here` and, except for `hidden_tide`,
`pull_noise` when a program is linked.
"""

from tideproof.kernels.fit.fixed_effects import (
    anchor,
    connected,
    degrees_of_freedom,
    pull_here,
    pull_noise,
    sigma2,
    together,
    variance_to,
)

__all__ = [
    "anchor",
    "connected",
    "degrees_of_freedom",
    "pull_here",
    "pull_noise",
    "sigma2",
    "together",
    "variance_to",
]
