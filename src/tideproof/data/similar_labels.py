"""Warnings about labels that differ only in spaces or capitals, or that look like missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.data.number_text import ABSENT
from tideproof.text import join_names


def label_warnings(what: str, labels: Sequence[Any]) -> list[str]:
    """Return warnings about labels of arms or environments that look alike or like missing values.

    >>> label_warnings("arm", ["B", "B ", "C"])
    ["Arms 'B' and 'B ' differ only in spaces or capitals; they are counted as two."]
    >>> label_warnings("arm", ["A", "NULL"])
    ["Arm 'NULL' looks like a missing value; it is counted as an arm."]
    >>> label_warnings("environment", ["mon", "tue", 3])
    []
    """
    if not any(isinstance(label, str) for label in labels):
        return []  # only text can be misspelled
    alike: dict[str, list[Any]] = {}
    for label in labels:
        alike.setdefault(" ".join(str(label).split()).casefold(), []).append(label)
    found = [
        f"{what.capitalize()}s {join_names(map(repr, group))} differ only in spaces or capitals; they are "
        f"counted as {_NUMBERS.get(len(group), len(group))}."
        for group in alike.values()
        if len(group) > 1
    ]
    absent = [label for label in labels if isinstance(label, str) and label.strip().lower() in ABSENT]
    article = "an" if what[0] in "aeiou" else "a"
    return found[:_MOST] + [
        f"{what.capitalize()} {label!r} looks like a missing value; it is counted as {article} {what}."
        for label in absent
    ]


_NUMBERS = {2: "two", 3: "three", 4: "four"}
_MOST = 5  # sentences about labels that look alike
