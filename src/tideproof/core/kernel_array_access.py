"""Functions by which kernels (compilable functions) read and write arrays and small symmetric matrices.

A GPU keeps an array in registers only if every index is a constant once the loops over arms are unrolled,
and its registers hold only half of a symmetric matrix. Kernels that run at every step therefore use these
functions for matrices and for indices that are known only at run time. Up to
`cuda_target.MOST_ARMS_IN_REGISTERS` arms, a GPU replaces each function by the one of the same name in
`kernel_array_access_gpu`. For the arguments that kernels pass, the results differ by rounding errors at most
(docs/decisions/0014).

An element of a NumPy array is an object with slow arithmetic. Interpreted kernels therefore take the state of
a policy as `wrap_state` returns it: through `ctypes`, the elements of the same memory are plain Python
numbers, which makes kernels two to five times as fast. `PLAIN_REPLACEMENTS` has the versions of the functions
for such states, in which NumPy computes what concerns whole matrices, in the same order, so that all results
have the same bits. There are two differences: a division by zero raises an error, and integers are not
truncated to 64 bits. Only kernels that depend on neither run this way.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

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
    """Return the element P[i, k] of a symmetric matrix, where i and k must be loop variables.

    On a GPU they are constants, because loops are unrolled.
    """
    return P[i, k]


@kernel
def diagonal(P, i):
    """Return the diagonal element P[i, i] of a matrix, with an index i that is known only at run time."""
    return P[i, i]


@kernel
def fetch(P, i, row):
    """Prepare row i of a symmetric matrix for reading.

    Do nothing here; on a GPU, copy the row.

    `fetched` then reads the elements of the row; the copy on a GPU is in the buffer `row`.
    """


@kernel
def fetched(P, i, row, k):
    """Return element k of row i of the symmetric matrix P, after `fetch(P, i, row)` has prepared that row.

    k must be a loop variable.
    """
    return P[i, k]


@kernel
def put(P, i, k, value):
    """Set the element P[i, k] of a symmetric matrix.

    The caller's loop must set P[k, i] to the same value.
    """
    P[i, k] = value


@kernel
def along(P, x, arm, counts, each, out):
    """Return g'x and g'Pg for a vector x, a matrix P and the contrast g of an arm with the average arm.

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
    """Write the product of a matrix P and a scaled vector v to `out`, and return the quadratic form v'Pv.

    The vector v is each * x. At least one of the counts x must not be 0.
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
    """Return weighted sums of squares of matrix rows if they are computed in advance; here return 0.

    `weighted_squares` computes the sums later.

    Return 0. In interpreted code with plain Python numbers, the result may be the sums of all rows a, with
    base = P[k, a] - x[k].
    """
    return 0


@kernel
def weighted_squares(rows, P, a, x, base, weights):
    """Return the sum of weights[i] (P[a, i] - x[i] - base)^2 over all columns i of a symmetric matrix P.

    a must be a loop variable. `rows` is the result of `square_rows`. Weights that are not positive are
    skipped.
    """
    total = 0.0
    for i in range(x.size):
        if weights[i] > 0.0:
            gap = entry(P, a, i) - x[i] - base
            total += weights[i] * gap * gap
    return total


@kernel
def less_outer(P, x, f):
    """Subtract the scaled outer product f xx' of a vector x from a symmetric matrix P.

    P stays exactly symmetric.
    """
    K = x.size
    for i in range(K):
        for k in range(K):
            put(P, i, k, entry(P, i, k) - f * (x[i] * x[k]))


@kernel
def root_of_ratio(x, n):
    """Return the square root of the ratio x/n, for a finite x that is not negative."""
    return math.sqrt(x / n)


# -- the interpreter's version: states of plain Python numbers


class Matrix:
    """NumPy matrix whose single elements can be read and written as plain Python numbers.

    `rows` are ctypes vectors in the memory of `array`. Operations on the whole matrix use `array`.
    """

    __slots__ = ("array", "rows", "shape")

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape
        self.rows = [wrap_state(row) for row in array]

    def __getitem__(self, index: tuple[int, int]) -> Any:
        return self.rows[index[0]][index[1]]

    def __setitem__(self, index: tuple[int, int], value: Any) -> None:
        self.rows[index[0]][index[1]] = value


class Cube:
    """NumPy array with three axes, whose elements can be read and written as plain Python numbers."""

    __slots__ = ("array", "parts", "shape")

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape
        self.parts = [[wrap_state(row) for row in matrix] for matrix in array]

    def __getitem__(self, index: tuple[int, int, int]) -> Any:
        return self.parts[index[0]][index[1]][index[2]]

    def __setitem__(self, index: tuple[int, int, int], value: Any) -> None:
        self.parts[index[0]][index[1]][index[2]] = value


@cache
def _vector(kind: Any, size: int) -> Any:
    """Return the ctypes type of a vector with `size` elements.

    It has a `size`, like NumPy arrays.
    """
    return type(f"Vector{size}", (kind * size,), {"size": size, "__slots__": ("array",)})


_FEW = 10  # up to this many elements, a loop is faster than NumPy
_KINDS = {np.dtype(np.float64): ctypes.c_double, np.dtype(np.int64): ctypes.c_int64}


def wrap_state(view: Any) -> Any:
    """Wrap an array, or a tuple of arrays, so that the elements are read as plain Python numbers.

    Only kernels that were linked with `PLAIN_REPLACEMENTS` accept the result.
    """
    if isinstance(view, tuple):
        return type(view)(*(wrap_state(part) for part in view))
    if view.ndim == 2:
        return Matrix(view)
    if view.ndim == 3 and view.size:
        return Cube(view)
    if view.ndim > 3 or view.size == 0:  # rare, and correct without a wrapper
        return view
    vector = _vector(_KINDS[view.dtype], view.size).from_buffer(view)
    vector.array = view
    return vector


@kernel
def _entry(P, i, k):
    return P.rows[i][k]


@kernel
def _diagonal(P, i):
    return P.rows[i][i]


@kernel
def _fetched(P, i, row, k):
    return P.rows[i][k]


@kernel
def _put(P, i, k, value):
    P.rows[i][k] = value


@kernel
def _square_rows(P, k, x, weights):
    # Each sum runs over rows in their order, so that it has the same bits as the loop.
    if x.size <= _FEW:
        return 0
    gaps = np.subtract(P.array.T, x.array[:, None], order="C")
    gaps -= P.array[k] - x[k]
    squares = weights.array[:, None] * gaps  # a weight of zero adds nothing
    squares *= gaps
    return np.add.reduce(squares, axis=0).tolist()


@kernel
def _weighted_squares(rows, P, a, x, base, weights):
    if rows:
        return rows[a]
    total = 0.0
    for weight, p, q in zip(weights[:], P.rows[a][:], x[:], strict=True):
        if weight > 0.0:
            gap = p - q - base
            total += weight * gap * gap
    return total


@kernel
def _less_outer(P, x, f):
    outer = np.multiply.outer(x.array, x.array)
    outer *= f
    P.array -= outer


@kernel
def _along(P, x, arm, counts, each, out):
    x, shares = x[:], [n * each for n in counts[:]]
    own = 1.0 - shares[arm]
    total = own * x[arm]
    arms, factors = [arm], [own]
    for k, share in enumerate(shares):
        if share != 0.0 and k != arm:
            total -= share * x[k]
            arms.append(k)
            factors.append(share)
    parts = P.array.take(arms, 0)
    parts *= np.array(factors)[:, None]
    np.subtract.reduce(parts, axis=0, out=out.array)  # in the order of rows
    quadratic = out[arm]
    for share, found in zip(shares, out[:], strict=True):
        quadratic -= share * found
    return total, quadratic


@kernel
def _times(P, x, each, out):
    shares = [n * each for n in x[:]]
    arms = [k for k, share in enumerate(shares) if share != 0.0]
    parts = P.array.take(arms, 0)
    parts *= np.array([shares[k] for k in arms])[:, None]
    np.add.reduce(parts, axis=0, out=out.array)  # in the order of rows
    total = 0.0
    for share, found in zip(shares, out[:], strict=True):
        total += share * found
    return total


PLAIN_REPLACEMENTS: Mapping[Any, Any] = {
    entry: _entry,
    diagonal: _diagonal,
    fetched: _fetched,
    put: _put,
    less_outer: _less_outer,
    square_rows: _square_rows,
    weighted_squares: _weighted_squares,
    along: _along,
    times: _times,
}
