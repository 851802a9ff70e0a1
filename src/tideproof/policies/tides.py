"""What a policy's statistics know of the tide: labels, or nothing.

A policy reads `data.fit` through the words of `kernels.statistics`; which statistics these are is decided
here, when its program is linked. `hidden:contrast` is `contrast` without labels, and `tp.policy("contrast",
tide="hidden")` names it, too.
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


TIDES = {
    "labels": Tide("", FixedEffects, {}, True),
    "hidden": Tide(
        HIDDEN,
        HiddenTide,
        {
            fixed_effects.observe: hidden_tide.observe,
            fixed_effects.place: hidden_tide.place,
            fixed_effects.pull_here: hidden_tide.pull_here,
            reduce.adjust: adjust,
        },
        False,
    ),
}


def tide_prefix(tide: Any) -> str:
    """Return what stands before the name of a policy with such statistics."""
    if tide not in TIDES:
        raise UnknownName.among("tide", tide, TIDES)
    return TIDES[tide].prefix


@cache
def without_labels(inner: Policy) -> Policy:
    """Return the policy on the statistics of a hidden tide."""
    if inner.stops:
        raise InputError(f"{inner.name} stops by itself: with tide='hidden' no rule that stops is calibrated")
    rules = tuple(rule for rule in inner.selections if "fit" in rule.reads)
    if not inner.shift_aware or not rules:
        raise InputError(
            f"{inner.name} does not know of shifts: tide='hidden' needs a policy that does, such as "
            f"'contrast' or 'reduce:{inner.name.removeprefix('reduce:')}'"
        )
    return replace(inner, name=HIDDEN + inner.name, selections=rules, tide="hidden", merges=None)
