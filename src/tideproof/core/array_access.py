"""How kernels reach into arrays, where the memory of a CPU and the registers of a GPU want it differently.

A GPU keeps an array in registers only if every index into it is a constant once the loops over arms are
unrolled, and it has registers for half of a symmetric matrix, not for all of it. So kernels on the path of
every step reach arrays at an index known only at run time, and matrices, through these. Up to `cuda.FEW` arms
a GPU replaces each by its namesake in `access_gpu`, which for what kernels ask differs by rounding at most
(docs/decisions/0014).
"""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel


@kernel
def at(x, i):
    """Return x[i]."""
    return x[i]


@kernel
def add_at(x, i, n):
    """Add n to x[i]."""
    x[i] += n


@kernel
def entry(P, i, k):
    """Return P[i, k] of a symmetric matrix, i and k the variables of loops."""
    return P[i, k]


@kernel
def diagonal(P, i):
    """Return P[i, i], i known only at run time."""
    return P[i, i]


@kernel
def fetch(P, i, row):
    """Make ready to look at row i of a symmetric matrix, i known only at run time; `row` has room for it."""


@kernel
def fetched(P, i, row, k):
    """Return P[i, k], k the variable of a loop, after `fetch`."""
    return P[i, k]


@kernel
def put(P, i, k, value):
    """Write P[i, k] of a symmetric matrix, in a loop that also writes P[k, i]."""
    P[i, k] = value


@kernel
def along(P, x, arm, counts, each, out):
    """With g = e_arm - each counts: set out = Pg and return g'x and g'Pg.

    By rows of P, which is symmetric, so that the inner loop runs over adjacent memory.
    """
    K = x.size
    own = 1.0 - counts[arm] * each
    total = own * x[arm]
    for i in range(K):
        out[i] = own * P[arm, i]
    for k in range(K):
        if k != arm and counts[k] != 0.0:
            share = counts[k] * each
            total -= share * x[k]
            for i in range(K):
                out[i] -= share * P[k, i]
    quadratic = out[arm]
    for k in range(K):
        quadratic -= counts[k] * each * out[k]
    return total, quadratic


@kernel
def times(P, x, each, out):
    """Set out = each Px and return each x'out, for an x of counts that are not all 0."""
    K = x.size
    fresh, total = True, 0.0
    for k in range(K):
        if x[k] != 0.0:
            share = x[k] * each
            if fresh:
                for i in range(K):
                    out[i] = share * P[k, i]
                fresh = False
            else:
                for i in range(K):
                    out[i] += share * P[k, i]
    for k in range(K):
        total += x[k] * each * out[k]
    return total


@kernel
def square_rows(P, k, x, weights):
    """Make ready for `weighted_squares` of rows a with base P_ka - x_k; 0: nothing to make ready."""
    return 0


@kernel
def weighted_squares(rows, P, a, x, base, weights):
    """Return the sum of w_i (P_ai - x_i - base)^2 over positive weights, a the variable of a loop."""
    total = 0.0
    for i in range(x.size):
        if weights[i] > 0.0:
            gap = entry(P, a, i) - x[i] - base
            total += weights[i] * gap * gap
    return total


@kernel
def less_outer(P, x, f):
    """Set P = P - f xx', symmetric to the last bit."""
    K = x.size
    for i in range(K):
        for k in range(K):
            put(P, i, k, entry(P, i, k) - f * (x[i] * x[k]))


@kernel
def root_of_ratio(x, n):
    """Return the square root of x/n, for a finite x that is not negative."""
    return math.sqrt(x / n)
