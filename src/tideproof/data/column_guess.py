"""Guess which columns of a table hold arm, environment and reward, where only one choice is plausible.

These three are called the roles of columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tideproof.data.column_spec import columns_behind
from tideproof.data.sources.duckdb_files import looks_like_data
from tideproof.data.sql_expressions import can_be_reward, is_text, is_timestamp
from tideproof.errors import InputError

ROLES = ("arm", "environment", "reward")

_NAMES = {
    "arm": "arm variant variation treatment version alternative option price ad advert banner group recipe",
    "environment": "environment day date period week hour block batch session season epoch weekday",
    "reward": "reward revenue sales value outcome conversion converted clicked profit amount score y latency",
}
_SUCCESSES = "clicks successes conversions orders purchases signups opens buyers"
_TRIED = "impressions n trials tried visits visitors sessions views shown sent users"
_TIMESTAMPS = "ts timestamp time datetime created_at created occurred_at event_time"


class GuessedColumns(NamedTuple):
    """Columns of arm, environment and reward (None if not needed), and which of them were guessed."""

    arm: str | None
    environment: str | None
    reward: str | None
    guessed: tuple[str, ...]

    def __str__(self) -> str:
        said = zip(ROLES, self, strict=False)
        return ", ".join(f"{role} = {name}" for role, name in said if name is not None)


def guess_columns(
    types: Mapping[str, str],
    arm: str | None,
    environment: str | None,
    reward: str | None,
    *,
    needed: Collection[str] = ROLES,
    taken: Collection[str] = (),
) -> GuessedColumns:
    """Guess which columns hold arm, environment and reward, from the names and SQL types of all columns.

    Only columns that are `needed` and not given are guessed. Columns that are `taken` for another purpose are
    ignored.

    >>> types = {"Variant": "VARCHAR", "day": "DATE", "sales": "DOUBLE", "user": "BIGINT"}
    >>> guess_columns(types, None, None, None)
    GuessedColumns(arm='Variant', environment='day', reward='sales', guessed=('arm', 'environment', 'reward'))
    >>> guess_columns({"shop": "VARCHAR", "ts": "TIMESTAMP", "eur": "DOUBLE"}, None, None, "eur").environment
    'day(ts)'
    """
    columns = {"arm": arm, "environment": environment, "reward": reward}
    free = {name: kind for name, kind in types.items() if name not in taken}
    open_roles = [role for role, name in columns.items() if name is None and role in needed]
    for role in open_roles:
        columns[role] = _by_name(role, free, columns)
    for role in open_roles:
        if columns[role] is None:
            columns[role] = _only_one_left(role, free, columns, needed)
    for role in open_roles:
        if columns[role] is None:
            listed = ", ".join(f"{name!r}" for name in types)
            hint = "; does the table have a header with names?" if looks_like_data(list(types)) else ""
            none = ", or --no-environment" if role == "environment" else ""
            hint = _successes_hint(_free_columns(types, columns)) or hint if role == "reward" else hint
            raise InputError(
                f"cannot guess which column is the {role}: use --{role}{none}; columns: {listed}{hint}"
            )
    return GuessedColumns(**columns, guessed=tuple(open_roles))


def _successes_hint(free: list[str]) -> str:
    """Return a hint for the user if columns look like clicks and impressions; else an empty text.

    >>> _successes_hint(["impressions", "Clicks"]), _successes_hint(["clicks", "price"])
    ('; for Clicks out of impressions use --successes Clicks --n impressions', '')
    """
    ones, tries = ([name for name in free if name.lower() in names.split()] for names in (_SUCCESSES, _TRIED))
    if len(ones) != 1 or len(tries) != 1:
        return ""
    return f"; for {ones[0]} out of {tries[0]} use --successes {ones[0]} --n {tries[0]}"


def _by_name(role: str, types: Mapping[str, str], columns: Mapping[str, str | None]) -> str | None:
    """Return the only unused column whose name is typical of arms, environments or rewards."""
    free = _free_columns(types, columns)
    names = [name for name in free if name.lower() in _NAMES[role].split()]
    if role == "reward":
        names = [name for name in names if can_be_reward(types[name])] or _text_columns(names, types)
    if role == "environment":
        names = names or [n for n in free if is_timestamp(types[n]) and n.lower() in _TIMESTAMPS.split()]
    if len(names) != 1:
        return None
    name = names[0]
    derived = role == "environment" and is_timestamp(types[name]) and types[name] != "DATE"
    return f"day({name})" if derived else name


def _only_one_left(
    role: str, types: Mapping[str, str], columns: Mapping[str, str | None], needed: Collection[str]
) -> str | None:
    """Return the only unused column if it fits the only role (such as reward) that still lacks a column."""
    free = _free_columns(types, columns)
    others = [name for other, name in columns.items() if other != role and other in needed]
    if len(free) != 1 or None in others:
        return None
    fits = role != "reward" or can_be_reward(types[free[0]]) or _text_columns(free, types)
    return free[0] if fits else None


def _free_columns(types: Mapping[str, str], columns: Mapping[str, str | None]) -> list[str]:
    """Return the columns that are neither the arm nor the environment nor the reward."""
    taken = {column for name in columns.values() if name for column in (name, *columns_behind(name))}
    return [name for name in types if name not in taken]


def _text_columns(names: list[str], types: Mapping[str, str]) -> list[str]:
    """Return those of the columns `names` that have a text type.

    They may hold numbers except for a few entries, which the error names when they are read.
    """
    return [name for name in names if is_text(types[name])]
