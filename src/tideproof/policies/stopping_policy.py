"""Stopping rules that end an experiment when its leading arm is the best with a given confidence.

A stopping rule wraps any shift-aware policy. `sure:contrast` applies the calibrated rule: it stops when, for
every other arm, the tail probability of being better than the leader is below a bound. Simulations found
which bound is small enough for a test after every pull up to the budget (`calibrated_bounds.py`).
`proven:contrast` stops when the e-process of `kernels/fit/e_process.py` is large enough.
`tp.policy("contrast", confidence=0.95, rule="proven")` gives the same policies.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import FloatK, Int1, compose_state_type
from tideproof.errors import InputError, UnknownName
from tideproof.kernels.choose.leader_lead import is_leader_significant, leader_of, may_reach_bound
from tideproof.kernels.fit.e_process import EProcess, add_to_e_process, least_evidence, store_checkpoint
from tideproof.policies.calibrated_bounds import find_bound, normal_quantile_of_bound
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy

watched_ask = hole("watched_ask")
watched_tell = hole("watched_tell")
watched_select = hole("watched_select")
watched_weigh = hole("watched_weigh")
watched_active = hole("watched_active")


class Params(NamedTuple):
    """Parameters of a policy with a stopping rule: those of the wrapped policy, and the stopping bound.

    Attributes
    ----------
    inner : the parameters of the wrapped policy.
    bound : negative logarithm of the tail probability at which the rule stops.
    gate : normal quantile of that probability; below it, a cheap test shows that the bound is not reached.
    """

    inner: Any
    bound: float
    gate: float


class StopState(NamedTuple):
    """State of a stopping rule: whether it has ended the experiment, and the arm that it found best.

    Attributes
    ----------
    stopped : (1,) 1 after it has stopped.
    arm : (1,) the arm that was the best with the required confidence.
    row : (K,) scratch.
    """

    stopped: Int1
    arm: Int1
    row: FloatK


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm that the wrapped policy chooses, or -1 if the stopping rule has ended the run."""
    if state.watch.stopped[0] == 1:
        return -1
    return watched_ask(params.inner, state.inner, data, slot, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update the wrapped policy; stop the run if the calibrated rule finds that the leader is best."""
    watched_tell(params.inner, state.inner, data, slot, arm, n, draw)
    watch = state.watch
    if watch.stopped[0] == 0:
        leader = leader_of(data.fit)
        if is_leader_significant(data.fit, leader, watch.row, params.gate, params.bound):
            watch.stopped[0] = 1
            watch.arm[0] = leader


@kernel
def tell_and_prove(params, state, data, slot, arm, n, draw):
    """Update the wrapped policy and the e-process; stop if the e-process proves that the leader is best."""
    watched_tell(params.inner, state.inner, data, slot, arm, n, draw)
    watch, proof, fit = state.watch, state.proof, data.fit
    if data.told[0] == 0:
        return
    add_to_e_process(proof, slot, arm, n, data.reward[0], data.squares[0])
    if watch.stopped[0] == 0:
        leader = leader_of(fit)
        possible = may_reach_bound(fit, leader, watch.row, params.bound)
        if possible and least_evidence(proof, fit, leader) >= params.bound:
            watch.stopped[0] = 1
            watch.arm[0] = leader
        store_checkpoint(proof, fit)


@kernel
def select(params, state, data, draw):
    """Return the arm for which the stopping rule ended the run, or else the wrapped policy's selection."""
    if state.watch.stopped[0] == 1:
        return state.watch.arm[0]
    return watched_select(params.inner, state.inner, data, draw)


@kernel
def weigh(params, state, data, arm):
    """Return the weight that the wrapped policy gives to a reward."""
    return watched_weigh(params.inner, state.inner, data, arm)


@kernel
def active(params, state, arm):
    """Return whether the wrapped policy may still pull the arm."""
    return watched_active(params.inner, state.inner, arm)


@dataclass(frozen=True, slots=True)
class StoppingRuleKind:
    """Kind of stopping rule for simulations, such as the calibrated or the proven rule.

    Attributes
    ----------
    name, prefix : its name in options, and its prefix in names of policies.
    calibrated : whether simulations found its bound, for a check after every pull up to a budget. Otherwise a
        theorem gives the bound, for normal rewards and any number of checks.
    tell : kernel that updates the wrapped policy and stops it.
    state : types of the state that the kernel needs in addition to that of the wrapped policy.
    reads : data that the kernel needs in addition to the fit.
    """

    name: str
    prefix: str
    calibrated: bool
    tell: Any
    state: Mapping[str, Any]
    reads: frozenset[str]

    def bound(self, arms: int, horizon: int | None, confidence: float) -> float:
        """Return the amount of evidence at which a stopping rule ends an experiment.

        It is minus the logarithm of a tail probability.
        """
        return find_bound(arms, horizon, confidence) if self.calibrated else -math.log1p(-confidence)


STOPPING_RULES = {
    rule.name: rule
    for rule in (
        StoppingRuleKind("calibrated", "sure:", True, tell, {}, frozenset()),
        StoppingRuleKind(
            "proven", "proven:", False, tell_and_prove, {"proof": EProcess}, frozenset({"reward"})
        ),
    )
}
RULE_PREFIXES = {rule.prefix: rule for rule in STOPPING_RULES.values()}


@cache
def with_stopping_rule(inner: Policy, prefix: str) -> Policy:
    """Return a policy that wraps the given one and stops by the calibrated or the proven stopping rule."""
    if inner.stops:
        raise InputError(f"{inner.name} already stops by itself: confidence= cannot be added")
    if inner.tide != "labels":
        raise InputError(
            f"confidence= cannot be added to {inner.name}: no stopping rule is calibrated for tide='hidden', "
            f"tide='both', noise=, interaction= and robust="
        )
    if not inner.shift_aware:
        raise InputError(
            f"{inner.name} does not estimate shifts: confidence= needs a policy that does, such as "
            f"'contrast' or 'reduce:{inner.name}'"
        )
    rules = tuple(_wrap_selection(rule) for rule in inner.selections if "fit" in rule.reads)
    if not rules:
        raise InputError(f"{inner.name} has no selection rule that estimates shifts, which confidence= needs")
    stopping = RULE_PREFIXES[prefix]
    return replace(
        inner,
        name=prefix + inner.name,
        idea=f"{inner.idea}; stops once the leader is confirmed as the best at the given confidence level",
        State=compose_state_type("State", inner=inner.State, watch=StopState, **stopping.state),
        configure=_configure(inner, stopping),
        ask=ask,
        tell=stopping.tell,
        minimum=lambda arms, params: inner.minimum(arms, params.inner),
        selections=rules,
        reads=inner.reads | {"fit"} | stopping.reads,
        needs_horizon=stopping.calibrated or (inner.needs_horizon and not inner.anytime),
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


def _wrap_selection(rule: Selection) -> Selection:
    """Wrap a selection rule so that it selects the arm for which the stopping rule ended the run.

    If the stopping rule did not end the run, the wrapped rule selects the arm.
    """
    return replace(
        rule, select=select, reads=rule.reads | {"fit"}, holes={"watched_select": rule.select, **rule.holes}
    )


def _configure(inner: Policy, stopping: StoppingRuleKind) -> Callable[..., Params]:
    """Return the function that converts the options of a policy with a stopping rule to its parameters.

    The options are those of the wrapped policy, `confidence` and `bound`.
    """

    def configure(
        arms: int,
        horizon: int | None,
        selection: str,
        *,
        confidence: float = 0.95,
        bound: float | None = None,
        **options: Any,
    ) -> Params:
        """Return the parameters of a policy with a stopping rule for a confidence level or stopping bound."""
        confidence = check_confidence(confidence)
        open_ended = inner.anytime or not inner.needs_horizon
        params = inner.configure(arms, None if open_ended else horizon, selection, **options)
        if bound is not None:
            bound = require_finite("bound", bound, 1.0)
        else:
            bound = stopping.bound(arms, horizon, confidence)
        return Params(params, bound, normal_quantile_of_bound(bound))

    own = [p for p in inspect.signature(configure).parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [p for p in inspect.signature(inner.configure).parameters.values() if p.kind is p.KEYWORD_ONLY]
    configure.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return configure


def rule_prefix(rule: Any) -> str:
    """Return the prefix of policy names that stands for a stopping rule, such as "sure:"."""
    if not isinstance(rule, str) or rule not in STOPPING_RULES:
        raise UnknownName.with_suggestion("rule", rule, STOPPING_RULES)
    return STOPPING_RULES[rule].prefix


def check_confidence(value: Any) -> float:
    """Return a confidence level as a float; raise `InputError` unless it is above 0.5 and below 1."""
    if not 0.5 < require_finite("confidence", value) < 1.0:
        raise InputError(
            f"confidence of the stopping rule must be above 0.5 and below 1, such as 0.95, not {value!r}"
        )
    return float(value)
