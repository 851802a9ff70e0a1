"""Registry of policies, in which built-in policies and those of plug-ins are found by name.

They are registered as entry points.
"""

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
from tideproof.policies.reduce_to_mab import reduce_policy
from tideproof.policies.statistics_models import (
    NOISE_MODELS,
    TIDE_PREFIXES,
    noise_prefix,
    tide_prefix,
    with_noise_model,
    with_tide,
)
from tideproof.policies.stopping_policy import RULE_PREFIXES, rule_prefix, with_stopping_rule

GROUP = "tideproof.policies"

Chosen = str | Policy | PolicySpec  # the type of every `policy=` argument


@cache
def _entries() -> dict[str, EntryPoint]:
    """Return the entry points of all registered policies by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def policy_names() -> list[str]:
    """Return the sorted names of all registered policies, including those of installed plug-ins.

    >>> "linlucb" in policy_names()
    True
    """
    return sorted(_entries())


# Maps each prefix of a policy name to the function that changes the policy, and to its second argument.
_PREFIX_FUNCTIONS: dict[str, tuple[Callable[[Policy, str], Policy], str]] = {
    PREFIX: (lambda inner, _: reduce_policy(inner), ""),
    **{prefix: (with_tide, tide) for prefix, tide in TIDE_PREFIXES.items()},
    **{prefix: (with_noise_model, prefix) for prefix in NOISE_MODELS},
    **{prefix: (with_stopping_rule, prefix) for prefix in RULE_PREFIXES},
}


def _split_prefix(name: str) -> tuple[str, str]:
    """Split the name of a policy into its first prefix, "" if it has none, and the rest."""
    prefix = max((each for each in _PREFIX_FUNCTIONS if name.startswith(each)), key=len, default="")
    return prefix, name.removeprefix(prefix)


@cache
def _load(name: str) -> Policy:
    """Load a policy by its registered name, which may begin with prefixes such as "reduce:"."""
    prefix, inner = _split_prefix(name)
    if prefix:
        change, argument = _PREFIX_FUNCTIONS[prefix]
        return change(_load(inner), argument)
    entries = _entries()
    if name not in entries:
        raise UnknownName.with_suggestion("policy", name, policy_names())
    try:
        found = entries[name].load()
    except Exception as error:  # the file of a plug-in may raise anything
        raise InputError(
            f"policy {name!r} cannot be loaded from {entries[name].value!r}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Policy):
        raise InputError(f"entry point {name!r} of group {GROUP!r} must refer to a Policy, not {found!r}")
    if found.name != name:
        raise InputError(
            f"entry point {name!r} of group {GROUP!r} refers to the policy {found.name!r}: "
            f"give both the same name"
        )
    return found


def policy(
    name: str | Policy, *, label: str | None = None, selection: str | None = None, **options: Any
) -> PolicySpec:
    """Return a policy together with its selection rule and its options.

    Parameters
    ----------
    name
        A registered name or a `Policy`, which need not be registered. A suffix chooses another selection
        rule than the default one: `"round-robin+ols"`. The prefix `"reduce:"` runs a policy on rewards from
        which the estimated shifts are subtracted: `"reduce:lucb"`.
    label
        The name of the policy in a study; by default made from its name and options.
    selection
        The selection rule, instead of a suffix.
    **options
        Options of the policy, such as `n0=3`, and the following options that every policy with a
        fixed-effects fit has. The label in a study shows them as prefixes, such as `hidden:linlucb`; such a
        label is also accepted as a name.

        * `confidence=0.95` stops the experiment as soon as the leader is confirmed as the best arm at that
          confidence level, by `rule="calibrated"` (the default) or `rule="proven"`.
        * `tide="hidden"` ignores the environment labels and estimates the shifts from the order of the pulls.
          `tide="both"` uses the labels and also estimates how the shift changes within an environment.
        * `noise="by-arm"` estimates a noise variance for each arm.
        * `interaction=True` estimates how much environments affect single arms; `"auto"` does so if the data
          show it.
        * `robust="cells"` excludes outlying cells, each one arm in one environment.

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
        raise InputError(
            f"tp.policy(...) takes a registered name or a Policy, not {name.label!r}, which is already the "
            f"result of tp.policy(...)"
        )
    elif not isinstance(name, str):
        raise InputError(f"tp.policy(...) takes a registered name or a Policy, not {reprlib.repr(name)}")
    else:
        full, plus, suffix = name.partition("+")
        prefix = tide_prefix(options.pop("tide", "labels"))
        uneven = noise_prefix(
            options.pop("noise", "common"),
            options.pop("interaction", False),
            options.pop("robust", None),
        )
        if prefix and uneven:
            raise InputError(
                f"noise=, interaction= and robust= require tide='labels', not tide={prefix[:-1]!r}"
            )
        prefix += uneven
        full = full if prefix and full.startswith(prefix) else prefix + full
        if options.keys() & {"confidence", "rule"} and not full.startswith(tuple(RULE_PREFIXES)):
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
    found.configure(3, 1_000_000, rule.name, **options)  # raises for a wrong value of an option
    full = full if selection is None else f"{full}+{selection}"
    listed = ", ".join(_option_text(k, v) for k, v in options.items())
    return PolicySpec(
        found, rule, tuple(sorted(options.items())), label or (f"{full}({listed})" if listed else full)
    )


