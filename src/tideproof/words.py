"""Counting in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return how many of what.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
