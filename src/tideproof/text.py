"""Counts, numbers and lists of names as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple


def counted(number: int, noun: str) -> str:
    """Return how many of what.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(label: Any) -> str:
    """Return a label as it is, in quotes where spaces at its ends, or nothing at all, would not be seen.

    >>> named("B"), named("B "), named(""), named(3)
    ('B', "'B '", "''", '3')
    """
    said = str(label)
    return repr(said) if said != said.strip() or not said else said


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


def listed_groups(groups: Iterable[Iterable[Any]], most: int = 6) -> str:
    """Join the names inside each group, and the groups; beyond `most` both are counted.

    >>> listed_groups(["AB", "C"]), listed_groups(["ABC", "DEF", "G"], most=2)
    ('A, B | C', 'A, B and 1 more | D, E and 1 more | 1 more')
    """
    said = [listed(group, ",", most).replace(" , ", ", ") for group in groups]
    return " | ".join([*said[:most], *([f"{len(said) - most:,} more"] if len(said) > most else [])])


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
    """Return a number with three digits, the thousands written out and apart.

    >>> rounded(0.012345), rounded(-999.6), rounded(123456.7)
    ('0.0123', '-1,000', '123,457')
    """
    return f"{x:,.0f}" if abs(x) >= 999.5 else f"{x:.3g}"


def probability(p: float) -> str:
    """Return a probability with three digits, never as a certainty.

    >>> probability(0.5), probability(0.99951), probability(1e-9)
    ('0.500', '> 0.999', '< 0.001')
    """
    return "> 0.999" if p > 0.9995 else "< 0.001" if p < 0.0005 else f"{p:.3f}"


class Figures(NamedTuple):
    """How numbers of one kind are written: times a factor, with a unit behind each, or once behind all.

    >>> PLAIN.number(1234.5, 1), PERCENT.number(0.12, 0, "+"), PERCENT.rough(0.12345), PLAIN.rough(-0.0)
    ('1,234.5', '+12 %', '12.3 %', '0')
    """

    factor: float = 1.0
    each: str = ""
    once: str = ""

    def number(self, x: float, digits: int, sign: str = "") -> str:
        """Return a number with so many decimals; what rounds to zero has a minus where signs are shown only.

        >>> PERCENT.number(-0.0003, 1, "+"), PERCENT.number(-0.0003, 1), PERCENT.number(0.0, 1, "+")
        ('-0.0 %', '0.0 %', '+0.0 %')
        """
        return self._bare(x, digits, sign) + self.once

    def rough(self, x: float, sign: str = "") -> str:
        """Return a number with three digits."""
        return self._bare(x, None, sign) + self.once

    def within(self, x: float, low: float | None, high: float | None, sign: str = "") -> str:
        """Return a number with the decimals that its interval deserves; three digits if it has none.

        >>> PERCENT.within(0.12, 0.041, 0.213, "+"), PLAIN.within(54.76, 52, 57), PLAIN.within(1.234, 1, None)
        ('+12 %', '54.8', '1.23')
        """
        return self._bare(x, self.digits(low, high), sign) + self.once

    def lead(self, x: float, low: float | None, high: float | None, sign: str = "") -> str:
        """Return a number as `within` does, but two digits of its own where the interval is wide.

        >>> PLAIN.lead(0.412, -4.0, 9.0), PLAIN.lead(0.412, 0.1, 0.9, "+"), PLAIN.lead(1e-9, -4.0, 9.0)
        ('0.41', '+0.41', '0.00')
        """
        digits, size = self.digits(low, high), abs(self.factor * x)
        if digits is not None and size > 0.0:
            digits = max(digits, min(digits + 2, decimals(size, 2)))
        return self._bare(x, digits, sign) + self.once

    def interval(self, low: float | None, high: float | None, sign: str = "") -> str:
        """Return the ends of an interval; one that is not known, or infinite, is left open.

        >>> PERCENT.interval(0.041, 0.213, "+"), POINTS.interval(0.041, 0.213), PLAIN.interval(2, math.inf)
        ('+4 % to +21 %', '4 to 21 points', '2 or more')
        >>> PLAIN.interval(None, 2.0), PLAIN.interval(None, None)
        ('2 or less', '')
        """
        digits = self.digits(low, high)
        known = [None if x is None or math.isinf(x) else self._bare(x, digits, sign) for x in (low, high)]
        if known == [None, None]:
            return ""
        if None in known:
            return f"{known[0] or known[1]}{self.once} or {'less' if known[0] is None else 'more'}"
        return f"{known[0]} to {known[1]}{self.once}"

    def digits(self, low: float | None, high: float | None) -> int | None:
        """Return the decimals that show two digits of the width of an interval; None if it has none.

        >>> PLAIN.digits(1.0, 1.5), PERCENT.digits(0.04, 0.21), PLAIN.digits(1.0, 1.0), PLAIN.digits(1, None)
        (2, 0, None, None)
        """
        if low is None or high is None or not 0.0 < high - low < math.inf:
            return None
        return min(9, decimals(self.factor * (high - low), 2))

    def _bare(self, x: float, digits: int | None, sign: str) -> str:
        if digits is None:
            said = ("+" if sign and x >= 0.0 else "") + rounded(self.factor * x + 0.0)  # never -0
        else:
            zero = 0.0 if not sign or x == 0.0 else -0.0  # -0.0 keeps the minus of what was rounded
            said = f"{round(self.factor * x, digits) + zero:{sign},.{digits}f}"
        return said + self.each


PLAIN, PERCENT = Figures(), Figures(100.0, " %")
POINTS = Figures(100.0, "", " points")  # differences of percentages
