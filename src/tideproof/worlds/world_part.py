"""Base class of the parts of a simulated world, which makes every kind of part known by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tideproof.errors import InputError


class WorldPart:
    """Base class of the parts of a world, such as its shifts, lengths of environments or noise.

    Each kind of part is an immutable dataclass that validates itself when it is created. Defining the class
    is enough for `World`, for saved worlds and for `tideproof.worlds` to know its name.
    """

    def numbers(self) -> dict[str, Any]:
        """Return the fields of `WorldParameters` with which the kernels draw this part."""
        return self._numbers()

    def _numbers(self) -> dict[str, Any]:
        """Return what `numbers` returns: every kind of part has its own."""
        raise NotImplementedError

    @classmethod
    def kinds(cls) -> dict[str, type[WorldPart]]:
        """Return all kinds of this part by name, in the order of their definition."""
        found: dict[str, type[WorldPart]] = {}
        for each in cls.__subclasses__():
            found |= each.kinds() or {each.__name__: each}
        return found


def set_fields(target: object, **values: Any) -> None:
    """Set fields of an immutable dataclass while it is being created."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values of a list as a tuple, or raise an error unless it is a list with elements."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers, not {values!r}")
    items = tuple(values)
    if not items:
        raise InputError(f"{name} must not be empty")
    return items
