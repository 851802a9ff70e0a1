"""What can happen to an experiment: plain records, in the order in which they happened.

An experiment is nothing but these; `state` folds them. A record read from outside is checked field by
field, so that one that was damaged is refused and not taken for something else.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterable
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from tideproof.errors import InputError


class Created(NamedTuple):
    """It began, with what `Experiment` was given; `session` begins the ids of its pulls."""

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
    """Another process goes on with it, and gives out ids of its own."""

    at: float
    by: str | None
    session: str


class Unlabelled(NamedTuple):
    """The first pull has no label: the experiment goes without, and follows the tide itself."""

    at: float
    by: str | None


class Asked(NamedTuple):
    """Pulls of these arms, by their number, in one environment; `unit` is who got it, as a hash."""

    at: float
    by: str | None
    label: str | int
    arms: tuple[int, ...]
    unit: str | None


class Told(NamedTuple):
    """Rewards of pulls, by their number."""

    at: float
    by: str | None
    pulls: tuple[int, ...]
    rewards: tuple[float, ...]


class Added(NamedTuple):
    """Rewards of pulls, some of them of units: these are added to what was told, once for each key."""

    at: float
    by: str | None
    pulls: tuple[int, ...]
    rewards: tuple[float, ...]
    keys: tuple[str | None, ...]


class Shared(NamedTuple):
    """The shares of all arms among the next `n` units in an environment."""

    at: float
    by: str | None
    label: str | int
    n: int
    shares: tuple[float, ...]


class Summarised(NamedTuple):
    """Rewards of one arm in one environment at once."""

    at: float
    by: str | None
    arm: int
    label: str | int
    n: int
    mean: float
    variance: float
    key: str | None


class Cancelled(NamedTuple):
    """Pulls whose rewards will never come."""

    at: float
    by: str | None
    pulls: tuple[int, ...]


class Expired(NamedTuple):
    """Pulls whose lease ran out: their reward is `reward`, or none if that is None."""

    at: float
    by: str | None
    pulls: tuple[int, ...]
    reward: float | None


class Corrected(NamedTuple):
    """The reward of a pull is another than was told."""

    at: float
    by: str | None
    pull: int
    reward: float


class ArmAdded(NamedTuple):
    """One more arm."""

    at: float
    by: str | None
    arm: str


class ArmRetired(NamedTuple):
    """An arm that is not played any more."""

    at: float
    by: str | None
    arm: int


class Extended(NamedTuple):
    """Another budget."""

    at: float
    by: str | None
    budget: int | None


class Paused(NamedTuple):
    """Nothing is asked until it is resumed."""

    at: float
    by: str | None
    why: str


class Resumed(NamedTuple):
    """Pulls are asked again."""

    at: float
    by: str | None
    why: str


class Stopped(NamedTuple):
    """Nothing is asked ever again."""

    at: float
    by: str | None
    why: str


class Sure(NamedTuple):
    """An arm is the best, by that rule, with that confidence: nothing is asked any more."""

    at: float
    by: str | None
    arm: int
    rule: str
    confidence: float


class Noted(NamedTuple):
    """What somebody wanted to remember."""

    at: float
    by: str | None
    text: str


class Warmed(NamedTuple):
    """Rewards from before the experiment: (arm, label, n, mean, squared deviations) of each cell."""

    at: float
    by: str | None
    cells: tuple[tuple[int, str | int, int, float, float], ...]


class Salted(NamedTuple):
    """What units are hashed with; empty once it is deleted."""

    at: float
    by: str | None
    salt: str


class Exposed(NamedTuple):
    """Pulls that units have seen: they count from now on."""

    at: float
    by: str | None
    pulls: tuple[int, ...]


class Carried(NamedTuple):
    """An experiment that an older version saved, as it saved it."""

    at: float
    by: str | None
    saved: dict[str, Any]


Event = (
    Created | Opened | Unlabelled | Asked | Told | Added | Shared | Summarised | Cancelled | Expired
    | Corrected | ArmAdded | ArmRetired | Extended | Paused | Resumed | Stopped | Sure | Noted | Warmed
    | Salted | Exposed | Carried
)  # fmt: skip

KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Event)}
_FIELDS = {name: get_type_hints(kind) for name, kind in KINDS.items()}


def without_old_salts(happened: Iterable[Event]) -> list[Event]:
    """Return the events without salts that a later event deleted or replaced.

    >>> without_old_salts([Salted(1.0, None, "ab"), Salted(2.0, None, "")])[0]
    Salted(at=1.0, by=None, salt='')
    """
    happened = list(happened)
    last = max((i for i, event in enumerate(happened) if isinstance(event, Salted)), default=0)
    return [
        event._replace(salt="") if i < last and isinstance(event, Salted) else event
        for i, event in enumerate(happened)
    ]


def plain(event: Event) -> list[Any]:
    """Return an event as a list that JSON knows: its kind and its fields.

    >>> plain(Cancelled(1.5, None, (3, 4)))
    ['Cancelled', 1.5, None, (3, 4)]
    """
    return [type(event).__name__, *event]


def read(record: Any) -> Event:
    """Return the event of such a list, or say what is wrong with it.

    >>> read(["Cancelled", 1.5, None, [3, 4]])
    Cancelled(at=1.5, by=None, pulls=(3, 4))
    """
    if not isinstance(record, (list, tuple)) or not record or record[0] not in KINDS:
        raise InputError(f"no event: {str(record)[:80]}")
    name, *values = record
    fields = _FIELDS[name]
    if len(values) != len(fields):
        raise InputError(f"an event {name!r} has {len(fields)} fields, not {len(values)}")
    checked = [
        _checked(name, field, hint, v) for (field, hint), v in zip(fields.items(), values, strict=True)
    ]
    event: Event = KINDS[name](*checked)
    return event


def trusted(record: Any) -> Event:
    """Return the event of such a list whose checksum was right: nobody but us wrote it.

    >>> trusted(["Cancelled", 1.5, None, [3, 4]])
    Cancelled(at=1.5, by=None, pulls=(3, 4))
    """
    event: Event = KINDS[record[0]]._make([_tupled(v) if type(v) is list else v for v in record[1:]])
    return event


def _tupled(values: list[Any]) -> tuple[Any, ...]:
    return tuple([_tupled(v) if type(v) is list else v for v in values])


def _checked(name: str, field: str, hint: Any, value: Any) -> Any:
    """Return the value as the field's type has it; lists become tuples."""
    found = _as(hint, value)
    if found is _NOT:
        raise InputError(f"{field} of an event {name!r} cannot be {str(value)[:80]!r}")
    return found


_NOT = object()


def _as(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        found = (_as(each, value) for each in get_args(hint))
        return next((each for each in found if each is not _NOT), _NOT)
    if get_origin(hint) is dict:
        return value if isinstance(value, dict) else _NOT
    if hint is type(None):
        return None if value is None else _NOT
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint), value)
    if hint is float:
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        return float(value) if right else _NOT
    if hint is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _NOT
    return value if isinstance(value, hint) else _NOT


def _tuple(hints: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _NOT
    if hints[-1] is Ellipsis:
        hints = (hints[0],) * len(value)
    if len(value) != len(hints):
        return _NOT
    items = tuple(_as(hint, each) for hint, each in zip(hints, value, strict=True))
    return _NOT if any(item is _NOT for item in items) else items
