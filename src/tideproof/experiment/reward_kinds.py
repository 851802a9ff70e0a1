"""Kinds of rewards of an experiment: their allowed values, comparison scales and stopping rules."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

from tideproof.errors import InputError
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS
from tideproof.stats.scales.scale_properties import Scale
from tideproof.text import join_names

Rewards = Literal["normal", "conversions", "counts", "money"]


class RewardKind(NamedTuple):
    """Kind of rewards of an experiment: its allowed values, comparison scales and assumptions.

    Attributes
    ----------
    label, values : the kind in the words of a web form; the allowed values in words.
    lowest, highest, whole : bounds of the values, and whether they must be whole numbers.
    scales : scales on which arms may be compared; the second, if there is one, is the default.
    normal : whether rewards are about normal, which hidden tides and the proven stopping rule assume.
    binary : whether a reward is 0 or 1, so that its mean determines all moments of a cell.
    totals : whether a summary may give the total of the rewards, whose mean is then also their variance.
    """

    label: str
    values: str
    lowest: float
    highest: float
    whole: bool
    scales: tuple[Scale, ...]
    normal: bool = False
    binary: bool = False
    totals: bool = False


REWARD_KINDS: dict[Rewards, RewardKind] = {
    "normal": RewardKind(
        "a number, such as a score", "a number", -math.inf, math.inf, False, ("difference",), normal=True
    ),
    "conversions": RewardKind(
        "0 or 1, such as no purchase or purchase",
        "0 or 1",
        0.0,
        1.0,
        True,
        ("difference", "ratio", "odds"),
        binary=True,
    ),
    "counts": RewardKind(
        "a count, such as clicks",
        "a whole number of at least 0",
        0.0,
        math.inf,
        True,
        ("difference", "ratio"),
        totals=True,
    ),
    "money": RewardKind(
        "an amount of money, mostly 0", "at least 0", 0.0, math.inf, False, ("difference", "ratio")
    ),
}


def checked_rewards(rewards: Any) -> Rewards:
    """Return the kind of rewards if it is one of the allowed names, or raise an error."""
    if not isinstance(rewards, str) or rewards not in REWARD_KINDS:
        raise InputError(f"rewards must be {join_names(map(repr, REWARD_KINDS), 'or')}, not {rewards!r}")
    return rewards


def checked_scale(scale: Any, rewards: Rewards, spec: PolicySpec) -> Scale:
    """Return the scale (difference, ratio or odds) on which arms are compared, or raise an error.

    `"auto"` is a ratio if rewards are not normal and the policy decides by the fit alone, else a difference.
    """
    kind, able = REWARD_KINDS[rewards], spec.reads == {"fit"} and spec.policy.merges is not None
    if scale == "auto":
        return kind.scales[1] if able and len(kind.scales) > 1 else kind.scales[0]
    if not isinstance(scale, str) or scale not in get_args(Scale):
        allowed = join_names(map(repr, ("auto", *get_args(Scale))), "or")
        raise InputError(f"scale must be {allowed}, not {scale!r}")
    if scale not in kind.scales:
        possible = [repr(name) for name, each in REWARD_KINDS.items() if scale in each.scales]
        raise InputError(f"scale={scale!r} is for rewards={join_names(possible, 'or')}, not {rewards!r}")
    if scale != "difference" and spec.policy.tide in NOISE_MODELS:
        raise InputError(
            f"scale={scale!r} cannot be combined with {spec.label}, which compares arms by differences"
        )
    if scale != "difference" and not able:
        raise InputError(
            f"scale={scale!r} is for policies that decide by the fit alone, such as 'contrast'; "
            f"{spec.label} does not"
        )
    return scale
