"""State types of compilable functions (kernels): NamedTuples of small arrays that share memory.

The arrays of a state share one buffer of floats and one of integers. The annotation of each field gives the
dtype and shape of its array, with `"K"` for the number of arms. Every value starts at zero. So filling the
buffers with zeros resets a state, and copying or saving the buffers copies or saves all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tideproof.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FloatK = Annotated[Floats, np.float64, "K"]
FloatKK = Annotated[Floats, np.float64, "K", "K"]
Float1 = Annotated[Floats, np.float64, 1]
IntK = Annotated[Ints, np.int64, "K"]
Int1 = Annotated[Ints, np.int64, 1]

T = TypeVar("T")


class EmptyState(NamedTuple):
    """State without arrays, in place of statistics that a policy does not use."""


class Scratch(NamedTuple):
    """Two vectors for intermediate results, which have no meaning for later calls.

    `ask` may write to them, and no later call may read them.
    """

    first: FloatK
    second: FloatK


class Memory(NamedTuple, Generic[T]):
    """State of a kernel together with the two buffers that hold all of its arrays.

    Attributes
    ----------
    view : the NamedTuple; its arrays are views of the buffers.
    floats, ints : the flat buffers.
    """

    view: T
    floats: Floats
    ints: Ints

    def copy_from(self, other: Memory[T]) -> None:
        """Overwrite the arrays of this state with those of `other`, which has the same layout."""
        self.floats[:] = other.floats
        self.ints[:] = other.ints


def compose_state_type(name: str, **fields: Any) -> Any:
    """Return a new state type with the given fields, for a state whose parts are known only at run time."""
    return NamedTuple(name, list(fields.items()))


def allocate(kind: Callable[..., T], arms: int) -> Memory[T]:
    """Return a new state (a NamedTuple of arrays) of type `kind` for a number of arms, filled with zeros.

    >>> class Tally(NamedTuple):
    ...     pulls: IntK
    ...     total: Float1
    >>> tally, floats, ints = allocate(Tally, arms=3)
    >>> ints[1] = 7
    >>> tally.pulls
    array([0, 7, 0])
    """
    floats, ints = count_elements(kind, arms)
    return view_buffers(kind, arms, np.zeros(floats), np.zeros(ints, np.int64))


def count_elements(kind: Any, arms: int) -> tuple[int, int]:
    """Return how many floats and how many integers the arrays of a state of type `kind` contain."""
    leaves = list_arrays(kind, arms)
    floats, ints = (
        sum(math.prod(shape) for dtype, shape in leaves if dtype is wanted)
        for wanted in (np.float64, np.int64)
    )
    return floats, ints


def view_buffers(kind: Callable[..., T], arms: int, floats: Floats, ints: Ints) -> Memory[T]:
    """Return a state of type `kind` whose arrays are views of the given buffers.

    Buffers may be tables with one state in each row: the arrays then have an additional first axis.
    """
    buffers: dict[Any, Any] = {np.float64: floats, np.int64: ints}
    used = {np.float64: 0, np.int64: 0}
    pieces = []
    for dtype, shape in list_arrays(kind, arms):
        start, used[dtype] = used[dtype], used[dtype] + math.prod(shape)
        piece = buffers[dtype][..., start : used[dtype]]
        pieces.append(piece.reshape(piece.shape[:-1] + shape))
    return Memory(_build(kind, iter(pieces)), floats, ints)


def find_scratch(view: Any) -> list[Floats]:
    """Return the scratch arrays of a state, whose contents have no meaning between calls."""
    found = list(view) if isinstance(view, Scratch) else []
    if isinstance(view, tuple) and not isinstance(view, Scratch):
        for part in view:
            found += find_scratch(part)
    return found


@cache
def _hints(kind: Any) -> tuple[Any, ...]:
    """Return the type annotations of the fields of a kernel's state.

    Raise an error unless each is an array or a state.
    """
    if not _is_state(kind):
        raise InputError(f"a state must be a NamedTuple of arrays, not {kind!r}")
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InputError(f"an annotation of {kind.__name__} is not defined in its module: {error}") from None
    for name in kind._fields:
        hint = hints.get(name)
        if not _is_state(hint) and not _is_array(hint):
            problem = f"is annotated as {hint!r}" if name in hints else "has no annotation"
            raise InputError(
                f"{kind.__name__}.{name} {problem}: the fields of a state must be other states or arrays "
                f"annotated with their shape (Int1, IntK, Float1, FloatK, FloatKK; int64 or float64)"
            )
    return tuple(hints[name] for name in kind._fields)


def _is_state(hint: Any) -> bool:
    """Return whether an annotation is a state type, that is, a NamedTuple."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _is_array(hint: Any) -> bool:
    """Return whether an annotation describes an array of float64 or int64 with its shape."""
    if get_origin(hint) is not Annotated:
        return False
    _, dtype, *shape = get_args(hint)
    sides = all(side == "K" or (type(side) is int and side >= 0) for side in shape)
    return (dtype is np.float64 or dtype is np.int64) and bool(shape) and sides


@cache
def list_arrays(kind: Any, arms: int) -> tuple[tuple[Any, tuple[int, ...]], ...]:
    """Return the dtype and shape of every array in a state type, in the order of the buffers."""
    leaves: list[tuple[Any, tuple[int, ...]]] = []
    for hint in _hints(kind):
        if _is_state(hint):
            leaves += list_arrays(hint, arms)
        else:
            _, dtype, *shape = get_args(hint)
            leaves.append((dtype, tuple(arms if side == "K" else side for side in shape)))
    return tuple(leaves)


def list_inner_states(kind: Any) -> tuple[Any, ...]:
    """Return the types of the states that are nested in a state, one item for each field.

    The item is None if the field is an array.
    """
    return tuple(hint if _is_state(hint) else None for hint in _hints(kind))


def _build(kind: Any, pieces: Iterator[Any]) -> Any:
    """Build a state, including the states nested in it, from a sequence of their arrays."""
    return kind(*(_build(inner, pieces) if inner else next(pieces) for inner in list_inner_states(kind)))
