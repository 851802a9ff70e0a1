"""The option `environments` of an experiment whose policy chooses the environment of each pull."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tideproof.checks import require_finite, require_list
from tideproof.errors import InputError, describe_value
from tideproof.experiment.pull import Label, checked_label
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.stopping_policy import check_confidence, rule_prefix
from tideproof.text import join_names

MOST_PAIRS = 50_000_000  # pairs of an arm and an environment; each takes about 12 bytes

# Options that have no meaning if the policy chooses the environment, with the value that they have then.
_WITHOUT = {
    "policy": "contrast",
    "tide": ("auto", "labels"),
    "rewards": "normal",
    "scale": ("auto", "difference"),
    "minimum_shares": None,
    "maximum_shares": None,
    "reserve": None,
    "visitors": False,
    "time_zone": None,
    "control": None,
}


def checked_environments(environments: Any, arms: int) -> tuple[Label, ...]:
    """Return the labels of the environments as a tuple, or raise an error unless they are distinct."""
    if isinstance(environments, str):
        raise InputError(
            f"environments must be a list of labels, such as the IDs of test items, not {environments!r}"
        )
    labels = tuple(checked_label(label) for label in require_list("environments", environments))
    if not labels:
        raise InputError("environments must have at least one label, such as the ID of a test item")
    twice = [label for label, count in Counter(labels).items() if count > 1]
    if twice:
        raise InputError(
            f"environments must have different labels; more than once: {join_names(map(repr, twice[:3]))}"
        )
    if len(labels) * arms > MOST_PAIRS:
        raise InputError(
            f"{arms} arms in {len(labels):,} environments are {arms * len(labels):,} pairs; at most "
            f"{MOST_PAIRS:,} are supported"
        )
    return labels


def check_other_options(options: Mapping[str, Any]) -> None:
    """Raise an error for options that need the user, not the policy, to choose the environments."""
    for name, allowed in _WITHOUT.items():
        given = options[name]
        if isinstance(given, PolicySpec) and name == "policy":
            given = given.policy.name
        possible = allowed if isinstance(allowed, tuple) else (allowed,)
        if not any(type(given) is type(each) and given == each for each in possible):
            raise InputError(
                f"{name}={describe_value(options[name])} is not possible with environments=: the policy "
                f"chooses "
                f"the environment of each pull itself. Omit {name}"
            )


def environment_choice_options(
    options: Mapping[str, Any], arms: int, limits: tuple[float, float] | None
) -> dict[str, Any]:
    """Validate the options of an experiment whose policy chooses the environments; return them."""
    check_other_options(options)
    found: dict[str, Any] = {"environments": checked_environments(options["environments"], arms)}
    confidence, rule, tolerance = (options[name] for name in ("confidence", "rule", "tolerance"))
    if confidence is None:
        for name in ("rule", "tolerance"):
            if options[name] is not None:
                raise InputError(f"{name}={describe_value(options[name])} requires confidence, such as 0.95")
        return found
    rule = "proven" if rule is None else rule  # it costs no more calls than the other one
    rule_prefix(rule)  # raises an error if the name is unknown
    low, high = found["limits"] = (0.0, 1.0) if limits is None else limits
    found |= {"confidence": check_confidence(confidence), "rule": rule}
    if tolerance is not None:
        found["tolerance"] = require_finite("tolerance", tolerance, 0.0)
        if found["tolerance"] >= high - low:
            raise InputError(
                f"tolerance must be below {high - low:g}, the range of the rewards, not {tolerance!r}"
            )
    return found


def environment_choice_policy(confidence: float | None) -> PolicySpec:
    """Return the policy by whose statistics an experiment is kept that chooses its environments.

    Its label names the rule by which pairs are chosen.
    """
    return policy("contrast", label="most valuable pair" if confidence is None else "race")
