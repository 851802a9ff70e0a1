"""Words for what the memory of a CPU and the registers of a GPU want done differently.

A GPU keeps an array in registers only if every index into it is a constant once the loops over arms are
unrolled, and it has registers for half of a symmetric matrix, not for all of it. So kernels on the path of
every step reach arrays at an index known only at run time, and matrices, through these. Up to `_gpu.FEW` arms
a GPU replaces each by its namesake in `_registers`; for finite values both give the same bits
(docs/decisions/0014).
"""

from __future__ import annotations

from tideproof.kernels._link import kernel


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
def entry_of(P, i, k):
    """Return P[i, k] of a symmetric matrix, i known only at run time."""
    return P[i, k]


@kernel
def diagonal(P, i):
    """Return P[i, i], i known only at run time."""
    return P[i, i]


@kernel
def put(P, i, k, value):
    """Write P[i, k] of a symmetric matrix, in a loop that also writes P[k, i]."""
    P[i, k] = value


@kernel
def worth_a_look(n):
    """Tell whether to look at an arm with n observations: nothing comes of n = 0."""
    return n != 0.0
