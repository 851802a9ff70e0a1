"""Settings of an experiment, read once from the options that its first event stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from tideproof.errors import InputError
from tideproof.experiment.events.event_records import Created
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards
from tideproof.stats.scales.scale_properties import Scale

Tide = Literal["auto", "labels", "hidden", "both"]
Rule = Literal["calibrated", "proven"]


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Settings of an experiment, with defaults for those that its creation event omits.

    Attributes
    ----------
    limits : the lowest and the highest possible reward.
    floors, caps : minimum and maximum shares of the pulls, by arm name.
    lease, default, reserve : seconds until a pending pull expires; its reward then; seconds within which a
        unit must see its arm.
    rewards, scale : kind of the rewards, and the scale on which the policy compares arms.
    confidence, rule : confidence level and name of the stopping rule.
    tide : model of the environment shifts.
    time_zone : time zone whose current date is the default environment.
    """

    limits: tuple[float, float] | None = None
    floors: Mapping[str, float] | None = None
    caps: Mapping[str, float] | None = None
    lease: float | None = None
    default: float | None = None
    reserve: float | None = None
    rewards: Rewards = "normal"
    scale: Scale = "difference"
    confidence: float | None = None
    rule: Rule | None = None
    tide: Tide = "labels"
    time_zone: str | None = None

    @property
    def has_window(self) -> bool:
        """Whether the experiment counts every reward only after a fixed waiting time."""
        return REWARD_KINDS[self.rewards].binary and self.lease is not None

    @property
    def has_normal_rule(self) -> bool:
        """Whether the experiment has a stopping rule that assumes normally distributed rewards."""
        return self.confidence is not None and REWARD_KINDS[self.rewards].normal


def settings_of(created: Created) -> ExperimentSettings:
    """Return the settings in the first event of an experiment, or raise an error if a setting is unknown."""
    known = {field.name for field in fields(ExperimentSettings)}
    unknown = sorted(set(created.options) - known)
    if unknown:
        raise InputError(f"unknown experiment option {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    options: dict[str, Any] = created.options
    return ExperimentSettings(**options)
