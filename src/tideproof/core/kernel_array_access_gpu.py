"""Functions by which GPU kernels access arrays by constant indices, and half of each symmetric matrix.

An index known only at run time becomes a sum over all indices with one coefficient 1 and the others 0. A
conditional expression would not do: the compiler would turn it into a computed address again.
"""

from __future__ import annotations

from tideproof.core import kernel_array_access
from tideproof.core.kernel_linker import hole, kernel

rsqrt = hole("rsqrt")  # 1/sqrt(x)


@kernel
def at(x, i):
    """Return the element x[i] of an array by adding up all elements, each of them times 1 or 0.

    So every index is a constant.
    """
    value = 0.0
    for m in range(x.size):
        value += (1.0 if m == i else 0.0) * x[m]
    return value


@kernel
def add_at(x, i, n):
    """Add n to the element x[i] of an array, in a loop that adds 0 to all other elements.

    So every index is a constant.
    """
    for m in range(x.size):
        x[m] += n if m == i else 0


@kernel
def entry(P, i, k):
    """Return the element P[i, k] of a symmetric matrix, read from its lower triangle."""
    return P[max(i, k), min(i, k)]


@kernel
def diagonal(P, i):
    """Return the diagonal element P[i, i] by adding up the whole diagonal, each element times 1 or 0.

    So every index is a constant.
    """
    value = 0.0
    for m in range(P.shape[0]):
        value += (1.0 if m == i else 0.0) * P[m, m]
    return value


@kernel
def fetch(P, i, row):
    """Copy row i of the symmetric matrix P to `row`, read from the lower triangle."""
    for k in range(P.shape[0]):
        row[k] = 0.0
        for m in range(P.shape[0]):
            row[k] += (1.0 if m == i else 0.0) * entry(P, m, k)


@kernel
def fetched(P, i, row, k):
    """Return P[i, k] of a symmetric matrix from `row`, the copy of its row i that `fetch` made."""
    return row[k]


@kernel
def put(P, i, k, value):
    """Set P[i, k] and P[k, i] of a symmetric matrix, but only if [i, k] is in the lower triangle."""
    if k <= i:
        P[i, k] = value
        P[k, i] = value  # for code that reads P directly; without such code the compiler removes this


@kernel
def along(P, x, arm, counts, each, out):
    """Return g'x and g'Pg for a vector x, a matrix P and the contrast g of an arm with the average arm.

    g = (unit vector of `arm`) - each * counts. Pg is written to `out`.
    """
    K = x.size
    total, quadratic = 0.0, 0.0
    for i in range(K):
        out[i] = 0.0
    for k in range(K):
        g = (1.0 if k == arm else 0.0) - counts[k] * each
        total += g * x[k]
        for i in range(K):
            out[i] += g * entry(P, i, k)
    for k in range(K):
        g = (1.0 if k == arm else 0.0) - counts[k] * each
        quadratic += g * out[k]
    return total, quadratic


@kernel
def times(P, x, each, out):
    """Write the product of a matrix P and a scaled vector v to `out`, and return the quadratic form v'Pv.

    The vector v is each * x.
    """
    K = x.size
    total = 0.0
    for i in range(K):
        out[i] = 0.0
    for k in range(K):
        share = x[k] * each
        for i in range(K):
            out[i] += share * entry(P, i, k)
    for k in range(K):
        total += x[k] * each * out[k]
    return total


@kernel
def root_of_ratio(x, n):
    """Return the square root of the ratio x/n without a division, because divisions are slow on a GPU."""
    return x * rsqrt(x * n) if x > 0.0 else 0.0


REGISTER_REPLACEMENTS = {
    kernel_array_access.at: at,
    kernel_array_access.add_at: add_at,
    kernel_array_access.entry: entry,
    kernel_array_access.diagonal: diagonal,
    kernel_array_access.fetch: fetch,
    kernel_array_access.fetched: fetched,
    kernel_array_access.put: put,
    kernel_array_access.along: along,
    kernel_array_access.times: times,
    kernel_array_access.root_of_ratio: root_of_ratio,
}