def _plain(option: str, value: Any) -> Any:
    """Convert a NumPy scalar, Decimal or Fraction to a plain number; leave other values as they are."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        return value.item()
    return require_finite(option, value) if isinstance(value, (Decimal, Fraction)) else value


def _option_text(option: str, value: Any) -> str:
    """Return the text "option=value" of one option, for the label of a policy."""
    try:
        return f"{option}={value}"
    except ValueError:  # Python refuses to convert integers with very many digits
        raise InputError(f"{option} must be convertible to text, not {describe_value(value)}") from None


def is_registered(name: str) -> bool:
    """Return whether a policy name is registered, with or without prefixes, without loading the policy.

    >>> is_registered("reduce:lucb"), is_registered("by-arm:auto:contrast"), is_registered("auto:mine")
    (True, True, False)
    """
    prefix, inner = _split_prefix(name)
    return is_registered(inner) if prefix else name in policy_names()


def is_namesake(found: Policy) -> bool:
    """Return whether a different policy is registered under the name of this policy."""
    with suppress(InputError):
        return _load(found.name) is not found
    return False


def as_policy(given: Chosen) -> PolicySpec:
    """Convert a policy name or a `Policy` to a `PolicySpec` with default options."""
    if isinstance(given, PolicySpec):
        return given
    if not isinstance(given, (str, Policy)):
        raise InputError(f"a policy must be a name, a Policy or tp.policy(...), not {reprlib.repr(given)}")
    return policy(given)


def as_policies(given: Chosen | Iterable[Chosen]) -> tuple[PolicySpec, ...]:
    """Convert one or several policy names, `Policy` or `PolicySpec` objects to a tuple of `PolicySpec`."""
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(as_policy(each) for each in given)
    return (as_policy(given),)


class Address(NamedTuple):
    """Address from which other processes import a policy: its registered name, or a module and attribute.

    Attributes
    ----------
    module : the module that has the policy; None if the policy is registered.
    name : the registered name, or the name of the attribute.
    """

    module: str | None
    name: str


def find_address(found: Policy) -> Address:
    """Return the address from which other processes can load a policy, or raise an error if it has none.

    >>> find_address(policy("reduce:lucb").policy)
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
        f"policy {found.name!r} cannot be sent to other processes, because it is neither registered nor an "
        f"attribute of a module. Write `POLICY = Policy(...)` in a file that they can import, or register it "
        f"under the entry-point group {GROUP!r}"
    )


def load_address(where: Address) -> Policy:
    """Return the policy at an address (a registered name or a module attribute), importing its module."""
    if where.module is None:
        return _load(where.name)
    reason = ""
    try:
        found = getattr(import_module(where.module), where.name, None)
    except Exception as error:  # the file of a plug-in may raise anything
        found, reason = None, f" ({type(error).__name__}: {error})"
    if not isinstance(found, Policy):
        raise InputError(
            f"the policy {where.name} of module {where.module!r} cannot be found in this process{reason}: "
            f"put it into a file that can be imported, or register it under the entry-point group {GROUP!r}"
        )
    return found
