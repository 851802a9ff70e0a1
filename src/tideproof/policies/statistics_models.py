"""What a policy's statistics know of tide and noise.

Of the tide: labels, nothing, or labels inside of which it moves. With labels, also that noise is not the same
for all arms, or that environments do something to each arm alone.

A policy reads `data.fit` through the words of `kernels.statistics`; which statistics these are is decided
here, when its program is linked. `hidden:contrast` is `contrast` without labels, and `tp.policy("contrast",
tide="hidden")` names it, too; `both:contrast` is told when the tide jumps, and follows it in between.
`by-arm:contrast`, `auto:contrast` and `robust:contrast` are it with `noise="by-arm"`, `interaction="auto"`
and `robust="cells"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.kernels.fit import adjusted_moments, fixed_effects, hidden_tide, outlying_cells, unequal_noise
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.fit.hidden_tide import HiddenTide
from tideproof.kernels.fit.hidden_tide_moments import adjust
from tideproof.kernels.fit.outlying_cells import OutlierResistantFit
from tideproof.kernels.fit.unequal_noise import MAXIMUM_FITS, UnequalNoise
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import SHRUNK
from tideproof.text import join_names

HIDDEN = "hidden:"  # before the name of a policy that gets no labels
BOTH = "both:"  # ... that gets labels, and does not take the tide to stand still inside them


@dataclass(frozen=True)
class StatisticsModel:
    """Statistics of one kind.

    Attributes
    ----------
    prefix : before the name of a policy that reads them.
    fit : the type of `data.fit`.
    kernels : what takes the place of the kernels for labels.
    labels : whether an environment's label is looked at.
    cells : whether the mean of each arm in the slot is needed.
    """

    prefix: str
    fit: Any
    kernels: Mapping[Any, Any]
    labels: bool
    cells: bool = False


_FOLLOWED = {
    fixed_effects.observe: hidden_tide.observe,
    fixed_effects.place: hidden_tide.place,
    fixed_effects.pull_here: hidden_tide.pull_here,
    adjusted_moments.adjust: adjust,
}

TIDES = {
    "labels": StatisticsModel("", FixedEffects, {}, True),
    "hidden": StatisticsModel(HIDDEN, HiddenTide, _FOLLOWED, False),
    "both": StatisticsModel(
        BOTH, HiddenTide, _FOLLOWED | {fixed_effects.observe: hidden_tide.observe_labelled}, True
    ),
}

INTERACTIONS: dict[Any, tuple[str, int, float]] = {  # prefix, how many variances, log odds of none
    False: ("", 1, 0.0),
    True: ("interaction:", MAXIMUM_FITS, -1e9),
    "auto": ("auto:", MAXIMUM_FITS, 3.0),
}
NOISES = {"common": "", "by-arm": "by-arm:"}


def _uneven(prefix: str, by_arm: bool, fits: int, calm: float) -> StatisticsModel:
    kernels = {
        fixed_effects.observe: unequal_noise.observe,
        fixed_effects.place: unequal_noise.place,
        fixed_effects.pull_here: unequal_noise.pull_here,
        fixed_effects.pull_noise: unequal_noise.pull_noise,
        "BY_ARM": by_arm,
        "FITS": fits,
        "CALM": calm,
        "noise_before": unequal_noise.equal_noise,
        "ratio_of": unequal_noise.ratio_of_fit,
    }
    return StatisticsModel(prefix, UnequalNoise, kernels, True, cells=True)


def knowing(name: str, noise: Any, ratio: Any) -> StatisticsModel:
    """Return statistics that are told all, by kernels: the noise of an arm, the interaction's variance.

    For those who ask how much not knowing them costs: `STATISTICS[name] = knowing(name, ...)`.
    """
    told = {"noise_before": noise, "ratio_of": ratio}
    return StatisticsModel(
        name, UnequalNoise, {**_uneven(name, False, 1, 0.0).kernels, **told}, True, cells=True
    )


UNEVEN = {
    noise + prefix: _uneven(noise + prefix, bool(noise), fits, calm)
    for noise in NOISES.values()
    for prefix, fits, calm in INTERACTIONS.values()
    if noise + prefix
}
ROBUST = "robust:"
UNEVEN[ROBUST] = StatisticsModel(
    ROBUST,
    OutlierResistantFit,
    {
        fixed_effects.observe: outlying_cells.observe,
        fixed_effects.place: outlying_cells.place,
        fixed_effects.pull_here: outlying_cells.pull_here,
        fixed_effects.pull_noise: outlying_cells.pull_noise,
    },
    True,
    cells=True,
)
STATISTICS = TIDES | UNEVEN  # all kinds, as `Policy.tide` names them
WEIGHED = ("contrast", "linlucb", "top-two-thompson", "round-robin")  # who can read them

FOLLOWED = {tide.prefix: name for name, tide in TIDES.items() if tide.prefix}  # without a label's level


def tide_prefix(tide: Any) -> str:
    """Return what stands before the name of a policy with such statistics."""
    if not isinstance(tide, str) or tide not in TIDES:
        raise UnknownName.with_suggestion("tide", tide, TIDES)
    return TIDES[tide].prefix


def uneven_prefix(noise: Any, interaction: Any, robust: Any) -> str:
    """Return what stands before the name of a policy on uneven statistics."""
    if not isinstance(noise, str) or noise not in NOISES:
        raise InputError(f"noise must be 'common' or 'by-arm', not {describe_value(noise)}")
    if not isinstance(interaction, (bool, str)) or interaction not in INTERACTIONS:
        raise InputError(f"interaction must be True, False or 'auto', not {describe_value(interaction)}")
    if robust is not None and not (isinstance(robust, str) and robust == "cells"):
        raise InputError(f"robust must be None or 'cells', not {describe_value(robust)}")
    prefix = NOISES[noise] + INTERACTIONS[interaction][0]
    if prefix and robust:
        raise InputError("robust='cells' does not go with noise= or interaction=: give one of them")
    return ROBUST if robust else prefix


@cache
def on_uneven(inner: Policy, prefix: str) -> Policy:
    """Return the policy on statistics that allow for unequal noise, an interaction or outliers."""
    what = "noise=, interaction= and robust="
    if inner.stops:
        raise InputError(f"{inner.name} stops by itself: with {what} no rule that stops is calibrated")
    if inner.tide != "labels":
        raise InputError(f"{inner.name} has its statistics already: {what} need plain labels")
    if inner.name not in WEIGHED:
        raise InputError(f"{what} are for {join_names(WEIGHED, 'and')}, not for {inner.name}")
    by_arm = prefix.startswith(NOISES["by-arm"])
    rules = tuple(rule for rule in inner.selections if "fit" in rule.reads)
    return replace(
        inner,
        name=prefix + inner.name,
        selections=(SHRUNK, *rules) if by_arm else rules,
        configure=partial(inner.configure, **inner.on_unequal) if by_arm else inner.configure,
        tide=prefix,
        merges=None,
    )


@cache
def on_tide(inner: Policy, tide: str) -> Policy:
    """Return the policy on the statistics of a tide that is followed, `"hidden"` or `"both"`."""
    if inner.tide != "labels":
        raise InputError(f"{inner.name} has its tide already: tide={tide!r} cannot be given, too")
    if inner.stops:
        raise InputError(f"{inner.name} stops by itself: with tide={tide!r} no rule that stops is calibrated")
    rules = tuple(rule for rule in inner.selections if "fit" in rule.reads)
    if not inner.shift_aware or not rules:
        raise InputError(
            f"{inner.name} does not know of shifts: tide={tide!r} needs a policy that does, such as "
            f"'contrast' or 'reduce:{inner.name.removeprefix('reduce:')}'"
        )
    return replace(inner, name=TIDES[tide].prefix + inner.name, selections=rules, tide=tide, merges=None)
