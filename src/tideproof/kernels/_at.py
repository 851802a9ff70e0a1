"""Reading at an index that is known only when the kernel runs.

A GPU keeps an array in registers only if every index into it is a constant once the loops over arms are
unrolled. So kernels read P and what goes with it through these, and a GPU looks through all
places instead (docs/decisions/0014).
"""

from __future__ import annotations

from tideproof.kernels._link import kernel


@kernel
def at(x, i):
    """Return x[i]."""
    return x[i]


@kernel
def row(P, i, k):
    """Return P[i, k], where i is known only at run time."""
    return P[i, k]


@kernel
def diagonal(P, i):
    """Return P[i, i]."""
    return P[i, i]


@kernel
def at_of_all(x, i):
    """Return x[i] as a sum over all of x: a mere choice would become an address again."""
    value = 0.0
    for m in range(x.size):
        value += (1.0 if m == i else 0.0) * x[m]
    return value


@kernel
def row_of_all(P, i, k):
    """Return P[i, k] as a sum over all of column k."""
    value = 0.0
    for m in range(P.shape[0]):
        value += (1.0 if m == i else 0.0) * P[m, k]
    return value


@kernel
def diagonal_of_all(P, i):
    """Return P[i, i] as a sum over the diagonal."""
    value = 0.0
    for m in range(P.shape[0]):
        value += (1.0 if m == i else 0.0) * P[m, m]
    return value
