"""Reduce-to-MAB runs any policy on rewards from which the estimated shifts are subtracted.

`reduce:lucb` is `lucb` on r - s_j. The shifts s_j are estimated again after every pull and subtracted from
all earlier rewards. The adjusted means are then the fixed-effects estimates, so shifts no longer affect a
policy that was made for rewards without shifts. The policy does not know how uncertain the estimated shifts
are: its variances are too small, most of all in short environments.

Algorithm 1 chooses the arms until shared environments connect all of them. Afterwards, if the inner policy
would begin an environment with the same arm twice, the least-pulled other arm that is not eliminated is
pulled instead. Eliminations are final. A policy that reads single rewards, such as `exp4p`, which clips
them, cannot be used with this prefix.

It costs O(K^2) per step in addition to the inner policy, and O(K^3) in time and memory if the policy reads
sample variances (`kernels/fit/adjusted_moments.py` says why).

Srisawad, Branke, Tran-Thanh (2024), section 5.2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Annotated, Any

import numpy as np

from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Floats, compose_state_type
from tideproof.errors import InputError, KernelError
from tideproof.kernels.choose.arm_choice import contend
from tideproof.kernels.choose.connected_start import start_arm, start_tell
from tideproof.kernels.fit.adjusted_moments import Reduction, adjust, flatten
from tideproof.kernels.fit.policy_data import Data, enter
from tideproof.kernels.fit.statistics_interface import connected
from tideproof.policies.final_selection_rules import OLS, Selection
from tideproof.policies.policy_definition import PREFIX, Policy, keep_all_arms, weigh_all_alike
from tideproof.policies.reserved_placeholders import refuse_reserved_holes
from tideproof.policies.statistics_models import STATISTICS, TIDE_PREFIXES
from tideproof.policies.stopping_policy import RULE_PREFIXES

REDUCE_HOLES = (
    "inner_ask",
    "inner_tell",
    "inner_select",
    "inner_weigh",
    "inner_active",
    "SQUARES",
    "WEIGHTED",
)

inner_ask = hole("inner_ask")
inner_tell = hole("inner_tell")
inner_select = hole("inner_select")
inner_weigh = hole("inner_weigh")
inner_active = hole("inner_active")


@kernel
def adjusted_data(state, data):
    """Return the statistics that the wrapped policy reads: those of the rewards minus the estimated shifts.

    To the inner policy it seems as if there were one environment.
    """
    adjusted = state.reduction
    return Data(
        data.pulls, adjusted.moments, adjusted.fit, data.periods, data.told, data.reward, data.squares
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the wrapped policy's choice, but avoid beginning an environment with two pulls of one arm.

    If another arm may be pulled, the least-pulled one replaces a repetition of the environment's first arm.
    """
    first = slot.arm[0] if slot.size[0] == 1.0 else -1
    if not connected(data.fit):
        return start_arm(state.reduction.start, data, slot, 1, first, draw)
    arm = inner_ask(params, state.inner, adjusted_data(state, data), state.reduction.slot, draw)
    if arm < 0 or arm != first:
        return arm
    other, top, ties = -1, 0.0, 0
    for i in range(data.pulls.size):
        if i != first and inner_active(params, state.inner, i):
            other, top, ties = contend(other, top, ties, i, -float(data.pulls[i]), draw)
    return other if other >= 0 else arm


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update the statistics of rewards minus estimated shifts after n pulls, then the wrapped policy."""
    reduction = state.reduction
    start_tell(reduction.start, data, slot, arm, n)
    if data.told[0] > 0:
        weight = inner_weigh(params, state.inner, adjusted_data(state, data), arm)
        adjust(reduction, state.square, data, slot, arm, n, weight)
    flatten(reduction, data)
    if connected(data.fit):
        inner_tell(params, state.inner, adjusted_data(state, data), reduction.slot, arm, n, draw)
    enter(reduction.slot, arm, n, 0.0)


@kernel
def select(params, state, data, draw):
    """Return the arm that the wrapped policy selects, given the rewards minus the estimated shifts."""
    return inner_select(params, state.inner, adjusted_data(state, data), draw)


@cache
def reduce_policy(inner: Policy) -> Policy:
    """Return a policy that runs `inner` on rewards from which the estimated shifts are subtracted."""
    _check_prefixes(inner)
    if "reward" in inner.reads:
        raise InputError(
            f"{inner.name} cannot be used with the prefix {PREFIX!r}: it reads single rewards, but the "
            f"prefix provides only statistics of each arm, such as its mean"
        )
    for name in inner.holes:
        if name in REDUCE_HOLES:
            raise KernelError(
                f"policy {inner.name!r} cannot be used with the prefix {PREFIX!r}: it defines the "
                f"placeholder (hole) {name!r}, which is reserved for this prefix. Rename the placeholder "
                f"(reserved names: {', '.join(REDUCE_HOLES)})"
            )
    for rule in inner.selections:
        inner_kernels = (inner.ask, inner.tell, inner.weigh, inner.active, rule.select)
        refuse_reserved_holes(REDUCE_HOLES, inner_kernels, {**inner.holes, **rule.holes})
    squares = "moments" in inner.reads
    side: Any = "K" if squares else 0
    square = Annotated[Floats, np.float64, side, side, side]
    state = compose_state_type("State", inner=inner.State, reduction=Reduction, square=square)
    selections = tuple(
        _reduce_rule(rule) for rule in inner.selections if not rule.reads & {"period", "control"}
    )
    weighted = "sums" in inner.reads or any("sums" in rule.reads for rule in selections)
    return replace(
        inner,
        name=PREFIX + inner.name,
        idea=f"{inner.idea}; on rewards from which the estimated shifts are subtracted",
        State=state,
        ask=ask,
        tell=tell,
        selections=selections,
        reads=frozenset({"fit", "cells", "reward"}),
        reads_with_rule=frozenset(),
        weigh=weigh_all_alike,  # `ask` and `tell` above call `weigh` and `active` of the inner policy
        active=keep_all_arms,
        merges=None,
        shift_aware=inner.weigh
        is weigh_all_alike,  # weights multiply the first shift, which is not subtracted
        holes={
            "inner_ask": inner.ask,
            "inner_tell": inner.tell,
            "inner_weigh": inner.weigh,
            "inner_active": inner.active,
            "SQUARES": squares,
            "WEIGHTED": weighted,
            **inner.holes,
        },
    )


def _check_prefixes(inner: Policy) -> None:
    """Raise `InputError` if the policy has a prefix that must not follow "reduce:"."""
    if inner.name.startswith(PREFIX):
        raise InputError(f"{PREFIX}{inner.name} subtracts the shifts twice: write {inner.name}")
    for prefix in (*TIDE_PREFIXES, *RULE_PREFIXES):
        if inner.name.startswith(prefix):
            bare = inner.name.removeprefix(prefix)
            raise InputError(
                f"{PREFIX}{inner.name} has its prefixes in the wrong order: write {prefix}{PREFIX}{bare}"
            )
    if inner.tide != "labels":
        bare = inner.name.removeprefix(STATISTICS[inner.tide].prefix)
        raise InputError(
            f"{inner.name} cannot be used with the prefix {PREFIX!r}, because it has its own model of the "
            f"shifts: write {inner.name} or {PREFIX}{bare}"
        )


def _reduce_rule(rule: Selection) -> Selection:
    """Return a copy of a selection rule, changed to read the rewards minus the estimated shifts."""
    return replace(
        rule,
        select=select,
        identified=OLS.identified,
        reads=frozenset({"fit", "reward"}),
        holes={"inner_select": rule.select},
    )
