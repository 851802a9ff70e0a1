"""Finding policies: by name, where ours and a stranger's come through entry points, or as they are."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

import numpy as np

from tideproof.checks import require_finite
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.policies.policy_definition import PREFIX, Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.reduce_to_mab import reduced
from tideproof.policies.statistics_models import (
    FOLLOWED,
    UNEVEN,
    on_tide,
    on_uneven,
    tide_prefix,
    uneven_prefix,
)
from tideproof.policies.stopping_policy import RULES, rule_prefix, watched

GROUP = "tideproof.policies"

Chosen = str | Policy | PolicySpec  # what every `policy=` accepts


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def policy_names() -> list[str]:
    """Return the registered names, those of installed plug-ins included.

    >>> "linlucb" in policy_names()
    True
    """
    return sorted(_entries())


# What a prefix makes of the policy whose name stands behind it, and what that must be told
_MADE_BY: dict[str, tuple[Callable[[Policy, str], Policy], str]] = {
    PREFIX: (lambda inner, _: reduced(inner), ""),
    **{prefix: (on_tide, tide) for prefix, tide in FOLLOWED.items()},
    **{prefix: (on_uneven, prefix) for prefix in UNEVEN},
    **{prefix: (watched, prefix) for prefix in RULES.values()},
}


def _parts(name: str) -> tuple[str, str]:
    """Return the first prefix of a name, none if it has none, and what stands behind it."""
    prefix = max((each for each in _MADE_BY if name.startswith(each)), key=len, default="")
    return prefix, name.removeprefix(prefix)


@cache
def _load(name: str) -> Policy:
    prefix, inner = _parts(name)
    if prefix:
        made_by, what = _MADE_BY[prefix]
        return made_by(_load(inner), what)
    entries = _entries()
    if name not in entries:
        raise UnknownName.with_suggestion("policy", name, policy_names())
    try:
        found = entries[name].load()
    except Exception as error:  # whatever a stranger's file raises
        raise InputError(
            f"policy {name!r} cannot be loaded from {entries[name].value!r}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Policy):
        raise InputError(f"entry point {name!r} of group {GROUP!r} gives {found!r}, not a Policy")
    if found.name != name:
        raise InputError(
            f"entry point {name!r} of group {GROUP!r} gives the policy {found.name!r}: give both one name"
        )
    return found


def policy(
    name: str | Policy, *, label: str | None = None, selection: str | None = None, **options: Any
) -> PolicySpec:
    """Choose a policy, its selection rule and its options.

    Parameters
    ----------
    name
        A registered name, with a suffix for the selection rule if it is not the default one,
        `"round-robin+ols"`, and a prefix to run it on rewards with the shifts taken out,
        `"reduce:lucb"`; or a `Policy` itself, which need not be registered.
    label
        Its name wherever a study is read; made from the name and options if not given.
    selection
        The selection rule, instead of a suffix.
    **options
        Options of the policy, such as `n0=3`. With `confidence=0.95` it stops when it is sure, by
        `rule="calibrated"`, the default, or `"proven"`: `sure:linlucb` and `proven:linlucb` for short. With
        `tide="hidden"` it gets no labels and finds the tide itself: `hidden:linlucb` for short; with
        `tide="both"` it gets labels, and follows what the tide does between them: `both:linlucb`. With
        `noise="by-arm"` it learns how noisy each arm is, with `interaction=True`, or `"auto"` if there may be
        none, how much environments do to each arm alone: `by-arm:linlucb`, `interaction:linlucb`,
        `auto:linlucb`, `by-arm:auto:linlucb`. With `robust="cells"` it leaves out cells, one arm in one
        environment, that are far from where they belong: `robust:linlucb`.

    Examples
    --------
    >>> policy("linlucb", n0=3).label
    'linlucb(n0=3)'
    >>> policy("round-robin+ols").selection.name
    'ols'
    """
    for what, given in (("label", label), ("selection", selection)):
        if given is not None and not isinstance(given, str):
            raise InputError(f"{what} must be text, not {describe_value(given)}")
    if isinstance(name, Policy):
        found, full = name, name.name
    elif isinstance(name, PolicySpec):
        raise InputError(f"{name.label!r} is chosen already: tp.policy(...) takes a name or a Policy, once")
    elif not isinstance(name, str):
        raise InputError(f"tp.policy(...) takes a registered name or a Policy, not {reprlib.repr(name)}")
    else:
        full, plus, suffix = name.partition("+")
        prefix = tide_prefix(options.pop("tide", "labels"))
        uneven = uneven_prefix(
            options.pop("noise", "common"),
            options.pop("interaction", False),
            options.pop("robust", None),
        )
        if prefix and uneven:
            raise InputError(
                f"noise=, interaction= and robust= need labels: they do not go with {prefix[:-1]} tides"
            )
        prefix += uneven
        full = full if prefix and full.startswith(prefix) else prefix + full
        if options.keys() & {"confidence", "rule"} and not full.startswith(tuple(RULES.values())):
            full = rule_prefix(options.pop("rule", "calibrated")) + full
        found = _load(full)
        if plus and selection not in (None, suffix):
            raise InputError(f"{name!r} and selection={selection!r} name two selection rules: give one")
        selection = suffix if plus else selection
    known = found.options()
    for option in options:
        if option not in known:
            raise UnknownName.with_suggestion("option", option, known, f"of {full}")
    options = {k: _plain(k, v) for k, v in options.items()}
    rule = found.selection(selection)
    found.configure(3, 1_000_000, rule.name, **options)  # refuse a bad option here, not later
    full = full if selection is None else f"{full}+{selection}"
    said = ", ".join(_said(k, v) for k, v in options.items())
    return PolicySpec(
        found, rule, tuple(sorted(options.items())), label or (f"{full}({said})" if said else full)
    )


def _plain(option: str, value: Any) -> Any:
    """Return the value of an option, a number as files have it."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return value.item()
    return require_finite(option, value) if isinstance(value, (Decimal, Fraction)) else value


