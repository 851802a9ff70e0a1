"""Attributes as our docstrings write them, `name : what it is`; griffe would take that for a type."""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)


def described(docstring: str) -> str:
    """Return a docstring whose attributes have their descriptions in lines of their own."""

    def section(found: re.Match[str]) -> str:
        lines = re.sub(r"^(\S.*?) : ", r"\1\n    ", found[1], flags=re.MULTILINE)
        return f"Attributes\n----------\n{lines}"

    return SECTION.sub(section, docstring)


class Attributes(griffe.Extension):
    """Rewrites docstrings when they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)
