"""The class `PolicySpec`: a policy with options and a selection rule, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from tideproof.core.kernel_array_access import PLAIN_REPLACEMENTS
from tideproof.core.kernel_linker import ignore_overflow, is_kernel, link, use_interpreter
from tideproof.core.kernel_state_arrays import EmptyState, Memory, allocate, compose_state_type
from tideproof.errors import BudgetTooSmall, InputError, KernelError
from tideproof.kernels.choose.batch_asks import ask_many, enter_pending
from tideproof.kernels.fit.policy_data import Data, Slot, expect, notice, reserve, take
from tideproof.kernels.simulate.replication_loop import add_unshared, replicate
from tideproof.policies.answer_checks import CheckedKernel
from tideproof.policies.declared_statistics import check_reads
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy
from tideproof.policies.reserved_placeholders import RESERVED_HOLES, refuse_reserved_holes
from tideproof.policies.statistics_models import STATISTICS, TIDES, with_tide


@dataclass(frozen=True)
class PolicySpec:
    """A policy with its selection rule and options, as `tp.policy(...)` returns it.

    It can be given wherever the name of a policy can. `label` is the name of the policy in a study.
    """

    policy: Policy
    selection: Selection
    options: tuple[tuple[str, Any], ...] = ()
    label: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Name of the policy and its selection rule, which `tp.policy` accepts, such as "lucb+mean"."""
        return f"{self.policy.name}+{self.selection.name}"

    @property
    def reads(self) -> frozenset[str]:
        """Names of the statistics that the policy and its selection rule read."""
        return self.policy.reads | self.selection.reads

    def params(self, arms: int, horizon: int | None) -> Any:
        """Return the policy's parameters; raise an error if an option is missing or the budget is too small.

        `horizon` is the budget in pulls, or None if there is none.
        """
        if self.policy.needs_horizon and not self.policy.anytime and horizon is None:
            raise InputError(f"{self.label} must know the budget in advance: budget=None is not allowed")
        options = dict(self.options)
        for name, default in self.policy.options().items() if self.policy.from_world else ():
            if default is None and options.get(name) is None:
                raise InputError(f"{self.label} needs its option {name!r}: tp.policy(..., {name}=...)")
        params = self.policy.configure(arms, horizon, self.selection.name, **options)
        least = self.policy.minimum(arms, params)
        if horizon is not None and horizon < least:
            raise BudgetTooSmall(
                f"a budget of {horizon} is too small for {self.label} with {arms} arms; give at least {least}"
            )
        return params

    def within(self, world: Any) -> PolicySpec:
        """Return a copy of this policy that takes its missing options from a simulated world."""
        if self.policy.from_world is None:
            return self
        options = self.policy.from_world(world) | dict(self.options)
        return replace(self, options=tuple(sorted(options.items())))

    def on_ratios(self) -> PolicySpec:
        """Return a copy of this policy with the default options for comparing arms by ratios.

        Options that were set keep their values.
        """
        options = dict(self.policy.on_ratios) | dict(self.options)
        return replace(self, options=tuple(sorted(options.items())))

    def on_tide(self, tide: str) -> PolicySpec:
        """Return a copy of this policy for shifts at unknown times, with or without environment labels."""
        found = with_tide(self.policy, tide)
        label = TIDES[tide].prefix + self.label
        return replace(self, policy=found, selection=found.selection(self.selection.name), label=label)

    def program(self) -> Program:
        """Return the functions of the policy, ready to be called in the Python interpreter."""
        return _interpreted(self.policy, self.selection)

    def plain_program(self) -> Program | None:
        """Return faster versions of the policy's functions, which use plain Python numbers.

        The result is None for a policy of a plug-in. Only the kernels of tideproof are known to give the same
        results with plain Python numbers.
        """
        holes = (*self.policy.holes.values(), *self.selection.holes.values())
        kernels = (self.policy.ask, self.policy.tell, self.policy.weigh, self.selection.select)
        built_in = all(
            f.__module__.partition(".")[0] == __package__.partition(".")[0]
            for f in (*kernels, *filter(is_kernel, holes))
        )
        return _interpreted(self.policy, self.selection, plain=True) if built_in else None

    def memory(self, arms: int) -> Memory[Any]:
        """Allocate the memory that this policy needs in one simulation, filled with zeros."""
        return allocate(self.layout(), arms)

    def layout(self) -> Any:
        """Return the data type of the memory that this policy needs in one simulation.

        It is a NamedTuple of `state`, `data` and `slot`.
        """
        return _run_type(self.policy, self.selection)

    def fill(self, trace: bool = False) -> Mapping[Any, Any]:
        """Return the functions and constants that this policy inserts into the simulation loop, by name.

        The placeholders are the holes of the policy's kernels and of the replication loop.
        """
        return _fill(self.policy, self.selection, trace)


