"""Compilable functions that simulate replications and return the final estimates with their variances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_array_access import diagonal, fetch
from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom, variance_to
from tideproof.kernels.simulate.replication_loop import play_until
from tideproof.kernels.simulate.threefry import SELECT, Draw

select = hole("select")


class FinalEstimates(NamedTuple):
    """Estimates of the arm means at the end of simulated replications, for each of several budgets.

    Attributes
    ----------
    selected : (B, R) the arm that the policy selects.
    freedom : (B, R) degrees of freedom of the noise variance; 0 if the arms are not comparable.
    rss : (B, R) residual sum of squares.
    mu : (B, R, K) the estimates.
    to_selected, to_other : (B, R, K) variance of each arm's contrast with the selected arm, and with another
        given arm, in units of the noise variance.
    row : (K,) scratch.
    """

    selected: Ints
    freedom: Ints
    rss: Floats
    mu: Floats
    to_selected: Floats
    to_other: Floats
    row: Floats


@kernel
def play_to_final_estimates(params, run, floats, ints, world, seed, first, budgets, other, ends):
    """Simulate consecutive replications, and store the final estimates of each in `ends`.

    Their numbers are first, first + 1, and so on. The number of replications is the number that `ends` has
    space for. The policy must read the fit. `other` is the arm of the contrasts `to_other`.
    """
    state, data = run.state, run.data
    for r in range(ends.selected.shape[1]):
        for i in range(floats.size):
            floats[i] = 0.0
        for i in range(ints.size):
            ints[i] = 0
        replication = first + np.uint64(r)
        t, j, left, shift, drift, stopped = 0, -1, 0, 0.0, 0.0, False
        for b in range(budgets.size):
            t, j, left, shift, drift, stopped = play_until(
                params, run, world, seed, replication, budgets[b], t, j, left, shift, drift, stopped, None
            )
            chosen = select(params, state, data, Draw(seed, replication, SELECT, np.uint64(t)))
            fit = data.fit
            ends.selected[b, r] = chosen
            ends.freedom[b, r] = degrees_of_freedom(fit) if connected(fit) else 0
            ends.rss[b, r] = fit.rss[0]
            _read_to(fit, chosen, ends.row, ends.to_selected, b, r)
            _read_to(fit, other, ends.row, ends.to_other, b, r)
            for i in range(fit.mu.size):
                ends.mu[b, r, i] = fit.mu[i]


@kernel
def _read_to(fit, arm, row, found, b, r):
    """Write the variance of every arm's estimated difference from `arm` to the array `found`."""
    own = diagonal(fit.P, arm)
    fetch(fit.P, arm, row)
    for i in range(row.size):
        found[b, r, i] = variance_to(fit.P, arm, own, row, i) if i != arm else 0.0
