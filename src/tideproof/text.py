"""Format counts, numbers, probabilities, intervals, lists of names and URLs as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple
from unicodedata import east_asian_width


def format_count(number: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless the count is 1.

    >>> format_count(1, "row"), format_count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quote_if_needed(label: Any) -> str:
    """Return a name as text, in quotes if it could be misread in a list or a sentence.

    That is so if it is empty, begins or ends with invisible spaces, or has commas, quotes or line breaks.

    >>> quote_if_needed("B"), quote_if_needed("B "), quote_if_needed(""), quote_if_needed(3)
    ('B', "'B '", "''", '3')
    >>> quote_if_needed("red, large"), quote_if_needed("Bob's")
    ("'red, large'", "Bob's")
    """
    text = str(label)
    misread = text != text.strip() or text.startswith("'") or any(mark in text for mark in ',"\r\n')
    return repr(text) if misread or not text else text


def join_names(names: Iterable[Any], last: str = "and", most: int = 6) -> str:
    """Join names with commas, and the last two with the word `last`, as in "A, B and C".

    Names beyond the first `most` are only counted.

    >>> join_names("A"), join_names("AB"), join_names("ABC", "or"), join_names(range(20))
    ('A', 'A and B', 'A, B or C', '0, 1, 2, 3, 4, 5 and 14 more')
    >>> join_names("ABC", most=2), join_names("AB", most=2), join_names([]), join_names(["", "B"])
    ('A, B and 1 more', 'A and B', '', ' and B')
    """
    texts = [str(name) for name in names]
    if len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most:,} more"
    return f" {last} ".join([", ".join(texts[:-1]), *texts[-1:]] if len(texts) > 1 else texts)


def join_labels(labels: Iterable[Any], last: str = "and", most: int = 6) -> str:
    """Join labels of arms, environments or segments as `join_names` does, in quotes where they need them.

    >>> join_labels(["red", "red, large", ""])
    "red, 'red, large' and ''"
    """
    return join_names(map(quote_if_needed, labels), last, most)


def join_groups(groups: Iterable[Iterable[Any]], most: int = 6) -> str:
    """Join groups of labels to one text, such as "(A, B) and (C)"; long lists are shortened.

    Groups, and labels in a group, beyond the first `most` are only counted.

    >>> join_groups(["AB", "C"]), join_groups(["ABC", "DEF", "G"], most=2)
    ('(A, B) and (C)', '(A, B and 1 more), (D, E and 1 more) and 1 more')
    """
    texts = [join_labels(group, ",", most).replace(" , ", ", ") for group in groups]
    return join_names((f"({text})" for text in texts), most=most)


def text_width(text: str) -> int:
    """Return the width of a text in a terminal, where East Asian characters are twice as wide as others.

    >>> text_width("AB"), text_width("変種")
    (2, 4)
    """
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def shorten_text(text: str, width: int) -> str:
    """Return a text without its middle if it is wider than `width`.

    >>> shorten_text("a very long name", 9), shorten_text("short", 9)
    ('a ve…name', 'short')
    """
    if text_width(text) <= width:
        return text
    half = (width - 1) // 2
    first = max(i for i in range(half + 1) if text_width(text[:i]) <= half)
    last = max(i for i in range(half + 1) if text_width(text[len(text) - i :]) <= half)
    return f"{text[:first]}…{text[len(text) - last :]}"


def escape_control_characters(text: str) -> str:
    r"""Return text with control characters escaped, so that names cannot send commands to a terminal.

    Line breaks and tabs stay.

    >>> escape_control_characters("a\x1b[31m b\x00\n")
    'a\\x1b[31m b\\x00\n'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def as_sentence(text: str) -> str:
    """Return a text as a sentence, with a full stop, and a capital letter unless it begins with code.

    >>> as_sentence("the file is empty"), as_sentence("unknown arm 'b'; did you mean 'B'?"), as_sentence("")
    ('The file is empty.', "Unknown arm 'b'; did you mean 'B'?", '')
    >>> as_sentence("time_zone must be a text"), as_sentence("n=0 is too small")
    ('time_zone must be a text.', 'n=0 is too small.')
    """
    first = text.partition(" ")[0].rstrip(",;:")
    begin = text[:1].upper() if first.replace("-", "").isalpha() else text[:1]
    return begin + text[1:] + ("" if text.endswith((".", "?", "!", "…")) or not text else ".")


