"""Replacement of the word "arm" by "variant" in texts that web pages share with reports and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tideproof.report.html_report import Card
from tideproof.report.table_layout import Column

# The word "arm" with its article, but not in code such as `by-arm` or `arm=`
_ARM = re.compile(r"""(?<![\w=/"-])(?:\b([Aa])n )?\b([Aa])rm(s?)\b(?![\w=/"-])""")
_QUOTED = r"(?<!\w)'[^']*'"


def with_variants(text: str, names: Iterable[object] = ()) -> str:
    """Replace the word "arm" in a text of a report by "variant", except in quotes and in the given names.

    `names` are the names of arms and environments that the text may contain.

    >>> with_variants("Arms: an arm's mean, of 3 arms; variance='by-arm'")
    "Variants: a variant's mean, of 3 variants; variance='by-arm'"
    >>> with_variants("arm 1 is an arm like 'arm 2'", ["arm 1"])
    "arm 1 is a variant like 'arm 2'"
    """
    kept = sorted({str(name) for name in names if _ARM.search(str(name))}, key=len, reverse=True)
    parts = re.split(f"({'|'.join([*map(re.escape, kept), _QUOTED])})", text)
    return "".join(part if i % 2 else _replace(part) for i, part in enumerate(parts))


def columns_with_variants(columns: Iterable[Column], names: Iterable[object] = ()) -> list[Column]:
    """Replace the word "arm" by "variant" in the headers of a table."""
    names = list(names)
    return [column._replace(header=with_variants(column.header, names)) for column in columns]


def cards_with_variants(cards: Iterable[Card], names: Iterable[object] = ()) -> list[Card]:
    """Replace the word "arm" by "variant" in the titles and explanations of charts."""
    names = list(names)
    return [
        card._replace(title=with_variants(card.title, names), words=with_variants(card.words, names))
        for card in cards
    ]


def _replace(text: str) -> str:
    """Replace the word "arm" and its article by "variant" and its article in a text."""

    def variant(found: re.Match[str]) -> str:
        article = f"{found[1]} " if found[1] else ""
        return f"{article}{'Variant' if found[2] == 'A' else 'variant'}{found[3]}"

    return _ARM.sub(variant, text)
