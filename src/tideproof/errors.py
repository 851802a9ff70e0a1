"""Everything tideproof raises on purpose.

::

    TideproofError
    ├── InputError (ValueError)        a value that is not allowed; the message says what is
    │   ├── UnknownName (KeyError)     an arm, pull, policy, scenario or option nobody registered
    │   ├── MissingFile (FileNotFoundError)  a file or folder that is not there
    │   ├── ConflictingReward          one pull, two rewards
    │   ├── BudgetTooSmall             fewer pulls than the policy needs
    │   └── KernelError                a policy's kernel that cannot be linked; names file and line
    ├── NotComparable                  arms that no chain of shared environments connects
    ├── Finished                       asked for more pulls than there are
    ├── StoreError (OSError)           a database that could not be reached, read or written
    └── MissingExtra (ImportError)     an optional dependency that is not installed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

__all__ = [
    "BudgetTooSmall",
    "ConflictingReward",
    "Finished",
    "InputError",
    "KernelError",
    "MissingExtra",
    "MissingFile",
    "NotComparable",
    "StoreError",
    "TideproofError",
    "UnknownName",
]


FIRST_UNPRINTABLE_INTEGER = 10**4300  # the first number that Python does not write


def describe_value(value: Any) -> str:
    """Return a value as errors show it; one that Python does not write is described.

    >>> describe_value(10**5000)
    'a number of more than 4300 digits'
    """
    try:
        return repr(value)
    except ValueError:
        return "a number of more than 4300 digits"


class TideproofError(Exception):
    """Base of every error that tideproof raises on purpose."""


class InputError(TideproofError, ValueError):
    """A value that is not allowed; the message names it and says what is."""


class UnknownName(InputError, KeyError):
    """A name that nobody registered; the message lists the known ones."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the quoted repr

    @classmethod
    def with_suggestion(
        cls, what: str, name: object, known: Iterable[object], where: str = ""
    ) -> UnknownName:
        """Build the error for `name`, which is not among the `known` names.

        >>> str(UnknownName.with_suggestion("arm", "Bb", ["A", "B"], "in this study"))
        "unknown arm 'Bb' in this study; did you mean 'B'? known: 'A', 'B'"
        """
        names = list(known)
        said = describe_value(name)
        text = name if isinstance(name, str) else said
        near = difflib.get_close_matches(text, [str(n) for n in names], n=1)
        hint = f" did you mean {near[0]!r}?" if near else ""
        some = ", ".join(repr(n) for n in names[:20]) + (", …" if len(names) > 20 else "")
        place = f" {where}" if where else ""
        return cls(f"unknown {what} {said}{place};{hint} known: {some or 'none'}")


class MissingFile(InputError, FileNotFoundError):
    """A file to read, or a folder to write to, that is not there."""


class ConflictingReward(InputError):
    """A pull (or keyed summary) was told twice with different values."""


class BudgetTooSmall(InputError):
    """The budget is below what the policy needs; the message says the minimum."""


class KernelError(InputError):
    """A kernel that cannot be linked or run as it is written; the message names it, its file and line."""


class NotComparable(TideproofError):
    """Arms that no chain of shared environments connects; the message names the groups."""


class Finished(TideproofError):
    """The budget is spent or the policy has stopped; the message names the selection."""


class StoreError(TideproofError, OSError):
    """A store could not be reached, read or written; nothing of the call was kept."""


class MissingExtra(TideproofError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    @classmethod
    def for_module(cls, module: str, extra: str, purpose: str) -> MissingExtra:
        """Build the error for a missing `module`, wanted for `purpose` and brought by `extra`."""
        return cls(f"{purpose} needs {module}: pip install 'tideproof[{extra}]'")
