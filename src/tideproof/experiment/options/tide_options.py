"""The options `tide` and `time_zone` of an experiment, and the environment label of its next pull."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from tideproof.data.time_periods import check_zone
from tideproof.errors import InputError, describe_value
from tideproof.experiment.pull import Label, checked_label
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards
from tideproof.experiment.settings import Tide
from tideproof.experiment.state.pulls_book import Book
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import INTERACTIONS, NOISE_MODELS, NOISES, ROBUST, TIDE_PREFIXES
from tideproof.text import join_names

TIDES: tuple[Tide, ...] = ("auto", "labels", "hidden", "both")
NO_LABEL = 1  # the label of all pulls of an experiment without labels


def checked_name(tide: Any) -> Tide:
    """Return the given name of a tide model, such as `"hidden"`, or raise an error if it is unknown."""
    if not isinstance(tide, str) or tide not in TIDES:
        raise InputError(f"tide must be {join_names(map(repr, TIDES), 'or')}, not {describe_value(tide)}")
    return cast(Tide, str(tide))


def allowed_for(spec: PolicySpec) -> str:
    """Return as text which deviations from the standard model, such as unequal noise, a policy allows for.

    The text is empty for most policies.

    >>> from tideproof.policies.policy_registry import policy
    >>> allowed_for(policy("by-arm:auto:contrast"))
    'unequal noise of the arms and possible interactions of arms and environments'
    """
    tide = spec.policy.tide
    words = {
        NOISES["by-arm"]: "unequal noise of the arms",
        INTERACTIONS["auto"][0]: "possible interactions of arms and environments",
        INTERACTIONS[True][0]: "interactions of arms and environments",
        ROBUST: "outlying cells",
    }
    return join_names(text for prefix, text in words.items() if tide in NOISE_MODELS and prefix in tide)


def checked_tide(tide: Tide, spec: PolicySpec, rewards: Rewards, confidence: float | None) -> dict[str, Any]:
    """Validate the option `tide` against the other options, and return it as it is stored.

    Nothing is stored for `"labels"`.

    `"auto"` is stored only if a hidden tide is possible with the other options.
    """
    if tide == "labels":
        return {}
    try:
        _check_hidden_tide(tide if tide != "auto" else "hidden", spec, rewards, confidence)
    except InputError:
        if tide == "auto":  # without labels, all pulls are in one environment
            return {}
        raise
    return {"tide": tide}


def _check_hidden_tide(tide: str, spec: PolicySpec, rewards: Rewards, confidence: float | None) -> None:
    if confidence is not None:
        raise InputError(
            f"confidence={confidence!r} requires tide='labels': there is no stopping rule for tide={tide!r}"
        )
    if not REWARD_KINDS[rewards].normal:
        raise InputError(
            f"rewards={rewards!r} requires tide='labels': tide={tide!r} assumes normal rewards, and a shift "
            f"that is added to the rewards of all arms"
        )
    spec.on_tide(tide)


def checked_option(tide: Any) -> None:
    """Raise an error if a saved experiment has an unknown tide model (model of the shifts)."""
    if tide not in TIDES:
        allowed = join_names(map(repr, TIDES), "or")
        raise InputError(f"unknown tide {tide!r} of an experiment: it must be {allowed}")


def checked_zone(name: Any) -> dict[str, str]:
    """Return the option `time_zone` as it is stored, empty if no zone is given, or raise an error."""
    if name is None:
        return {}
    if not isinstance(name, str):
        raise InputError(f"time_zone must be a name such as 'Europe/Berlin', not {name!r}")
    return {"time_zone": check_zone(name)}


def date_in(zone: str, at: float) -> str:
    """Return the date in a time zone at a time that is given in seconds.

    >>> date_in("Asia/Tokyo", 0.0), date_in("America/New_York", 0.0)
    ('1970-01-01', '1969-12-31')
    """
    return datetime.fromtimestamp(at, ZoneInfo(zone)).date().isoformat()


def label_of(book: Book, environment: Any, before: Label) -> Label:
    """Return the environment label of the next pull.

    `before` is the default, usually the previous label.
    """
    label = None if environment is None else checked_label(environment)
    if book.tide == "hidden":
        if label is not None:
            raise InputError(
                f"environment={label!r} is not allowed: this experiment estimates its tide without labels "
                f"(tide='hidden'). Omit environment, or create an experiment with tide='labels' or 'both'"
            )
        return NO_LABEL
    if book.tide == "both" and label is None:
        if book.current is None:
            raise InputError("tide='both' requires a label for the first pull: ask(environment=...)")
        return book.current
    return before if label is None else label


def check_labelled(book: Book, what: str) -> None:
    """Raise an error if the tide model cannot use reward summaries.

    `what` names the summaries in the error message. A model with a hidden tide needs the order of the pulls,
    which summaries and warm starts do not have.
    """
    if book.tide in TIDE_PREFIXES.values():
        raise InputError(
            f"{what} is not accepted with tide={book.tide!r}, because the times of its rewards are not "
            f"known. Record each reward separately, or create an experiment with tide='labels'"
        )
