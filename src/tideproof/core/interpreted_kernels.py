"""Run interpreted kernels on plain Python numbers, which is two to five times as fast as on NumPy's.

An element of a NumPy array is an object with slow arithmetic. `ctypes` gives access to the same memory as
plain floats and integers. NumPy still computes what kernels do with whole matrices through
`core.array_access`, in the same order, so that all results have the same bits. There are two differences:
a division by zero raises an error, and integers are not truncated to 64 bits. Only kernels that depend on
neither run this way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tideproof.core import array_access
from tideproof.core.kernel_linker import kernel


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
    """Return the ctypes type of a vector with `size` elements, with an attribute `size` as in NumPy."""
    return type(f"Vector{size}", (kind * size,), {"size": size, "__slots__": ("array",)})


_FEW = 10  # up to this many elements, a loop is faster than NumPy
_KINDS = {np.dtype(np.float64): ctypes.c_double, np.dtype(np.int64): ctypes.c_int64}


def wrap_state(view: Any) -> Any:
    """Wrap an array, or a state of arrays, so that its elements are plain Python numbers.

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
    array_access.entry: _entry,
    array_access.diagonal: _diagonal,
    array_access.fetched: _fetched,
    array_access.put: _put,
    array_access.less_outer: _less_outer,
    array_access.square_rows: _square_rows,
    array_access.weighted_squares: _weighted_squares,
    array_access.along: _along,
    array_access.times: _times,
}
