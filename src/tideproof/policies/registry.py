"""Finding policies by name. Ours and a stranger's come through the same door: entry points."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.policies.definition import Policy
from tideproof.policies.reduce import PREFIX, reduced
from tideproof.policies.spec import PolicySpec

GROUP = "tideproof.policies"


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def policy_names() -> list[str]:
    """Return the registered names, those of installed plug-ins included.

    >>> "linlucb" in policy_names()
    True
    """
    return sorted(_entries())


@cache
def _load(name: str) -> Policy:
    if name.startswith(PREFIX):
        return reduced(_load(name.removeprefix(PREFIX)))
    entries = _entries()
    if name not in entries:
        raise UnknownName.among("policy", name, policy_names())
    found = entries[name].load()
    if not isinstance(found, Policy):
        raise InputError(f"entry point {name!r} of group {GROUP!r} gives {found!r}, not a Policy")
    return found


def policy(name: str, *, label: str | None = None, **options: Any) -> PolicySpec:
    """Choose a policy, its selection rule and its options.

    Parameters
    ----------
    name
        A registered name, with a suffix for the selection rule if it is not the default one,
        `"round-robin+ols"`, and a prefix to run it on rewards with the shifts taken out,
        `"reduce:lucb"`.
    label
        Its name wherever a study is read; made from the name and options if not given.
    **options
        Options of the policy, such as `n0=3`.

    Examples
    --------
    >>> policy("linlucb", n0=3).label
    'linlucb(n0=3)'
    >>> policy("round-robin+ols").selection.name
    'ols'
    """
    base, plus, suffix = name.partition("+")
    found = _load(base)
    known = found.options()
    for option in options:
        if option not in known:
            raise UnknownName.among("option", option, known, f"of {base}")
    rule = found.selection(suffix if plus else None)
    shown = ", ".join(f"{k}={v}" for k, v in options.items())
    spec = PolicySpec(
        found, rule, tuple(sorted(options.items())), label or (f"{name}({shown})" if shown else name)
    )
    spec.policy.configure(3, 1_000_000, rule.name, **options)  # refuse a bad option here, not later
    return spec


def as_policy(given: str | PolicySpec) -> PolicySpec:
    """Return `given`, or the policy it names."""
    if isinstance(given, PolicySpec):
        return given
    if not isinstance(given, str):
        raise InputError(f"a policy is a name or tp.policy(...), not {given!r}")
    return policy(given)


def as_policies(given: str | PolicySpec | Iterable[str | PolicySpec]) -> tuple[PolicySpec, ...]:
    """Return one policy or several, each given or named, as a tuple."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(as_policy(each) for each in given)
    return (as_policy(given),)
