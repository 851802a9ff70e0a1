"""How state is laid out: NamedTuples of small arrays, cut from two flat buffers.

A state says the shape of each array in its annotation, with `"K"` for the number of arms. Zero is
the initial value of everything, so that clearing the buffers starts a state anew and copying or
saving them copies or saves it whole.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FloatK = Annotated[Floats, "K"]
FloatKK = Annotated[Floats, "K", "K"]
Float1 = Annotated[Floats, 1]
IntK = Annotated[Ints, "K"]
Int1 = Annotated[Ints, 1]

T = TypeVar("T")


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


def allocate(kind: type[T], arms: int) -> Memory[T]:
    """Allocate a zeroed state of `kind` for that many arms.

    >>> class Tally(NamedTuple):
    ...     pulls: IntK
    ...     total: Float1
    >>> tally, floats, ints = allocate(Tally, arms=3)
    >>> ints[1] = 7
    >>> tally.pulls
    array([0, 7, 0])
    """
    sizes = {np.float64: 0, np.int64: 0}
    for dtype, shape in _leaves(kind, arms):
        sizes[dtype] += int(np.prod(shape))
    buffers = {dtype: np.zeros(size, dtype) for dtype, size in sizes.items()}
    used = {np.float64: 0, np.int64: 0}

    def cut(hint: Any) -> Any:
        if _is_state(hint):
            return hint(*(cut(h) for h in get_type_hints(hint, include_extras=True).values()))
        dtype, shape = _leaf(hint, arms)
        start, used[dtype] = used[dtype], used[dtype] + int(np.prod(shape))
        return buffers[dtype][start : used[dtype]].reshape(shape)

    return Memory(cut(kind), buffers[np.float64], buffers[np.int64])


def _is_state(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple)


def _leaf(hint: Any, arms: int) -> tuple[Any, tuple[int, ...]]:
    array, *shape = get_args(hint)
    if get_origin(hint) is not Annotated:
        raise TypeError(f"a state holds arrays annotated with their shape, not {hint!r}")
    dtype = get_args(get_args(array)[1])[0]
    return dtype, tuple(arms if side == "K" else int(side) for side in shape)


def _leaves(kind: Any, arms: int) -> list[tuple[Any, tuple[int, ...]]]:
    found = []
    for hint in get_type_hints(kind, include_extras=True).values():
        found += _leaves(hint, arms) if _is_state(hint) else [_leaf(hint, arms)]
    return found
