"""Functions that turn a policy's tide model and stopping rule into separate options of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tideproof.errors import InputError
from tideproof.experiment.options.tide_options import allowed_for, checked_name
from tideproof.experiment.settings import Tide
from tideproof.policies.policy_registry import Chosen, as_policy, policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS, TIDE_PREFIXES
from tideproof.policies.stopping_policy import STOPPING_RULES, check_confidence, rule_prefix


class SeparatedPolicy(NamedTuple):
    """A policy in three parts: the policy alone, its stopping rule, and its tide model.

    Attributes
    ----------
    spec : the policy without them.
    promise : confidence level and name of the stopping rule, or None for each.
    tide : model of the environment shifts.
    """

    spec: PolicySpec
    promise: tuple[float | None, str | None]
    tide: Tide


def separate_policy(
    given: Chosen, tide: Any = "auto", confidence: Any = None, rule: Any = None
) -> SeparatedPolicy:
    """Split a policy into three parts: the policy alone, its stopping rule, and its tide model.

    >>> separate_policy("hidden:linlucb").spec.label, separate_policy("hidden:linlucb").tide
    ('linlucb', 'hidden')
    >>> separate_policy(policy("linlucb", confidence=0.9, n0=3)).spec.label
    'linlucb(n0=3)'
    """
    spec, which = _without_tide(as_policy(given), checked_name(tide))
    spec, promise = _without_rule(spec, confidence, rule)
    return SeparatedPolicy(spec, promise, which)


def separate_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return experiment options in which tide model and stopping rule are no longer part of the policy.

    >>> found = separate_options({"policy": "sure:contrast", "seed": 3})
    >>> found.pop("policy").name, found
    ('contrast+ols', {'seed': 3, 'confidence': 0.95, 'rule': 'calibrated'})
    """
    if "policy" not in options:
        return dict(options)
    tide, confidence, rule = options.get("tide", "auto"), options.get("confidence"), options.get("rule")
    found = separate_policy(options["policy"], tide, confidence, rule)
    brought = dict(zip(("confidence", "rule"), found.promise, strict=True))
    brought["tide"] = None if found.tide == "auto" else found.tide
    return {**options, "policy": found.spec, **{k: v for k, v in brought.items() if v is not None}}


def _without_tide(spec: PolicySpec, tide: Tide) -> tuple[PolicySpec, Tide]:
    if spec.policy.tide in NOISE_MODELS and tide in TIDE_PREFIXES.values():
        raise InputError(
            f"policy {spec.label} requires tide='labels', not tide={tide!r}, because it models "
            f"{allowed_for(spec)}"
        )
    for prefix, its_own in TIDE_PREFIXES.items():
        if spec.policy.tide == its_own:
            if tide not in ("auto", its_own):
                raise InputError(f"policy {spec.label} has tide={its_own!r}, which contradicts tide={tide!r}")
            return _without_prefix(prefix, spec, dict(spec.options)), checked_name(its_own)
    return spec, tide


def _without_rule(spec: PolicySpec, confidence: Any, rule: Any) -> tuple[PolicySpec, tuple[Any, Any]]:
    for name, stopping in STOPPING_RULES.items():
        if spec.policy.name.startswith(stopping.prefix):
            options = dict(spec.options)
            its_own = options.pop("confidence", 0.95)
            if options.pop("bound", None) is not None:
                raise InputError(
                    f"bound= of {spec.label} works only in simulations: use confidence= in an Experiment"
                )
            others = confidence is not None and check_confidence(confidence) != its_own
            if others or (rule is not None and rule_prefix(rule) != stopping.prefix):
                given = f"confidence={confidence!r}" if others else f"rule={rule!r}"
                raise InputError(
                    f"policy {spec.label} already has confidence={its_own!r} and rule={name!r}, which "
                    f"contradicts {given}: omit confidence= and rule=, or pass the policy without the prefix "
                    f"{stopping.prefix!r}"
                )
            return _without_prefix(stopping.prefix, spec, options), (its_own, name)
    return spec, (confidence, rule)


def _without_prefix(prefix: str, spec: PolicySpec, options: dict[str, Any]) -> PolicySpec:
    """Remove a prefix, such as `hidden:`, from the name of a policy, and return the policy of that name.

    It gets the given options. A custom label is kept.
    """
    bare, rule = spec.policy.name.removeprefix(prefix), spec.selection.name
    label = None if spec.label.startswith(spec.policy.name) else spec.label
    usual = policy(bare).selection.name
    return policy(bare, label=label, selection=None if rule == usual else rule, **options)
