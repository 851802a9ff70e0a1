"""Labels of the upload form, and messages in which options are named by these labels."""

from __future__ import annotations

import re

LABELS = {
    "arm": "Column of the arms",
    "environment": "Column of the days",
    "reward": "Column of the rewards",
    "successes": "For aggregated rows: column of successes",
    "n": "For aggregated rows: column of trials",
    "variance": "Variance model",
    "scale": "Scale on which arms are compared",
    "minimize": "Lower rewards are better",
    "adaptive": "A policy chose the arms, using earlier rewards",
    "drop_missing": "Skip rows with a missing value",
}
VARIANCES = {
    "auto": "automatic",
    "common": "same variance for all rewards",
    "by-arm": "unequal variances by arm",
    "by-environment": "unequal variances by day",
    "sandwich": "unequal variances of any kind (sandwich estimator)",
    "clustered": "shifts that differ between arms (standard errors clustered by day)",
    "interaction": "arms respond differently to days",
    "interaction+by-arm": "arms respond differently to days; unequal variances by arm",
    "interaction+by-environment": "arms respond differently to days; unequal variances by day",
    "own-interaction": "each arm responds differently to days, some more than others",
    "own-interaction+by-arm": "each arm responds differently to days, some more than others; "
    "unequal variances by arm",
}
SCALES = {
    "auto": "automatic",
    "difference": "differences",
    "ratio": "ratios (relative lifts)",
    "odds": "odds ratios, for rewards of 0 or 1",
    "log": "ratios, estimated from logarithms of rewards above 0",
}
_CHOICES = {"variance": VARIANCES, "scale": SCALES}

_VALUE = r"'[^']*'|[^\s)'-][^\s)]*"
_OPTION = re.compile(rf"--([a-z][a-z-]*)(?: ({_VALUE}))?")
_PYTHON = r"\w+=[^\s(]*(?:\([^()]*\)[^\s(]*)?"
# An option in Python, and then in brackets on the command line: "scale='ratio' (--scale ratio)"
_BOTH = re.compile(rf"(?:{_PYTHON}(?: with {_PYTHON})* )\((--(?:[^()]|\([^()]*\))*)\)")
# The name in Python and on the command line, both in brackets: "(successes, --successes)"
_NAMES = re.compile(r"\(\w+, (--[a-z-]+)\)")
_AGGREGATED = re.compile(r"--successes (\S+) --n (\S+)")
_ALONE = re.compile(r"--([a-z][a-z-]*)(?: ('[^']*'))?")


def label_of(parameter: str) -> str:
    """Return the label of an option in the form for uploading a log.

    For an option that the form does not have, return the command-line option.

    >>> label_of("environment"), label_of("robust")
    ('“Column of the days”', 'tideproof analyze --robust')
    """
    name = parameter.replace("-", "_")
    return f"“{LABELS[name]}”" if name in LABELS else f"tideproof analyze --{name.replace('_', '-')}"


def name_by_labels(text: str) -> str:
    """Replace the names of options in a message by their labels in the upload form.

    An option that the form does not have is named as an option of the command `tideproof analyze`.

    >>> name_by_labels("use --reward; columns: 'a', 'b'")
    "use “Column of the rewards”; columns: 'a', 'b'"
    >>> name_by_labels("Use scale='ratio' (--scale ratio).")
    'Use “Scale on which arms are compared”: ratios (relative lifts).'
    >>> name_by_labels("robust='cells' (--robust cells) excludes it")
    'tideproof analyze --robust cells excludes it'
    """
    text = _BOTH.sub(lambda found: _label_all(found[1]), text)
    text = _NAMES.sub(lambda found: f"({_label_all(found[1])})", text)
    text = _AGGREGATED.sub(lambda found: f"{_label('successes', found[1])} and {_label('n', found[2])}", text)
    return re.sub(rf"(?<!analyze ){_ALONE.pattern}", lambda found: _label(found[1], found[2] or ""), text)


def without_command_line(text: str) -> str:
    """Remove command-line options such as `(--scale ratio)` from a message.

    >>> without_command_line("try variance='by-arm' (--variance by-arm).")
    "try variance='by-arm'."
    """
    return _BOTH.sub(lambda found: found[0].partition(" (--")[0], text)


def _label_all(options: str) -> str:
    """Replace each command-line option in a text by its label in the upload form.

    If one of them has no label, the text is instead preceded by the name of the command.
    """
    found = _OPTION.findall(options)
    if any(name.replace("-", "_") not in LABELS for name, _ in found):
        return f"tideproof analyze {options}"
    return " and ".join(_label(name, value) for name, value in found)


def _label(option: str, value: str) -> str:
    """Return an option's label in the upload form, followed by its value in the words of the form."""
    name, value = option.replace("-", "_"), value.strip("'")
    chosen = _CHOICES.get(name, {}).get(value, value)
    return label_of(name) + (f": {chosen}" if value and name in LABELS else f" {value}" if value else "")