def _said(option: str, value: Any) -> str:
    """Return an option as labels have it."""
    try:
        return f"{option}={value}"
    except ValueError:  # more digits than Python writes
        raise InputError(f"{option} must be something to write down, not {describe_value(value)}") from None


def is_registered(name: str) -> bool:
    """Tell whether a policy of that name is registered, or made of one that is; loads nothing.

    >>> is_registered("reduce:lucb"), is_registered("by-arm:auto:contrast"), is_registered("auto:mine")
    (True, True, False)
    """
    prefix, inner = _parts(name)
    return is_registered(inner) if prefix else name in policy_names()


def is_namesake(found: Policy) -> bool:
    """Tell whether its name is registered for another policy."""
    with suppress(InputError):
        return _load(found.name) is not found
    return False


def as_policy(given: Chosen) -> PolicySpec:
    """Return `given`, or the policy it names."""
    if isinstance(given, PolicySpec):
        return given
    if not isinstance(given, (str, Policy)):
        raise InputError(f"a policy is a name, a Policy or tp.policy(...), not {reprlib.repr(given)}")
    return policy(given)


def as_policies(given: Chosen | Iterable[Chosen]) -> tuple[PolicySpec, ...]:
    """Return one policy or several, each given or named, as a tuple."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(as_policy(each) for each in given)
    return (as_policy(given),)


class Address(NamedTuple):
    """Where other processes find a policy: under a registered name, or as an attribute of a module."""

    module: str | None
    name: str


def address(found: Policy) -> Address:
    """Return where other processes find the policy, or say how it could be found.

    >>> address(policy("reduce:lucb").policy)
    Address(module=None, name='reduce:lucb')
    """
    with suppress(UnknownName):
        if _load(found.name) is found:
            return Address(None, found.name)
    its_own = [getattr(f, "__module__", "") for f in (found.configure, found.ask, found.tell)]
    for module in [*its_own, *sys.modules]:
        for attribute, value in tuple(getattr(sys.modules.get(module), "__dict__", {}).items()):
            if value is found:
                return Address(module, attribute)
    raise InputError(
        f"policy {found.name!r} cannot travel to other processes: it is not registered, nor is it an "
        f"attribute of a module: write `POLICY = Policy(...)` in a file that they can import, or register it "
        f"under the entry-point group {GROUP!r}"
    )


def found_at(where: Address) -> Policy:
    """Return the policy of that address."""
    if where.module is None:
        return _load(where.name)
    reason = ""
    try:
        found = getattr(import_module(where.module), where.name, None)
    except Exception as error:  # whatever a stranger's file raises
        found, reason = None, f" ({type(error).__name__}: {error})"
    if not isinstance(found, Policy):
        raise InputError(
            f"the policy {where.name} of module {where.module!r} is not to be found in this process{reason}: "
            f"put it into a file that it can import, or register it under the entry-point group {GROUP!r}"
        )
    return found
