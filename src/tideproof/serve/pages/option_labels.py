"""Labels of the fields of forms, and messages in which fields and options are named by these labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Labels of the form for an upload
LABELS = {
    "arm": "Column of the variants",
    "environment": "Column of the days",
    "reward": "Column of the rewards",
    "successes": "For aggregated rows: column of successes",
    "n": "For aggregated rows: column of trials",
    "variance": "Variance model",
    "scale": "Scale on which variants are compared",
    "minimize": "Lower rewards are better",
    "adaptive": "The variants were assigned adaptively, by a bandit policy",
    "drop_missing": "Skip rows with a missing value",
}
VARIANCES = {
    "auto": "automatic",
    "common": "same variance for all rewards",
    "by-arm": "unequal variances by variant",
    "by-environment": "unequal variances by day",
    "sandwich": "unequal variances of any kind (sandwich estimator)",
    "clustered": "standard errors clustered by day",
    "interaction": "interactions of variants and days, equally strong for all variants",
    "interaction+by-arm": "interactions, equally strong for all variants; unequal variances by variant",
    "interaction+by-environment": "interactions, equally strong for all variants; unequal variances by day",
    "own-interaction": "interactions of variants and days, of different strength for each variant",
    "own-interaction+by-arm": "interactions of different strength for each variant; unequal variances by "
    "variant",
}
SCALES = {
    "auto": "automatic",
    "difference": "differences",
    "ratio": "ratios (relative lifts)",
    "odds": "odds ratios, for rewards of 0 or 1",
    "log": "ratios, estimated from logarithms of rewards above 0",
}
_CHOICES = {"variance": VARIANCES, "scale": SCALES}

# Labels of the form for a new experiment; the last six fields are parameters of a plan
NEW_LABELS = {
    "name": "Name",
    "arms": "Variants",
    "rewards": "Kind of reward",
    "direction": "Better rewards are",
    "policy": "Statistical model",
    "visitors": "For visitors of a web site or an app",
    "control": "Control variant",
    "lease": "Time limit for a reward",
    "time_zone": "Time zone",
    "environments": "Environments to choose from",
    "budget": "Budget",
    "confidence": "Confidence level to stop early",
    "gap": "Smallest lead worth finding",
    "sigma": "Standard deviation of a reward",
    "rate": "Usual rate, for rewards of 0 or 1",
    "lift": "Smallest relative lift worth finding, for rewards of 0 or 1",
    "per_environment": "Pulls per day",
    "error": "Probability of a wrong selection",
}
# Choices of the field "policy" of this form
MODELS = {
    "": "same shift for all variants",
    "auto:contrast": "interactions: the effect of a day may differ between variants",
    "by-arm:contrast": "same shift for all variants; unequal variances by variant",
    "robust:contrast": "same shift for all variants; outlying cells are excluded",
}
# Labels of the forms that change an experiment and that create a key
CHANGE_LABELS = {
    "text": "Note",
    "budget": "Budget",
    "why": "Reason",
    "change": "Kind of change",
    "ship": "Variant for every visitor",
    "by": "Your name",
    "typed": "Name of the experiment, to confirm",
}
KEY_LABELS = {"name": "Name of the person or program", "role": "Role", "experiments": "Experiments"}

_VALUE = r"'[^']*'|[^\s)'-][^\s)]*"
_OPTION = re.compile(rf"--([a-z][a-z-]*)(?: ({_VALUE}))?")
_PYTHON = r"\w+=[^\s(]*(?:\([^()]*\)[^\s(]*)?"
# An option in Python, and then in brackets on the command line: "scale='ratio' (--scale ratio)"
_BOTH = re.compile(rf"(?:{_PYTHON}(?: with {_PYTHON})* )\((--(?:[^()]|\([^()]*\))*)\)")
_ONE_OPTION = re.compile(r"(\w+)=(\S+)")
_FIT_OPTIONS = ("variance", "scale", "confidence", "anytime")  # those of the method `fit` of an experiment
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
    'Use “Scale on which variants are compared”: ratios (relative lifts).'
    >>> name_by_labels("robust='cells' (--robust cells) excludes it")
    'tideproof analyze --robust cells excludes it'
    """
    text = _BOTH.sub(lambda found: _label_all(found[1]), text)
    text = _NAMES.sub(lambda found: f"({_label_all(found[1])})", text)
    text = _AGGREGATED.sub(lambda found: f"{_label('successes', found[1])} and {_label('n', found[2])}", text)
    return re.sub(rf"(?<!analyze ){_ALONE.pattern}", lambda found: _label(found[1], found[2] or ""), text)


def name_by_methods(text: str) -> str:
    """Replace options in a message, such as `scale='auto'`, by a Python call with these options.

    The method `fit` of an experiment `run` has a few of the options; the function `tp.fit` has all.

    >>> name_by_methods("Try variance='auto' with scale='auto' (--variance auto --scale auto).")
    "Try run.fit(variance='auto', scale='auto')."
    >>> name_by_methods("robust='cells' (--robust cells) excludes them")
    "tp.fit(..., robust='cells') excludes them"
    """
    return _BOTH.sub(lambda found: _call(found[0].partition(" (--")[0]), text)


def name_fields(text: str, labels: Mapping[str, str]) -> str:
    """Replace the names of fields in the error messages of a form by their labels.

    >>> name_fields("lease must be a number, not 'x'; arms[1] must not be empty", NEW_LABELS)
    "“Time limit for a reward” must be a number, not 'x'; entry 2 of “Variants” must not be empty"
    """
    field = re.compile(
        rf"(?:^|(?<=; ))({'|'.join(labels)})(?: of the stopping rule)?(?:\[(\d+)\]|=\S+)?(?= (?:must|is)\b)"
    )

    def label(found: re.Match[str]) -> str:
        entry = f"entry {int(found[2]) + 1} of " if found[2] else ""
        return f"{entry}“{labels[found[1]]}”"

    text = field.sub(label, text)
    for name, words in MODELS.items():
        if name:
            text = text.replace(f"is not possible with {name}:", f"is not possible with the model “{words}”:")
    return text.replace("use the policy 'contrast'", f"choose the model “{MODELS['']}”")


def _call(options: str) -> str:
    """Return a Python call with these options, such as `run.fit(scale='auto')`.

    An option without a value stays as it is.
    """
    found = _ONE_OPTION.findall(options)
    if not found:
        return options
    given = ", ".join(f"{name}={value}" for name, value in found)
    return f"run.fit({given})" if all(name in _FIT_OPTIONS for name, _ in found) else f"tp.fit(..., {given})"


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
