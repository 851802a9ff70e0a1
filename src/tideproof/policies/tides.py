"""What a policy's statistics know of the tide: labels, nothing, or labels inside of which it moves.

A policy reads `data.fit` through the words of `kernels.statistics`; which statistics these are is decided
here, when its program is linked. `hidden:contrast` is `contrast` without labels, and `tp.policy("contrast",
tide="hidden")` names it, too; `both:contrast` is told when the tide jumps, and follows it in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.kernels import fixed_effects, hidden_tide, reduce
from tideproof.kernels.fixed_effects import FixedEffects
from tideproof.kernels.hidden_reduce import adjust
from tideproof.kernels.hidden_tide import HiddenTide
from tideproof.policies.definition import Policy

HIDDEN = "hidden:"  # before the name of a policy that gets no labels
BOTH = "both:"  # ... that gets labels, and does not take the tide to stand still inside them


@dataclass(frozen=True)
class Tide:
    """Statistics of one kind.

    Attributes
    ----------
    prefix : before the name of a policy that reads them.
    fit : the type of `data.fit`.
    kernels : what takes the place of the kernels for labels.
    labels : whether an environment's label is looked at.
    """

    prefix: str
    fit: Any
    kernels: Mapping[Any, Any]
    labels: bool


_FOLLOWED = {
    fixed_effects.observe: hidden_tide.observe,
    fixed_effects.place: hidden_tide.place,
    fixed_effects.pull_here: hidden_tide.pull_here,
    reduce.adjust: adjust,
}

TIDES = {
    "labels": Tide("", FixedEffects, {}, True),
    "hidden": Tide(HIDDEN, HiddenTide, _FOLLOWED, False),
    "both": Tide(BOTH, HiddenTide, _FOLLOWED | {fixed_effects.observe: hidden_tide.observe_labelled}, True),
}

FOLLOWED = {tide.prefix: name for name, tide in TIDES.items() if tide.prefix}  # without a label's level


def tide_prefix(tide: Any) -> str:
    """Return what stands before the name of a policy with such statistics."""
    if tide not in TIDES:
        raise UnknownName.among("tide", tide, TIDES)
    return TIDES[tide].prefix


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
