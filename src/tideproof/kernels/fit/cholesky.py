"""Cholesky factorisation of the singular Laplacian matrix of a graph of arms, with arm 0 left out."""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel

_ROUNDING = 1e-9  # a smaller pivot belongs to a direction without observations


@kernel
def factorise(A):
    """Replace a matrix's lower triangle by its Cholesky factor, with row and column 0 left out.

    Singular pivots become 0.
    """
    for i in range(1, A.shape[0]):
        whole = A[i, i]
        for k in range(1, i):
            rest = A[i, k]
            for j in range(1, k):
                rest -= A[i, j] * A[k, j]
            A[i, k] = rest / A[k, k] if A[k, k] > 0.0 else 0.0
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i]) if A[i, i] > _ROUNDING * (1.0 + whole) else 0.0


@kernel
def log_determinant(factor):
    """Return the log determinant of a matrix from its Cholesky factor, ignoring rows with pivot 0."""
    total = 0.0
    for i in range(1, factor.shape[0]):
        if factor[i, i] > 0.0:
            total += 2.0 * math.log(factor[i, i])
    return total


@kernel
def forward(factor, x, out):
    """Solve F out = x for a Cholesky factor F by forward substitution; return the squared length of `out`.

    This solves F out = x for the Cholesky factor F of A, and returns x'A^-1 x, or infinity if A is
    singular. Only singularity in the direction x counts: the data do not determine the difference of arms
    that x describes. `out` may be `x` itself.
    """
    total, lost = 0.0, 0.0
    for i in range(1, factor.shape[0]):
        rest = x[i]
        for j in range(1, i):
            rest -= factor[i, j] * out[j]
        out[i] = rest / factor[i, i] if factor[i, i] > 0.0 else 0.0
        total += out[i] * out[i]
        if factor[i, i] == 0.0:
            lost = max(lost, abs(rest))
    return total if lost < 1e-6 else math.inf


@kernel
def backward(factor, y, out):
    """Solve a linear system with a transposed Cholesky factor by backward substitution.

    This solves F'out = y for the Cholesky factor F; element 0 and elements with pivot 0 become 0.
    """
    K = factor.shape[0]
    out[0] = 0.0
    for m in range(1, K):
        i = K - m
        rest = y[i]
        for j in range(i + 1, K):
            rest -= factor[j, i] * out[j]
        out[i] = rest / factor[i, i] if factor[i, i] > 0.0 else 0.0
