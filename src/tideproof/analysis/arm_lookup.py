"""Lookup of the arm that a user means by a label or by the text of a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.errors import UnknownName


def find_arm(name: Any, arms: Sequence[Any], what: str = "arm") -> Any:
    """Return the arm with the given name, or raise an error.

    >>> find_arm("2", [1, 2]), find_arm(2, ["1", "2"]), find_arm("A", ["A", "B"])
    (2, '2', 'A')
    """
    found = match_arm(name, arms)
    if found not in arms:
        raise UnknownName.with_suggestion(what, name, arms)
    return found


def match_arm(name: Any, arms: Sequence[Any]) -> Any:
    """Return the arm with the given name or text, or the name itself if there is no such arm.

    >>> match_arm("true", [True, False]), match_arm("2024-10-20", ["2024-10-20"]), match_arm("C", ["A", "B"])
    (True, '2024-10-20', 'C')
    """
    alike = (arm for arm in arms if _label_text(arm) == _label_text(name, isinstance(arm, bool)))
    return name if name in arms else next(alike, name)


def _label_text(label: Any, truth: bool = False) -> str:
    """Return the text of a label; that of a truth value, and of its name, is in lower case."""
    return str(label).lower() if truth or isinstance(label, bool) else str(label)
