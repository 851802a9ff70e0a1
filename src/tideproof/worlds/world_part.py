"""What all parts of a world have in common: they check themselves, and are found by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tideproof.errors import InputError


class WorldPart:
    """A part of a world: how it shifts, how long environments last, its noise.

    A kind of it is a frozen dataclass that checks itself when it is made. To define one is enough for
    `World`, for saved worlds and for `tideproof` to know its name.
    """

    def _numbers(self) -> dict[str, Any]:
        """Return the fields of `kernels.world.Numbers` by which the kernel draws it."""
        raise NotImplementedError

    @classmethod
    def kinds(cls) -> dict[str, type[WorldPart]]:
        """Return all kinds of it by name, in the order in which they are defined."""
        found: dict[str, type[WorldPart]] = {}
        for each in cls.__subclasses__():
            found |= each.kinds() or {each.__name__: each}
        return found


def set_fields(made: object, **values: Any) -> None:
    """Set fields of a frozen dataclass that is being made."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def as_tuple(name: str, given: Any) -> tuple[Any, ...]:
    """Return the values of a list that must not be empty."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} must be a list of numbers, not {given!r}")
    values = tuple(given)
    if not values:
        raise InputError(f"{name} must not be empty")
    return values
