"""Counts, numbers and lists of names as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def counted(number: int, noun: str) -> str:
    """Return how many of what.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[Any], last: str = "and", most: int = 6) -> str:
    """Join names in words, the last one by `last`; beyond `most` they are counted.

    >>> listed("A"), listed("AB"), listed("ABC", "or"), listed(range(20))
    ('A', 'A and B', 'A, B or C', '0, 1, 2, 3, 4, 5 and 14 more')
    >>> listed("ABC", most=2), listed("AB", most=2), listed([]), listed(["", "B"])
    ('A, B and 1 more', 'A and B', '', ' and B')
    """
    said = [str(name) for name in names]
    if len(said) > most:
        return f"{', '.join(said[:most])} and {len(said) - most:,} more"
    return f" {last} ".join([", ".join(said[:-1]), *said[-1:]] if len(said) > 1 else said)


def listed_groups(groups: Iterable[Iterable[Any]]) -> str:
    """Join the names inside each group, and the groups.

    >>> listed_groups(["AB", "C"])
    'A, B | C'
    """
    return " | ".join(", ".join(map(str, group)) for group in groups)


def printable(text: str) -> str:
    r"""Return text with control characters, which could steer a terminal, written out; lines stay.

    >>> printable("a\x1b[31m b\x00\n")
    'a\\x1b[31m b\\x00\n'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def decimals(size: float, digits: int) -> int:
    """Return how many decimals show a number of this size with so many digits.

    >>> decimals(0.00038, 2), decimals(12.5, 4), decimals(12345.0, 2), decimals(0.1, 1)
    (5, 2, 0, 1)
    """
    return max(0, digits - 1 - math.floor(math.log10(size) + 1e-9))  # 0.0999... is a tenth, rounded


def rounded(x: float) -> str:
    """Return a number with three digits, the thousands written out.

    >>> rounded(0.012345), rounded(-999.6), rounded(123456.7)
    ('0.0123', '-1000', '123457')
    """
    return f"{x:.0f}" if abs(x) >= 999.5 else f"{x:.3g}"
