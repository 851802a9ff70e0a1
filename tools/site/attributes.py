"""Docstrings as ours are written, for griffe: attributes as `name : what it is`, sessions where they fit.

griffe would take the first for a type, and Markdown a `>>>` outside of Examples for a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)


SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def described(docstring: str) -> str:
    """Return a docstring whose attributes have their descriptions in lines of their own."""

    def section(found: re.Match[str]) -> str:
        lines = re.sub(r"^(\S.*?) : ", r"\1\n    ", found[1], flags=re.MULTILINE)
        return f"Attributes\n----------\n{lines}"

    return SECTION.sub(section, docstring)


def fenced(docstring: str) -> str:
    r"""Return a docstring whose sessions before its first section are blocks of code.

    >>> fenced("Add.\n\n>>> 1 + 1\n2")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    head, line, rest = re.split(r"(?m)(^\S.*\n-{3,}$|\Z)", docstring, maxsplit=1)
    return SESSION.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```", head) + line + rest


class Attributes(griffe.Extension):
    """Rewrites docstrings when they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(described(obj.docstring.value))
