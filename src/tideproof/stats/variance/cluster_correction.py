"""Small-sample correction of a cluster-robust variance: a factor for each cluster, and degrees of freedom.

The variance of a sum over clusters is estimated by V = sum c_g u_g^2, with u_g the residual term of cluster
g. If the true terms are independent with variances tau_g, and cluster g has the share h_g of the
information, V is unbiased with

    c_g = tau_g / (tau_g (1 - 2 h_g) + h_g^2 sum tau).

Satterthwaite's degrees of freedom follow from the same tau_g. For equal clusters, V is that of a t-test.

References
----------
Bell, McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_state_arrays import Floats


class ClusterCorrection(NamedTuple):
    """Factors that correct the squared residuals of clusters, and the degrees of freedom of their sum."""

    factor: Floats
    freedom: float


def correct_for_leverage(terms: Floats, share: Floats) -> ClusterCorrection:
    """Return small-sample correction factors for clusters, from their variances and information shares.

    `terms` is (G,) tau_g, and `share` is (G,) h_g, which adds up to 1.

    Examples
    --------
    Four equal clusters: 4/3 and 3 degrees of freedom, as in a t-test.

    >>> import numpy as np
    >>> found = correct_for_leverage(np.ones(4), np.full(4, 0.25))
    >>> found.factor.round(6).tolist(), round(found.freedom, 6)
    ([1.333333, 1.333333, 1.333333, 1.333333], 3.0)
    """
    left = 1.0 - 2.0 * share
    terms = terms / float(terms.sum())
    factor = terms / (terms * left + share**2)
    # G_jl = terms_j [j = l] - share_l terms_j - share_j terms_l + share_j share_l is the covariance of the r.
    both, own, ends = (float(factor @ x) for x in (share * terms, terms**2, share**2))
    off = 2.0 * own * ends + 2.0 * both**2 + ends**2 - 4.0 * both * ends
    diagonal = float(factor**2 @ (terms**2 + 2.0 * terms * (share**2 - 2.0 * share * terms)))
    return ClusterCorrection(factor, 1.0 / (diagonal + off))
