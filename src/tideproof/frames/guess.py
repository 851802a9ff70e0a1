"""Guessing which column is what, where that is safe: one candidate by name, or the only one left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tideproof.errors import InputError
from tideproof.frames.files import looks_like_data
from tideproof.frames.request import source_of
from tideproof.frames.sql import is_moment, is_number

_NAMES = {
    "arm": "arm variant variation treatment version alternative option price ad advert banner group recipe",
    "environment": "environment day date period week hour block batch session season epoch weekday",
    "reward": "reward revenue sales value outcome conversion converted clicked profit amount score y latency",
}
_MOMENTS = ["ts", "timestamp", "time", "datetime", "created_at", "created", "occurred_at", "event_time"]


class Columns(NamedTuple):
    """The three columns, and which of them were guessed."""

    arm: str
    environment: str
    reward: str
    guessed: tuple[str, ...]


def guess(kinds: Mapping[str, str], arm: str | None, environment: str | None, reward: str | None) -> Columns:
    """Fill in the columns that are not given, from names and SQL types.

    >>> guess({"Variant": "VARCHAR", "day": "DATE", "sales": "DOUBLE", "user": "BIGINT"}, None, None, None)
    Columns(arm='Variant', environment='day', reward='sales', guessed=('arm', 'environment', 'reward'))
    >>> guess({"shop": "VARCHAR", "ts": "TIMESTAMP", "eur": "DOUBLE"}, None, None, "eur").environment
    'day(ts)'
    """
    found = {"arm": arm, "environment": environment, "reward": reward}
    missing = [role for role, name in found.items() if name is None]
    for role in missing:
        found[role] = _named(role, kinds, found)
    for role in missing:
        if found[role] is None:
            found[role] = _left(role, kinds, found)
    for role in missing:
        if found[role] is None:
            listed = ", ".join(f"{name!r}" for name in kinds)
            hint = "; is there a line with the names of the columns?" if looks_like_data(list(kinds)) else ""
            raise InputError(f"cannot tell which column is the {role}: say --{role}; columns: {listed}{hint}")
    return Columns(str(found["arm"]), str(found["environment"]), str(found["reward"]), tuple(missing))


def columns_of(place: str, table: str | None) -> dict[str, str]:
    """Return the columns of a file or table and their SQL types."""
    from tideproof.frames.places import kinds_at

    return kinds_at(place, table)


def _named(role: str, kinds: Mapping[str, str], found: Mapping[str, str | None]) -> str | None:
    """Return the only free column that is called like the role."""
    words = _NAMES[role].split()
    names = [name for name in _free(kinds, found) if name.lower() in words]
    if role == "reward":
        names = [name for name in names if is_number(kinds[name])]
    if len(names) == 1:
        kind = kinds[names[0]]
        whole = role != "environment" or not (is_moment(kind) and kind != "DATE")
        return names[0] if whole else f"day({names[0]})"
    moments = [name for name in _free(kinds, found) if is_moment(kinds[name]) and name.lower() in _MOMENTS]
    return f"day({moments[0]})" if role == "environment" and not names and len(moments) == 1 else None


def _left(role: str, kinds: Mapping[str, str], found: Mapping[str, str | None]) -> str | None:
    """Return the only free column, if its type fits and no other role is still open."""
    free = _free(kinds, found)
    others = [name for other, name in found.items() if other != role]
    fits = len(free) == 1 and None not in others and (is_number(kinds[free[0]]) or role != "reward")
    return free[0] if fits else None


def _free(kinds: Mapping[str, str], found: Mapping[str, str | None]) -> list[str]:
    taken: set[str] = set()
    for name in found.values():
        if name is not None:
            taken |= {name, source_of(name)}
    return [name for name in kinds if name not in taken]
