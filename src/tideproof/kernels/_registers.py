"""The namesakes of `_words` on a GPU: no address is computed at run time, and one half of P is enough.

An index known only at run time becomes a sum over all places with one coefficient 1, the others 0: a mere
choice among them would be turned into an address again.
"""

from __future__ import annotations

from tideproof.kernels import _words
from tideproof.kernels._link import kernel


@kernel
def at(x, i):
    """Return x[i]."""
    value = 0.0
    for m in range(x.size):
        value += (1.0 if m == i else 0.0) * x[m]
    return value


@kernel
def add_at(x, i, n):
    """Add n to x[i]."""
    for m in range(x.size):
        x[m] += n if m == i else 0


@kernel
def entry(P, i, k):
    """Return P[i, k] from below the diagonal."""
    return P[max(i, k), min(i, k)]


@kernel
def entry_of(P, i, k):
    """Return P[i, k] from below the diagonal."""
    value = 0.0
    for m in range(P.shape[0]):
        value += (1.0 if m == i else 0.0) * P[max(m, k), min(m, k)]
    return value


@kernel
def diagonal(P, i):
    """Return P[i, i]."""
    value = 0.0
    for m in range(P.shape[0]):
        value += (1.0 if m == i else 0.0) * P[m, m]
    return value


@kernel
def put(P, i, k, value):
    """Write below the diagonal, and its image: who reads P itself finds it whole, else nobody pays."""
    if k <= i:
        P[i, k] = value
        P[k, i] = value


@kernel
def worth_a_look(n):
    """Tell to look at every arm: threads of a warp differ in which they could leave out."""
    return True


REGISTERS = {
    _words.at: at,
    _words.add_at: add_at,
    _words.entry: entry,
    _words.entry_of: entry_of,
    _words.diagonal: diagonal,
    _words.put: put,
    _words.worth_a_look: worth_a_look,
}
