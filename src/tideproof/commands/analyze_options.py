"""Parsers for options of `tideproof analyze`: percentages, intended shares of arms, and names of arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tideproof.errors import InputError, UnknownName


def read_share(text: str) -> float:
    """Parse a share that is written as a percentage or as a number below 1.

    >>> read_share("99.9%"), read_share("99.9 %"), read_share("0.995")
    (0.9990000000000001, 0.9990000000000001, 0.995)
    """
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.rstrip("% "))
    except ValueError:
        value = -1.0
    share = value / 100.0 if percent else value
    if not 0.0 < share < 1.0:
        raise InputError(f"--cap must be a percentage such as 99.9% or a number such as 0.999, not {text!r}")
    return share


def read_expected(text: str, arms: Sequence[Any]) -> dict[Any, float]:
    """Parse the intended shares of the arms, which are given in the order of the arms or by name.

    >>> read_expected("50:30:20", ["A", "B", "C"]), read_expected("B=1, A=2", ["A", "B"])
    ({'A': 50.0, 'B': 30.0, 'C': 20.0}, {'B': 1.0, 'A': 2.0})
    """
    named = "=" in text
    parts = [part.strip() for part in text.split("," if named else ":")]
    pairs = [part.rsplit("=", 1) if named else [part] for part in parts]
    try:
        shares = [float(pair[-1]) for pair in pairs]
    except ValueError:
        shares = []
    if (
        not shares
        or any(not 0.0 < share < float("inf") for share in shares)
        or any(named != (len(p) == 2) for p in pairs)
    ):
        raise InputError(f"--expect must be shares such as 50:50 or A=50,B=50, not {text!r}")
    if named:
        return {find_arm(pair[0].strip(), arms): share for pair, share in zip(pairs, shares, strict=True)}
    if len(shares) != len(arms):
        listed = ", ".join(map(str, arms[:20]))
        raise InputError(
            f"--expect {text} has {len(shares)} shares, but there are {len(arms)} arms: {listed}"
        )
    return dict(zip(arms, shares, strict=True))


def find_arm(text: str, arms: Sequence[Any]) -> Any:
    """Return the arm whose text form is `text`.

    >>> find_arm("2", [1, 2]), find_arm("A", ["A", "B"])
    (2, 'A')
    """
    for arm in arms:
        if str(arm) == text:
            return arm
    raise UnknownName.with_suggestion("arm", text, arms)