def count_decimals(size: float, digits: int) -> int:
    """Return how many decimals a number needs to show `digits` significant digits.

    `size` is the absolute value of the number.

    >>> [count_decimals(size, digits) for size, digits in ((0.00038, 2), (12.5, 4), (12345.0, 2), (0.1, 1))]
    [5, 2, 0, 1]
    """
    # the small number makes a size just below a power of ten, from rounding errors, count as that power
    return max(0, digits - 1 - math.floor(math.log10(size) + 1e-9))


def format_rounded(x: float) -> str:
    """Return a number as text with three significant digits; from 1,000 on, with all integer digits.

    >>> format_rounded(0.012345), format_rounded(-999.6), format_rounded(123456.7)
    ('0.0123', '-1,000', '123,457')
    """
    return f"{x:,.0f}" if abs(x) >= 999.5 else f"{x:.3g}"


def format_probability(p: float) -> str:
    """Return a probability as text with three decimals, but never as 0.000 or 1.000.

    >>> format_probability(0.5), format_probability(0.99951), format_probability(1e-9)
    ('0.500', '> 0.999', '< 0.001')
    """
    return "> 0.999" if p > 0.9995 else "< 0.001" if p < 0.0005 else f"{p:.3f}"


class NumberFormat(NamedTuple):
    """Format of numbers in texts, such as percentages: a factor and a unit.

    The unit is after each number of an interval ("1 % to 2 %") or only at its end ("1 to 2 ms").

    >>> PLAIN.format_number(1234.5, 1), PERCENT.format_number(0.12, 0, "+")
    ('1,234.5', '+12 %')
    >>> PERCENT.format_rough(0.12345), PLAIN.format_rough(-0.0)
    ('12.3 %', '0')
    """

    factor: float = 1.0
    each: str = ""
    once: str = ""

    def format_number(self, x: float, decimals: int, sign: str = "") -> str:
        """Return a number as text with the given number of decimals.

        A negative number that rounds to zero keeps its minus only where plus signs are shown, too.

        >>> [PERCENT.format_number(x, 1, sign) for x, sign in ((-0.0003, "+"), (-0.0003, ""), (0.0, "+"))]
        ['-0.0 %', '0.0 %', '+0.0 %']
        """
        return self._format_without_unit(x, decimals, sign) + self.once

    def format_rough(self, x: float, sign: str = "") -> str:
        """Return a number as text with three significant digits."""
        return self._format_without_unit(x, None, sign) + self.once

    def format_estimate(self, x: float, low: float | None, high: float | None, sign: str = "") -> str:
        """Return an estimate as text, with as many decimals as its interval from `low` to `high` justifies.

        Without a finite interval it has three significant digits.

        >>> PERCENT.format_estimate(0.12, 0.041, 0.213, "+"), PLAIN.format_estimate(54.76, 52, 57)
        ('+12 %', '54.8')
        >>> PLAIN.format_estimate(1.234, 1, None)
        '1.23'
        """
        return self._format_without_unit(x, self.interval_decimals(low, high), sign) + self.once

    def format_lead(self, x: float, low: float | None, high: float | None, sign: str = "") -> str:
        """Return the estimated lead of an arm over another as text.

        It has up to two more decimals than `format_estimate` gives. They show two significant digits of the
        lead itself.

        >>> PLAIN.format_lead(0.412, -4.0, 9.0), PLAIN.format_lead(0.412, 0.1, 0.9, "+")
        ('0.41', '+0.41')
        >>> PLAIN.format_lead(1e-9, -4.0, 9.0)
        '0.00'
        """
        decimals, size = self.interval_decimals(low, high), abs(self.factor * x)
        if decimals is not None and size > 0.0:
            decimals = max(decimals, min(decimals + 2, count_decimals(size, 2)))
        return self._format_without_unit(x, decimals, sign) + self.once

    def format_interval(self, low: float | None, high: float | None, sign: str = "") -> str:
        """Return an interval as text, such as "2 to 5" or "2 or more".

        A bound that is None or infinite is left open.

        >>> PERCENT.format_interval(0.041, 0.213, "+"), POINTS.format_interval(0.041, 0.213)
        ('+4 % to +21 %', '4 to 21 percentage points')
        >>> PLAIN.format_interval(2, math.inf), PLAIN.format_interval(None, 2.0)
        ('2 or more', '2 or less')
        >>> PLAIN.format_interval(None, None)
        ''
        """
        decimals = self.interval_decimals(low, high)
        ends = [
            None if x is None or math.isinf(x) else self._format_without_unit(x, decimals, sign)
            for x in (low, high)
        ]
        if ends == [None, None]:
            return ""
        if None in ends:
            return f"{ends[0] or ends[1]}{self.once} or {'less' if ends[0] is None else 'more'}"
        return f"{ends[0]} to {ends[1]}{self.once}"

    def interval_decimals(self, low: float | None, high: float | None) -> int | None:
        """Return the number of decimals with which the bounds of an interval are shown.

        They show two significant digits of the interval's width, and up to two decimals more where a bound
        would be rounded to 0: the sign of a bound matters. None stands for a width that is 0, infinite or
        unknown.

        >>> PLAIN.interval_decimals(1.0, 1.5), PERCENT.interval_decimals(0.04, 0.21)
        (2, 0)
        >>> PLAIN.interval_decimals(-0.4, 12.0), PLAIN.interval_decimals(0.0, 12.0)
        (1, 0)
        >>> PLAIN.interval_decimals(1.0, 1.0), PLAIN.interval_decimals(1, None)
        (None, None)
        """
        if low is None or high is None or not 0.0 < high - low < math.inf:
            return None
        fewest = count_decimals(self.factor * (high - low), 2)
        enough = (
            more for more in range(fewest, fewest + 2)
            if all(x == 0.0 or round(self.factor * x, more) for x in (low, high))
        )  # fmt: skip
        return min(9, next(enough, fewest + 2))

    def _format_without_unit(self, x: float, decimals: int | None, sign: str) -> str:
        """Return a number as text; a unit that an interval shows only at its end is left out."""
        if decimals is None:
            text = ("+" if sign and x >= 0.0 else "") + format_rounded(self.factor * x + 0.0)  # never -0
        else:
            zero = 0.0 if not sign or x == 0.0 else -0.0  # adding -0.0 keeps the minus of a rounded number
            text = f"{round(self.factor * x, decimals) + zero:{sign},.{decimals}f}"
        return text + self.each


PLAIN, PERCENT = NumberFormat(), NumberFormat(100.0, " %")
POINTS = NumberFormat(100.0, "", " percentage points")  # for differences of percentages


def format_p(p: float) -> str:
    """Return a p-value as text.

    >>> format_p(0.0123), format_p(1e-9)
    ('p = 0.012', 'p < 1e-6')
    """
    return "p < 1e-6" if p < 1e-6 else f"p = {p:.2g}"


def public_url(url: str) -> str:
    """Return a URL without the parts that may be secret: user, password and options.

    >>> public_url("postgresql://me:secret@host/db?password=x"), public_url("sqlite:///shop.db")
    ('postgresql://host/db', 'sqlite:///shop.db')
    >>> public_url("log.csv")
    'log.csv'
    """
    scheme, mark, rest = url.partition("://")
    if not mark or scheme in ("sqlite", "duckdb"):
        return url
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
