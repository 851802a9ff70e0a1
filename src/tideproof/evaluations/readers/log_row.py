"""Row of an evaluation log, as the readers of all formats yield it: one score of one model on one item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

_WORDS = {  # grades of Inspect (correct, incorrect, partial, no answer), and words of other harnesses
    **{"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0},
    **{"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0},
}
UNKNOWN_ERROR = "error"  # text of an error without a message


class LogRow(NamedTuple):
    """One score of a model on an item by a grader, or a sample that was not scored.

    Attributes
    ----------
    model, item : their names; the same item has the same name in the logs of all models.
    score : the score; None for an error and for a sample that was not scored.
    task : name of the data set or test suite.
    sample : number or name of a repeated sample (epoch) of the item.
    group : passage, document or template that several items share; None if unknown.
    grader : name of the scorer, metric or judge; "" if the log has only one.
    tokens, seconds, dollars : cost of the sample; None if unknown.
    error : message of the error because of which there is no score; None otherwise.
    """

    model: str
    item: str
    score: float | None
    task: str = ""
    sample: Any = 1
    group: str | None = None
    grader: str = ""
    tokens: float | None = None
    seconds: float | None = None
    dollars: float | None = None
    error: str | None = None


def read_score(value: Any) -> float | None:
    """Return a score as a number; None for a value that is no score, such as NaN, a list or text.

    >>> read_score("C"), read_score("P"), read_score(True), read_score("0.25"), read_score(float("nan"))
    (1.0, 0.5, 1.0, 0.25, None)
    """
    if isinstance(value, str):
        found = _WORDS.get(value, _WORDS.get(value.lower()))
        if found is not None:
            return found
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None


def read_amount(value: Any) -> float | None:
    """Return a number of tokens, seconds or dollars; None if it is missing or no finite number.

    >>> read_amount(12), read_amount(None), read_amount("many")
    (12.0, None, None)
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


def text_of(value: Any) -> str | None:
    """Return a label as text; None if the label is missing."""
    return None if value is None else str(value)


def group_in(fields: Any, name: str | None) -> str | None:
    """Return the group of a test item, from a field of its metadata; None without that field."""
    return text_of(fields.get(name)) if name is not None and isinstance(fields, Mapping) else None
