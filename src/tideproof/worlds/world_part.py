"""Base class of the parts of a simulated world, which finds every kind of part by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tideproof.errors import InputError


class WorldPart:
    """Base class of everything that describes a part of a simulated world, such as its shifts or noise.

    Each kind of part is an immutable dataclass that validates itself when it is created. Defining the class
    is enough for `World`, for saved worlds and for `tideproof.worlds` to know its name.
    """

    def numbers(self) -> dict[str, Any]:
        """Return the parameters of this part of a simulated world, for the compiled simulation."""
        return self._numbers()

    def _numbers(self) -> dict[str, Any]:
        """Return the parameters of this part of a simulated world; every subclass must override it."""
        raise NotImplementedError

    @classmethod
    def kinds(cls) -> dict[str, type[WorldPart]]:
        """Return all concrete subclasses of this class by name, in the order of their definition."""
        found: dict[str, type[WorldPart]] = {}
        for each in cls.__subclasses__():
            found |= each.kinds() or {each.__name__: each}
        return found


def set_fields(target: object, **values: Any) -> None:
    """Set fields of an immutable dataclass while it is being created."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """Convert a list of values to a tuple, or raise an error for text, a single value or an empty list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers, not {values!r}")
    items = tuple(values)
    if not items:
        raise InputError(f"{name} must not be empty")
    return items
