"""Types of the events that can happen to an experiment, and their conversion to JSON and back.

An experiment is the sequence of its event records; its state is computed by applying them in order. A record
from a file is checked field by field, so that damaged records are refused.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterable
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from tideproof.errors import InputError


class Created(NamedTuple):
    """Event: the experiment was created with these parameters.

    `session` is the prefix of its pull IDs.
    """

    at: float
    by: str | None
    arms: tuple[str, ...]
    budget: int | None
    policy: dict[str, Any]
    seed: int
    direction: str
    options: dict[str, Any]
    session: str


class Opened(NamedTuple):
    """Event: another process opened the experiment and uses its own prefix for pull IDs."""

    at: float
    by: str | None
    session: str


class Unlabelled(NamedTuple):
    """Event: the first pull has no environment label, so the tide is estimated from rewards alone."""

    at: float
    by: str | None


class Asked(NamedTuple):
    """Event: pulls of these arms were requested in one environment, possibly for a unit such as a visitor.

    `arms` are arm numbers. `unit` is the hash of the unit's ID, or None; it is empty if it was deleted.
    """

    at: float
    by: str | None
    label: str | int
    arms: tuple[int, ...]
    unit: str | None


class AskedPairs(NamedTuple):
    """Event: pulls were requested, and the policy chose both the arm and the environment of each.

    `arms` are arm numbers. `environments` are indices in the option `environments` of the experiment.
    """

    at: float
    by: str | None
    arms: tuple[int, ...]
    environments: tuple[int, ...]


class Told(NamedTuple):
    """Event: the rewards of one or several pulls were recorded.

    `pulls` are the numbers of the pulls.
    """

    at: float
    by: str | None
    pulls: tuple[int, ...]
    rewards: tuple[float, ...]


class Added(NamedTuple):
    """Event: rewards were recorded, each of which is added to the total reward of its pull.

    Such rewards are, for example, the purchases of one visitor. The pulls are those of units. Each key of a
    pull counts once.
    """

    at: float
    by: str | None
    pulls: tuple[int, ...]
    rewards: tuple[float, ...]
    keys: tuple[str | None, ...]


class Shared(NamedTuple):
    """Event: the share of each arm among the next `n` units (visitors) of an environment was computed."""

    at: float
    by: str | None
    label: str | int
    n: int
    shares: tuple[float, ...]


class Summarised(NamedTuple):
    """Event: a summary of `n` rewards of one arm in one environment was recorded."""

    at: float
    by: str | None
    arm: int
    label: str | int
    n: int
    mean: float
    variance: float
    key: str | None


class Cancelled(NamedTuple):
    """Event: pulls were cancelled because their rewards will never arrive."""

    at: float
    by: str | None
    pulls: tuple[int, ...]


class Expired(NamedTuple):
    """Event: the time limit for the rewards of pulls ended.

    The pulls got the default `reward`, or expired if there is none. A pull whose reward was told within a
    fixed window gets that reward instead.
    """

    at: float
    by: str | None
    pulls: tuple[int, ...]
    reward: float | None


class Corrected(NamedTuple):
    """Event: the recorded reward of a pull was replaced by another."""

    at: float
    by: str | None
    pull: int
    reward: float


class ArmAdded(NamedTuple):
    """Event: an arm was added to the experiment."""

    at: float
    by: str | None
    arm: str


class ArmRetired(NamedTuple):
    """Event: an arm was retired and is no longer played."""

    at: float
    by: str | None
    arm: int


class Extended(NamedTuple):
    """Event: the budget of the experiment, a number of pulls, was changed."""

    at: float
    by: str | None
    budget: int | None


class Paused(NamedTuple):
    """Event: the experiment was paused; it assigns no new pulls until it is resumed."""

    at: float
    by: str | None
    why: str


class Resumed(NamedTuple):
    """Event: the experiment was resumed and assigns pulls again."""

    at: float
    by: str | None
    why: str


class Stopped(NamedTuple):
    """Event: the experiment was stopped permanently; it assigns no more pulls.

    `ship` is the number of the arm that a person chose for every visitor, or None if nobody chose one. A
    later event of this kind replaces the choice. Records of older versions have no `ship`.
    """

    at: float
    by: str | None
    why: str
    ship: int | None = None


class Archived(NamedTuple):
    """Event: the experiment was archived: lists omit it, and its flag has no value any more."""

    at: float
    by: str | None
    why: str


class Restored(NamedTuple):
    """Event: the experiment was restored from the archive."""

    at: float
    by: str | None
    why: str


class Sure(NamedTuple):
    """Event: the stopping rule found one arm to be the best with the required confidence level."""

    at: float
    by: str | None
    arm: int
    rule: str
    confidence: float


class Looked(NamedTuple):
    """Event: a planned look was made, which spent error probability and perhaps named the best arm.

    `look` says how far the plan was, and `spent` is the error probability spent up to it. `recorded` is the
    number of rewards. Each of the `variances` is (arm, arm, variance of their estimated difference). `arm` is
    the number of the arm that the look named, or None. A look with the number of the last one replaces it,
    after a correction.
    """

    at: float
    by: str | None
    look: float
    spent: float
    recorded: int
    variances: tuple[tuple[int, int, float], ...]
    arm: int | None


class Noted(NamedTuple):
    """Event: a free-text note was added to the event log."""

    at: float
    by: str | None
    text: str


class Warmed(NamedTuple):
    """Event: rewards from before the experiment were added, summarised by arm and environment.

    Each of the `cells` is (arm, label, n, mean, sum of squared deviations).
    """

    at: float
    by: str | None
    cells: tuple[tuple[int, str | int, int, float, float], ...]


class Salted(NamedTuple):
    """Event: the secret key with which unit IDs are hashed was set, or deleted if the key is empty."""

    at: float
    by: str | None
    salt: str


class UnitForgotten(NamedTuple):
    """Event: the ID hash of one unit (such as a visitor) was deleted, so its pulls cannot be linked to it.

    `unit` is this hash while the event is being recorded, and empty afterwards.
    """

    at: float
    by: str | None
    pulls: tuple[int, ...]
    unit: str


class Exposed(NamedTuple):
    """Event: visitors or other units saw their arms, so that rewards of these pulls are now accepted."""

    at: float
    by: str | None
    pulls: tuple[int, ...]


Event = (
    Created | Opened | Unlabelled | Asked | AskedPairs | Told | Added | Shared | Summarised | Cancelled
    | Expired | Corrected | ArmAdded | ArmRetired | Extended | Paused | Resumed | Stopped | Sure | Noted
    | Warmed | Salted | UnitForgotten | Exposed | Archived | Restored | Looked
)  # fmt: skip

KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Event)}
_FIELDS = {name: get_type_hints(kind) for name, kind in KINDS.items()}


def count_pulls(event: Event) -> int:
    """Return the number of pulls that an event requested; 0 for most kinds of events.

    >>> count_pulls(Asked(1.5, None, "monday", (0, 2), None)), count_pulls(Noted(1.5, None, "hello"))
    (2, 0)
    """
    return len(event.arms) if isinstance(event, (Asked, AskedPairs)) else 0


def without_forgotten(happened: Iterable[Event]) -> list[Event]:
    """Return events without the unit hashes and salts that later events deleted.

    >>> without_forgotten([Salted(1.0, None, "ab"), Salted(2.0, None, "")])[0]
    Salted(at=1.0, by=None, salt='')
    """
    kept = list(happened)
    last = max((i for i, event in enumerate(kept) if isinstance(event, Salted)), default=0)
    if any(isinstance(event, UnitForgotten) for event in kept):
        _delete_unit_hashes(kept)
    return [
        event._replace(salt="") if i < last and isinstance(event, Salted) else event
        for i, event in enumerate(kept)
    ]


def _delete_unit_hashes(happened: list[Event]) -> None:
    """Delete those hashes of unit IDs from events that later events say were deleted."""
    pulls = 0
    asks: dict[str, list[int]] = {}  # indexes of the events, by unit
    units: dict[int, str] = {}  # units by pull
    for index, event in enumerate(happened):
        if isinstance(event, Asked):
            if event.unit:
                asks.setdefault(event.unit, []).append(index)
                units[pulls] = event.unit
            pulls += len(event.arms)
        elif isinstance(event, UnitForgotten):
            for unit in {units.get(pull, "") for pull in event.pulls} | {event.unit}:
                for ask in asks.pop(unit, ()):
                    happened[ask] = happened[ask]._replace(unit="")  # type: ignore[call-arg]
            happened[index] = event._replace(unit="")


def event_to_record(event: Event) -> list[Any]:
    """Return an event as a list for JSON: the name of its kind, then its fields.

    A stop without a shipped arm has the same record as in older versions, which did not have this field.

    >>> event_to_record(Cancelled(1.5, None, (3, 4)))
    ['Cancelled', 1.5, None, (3, 4)]
    >>> event_to_record(Stopped(1.5, None, "enough"))
    ['Stopped', 1.5, None, 'enough']
    """
    values = event[:-1] if isinstance(event, Stopped) and event.ship is None else event
    return [type(event).__name__, *values]


def record_to_event(record: Any) -> Event:
    """Convert a JSON list to an event, or raise an error that names the wrong field.

    >>> record_to_event(["Cancelled", 1.5, None, [3, 4]])
    Cancelled(at=1.5, by=None, pulls=(3, 4))
    """
    if not isinstance(record, (list, tuple)) or not record or record[0] not in KINDS:
        raise InputError(
            f"an event record must be a list that begins with the name of an event kind, such as 'Told', not "
            f"{str(record)[:80]}"
        )
    name, *values = record
    fields = _FIELDS[name]
    least = len(fields) - len(KINDS[name]._field_defaults)
    if not least <= len(values) <= len(fields):
        raise InputError(f"an event of kind {name!r} has {len(fields)} fields, not {len(values)}")
    checked = [
        _checked_field(name, field, hint, v) for (field, hint), v in zip(fields.items(), values, strict=False)
    ]
    event: Event = KINDS[name](*checked)
    return event


def trusted_record_to_event(record: Any) -> Event:
    """Convert a JSON list to an event, without checking its fields.

    The checksum of the list must have been verified.

    >>> trusted_record_to_event(["Cancelled", 1.5, None, [3, 4]])
    Cancelled(at=1.5, by=None, pulls=(3, 4))
    """
    event: Event = KINDS[record[0]](*[_as_tuples(v) if type(v) is list else v for v in record[1:]])
    return event


def _as_tuples(values: list[Any]) -> tuple[Any, ...]:
    return tuple([_as_tuples(v) if type(v) is list else v for v in values])


def _checked_field(name: str, field: str, hint: Any, value: Any) -> Any:
    """Convert a JSON value to the type of a field of an event, or raise an error.

    Lists become tuples.
    """
    found = _convert(hint, value)
    if found is _INVALID:
        kind = "a finite number" if hint is float else f"of the type {getattr(hint, '__name__', hint)}"
        raise InputError(
            f"the field {field} of an event of kind {name!r} must be {kind}, not {str(value)[:80]!r}"
        )
    return found


_INVALID = object()


def _convert(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        found = (_convert(each, value) for each in get_args(hint))
        return next((each for each in found if each is not _INVALID), _INVALID)
    if get_origin(hint) is dict:
        return value if isinstance(value, dict) else _INVALID
    if hint is type(None):
        return None if value is None else _INVALID
    if get_origin(hint) is tuple:
        return _convert_tuple(get_args(hint), value)
    if hint is float:
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if right else _INVALID
    if hint is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _INVALID
    return value if isinstance(value, hint) else _INVALID


def _convert_tuple(hints: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _INVALID
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(value)
    if len(value) != len(hints):
        return _INVALID
    items = tuple(_convert(hint, each) for hint, each in zip(hints, value, strict=True))
    return _INVALID if any(item is _INVALID for item in items) else items
