"""Attributes as our docstrings write them, `name : what it is`, for griffe, which takes what is behind a colon for a type."""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)


def described(docstring: str) -> str:
    r"""Return a docstring whose attributes have their descriptions in lines of their own.

    >>> print(described("It.\n\nAttributes\n----------\na, b : two\n    numbers."))
    It.
    <BLANKLINE>

    Attributes
    ----------
    a, b
        two
        numbers.
    """
    return SECTION.sub(
        lambda found: (
            "Attributes\n----------\n" + re.sub(r"^(\S.*?) : ", r"\1\n    ", found[1], flags=re.MULTILINE)
        ),
        docstring,
    )


class Attributes(griffe.Extension):
    """Rewrites docstrings when they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)
