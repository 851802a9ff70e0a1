"""The tide and the rule that a policy brings along: of an experiment they are options beside the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tideproof.errors import InputError
from tideproof.experiment.tide_options import Tide, checked_name
from tideproof.policies.policy_registry import Chosen, as_policy, policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS, TIDE_PREFIXES
from tideproof.policies.stopping_policy import RULES, check_confidence, rule_prefix


class Parted(NamedTuple):
    """A policy that brings nothing along, and the options beside it; a promise is confidence and rule."""

    spec: PolicySpec
    promise: tuple[float | None, str | None]
    tide: Tide


def parted(given: Chosen, tide: Any = "auto", confidence: Any = None, rule: Any = None) -> Parted:
    """Return the policy without what `tp.policy(..., tide="hidden")` or `confidence=0.95` gave it, and that.

    >>> parted("hidden:linlucb").spec.label, parted("hidden:linlucb").tide
    ('linlucb', 'hidden')
    >>> parted(policy("linlucb", confidence=0.9, n0=3)).spec.label
    'linlucb(n0=3)'
    """
    spec, which = _without_tide(as_policy(given), checked_name(tide))
    spec, promise = _without_rule(spec, confidence, rule)
    return Parted(spec, promise, which)


def beside(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an experiment, what its policy brings along among them and no longer in the policy.

    >>> found = beside({"policy": "sure:contrast", "seed": 3})
    >>> found.pop("policy").name, found
    ('contrast+ols', {'seed': 3, 'confidence': 0.95, 'rule': 'calibrated'})
    """
    if "policy" not in options:
        return dict(options)
    tide, confidence, rule = options.get("tide", "auto"), options.get("confidence"), options.get("rule")
    found = parted(options["policy"], tide, confidence, rule)
    brought = dict(zip(("confidence", "rule"), found.promise, strict=True))
    brought["tide"] = None if found.tide == "auto" else found.tide
    return {**options, "policy": found.spec, **{k: v for k, v in brought.items() if v is not None}}


def _without_tide(spec: PolicySpec, tide: Tide) -> tuple[PolicySpec, Tide]:
    if spec.policy.tide in NOISE_MODELS and tide in TIDE_PREFIXES.values():
        raise InputError(f"{spec.label} needs labels: tide={tide!r} has statistics of its own")
    for prefix, its_own in TIDE_PREFIXES.items():
        if spec.policy.tide == its_own:
            if tide not in ("auto", its_own):
                raise InputError(f"{spec.label} has its tide already: tide={tide!r} contradicts it")
            return _without(prefix, spec, dict(spec.options)), checked_name(its_own)
    return spec, tide


def _without_rule(spec: PolicySpec, confidence: Any, rule: Any) -> tuple[PolicySpec, tuple[Any, Any]]:
    for name, prefix in RULES.items():
        if spec.policy.name.startswith(prefix):
            options = dict(spec.options)
            its_own = options.pop("confidence", 0.95)
            if options.pop("bound", None) is not None:
                raise InputError(f"{spec.label}: a bound is for the lab; an Experiment has a confidence")
            others = confidence is not None and check_confidence(confidence) != its_own
            if others or (rule is not None and rule_prefix(rule) != prefix):
                raise InputError(f"{spec.label} has a confidence and a rule of its own: give them once")
            return _without(prefix, spec, options), (its_own, name)
    return spec, (confidence, rule)


def _without(prefix: str, spec: PolicySpec, options: dict[str, Any]) -> PolicySpec:
    """Return the policy behind a prefix, with these options; a label of its own stays."""
    bare, rule = spec.policy.name.removeprefix(prefix), spec.selection.name
    label = None if spec.label.startswith(spec.policy.name) else spec.label
    usual = policy(bare).selection.name
    return policy(bare, label=label, selection=None if rule == usual else rule, **options)
