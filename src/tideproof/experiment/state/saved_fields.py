"""Saving and restoring of the fields of a policy state.

The class of each part lists the fields to save in `SAVED`. Snapshots are written and read from this list
alone. What a part does not list follows from its saved fields.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from tideproof.core.kernel_state_arrays import Memory


class SavedFields:
    """Base class of the parts of a policy state, which saves and restores the fields named in `SAVED`."""

    SAVED: ClassVar[tuple[str, ...]] = ()

    def contents(self) -> list[Any]:
        """Return the fields named in `SAVED` as lists, arrays and plain values; `refill` restores them."""
        return [_contents_of(getattr(self, name)) for name in self.SAVED]

    def refill(self, contents: Any) -> None:
        """Restore the fields named in `SAVED` from the values that `contents` returned."""
        for name, value in zip(self.SAVED, contents, strict=True):
            setattr(self, name, _restored(getattr(self, name), value))


def _contents_of(value: Any) -> Any:
    if isinstance(value, Memory):
        return [value.floats, value.ints]
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, Enum):
        return value.value
    return value.contents() if hasattr(value, "contents") else value


def _restored(old: Any, contents: Any) -> Any:
    """Return the restored value of a saved field; `old` is the value of the field in an empty object."""
    if isinstance(old, Memory):
        old.floats[:], old.ints[:] = contents
        return old
    if hasattr(old, "refill"):
        old.refill(contents)
        return old
    if hasattr(old, "of"):
        return old.of(*contents)
    return type(old)(contents) if isinstance(old, (list, set, Enum)) else contents
