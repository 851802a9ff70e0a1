"""Stop when sure: any policy that knows of shifts, watched by a rule that says when its leader is the best.

`sure:contrast` stops when every other arm is behind the leader with a tail probability that simulation has
found small enough for looks at every pull up to the cap (`calibrated_bounds.py`); `proven:contrast` when
the evidence of `e_process.py` is large enough. `tp.policy("contrast", confidence=0.95, rule="proven")`
names them, too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.core.array_layout import FloatK, Int1, compose_state_type
from tideproof.core.kernel_linker import hole, kernel
from tideproof.errors import InputError, UnknownName
from tideproof.kernels.choose.leader_lead import is_leader_significant, leader_of, may_reach_bound
from tideproof.kernels.fit.e_process import EProcess, add_to_e_process, least_evidence, store_checkpoint
from tideproof.policies.calibrated_bounds import bound_for, normal_deviate
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import Selection

SURE, PROVEN = "sure:", "proven:"
RULES = {"calibrated": SURE, "proven": PROVEN}

watched_ask = hole("watched_ask")
watched_tell = hole("watched_tell")
watched_select = hole("watched_select")
watched_weigh = hole("watched_weigh")
watched_active = hole("watched_active")


class Params(NamedTuple):
    """The numbers of the policy that is watched, the bound, and the deviate below which it is not reached."""

    inner: Any
    bound: float
    gate: float


class StopState(NamedTuple):
    """Whether it has stopped.

    Attributes
    ----------
    stopped : (1,) 1 once it has.
    arm : (1,) the arm of which it is sure.
    row : (K,) scratch.
    """

    stopped: Int1
    arm: Int1
    row: FloatK


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm of the policy that is watched, or -1 once it is sure."""
    if state.watch.stopped[0] == 1:
        return -1
    return watched_ask(params.inner, state.inner, data, slot, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Tell the policy, then look whether the leader is sure."""
    watched_tell(params.inner, state.inner, data, slot, arm, n, draw)
    watch = state.watch
    if watch.stopped[0] == 0:
        leader = leader_of(data.fit)
        if is_leader_significant(data.fit, leader, watch.row, params.gate, params.bound):
            watch.stopped[0] = 1
            watch.arm[0] = leader


@kernel
def tell_and_prove(params, state, data, slot, arm, n, draw):
    """Tell the policy, then look whether it is proven that the leader is best."""
    watched_tell(params.inner, state.inner, data, slot, arm, n, draw)
    watch, proof, fit = state.watch, state.proof, data.fit
    if data.told[0] == 0:
        return
    add_to_e_process(proof, slot, arm, n, data.reward[0], data.squares[0])
    if watch.stopped[0] == 0:
        leader = leader_of(fit)
        hopeful = may_reach_bound(fit, leader, watch.row, params.bound)
        if hopeful and least_evidence(proof, fit, leader) >= params.bound:
            watch.stopped[0] = 1
            watch.arm[0] = leader
        store_checkpoint(proof, fit)


@kernel
def select(params, state, data, draw):
    """Return the arm of which it is sure, or the selection of the policy that is watched."""
    if state.watch.stopped[0] == 1:
        return state.watch.arm[0]
    return watched_select(params.inner, state.inner, data, draw)


@kernel
def weigh(params, state, data, arm):
    """Weigh a reward as the policy does that is watched."""
    return watched_weigh(params.inner, state.inner, data, arm)


@kernel
def active(params, state, arm):
    """Tell whether the policy that is watched may still play the arm."""
    return watched_active(params.inner, state.inner, arm)


@cache
def watched(inner: Policy, prefix: str) -> Policy:
    """Return the policy with a rule that stops it."""
    if inner.stops:
        raise InputError(f"{inner.name} stops by itself: it cannot be given a confidence")
    if inner.tide != "labels":
        raise InputError(f"{inner.name} has no plain labels: no rule that stops is calibrated for it")
    if not inner.shift_aware:
        raise InputError(
            f"{inner.name} does not know of shifts: a confidence needs a policy that does, such as "
            f"'contrast' or 'reduce:{inner.name}'"
        )
    rules = tuple(_watched(rule) for rule in inner.selections if "fit" in rule.reads)
    if not rules:
        raise InputError(f"{inner.name} has no selection rule that knows of shifts, which a confidence needs")
    calibrated = prefix == SURE
    parts = {} if calibrated else {"proof": EProcess}
    return replace(
        inner,
        name=prefix + inner.name,
        idea=f"{inner.idea}; stops when sure",
        State=compose_state_type("State", inner=inner.State, watch=StopState, **parts),
        configure=_configure(inner, calibrated),
        ask=ask,
        tell=tell if calibrated else tell_and_prove,
        minimum=lambda arms, params: inner.minimum(arms, params.inner),
        selections=rules,
        reads=inner.reads | {"fit"} | (set() if calibrated else {"reward"}),
        needs_horizon=calibrated or (inner.needs_horizon and not inner.anytime),
        anytime=inner.anytime or not inner.needs_horizon,
        stops=True,
        weigh=weigh,
        active=active,
        merges=None,
        holes={
            "watched_ask": inner.ask,
            "watched_tell": inner.tell,
            "watched_weigh": inner.weigh,
            "watched_active": inner.active,
            **inner.holes,
        },
    )


def _watched(rule: Selection) -> Selection:
    return replace(
        rule, select=select, reads=rule.reads | {"fit"}, holes={"watched_select": rule.select, **rule.holes}
    )


def _configure(inner: Policy, calibrated: bool) -> Callable[..., Params]:
    """Return what makes the numbers: the confidence is one more option of the policy."""

    def configure(
        arms: int,
        horizon: int | None,
        selection: str,
        *,
        confidence: float = 0.95,
        bound: float | None = None,
        **options: Any,
    ) -> Params:
        """Set the confidence, or the bound that it stands for; the other options are those of the policy."""
        confidence = checked_confidence(confidence)
        open_ended = inner.anytime or not inner.needs_horizon
        params = inner.configure(arms, None if open_ended else horizon, selection, **options)
        if bound is not None:
            bound = require_finite("bound", bound, 1.0)
        else:
            bound = bound_for(arms, horizon, confidence) if calibrated else -math.log1p(-confidence)
        return Params(params, bound, normal_deviate(bound))

    own = [p for p in inspect.signature(configure).parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [p for p in inspect.signature(inner.configure).parameters.values() if p.kind is p.KEYWORD_ONLY]
    configure.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return configure


def rule_prefix(rule: Any) -> str:
    """Return what stands before the name of a policy with that rule."""
    if not isinstance(rule, str) or rule not in RULES:
        raise UnknownName.with_suggestion("rule", rule, RULES)
    return RULES[rule]


def checked_confidence(value: Any) -> float:
    """Return a confidence, or say what it can be."""
    if not 0.5 < require_finite("confidence", value) < 1.0:
        raise InputError(f"confidence must be above 0.5 and below 1, such as 0.95, not {value!r}")
    return float(value)