class Program(NamedTuple):
    """Functions of one policy, ready to be called in the Python interpreter.

    They are kernels, linked for interpreted execution.
    """

    ask: Callable[..., Any]
    select: Callable[..., Any]
    take: Callable[..., Any]
    expect: Callable[..., Any]
    notice: Callable[..., Any]
    reserve: Callable[..., Any]
    enter_pending: Callable[..., Any]
    ask_many: Callable[..., Any]
    replicate: Callable[..., Any]


_INTERPRETED = (take, expect, notice, reserve, enter_pending, ask_many, replicate)
_EXACT = (reserve, enter_pending)  # they draw no random numbers, so their integer arithmetic never overflows


def _fill(policy: Policy, selection: Selection, trace: bool) -> Mapping[Any, Any]:
    """Return the functions and constants that replace the placeholders in a policy's generic functions.

    The placeholders are the holes of kernels.
    """
    _check(policy, selection)
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
        "CELLS": bool(reads & {"cells", "period", "control"}) or STATISTICS[policy.tide].cells,
        "LABELS": STATISTICS[policy.tide].labels,
        "TRACE": trace,
        "add_to_count": add_unshared,
        **STATISTICS[policy.tide].kernels,
    }


@cache
def _check(policy: Policy, selection: Selection) -> None:
    """Raise an error if a policy's function reads undeclared statistics or uses a reserved placeholder."""
    of_policy = (policy.ask, policy.tell, policy.weigh, policy.active)
    of_rule = (selection.select, selection.identified)
    check_reads(policy.title, of_policy, policy.reads | policy.reads_with_rule)
    check_reads(selection.title, of_rule, selection.reads)
    refuse_reserved_holes(RESERVED_HOLES, (*of_policy, *of_rule), {**policy.holes, **selection.holes})
    for name in policy.holes.keys() & selection.holes.keys():
        if policy.holes[name] is not selection.holes[name]:
            raise KernelError(
                f"{policy.title} and its {selection.title} give the placeholder (hole) {name!r} "
                f"two different values: rename one of them"
            )


@cache
def _interpreted(policy: Policy, selection: Selection, plain: bool = False) -> Program:
    """Prepare the functions of a policy and of its selection rule for execution by the Python interpreter.

    The kernels are linked, and the answers of `ask` and `select` are checked.
    """
    fill = {**_fill(policy, selection, trace=True), **(PLAIN_REPLACEMENTS if plain else {})}
    own = f"{policy.title} with {selection.title}"
    ask = CheckedKernel("ask", policy.title, policy.ask, link(policy.ask, use_interpreter, fill))
    select = CheckedKernel("select", own, selection.select, link(selection.select, use_interpreter, fill))
    rest = [(f, link(f, use_interpreter, fill | {"ask": ask, "select": select})) for f in _INTERPRETED]
    return Program(
        ignore_overflow(ask),
        ignore_overflow(select),
        *(g if f in _EXACT else ignore_overflow(g) for f, g in rest),
    )


@cache
def _run_type(policy: Policy, selection: Selection) -> Any:
    """Return the data type of the memory that holds a policy's state and statistics in one simulation.

    It leaves out the statistics that the policy never reads. Unused statistics would take memory and compile
    time.
    """
    reads = policy.reads | selection.reads
    statistics = get_type_hints(Data, include_extras=True)
    if "fit" in reads and not reads & {"means", "moments", "sums"}:
        statistics["moments"] = EmptyState
    if "fit" in reads:
        statistics["fit"] = STATISTICS[policy.tide].fit
    if not reads & {"period", "control"}:
        statistics["periods"] = EmptyState
    return compose_state_type(
        "Run", state=policy.State, data=compose_state_type("Data", **statistics), slot=Slot
    )
