"""What a policy is, to the rest of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from tideproof.errors import BudgetTooSmall, InputError, UnknownName
from tideproof.kernels._arrays import Memory, Unused, allocate, compose
from tideproof.kernels._disk import keep
from tideproof.kernels._link import cpu, interpreted, kernel, link, quietly
from tideproof.kernels.data import Data, expect, take
from tideproof.kernels.environment import Slot
from tideproof.kernels.replicate import counted, replicate
from tideproof.policies.selections import Selection


@kernel
def even(params, state, data, arm):
    """Weigh all rewards alike."""
    return 1.0


@kernel
def everywhere(params, state, arm):
    """Keep all arms."""
    return True


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy: three kernels and what must be known to run them.

    `ask` reads and never writes; it must not depend on anything but its arguments, so that a
    service may rebuild it at any time. `tell` writes the state, after the statistics in `data` have
    taken in the pull and before the slot has; the arm may be one that was not asked for. Both must
    accept any state that zeroed memory and `tell` can reach.

    Attributes
    ----------
    name : how users call it.
    idea : one line for people.
    reference : where it was published.
    State : NamedTuple of arrays, each annotated with its shape; integers stay below 2**31.
    configure : (arms, horizon, selection, **options) -> Params, a NamedTuple of numbers. Its
        keyword-only arguments are the options, with their defaults.
    ask : kernel (params, state, data, slot, draw) -> arm, or -1 to stop.
    tell : kernel (params, state, data, slot, arm, n, draw); n pulls of one arm.
    minimum : (arms, params) -> the smallest budget that makes sense.
    selections : the rules it can serve, its default first.
    reads : statistics `ask` and `tell` read, of "means", "moments" (means and squares), "fit", "sums"
        (weighted sums), "reward" (the reward itself) and "cells" (means of each arm in the slot).
    needs_horizon : whether it must know the budget in advance.
    shift_aware : whether its choices are the same whatever the shifts.
    adaptive : whether its choices depend on rewards, which makes intervals nominal.
    anytime : whether it also runs without a budget, though it does better with one.
    stops : whether `ask` may return -1 before the budget is spent.
    weigh : kernel (params, state, data, arm) -> weight of a reward in the weighted sums.
    active : kernel (params, state, arm) -> whether the arm may still be played.
    from_world : (world) -> options the lab fills in; elsewhere they must be given. They default to None.
    holes : what else to fill in when its kernels are linked.
    """

    name: str
    idea: str
    reference: str
    State: type[Any]
    configure: Callable[..., Any]
    ask: Callable[..., Any]
    tell: Callable[..., Any]
    minimum: Callable[[int, Any], int]
    selections: tuple[Selection, ...]
    reads: frozenset[str]
    needs_horizon: bool
    shift_aware: bool
    adaptive: bool = True
    stops: bool = False
    anytime: bool = False
    weigh: Callable[..., Any] = even
    active: Callable[..., Any] = everywhere
    from_world: Callable[[Any], dict[str, Any]] | None = None
    holes: Mapping[str, Any] = field(default_factory=dict)

    def selection(self, name: str | None) -> Selection:
        """Return the selection rule of that name, or the default one."""
        for rule in self.selections:
            if name is None or rule.name == name:
                return rule
        raise UnknownName.among("selection", name, [s.name for s in self.selections], f"for {self.name}")

    def options(self) -> dict[str, Any]:
        """Return the options of the policy and their defaults."""
        parameters = inspect.signature(self.configure).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@dataclass(frozen=True)
