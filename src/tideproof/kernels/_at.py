"""Where the memory of a CPU and the registers of a GPU want different words for the same thing.

A GPU keeps an array in registers only if every index into it is a constant once the loops over arms are
unrolled, and it has registers for half of a symmetric matrix, not for all of it. So kernels on the path of
every step reach arrays at an index known only at run time, and matrices, through these; a GPU replaces
each by its namesake in `_registers`. Both give the same bits (docs/decisions/0014).
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
def row(P, i, k):
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
def present(n):
    """Tell whether an arm with n observations has to be looked at: nothing comes of n = 0."""
    return n != 0.0
