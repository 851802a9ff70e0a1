"""What an experiment knows of its tide, as it is given and as it is said."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo

from tideproof.data.time_periods import check_zone
from tideproof.errors import InputError, describe_value
from tideproof.experiment.pull import Label, checked_label
from tideproof.experiment.state.pulls_book import Book
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import INTERACTIONS, NOISE_MODELS, NOISES, ROBUST, TIDE_PREFIXES
from tideproof.text import join_names

Tide = Literal["auto", "labels", "hidden", "both"]
TIDES: tuple[Tide, ...] = ("auto", "labels", "hidden", "both")
NOWHERE = 1  # the label of pulls where there are none


def checked_name(tide: Any) -> Tide:
    """Return which tide an experiment is given, or say what it can be."""
    if not isinstance(tide, str) or tide not in TIDES:
        raise InputError(f"tide must be {join_names(map(repr, TIDES), 'or')}, not {describe_value(tide)}")
    return cast(Tide, str(tide))


def fitting(spec: PolicySpec) -> list[dict[str, Any]]:
    """Return options of a `Fit` that doubts what the policy doubts, and what to do with where that cannot be.

    >>> from tideproof.policies.policy_registry import policy
    >>> [each["variance"] for each in fitting(policy("contrast", noise="by-arm", interaction="auto"))]
    ['interaction+by-arm', 'interaction']
    >>> fitting(policy("contrast", robust="cells")), fitting(policy("contrast"))
    ([{'scale': 'difference', 'robust': 'cells'}], [])
    """
    tide = spec.policy.tide
    if tide not in NOISE_MODELS:
        return []
    if tide == ROBUST:
        return [{"scale": "difference", "robust": "cells"}]
    words: tuple[str, ...] = ("interaction",)
    if tide.startswith(NOISES["by-arm"]):
        words = ("by-arm",) if tide == NOISES["by-arm"] else ("interaction+by-arm", "interaction")
    return [{"scale": "difference", "variance": word} for word in words]


def allowed_for(spec: PolicySpec) -> str:
    """Say what the policy allows for besides shifts, in words; nothing for most.

    >>> from tideproof.policies.policy_registry import policy
    >>> allowed_for(policy("by-arm:auto:contrast"))
    'noise that differs from arm to arm, and arms that may differ from environment to environment'
    """
    tide = spec.policy.tide
    words = {
        NOISES["by-arm"]: "noise that differs from arm to arm",
        INTERACTIONS["auto"][0]: "arms that may differ from environment to environment",
        INTERACTIONS[True][0]: "arms that differ from environment to environment",
        ROBUST: "cells that are simply wrong",
    }
    return ", and ".join(said for prefix, said in words.items() if tide in NOISE_MODELS and prefix in tide)


def checked_tide(tide: Tide, spec: PolicySpec, rewards: str, confidence: float | None) -> dict[str, Any]:
    """Return the option of an experiment, none for labels; `auto` where it may do without them."""
    if tide == "labels":
        return {}
    try:
        _check(tide if tide != "auto" else "hidden", spec, rewards, confidence)
    except InputError:
        if tide == "auto":  # then it cannot do without: no label is one environment
            return {}
        raise
    return {"tide": tide}


def _check(tide: str, spec: PolicySpec, rewards: str, confidence: float | None) -> None:
    if confidence is not None:
        raise InputError(
            f"confidence={confidence!r} needs labels: with tide={tide!r} no rule that stops is calibrated"
        )
    if rewards != "normal":
        raise InputError(
            f"rewards={rewards!r} need labels: tide={tide!r} takes rewards for normal, and a tide that "
            f"adds the same to all arms"
        )
    spec.on_tide(tide)


def checked_option(tide: Any) -> None:
    """Raise if a file has a tide that no experiment writes."""
    if tide not in TIDES:
        raise InputError(f"no experiment has the tide {tide!r}")


def checked_zone(name: Any) -> dict[str, str]:
    """Return the option of an experiment whose environment is the date somewhere; none without a zone."""
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InputError(f"time_zone must be a name such as 'Europe/Berlin', not {name!r}")
    return {"time_zone": check_zone(name)}


def date_in(zone: str, at: float) -> str:
    """Return the date of a moment somewhere.

    >>> date_in("Asia/Tokyo", 0.0), date_in("America/New_York", 0.0)
    ('1970-01-01', '1969-12-31')
    """
    return datetime.fromtimestamp(at, ZoneInfo(zone)).date().isoformat()


def label_of(book: Book, environment: Any, before: Label) -> Label:
    """Return where the next pull is played; `before` is where the last one was, if nobody says."""
    label = None if environment is None else checked_label(environment)
    if book.tide == "hidden":
        if label is not None:
            raise InputError(
                f"environment={label!r} cannot be said: this experiment has no labels and follows the tide "
                f"itself (tide='hidden'); leave it out, or begin another with tide='labels' or 'both'"
            )
        return NOWHERE
    if book.tide == "both" and label is None:
        if book.current is None:
            raise InputError("tide='both' needs a label: ask(environment=...)")
        return book.current
    return before if label is None else label


def check_labelled(book: Book, what: str) -> None:
    """Raise if what belongs to an environment and to no pull is told where the tide is followed."""
    if book.tide in TIDE_PREFIXES.values():
        raise InputError(
            f"{what} belongs to no moment: with tide={book.tide!r} rewards are told pull by pull; "
            f"Experiment(..., tide='labels') takes it"
        )
