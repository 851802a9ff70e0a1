"""Settings of an experiment, read once from the options that its first event stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from tideproof.errors import InputError
from tideproof.experiment.events.event_records import Created
from tideproof.experiment.pull import Label
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards
from tideproof.stats.scales.scale_properties import Scale

Tide = Literal["auto", "labels", "hidden", "both"]
Rule = Literal["calibrated", "proven"]

# Options that the first event of an experiment stores under another name than their parameter has.
_STORED_NAMES = {"minimum_shares": "floors", "maximum_shares": "caps"}
_PUBLIC_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Settings of an experiment, with defaults for those that its creation event omits.

    Attributes
    ----------
    limits : the lowest and the highest possible reward.
    minimum_shares, maximum_shares : minimum and maximum shares of the pulls, by arm name.
    lease, default, reserve : seconds until a pending pull expires; its reward then; seconds within which a
        unit must see its arm.
    rewards, scale : kind of the rewards, and the scale on which the policy compares arms.
    confidence, rule : confidence level and name of the stopping rule.
    tide : model of the environment shifts.
    time_zone : time zone whose current date is the default environment.
    control : the arm that visitors get while no pull can be given to them and no arm is shipped.
    environments : labels of the environments from which the policy chooses; None if the caller names them.
    tolerance : difference of means that does not matter to the stopping rule.
    looks : planned number of looks, and the name of their spending function; None without a plan.
    """

    limits: tuple[float, float] | None = None
    minimum_shares: Mapping[str, float] | None = None
    maximum_shares: Mapping[str, float] | None = None
    lease: float | None = None
    default: float | None = None
    reserve: float | None = None
    rewards: Rewards = "normal"
    scale: Scale = "difference"
    confidence: float | None = None
    rule: Rule | None = None
    tide: Tide = "labels"
    time_zone: str | None = None
    control: str | None = None
    environments: tuple[Label, ...] | None = None
    tolerance: float = 0.0
    looks: Sequence[Any] | None = None

    @property
    def has_window(self) -> bool:
        """Whether the experiment counts every reward only after a fixed waiting time."""
        return REWARD_KINDS[self.rewards].binary and self.lease is not None

    @property
    def has_normal_rule(self) -> bool:
        """Whether the experiment has a stopping rule that assumes normally distributed rewards."""
        normal = REWARD_KINDS[self.rewards].normal
        unplanned = self.environments is None and self.looks is None
        return self.confidence is not None and normal and unplanned


def settings_of(created: Created) -> ExperimentSettings:
    """Return the settings in the first event of an experiment, or raise an error if a setting is unknown."""
    known = {_STORED_NAMES.get(field.name, field.name) for field in fields(ExperimentSettings)}
    unknown = sorted(set(created.options) - known)
    if unknown:
        raise InputError(f"unknown experiment option {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    return ExperimentSettings(**to_public_names(created.options))


def to_stored_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an experiment under the names that its first event stores."""
    return {_STORED_NAMES.get(name, name): value for name, value in options.items()}


def to_public_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options from the first event of an experiment under the names of their parameters.

    >>> to_public_names({"floors": {"A": 0.2}, "lease": 60.0})
    {'minimum_shares': {'A': 0.2}, 'lease': 60.0}
    """
    return {_PUBLIC_NAMES.get(name, name): value for name, value in options.items()}
