"""Kernels that read and write arrays and small symmetric matrices; a GPU replaces them by its own versions.

A GPU keeps an array in registers only if every index is a constant once the loops over arms are unrolled,
and its registers hold only half of a symmetric matrix. Kernels that run at every step therefore use these
functions for matrices and for indices that are known only at run time. Up to
`cuda_target.MOST_ARMS_IN_REGISTERS` arms, a GPU replaces each function by the one of the same name in
`array_access_gpu`. For the arguments that kernels pass, the results differ by rounding errors at most
(docs/decisions/0014).
"""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel


@kernel
def at(x, i):
    """Return the element x[i] of an array, with an index i that is known only at run time."""
    return x[i]


@kernel
def add_at(x, i, n):
    """Add n to the element x[i] of an array, with an index i that is known only at run time."""
    x[i] += n


@kernel
def entry(P, i, k):
    """Return the element P[i, k] of a symmetric matrix, for loop variables i and k (constants on a GPU)."""
    return P[i, k]


@kernel
def diagonal(P, i):
    """Return the diagonal element P[i, i] of a matrix, with an index i that is known only at run time."""
    return P[i, i]


@kernel
def fetch(P, i, row):
    """Prepare row i of a symmetric matrix for `fetched`; on a GPU this copies it to the buffer `row`."""


@kernel
def fetched(P, i, row, k):
    """Return element k of the row i of a symmetric matrix that `fetch(P, i, row)` has prepared.

    k must be a loop variable.
    """
    return P[i, k]


@kernel
def put(P, i, k, value):
    """Set the element P[i, k] of a symmetric matrix; the caller's loop must set P[k, i] to the same value."""
    P[i, k] = value


@kernel
def along(P, x, arm, counts, each, out):
    """Return the inner product g'x and the quadratic form g'Pg for the contrast g of an arm with an average.

    g = (unit vector of `arm`) - each * counts. Pg is written to `out`.

    With the pulls of an environment as `counts` and 1 over their sum as `each`, g is the difference between
    the arm and the average pull of the environment. The loops run over rows of P, which is symmetric, so
    that the inner loop reads adjacent memory.
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
    """Write the product of a matrix P and a scaled vector to `out`, and return the quadratic form.

    The vector is each * x. At least one of the counts x must not be 0.
    """
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
    """Return weighted sums of squares for all rows of a matrix, or 0 to compute them one by one later.

    Each is the result of `weighted_squares` with base = P[k, a] - x[k]. This version always returns 0;
    `interpreted_kernels` has a version that computes them.
    """
    return 0


@kernel
def weighted_squares(rows, P, a, x, base, weights):
    """Return the weighted sum of squares of row a of a matrix, less a vector and a constant.

    This is the sum of weights[i] (P[a, i] - x[i] - base)^2 over i. a must be a loop variable.

    `rows` is the result of `square_rows`. Weights that are not positive are skipped.
    """
    total = 0.0
    for i in range(x.size):
        if weights[i] > 0.0:
            gap = entry(P, a, i) - x[i] - base
            total += weights[i] * gap * gap
    return total


@kernel
def less_outer(P, x, f):
    """Subtract the scaled outer product f xx' of a vector from a matrix P, which stays exactly symmetric."""
    K = x.size
    for i in range(K):
        for k in range(K):
            put(P, i, k, entry(P, i, k) - f * (x[i] * x[k]))


@kernel
def root_of_ratio(x, n):
    """Return the square root of the ratio x/n, for a finite x that is not negative."""
    return math.sqrt(x / n)
