"""What a policy is: its kernels, the rules that select for it, and what must be known to run them."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tideproof.core.array_layout import list_arrays
from tideproof.core.kernel_linker import check_kernel, kernel
from tideproof.errors import InputError, UnknownName
from tideproof.policies.declared_reads import known_words
from tideproof.policies.kernel_signatures import (
    Active,
    Ask,
    Configure,
    FromWorld,
    Minimum,
    Tell,
    Weigh,
)
from tideproof.policies.reserved_holes import check_holes
from tideproof.policies.selection_rules import Selection

PREFIX = "reduce:"  # before the name of a policy that runs on rewards without shifts


@kernel
def weigh_all_alike(params, state, data, arm):
    """Weigh all rewards alike."""
    return 1.0


@kernel
def keep_all_arms(params, state, arm):
    """Let every arm be played."""
    return True


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy: two kernels, `ask` and `tell`, rules that select, and what must be known to run them.

    `ask` reads and never writes; it must not depend on anything but its arguments, so that a
    service may rebuild it at any time. `tell` writes the state, after the statistics in `data` have
    taken in the pull and before the slot has; the arm may be one that was not asked for. Both must
    accept any state that zeroed memory and `tell` can reach. `tideproof.plugin` has all that its file
    imports and says more.

    Attributes
    ----------
    name : how users call it, and the name of its entry point; without "+", and not "reduce:...".
    idea : one line for people.
    reference : where it was published.
    State : NamedTuple of arrays, each annotated with its shape; integers stay below 2**31.
    configure : (arms, horizon, selection, **options) -> Params, a NamedTuple of numbers. Its
        keyword-only arguments are the options, with their defaults.
    ask : kernel (params, state, data, slot, draw) -> arm, or -1 to stop.
    tell : kernel (params, state, data, slot, arm, n, draw); n pulls of one arm.
    minimum : (arms, params) -> the smallest budget that makes sense.
    selections : the rules it can serve, its default first.
    reads : statistics its kernels read, of "means", "moments" (means and squares), "fit", "sums"
        (weighted sums), "reward" (the reward itself) and "cells" (means of each arm in the slot).
    needs_horizon : whether it must know the budget in advance.
    shift_aware : whether its choices are the same whatever the shifts.
    adaptive : whether its choices depend on rewards: limits must allow for that.
    anytime : whether it also runs without a budget, though it does better with one.
    stops : whether `ask` may return -1 before the budget is spent.
    weigh : kernel (params, state, data, arm) -> weight of a reward in the weighted sums.
    active : kernel (params, state, arm) -> whether the arm may still be played.
    from_world : (world) -> options the lab fills in; elsewhere they must be given. They default to None.
    holes : what fills the holes in its own kernels, by name.
    merges : (state) -> whether pulls that are out may come to `tell` as one batch, whatever their arms; None
        if never. So it is for a policy that needs to know how many are out once it has begun.
    on_ratios : options that do better where arms are compared by ratios, unless they are given.
    reads_with_rule : statistics its kernels read only if the selection rule in use declares them, which
        `configure` knows by its name.
    on_unequal : options that do better where the noise of arms differs, unless they are given.
    tide : the kind of statistics that it reads as "fit" (`policies.tides`); leave it as it is.
    """

    name: str
    idea: str
    reference: str
    State: type[Any]
    configure: Configure
    ask: Ask
    tell: Tell
    minimum: Minimum
    selections: tuple[Selection, ...]
    reads: frozenset[str]
    needs_horizon: bool
    shift_aware: bool
    adaptive: bool = True
    stops: bool = False
    anytime: bool = False
    weigh: Weigh = weigh_all_alike
    active: Active = keep_all_arms
    from_world: FromWorld | None = None
    holes: Mapping[str, Any] = field(default_factory=dict)
    reads_with_rule: frozenset[str] = frozenset()
    merges: Callable[[Any], bool] | None = None
    on_ratios: Mapping[str, Any] = field(default_factory=dict)
    on_unequal: Mapping[str, Any] = field(default_factory=dict)
    tide: str = "labels"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or "+" in self.name or not self.name:
            raise InputError(f"a policy's name must be text, not empty and without '+', not {self.name!r}")
        if self.name.startswith(PREFIX) and "inner_ask" not in self.holes:  # who is reduced fills it
            raise InputError(
                f"a policy's name must not begin with {PREFIX!r}, not {self.name!r}: tideproof puts that "
                f"before the name of a policy that it runs on rewards without shifts"
            )
        rules: Any = self.selections
        if not isinstance(rules, (tuple, list)) or not all(isinstance(rule, Selection) for rule in rules):
            raise InputError(
                f"selections of {self.title} must be a tuple of selection rules, such as (OLS,), "
                f"not {reprlib.repr(rules)}"
            )
        if not rules:
            raise InputError(f"{self.title} needs a selection rule, such as selections=(OLS,)")
        for what in ("configure", "minimum"):
            if not callable(getattr(self, what)):
                raise InputError(f"{what} of {self.title} must be a function, not {getattr(self, what)!r}")
        try:
            list_arrays(cast(Hashable, self.State), 2)
        except InputError as error:
            raise InputError(f"State of {self.title}: {error}") from None
        known_words(self.title, self.reads)
        known_words(self.title, self.reads_with_rule)
        for what in ("ask", "tell", "weigh", "active"):
            check_kernel(f"{what} of {self.title}", getattr(self, what))
        check_holes(self.title, self.holes)

    @property
    def title(self) -> str:
        """What errors call it."""
        return f"policy {self.name!r}"

    def selection(self, name: str | None) -> Selection:
        """Return the selection rule of that name, or the default one."""
        for rule in self.selections:
            if name is None or rule.name == name:
                return rule
        raise UnknownName.with_suggestion(
            "selection", name, [s.name for s in self.selections], f"for {self.name}"
        )

    def options(self) -> dict[str, Any]:
        """Return the options of the policy and their defaults."""
        parameters = inspect.signature(self.configure).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
