"""Models of the shifts and of the noise, from which a policy gets the statistics that it reads.

By default the statistics assume one shift for each environment label and one noise variance. Other models
estimate the shifts without labels, or let them change within an environment, or allow unequal noise
variances, interactions of arms and environments, or outlying cells.

A policy reads `data.fit` through the functions of `kernels/fit/statistics_interface.py`. Linking its program
decides which model computes them. Options of `tp.policy` choose the model (`tide=`, `noise=`, `interaction=`
and `robust=`). Each has a prefix in the labels of studies: `tp.policy("contrast", tide="hidden")` is
`hidden:contrast`.
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
from tideproof.policies.final_selection_rules import SHRUNK
from tideproof.policies.policy_definition import Policy
from tideproof.text import join_names

HIDDEN = "hidden:"  # starts the name of a policy that ignores labels and estimates the shifts
BOTH = "both:"  # starts the name of a policy that uses labels and lets the shift change within them


@dataclass(frozen=True)
class StatisticsModel:
    """Model of shifts and noise that computes the statistics that a policy reads.

    Attributes
    ----------
    prefix : start of the name of a policy that uses this model.
    fit : the type of `data.fit`.
    kernels : replacements for the kernels of the default model.
    labels : whether the model uses the labels of environments.
    cells : whether the model needs the mean of each arm in the slot.
    """

    prefix: str
    fit: Any
    kernels: Mapping[Any, Any]
    labels: bool
    cells: bool = False


_HIDDEN_KERNELS = {
    fixed_effects.observe: hidden_tide.observe,
    fixed_effects.place: hidden_tide.place,
    fixed_effects.pull_here: hidden_tide.pull_here,
    adjusted_moments.adjust: adjust,
}

TIDES = {
    "labels": StatisticsModel("", FixedEffects, {}, True),
    "hidden": StatisticsModel(HIDDEN, HiddenTide, _HIDDEN_KERNELS, False),
    "both": StatisticsModel(
        BOTH, HiddenTide, _HIDDEN_KERNELS | {fixed_effects.observe: hidden_tide.observe_labelled}, True
    ),
}

# Maps the option `interaction` to a prefix, the number of variances to try, and the prior log odds of none.
INTERACTIONS: dict[Any, tuple[str, int, float]] = {
    False: ("", 1, 0.0),
    True: ("interaction:", MAXIMUM_FITS, -1e9),
    "auto": ("auto:", MAXIMUM_FITS, 3.0),
}
NOISES = {"common": "", "by-arm": "by-arm:"}


def _noise_model(prefix: str, by_arm: bool, fits: int, calm: float) -> StatisticsModel:
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


NOISE_MODELS = {
    noise + prefix: _noise_model(noise + prefix, bool(noise), fits, calm)
    for noise in NOISES.values()
    for prefix, fits, calm in INTERACTIONS.values()
    if noise + prefix
}
ROBUST = "robust:"
NOISE_MODELS[ROBUST] = StatisticsModel(
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
STATISTICS = TIDES | NOISE_MODELS  # all models, by their name in `Policy.tide`
SUPPORTED_POLICIES = ("contrast", "linlucb", "top-two-thompson", "round-robin")  # of the noise models

TIDE_PREFIXES = {tide.prefix: name for name, tide in TIDES.items() if tide.prefix}


def tide_prefix(tide: Any) -> str:
    """Return the prefix of policy names that stands for a model of the shifts, such as "hidden:"."""
    if not isinstance(tide, str) or tide not in TIDES:
        raise UnknownName.with_suggestion("tide", tide, TIDES)
    return TIDES[tide].prefix


def noise_prefix(noise: Any, interaction: Any, robust: Any) -> str:
    """Return the prefix of policy names that stands for a model of the noise, such as "by-arm:".

    The model is that of the options `noise`, `interaction` and `robust`.
    """
    if not isinstance(noise, str) or noise not in NOISES:
        raise InputError(f"noise must be 'common' or 'by-arm', not {describe_value(noise)}")
    if not isinstance(interaction, (bool, str)) or interaction not in INTERACTIONS:
        raise InputError(f"interaction must be True, False or 'auto', not {describe_value(interaction)}")
    if robust is not None and not (isinstance(robust, str) and robust == "cells"):
        raise InputError(f"robust must be None or 'cells', not {describe_value(robust)}")
    prefix = NOISES[noise] + INTERACTIONS[interaction][0]
    if prefix and robust:
        raise InputError("robust='cells' cannot be combined with noise= or interaction=: give one of them")
    return ROBUST if robust else prefix


@cache
def with_noise_model(inner: Policy, prefix: str) -> Policy:
    """Return a copy of a policy whose estimates allow for unequal noise, interactions or outliers."""
    options = "noise=, interaction= and robust="
    if inner.stops:
        raise InputError(
            f"{options} cannot be added to {inner.name}, which stops by itself: no stopping rule is "
            f"calibrated for them"
        )
    if inner.tide != "labels":
        raise InputError(
            f"{options} cannot be added to {inner.name}, which already has a model of the shifts or the noise"
        )
    if inner.name not in SUPPORTED_POLICIES:
        raise InputError(f"{options} are for {join_names(SUPPORTED_POLICIES, 'and')}, not for {inner.name}")
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
def with_tide(inner: Policy, tide: str) -> Policy:
    """Return a copy of a policy for shifts at unknown times, with or without environment labels."""
    if inner.tide != "labels":
        raise InputError(
            f"{inner.name} already has a model of the shifts or the noise: tide={tide!r} cannot be added"
        )
    if inner.stops:
        raise InputError(
            f"tide={tide!r} cannot be added to {inner.name}, which stops by itself: no stopping rule is "
            f"calibrated for it"
        )
    rules = tuple(rule for rule in inner.selections if "fit" in rule.reads)
    if not inner.shift_aware or not rules:
        raise InputError(
            f"{inner.name} does not estimate shifts: tide={tide!r} needs a policy that does, such as "
            f"'contrast' or 'reduce:{inner.name.removeprefix('reduce:')}'"
        )
    return replace(inner, name=TIDES[tide].prefix + inner.name, selections=rules, tide=tide, merges=None)
