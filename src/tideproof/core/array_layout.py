"""How state is laid out: NamedTuples of small arrays, cut from two flat buffers.

A state says dtype and shape of each array in its annotation, with `"K"` for the number of arms. Zero is
the initial value of everything, so that clearing the buffers starts a state anew and copying or
saving them copies or saves it whole.
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


class Unused(NamedTuple):
    """A part of a state that nobody reads: no arrays."""


class Scratch(NamedTuple):
    """Two vectors to work on: the one part of a state that `ask` may write, and nobody may read later."""

    first: FloatK
    second: FloatK


class Memory(NamedTuple, Generic[T]):
    """A state and the two buffers that hold all of its arrays.

    Attributes
    ----------
    view : the NamedTuple, its arrays views of the buffers.
    floats, ints : the flat buffers.
    """

    view: T
    floats: Floats
    ints: Ints

    def copy_from(self, other: Memory[T]) -> None:
        """Make this state equal to `other`, which has the same layout."""
        self.floats[:] = other.floats
        self.ints[:] = other.ints


def compose(name: str, **fields: Any) -> Any:
    """Return a state type made of others, for those who know its parts only when they run."""
    return NamedTuple(name, list(fields.items()))


def allocate(kind: Callable[..., T], arms: int) -> Memory[T]:
    """Allocate a zeroed state of `kind` for that many arms.

    >>> class Tally(NamedTuple):
    ...     pulls: IntK
    ...     total: Float1
    >>> tally, floats, ints = allocate(Tally, arms=3)
    >>> ints[1] = 7
    >>> tally.pulls
    array([0, 7, 0])
    """
    floats, ints = room(kind, arms)
    return within(kind, arms, np.zeros(floats), np.zeros(ints, np.int64))


def room(kind: Any, arms: int) -> tuple[int, int]:
    """Return how many floats and how many integers a state of `kind` takes."""
    leaves = layout(kind, arms)
    floats, ints = (
        sum(math.prod(shape) for dtype, shape in leaves if dtype is wanted)
        for wanted in (np.float64, np.int64)
    )
    return floats, ints


def within(kind: Callable[..., T], arms: int, floats: Floats, ints: Ints) -> Memory[T]:
    """Return a state of `kind` that lives in these buffers, which have room for it.

    Of buffers that are tables, each row has room for one: the arrays then have an axis more, the first.
    """
    buffers: dict[Any, Any] = {np.float64: floats, np.int64: ints}
    used = {np.float64: 0, np.int64: 0}
    pieces = []
    for dtype, shape in layout(kind, arms):
        start, used[dtype] = used[dtype], used[dtype] + math.prod(shape)
        piece = buffers[dtype][..., start : used[dtype]]
        pieces.append(piece.reshape(piece.shape[:-1] + shape))
    return Memory(_build(kind, iter(pieces)), floats, ints)


def scratch(view: Any) -> list[Floats]:
    """Return the arrays of a state that are nothing but room to work on."""
    found = list(view) if isinstance(view, Scratch) else []
    if isinstance(view, tuple) and not isinstance(view, Scratch):
        for part in view:
            found += scratch(part)
    return found


@cache
def _hints(kind: Any) -> tuple[Any, ...]:
    """Return the annotation of each field, or say which one is neither an array nor a state."""
    if not _is_state(kind):
        raise InputError(f"a state is a NamedTuple of arrays, not {kind!r}")
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InputError(
            f"an annotation of {kind.__name__} is not to be found in its module: {error}"
        ) from None
    for name in kind._fields:
        hint = hints.get(name)
        if not _is_state(hint) and not _is_array(hint):
            shown = f"annotated as {hint!r}" if name in hints else "without annotation"
            raise InputError(
                f"{kind.__name__}.{name} is {shown}: a state holds arrays annotated with their shape (Int1, "
                f"IntK, Float1, FloatK, FloatKK; int64 or float64) and other states"
            )
    return tuple(hints[name] for name in kind._fields)


def _is_state(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _is_array(hint: Any) -> bool:
    if get_origin(hint) is not Annotated:
        return False
    _, dtype, *shape = get_args(hint)
    sides = all(side == "K" or (type(side) is int and side >= 0) for side in shape)
    return (dtype is np.float64 or dtype is np.int64) and bool(shape) and sides


@cache
def layout(kind: Any, arms: int) -> tuple[tuple[Any, tuple[int, ...]], ...]:
    """Return dtype and shape of every array of the state, in order."""
    leaves: list[tuple[Any, tuple[int, ...]]] = []
    for hint in _hints(kind):
        if _is_state(hint):
            leaves += layout(hint, arms)
        else:
            _, dtype, *shape = get_args(hint)
            leaves.append((dtype, tuple(arms if side == "K" else side for side in shape)))
    return tuple(leaves)


def inner_states(kind: Any) -> tuple[Any, ...]:
    """Return, for each field, the type of the state inside it, or None for an array."""
    return tuple(hint if _is_state(hint) else None for hint in _hints(kind))


def _build(kind: Any, pieces: Iterator[Any]) -> Any:
    return kind(*(_build(inner, pieces) if inner else next(pieces) for inner in inner_states(kind)))