class PolicySpec:
    """A policy with its selection rule and options: what `tp.policy(...)` returns.

    Accepted wherever a name is; `label` is its name wherever a study is read.
    """

    policy: Policy
    selection: Selection
    options: tuple[tuple[str, Any], ...] = ()
    label: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The full name, selection rule included, by which `tp.policy` finds it again."""
        return f"{self.policy.name}+{self.selection.name}"

    @property
    def reads(self) -> frozenset[str]:
        """The statistics the policy and its selection rule read."""
        return self.policy.reads | self.selection.reads

    def params(self, arms: int, horizon: int | None) -> Any:
        """Return the numbers the kernels receive, or say which budget would do."""
        if self.policy.needs_horizon and not self.policy.anytime and horizon is None:
            raise InputError(f"{self.label} must know its budget in advance: budget=None is not allowed")
        options = dict(self.options)
        for name, default in self.policy.options().items() if self.policy.from_world else ():
            if default is None and options.get(name) is None:
                raise InputError(f"{self.label} needs its option {name!r}: tp.policy(..., {name}=...)")
        params = self.policy.configure(arms, horizon, self.selection.name, **options)
        least = self.policy.minimum(arms, params)
        if horizon is not None and horizon < least:
            raise BudgetTooSmall(
                f"a budget of {horizon} is too small for {self.label} with {arms} arms; at least {least}"
            )
        return params

    def within(self, world: Any) -> PolicySpec:
        """Return this policy with the options that it takes from the world unless they are given."""
        if self.policy.from_world is None:
            return self
        options = self.policy.from_world(world) | dict(self.options)
        return replace(self, options=tuple(sorted(options.items())))

    def program(self) -> Program:
        """Return the interpreted program."""
        return _interpreted(self.policy, self.selection)

    def compiled(self, trace: bool = False) -> Callable[..., Any]:
        """Return the compiled replication loop; compiled once for any number of arms."""
        return _compiled(self.policy, self.selection, trace)

    def memory(self, arms: int) -> Memory[Any]:
        """Allocate (state, data, slot) for a run."""
        return allocate(self.layout(), arms)

    def layout(self) -> Any:
        """Return the type of (state, data, slot)."""
        return _run_type(self.policy, self.selection)

    def fill(self) -> Mapping[str, Any]:
        """Return what fills the holes of the replication loop on a GPU."""
        return _fill(self.policy, self.selection, trace=False)


class Program(NamedTuple):
    """The interpreted twins of a policy's kernels, holes filled."""

    ask: Callable[..., Any]
    take: Callable[..., Any]
    expect: Callable[..., Any]
    select: Callable[..., Any]
    replicate: Callable[..., Any]


def _fill(policy: Policy, selection: Selection, trace: bool) -> Mapping[str, Any]:
    reads = policy.reads | selection.reads
    return {
        "ask": policy.ask,
        "tell": policy.tell,
        "select": selection.select,
        "identified": selection.identified,
        "weigh": policy.weigh,
        **policy.holes,
        **selection.holes,
        "MOMENTS": bool(reads & {"means", "moments"}),
        "FIT": "fit" in reads,
        "SUMS": "sums" in reads,
        "PERIOD": "period" in reads,
        "CONTROL": "control" in reads,
        "CELLS": bool(reads & {"cells", "period", "control"}),
        "TRACE": trace,
        "count": counted,
    }


@cache
def _interpreted(policy: Policy, selection: Selection) -> Program:
    fill = _fill(policy, selection, trace=True)
    entries = (policy.ask, take, expect, selection.select, replicate)
    return Program(*(quietly(link(entry, interpreted, fill)) for entry in entries))


@cache
def _compiled(policy: Policy, selection: Selection, trace: bool) -> Callable[..., Any]:
    fill = _fill(policy, selection, trace)
    return keep(link(replicate, cpu, fill), replicate, cpu, fill)


@cache
def _run_type(policy: Policy, selection: Selection) -> Any:
    """Return the type of (state, data, slot); statistics nobody reads take no room, nor the compiler."""
    reads = policy.reads | selection.reads
    parts = get_type_hints(Data, include_extras=True)
    if "fit" in reads and not reads & {"means", "moments", "sums"}:
        parts["moments"] = Unused
    if not reads & {"period", "control"}:
        parts["periods"] = Unused
    return compose("Run", state=policy.State, data=compose("Data", **parts), slot=Slot)
