"""Extension for griffe that rewrites docstrings of this project: attributes as `name : text`, and sessions.

griffe would read the text as a type, and Markdown would show a `>>>` outside of Examples as a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^Attributes\n-+\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)


SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def split_attributes(docstring: str) -> str:
    """Return a docstring with the descriptions of its attributes on lines of their own."""

    def section(found: re.Match[str]) -> str:
        lines = re.sub(r"^(\S.*?) : ", r"\1\n    ", found[1], flags=re.MULTILINE)
        return f"Attributes\n----------\n{lines}"

    return SECTION.sub(section, docstring)


def fence_sessions(docstring: str) -> str:
    r"""Return a docstring whose interactive sessions before its first section are code blocks.

    >>> fence_sessions("Add.\n\n>>> 1 + 1\n2")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    head, line, rest = re.split(r"(?m)(^\S.*\n-{3,}$|\Z)", docstring, maxsplit=1)
    return SESSION.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```", head) + line + rest


class Attributes(griffe.Extension):
    """Extension that rewrites docstrings when griffe reads them."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one documented object, which griffe passes in."""
        if obj.docstring is not None:
            obj.docstring.value = fence_sessions(split_attributes(obj.docstring.value))
