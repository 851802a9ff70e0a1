"""Exceptions that tideproof raises for expected problems, such as invalid arguments or missing files.

::

    TideproofError
    ├── InputError (ValueError)        a value that is not allowed; the message says what is allowed
    │   ├── UnknownName (KeyError)     an unknown arm, pull, policy, scenario or option
    │   ├── MissingFile (FileNotFoundError)  a file or folder that does not exist
    │   ├── ConflictingReward          two different rewards for one pull
    │   ├── BudgetTooSmall             a budget below the minimum of the policy
    │   └── KernelError                a policy's kernel that cannot be linked; names file and line
    ├── NotComparable                  arms that no chain of shared environments connects
    ├── CommandFailed                  a command of a race that did not start, failed or ran too long
    ├── Finished                       a request for a pull after the experiment has ended
    ├── StoreError (OSError)           a database that could not be reached, read or written
    └── MissingExtra (ImportError)     an optional dependency that is not installed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

__all__ = [
    "BudgetTooSmall",
    "CommandFailed",
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


FIRST_UNPRINTABLE_INTEGER = 10**4300  # Python refuses to convert integers from this one on to text


def describe_value(value: Any) -> str:
    """Return a value as text for an error message.

    Python refuses to convert very long integers to text; these are described in words.

    >>> describe_value(10**5000)
    'a number of more than 4300 digits'
    """
    try:
        return repr(value)
    except ValueError:
        return "a number of more than 4300 digits"


class TideproofError(Exception):
    """Base class of every error that tideproof raises on purpose."""


class InputError(TideproofError, ValueError):
    """Error for a value that is not allowed; the message names the value and says what is allowed."""


class UnknownName(InputError, KeyError):
    """Error for an unknown name, such as that of an arm or a policy; the message lists the known names."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the quoted repr

    @classmethod
    def with_suggestion(
        cls, what: str, name: object, known: Iterable[object], where: str = ""
    ) -> UnknownName:
        """Build the error for an unknown `name`, with the most similar of the `known` names as a suggestion.

        >>> str(UnknownName.with_suggestion("arm", "Bb", ["A", "B"], "in this study"))
        "unknown arm 'Bb' in this study; did you mean 'B'? known: 'A', 'B'"
        """
        names = list(known)
        description = describe_value(name)
        text = name if isinstance(name, str) else description
        similar = difflib.get_close_matches(text, [str(n) for n in names], n=1)
        hint = f" did you mean {similar[0]!r}?" if similar else ""
        listing = ", ".join(repr(n) for n in names[:20]) + (", …" if len(names) > 20 else "")
        context = f" {where}" if where else ""
        return cls(f"unknown {what} {description}{context};{hint} known: {listing or 'none'}")


class MissingFile(InputError, FileNotFoundError):
    """Error for a file to read, or a folder to write to, that does not exist."""


class ConflictingReward(InputError):
    """Error for a pull that is reported twice with different rewards.

    Also for a summary of rewards that is reported twice with the same key and different contents.
    """


class BudgetTooSmall(InputError):
    """Error for a budget that is too small for the policy; the message names the minimum."""


class KernelError(InputError):
    """Error for a policy's kernel function that cannot be linked or run; the message names file and line."""


class NotComparable(TideproofError):
    """Error for arms that no chain of shared environments connects; the message names the groups of arms."""


class CommandFailed(TideproofError):
    """Error for a command of a race that could not be started, failed, was killed or ran too long."""


class Finished(TideproofError):
    """Error for a request that a finished experiment cannot serve; the message names the selected arm."""


class StoreError(TideproofError, OSError):
    """Error for a database that could not be reached, read or written.

    No part of the call was stored, unless the message says that this is unknown.
    """


class MissingExtra(TideproofError, ImportError):
    """Error for an optional dependency that is not installed; the message names the extra to install."""

    @classmethod
    def for_module(cls, module: str, extra: str, purpose: str) -> MissingExtra:
        """Build the error for a missing module; its message names the extra of the package to install.

        `purpose` is what needs the module.
        """
        return cls(f"{purpose} needs {module}: pip install 'tideproof[{extra}]'")
