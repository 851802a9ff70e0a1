"""Cholesky's factor of a graph Laplacian, arm 0 left out, which may lack some of the other arms, too."""

from __future__ import annotations

import math

from tideproof.core.kernel_linker import kernel

_ROUNDING = 1e-9  # a pivot below it is one of a direction that nothing was seen of


@kernel
def factorise(A):
    """Replace A, below its diagonal and from row 1 on, by its factor; 0 where there is no pivot."""
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
    """Return the logarithm of the determinant, over the directions that have a pivot."""
    total = 0.0
    for i in range(1, factor.shape[0]):
        if factor[i, i] > 0.0:
            total += 2.0 * math.log(factor[i, i])
    return total


@kernel
def forward(factor, x, out):
    """Solve F out = x, maybe in place, and return out'out = x'A^-1 x; infinite if A says nothing of x."""
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
    """Solve F'out = y, with 0 for arm 0 and for directions without a pivot."""
    K = factor.shape[0]
    out[0] = 0.0
    for m in range(1, K):
        i = K - m
        rest = y[i]
        for j in range(i + 1, K):
            rest -= factor[j, i] * out[j]
        out[i] = rest / factor[i, i] if factor[i, i] > 0.0 else 0.0
