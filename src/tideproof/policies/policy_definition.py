"""The class `Policy`: the functions, selection rules and properties that define a policy."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tideproof.core.kernel_linker import check_kernel, kernel
from tideproof.core.kernel_state_arrays import list_arrays
from tideproof.errors import InputError, UnknownName
from tideproof.policies.declared_statistics import check_words
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.kernel_signatures import (
    Active,
    Ask,
    Configure,
    FromWorld,
    Minimum,
    Tell,
    Weigh,
)
from tideproof.policies.reserved_placeholders import check_holes

PREFIX = "reduce:"  # starts the name of a policy that runs on rewards from which the shifts are subtracted


@kernel
def weigh_all_alike(params, state, data, arm):
    """Return 1 as the weight of a reward, because most policies weight all rewards alike."""
    return 1.0


@kernel
def keep_all_arms(params, state, arm):
    """Return True for every arm, because most policies never eliminate arms."""
    return True


@dataclass(frozen=True, eq=False)
class Policy:
    """Definition of a policy: its functions `ask` and `tell`, its selection rules and its properties.

    `ask` chooses the next arm. It must not write, and it must depend only on its arguments, so that a service
    may rebuild it at any time. `tell` updates the state. It runs after the statistics in `data` include the
    pull and before the slot does; the arm may be one that `ask` did not choose. Both kernels must accept
    every state that `tell` can reach from zeroed memory. `tideproof.plugin` has everything that the file of a
    policy imports, and explains more.

    Attributes
    ----------
    name : name of the policy and of its entry point. It must have no "+" and no prefix, such as "sure:".
    idea : one line that describes the policy.
    reference : the publication that introduced it.
    State : NamedTuple of arrays, each annotated with its shape; integers must stay below 2**31.
    configure : (arms, horizon, selection, **options) -> Params, a NamedTuple of numbers. Its
        keyword-only parameters are the options of the policy, with their defaults.
    ask : kernel (params, state, data, slot, draw) -> arm, or -1 to stop.
    tell : kernel (params, state, data, slot, arm, n, draw) that takes in n pulls of one arm.
    minimum : (arms, params) -> the smallest budget that the policy accepts.
    selections : the selection rules that work with this policy; the first is the default.
    reads : statistics that its kernels read: "means", "moments" (means and squares), "fit", "sums"
        (weighted sums), "reward" (the reward itself) and "cells" (means of each arm in the slot).
    needs_horizon : whether the policy must know the budget in advance.
    shift_aware : whether shifts of the environments leave its choices unchanged.
    adaptive : whether its choices depend on rewards. Confidence intervals must allow for that.
    anytime : whether the policy also runs without a budget, although it performs better with one.
    stops : whether `ask` may return -1 before the budget is spent.
    weigh : kernel (params, state, data, arm) -> weight of a reward in the weighted sums.
    active : kernel (params, state, arm) -> whether the policy may still pull the arm.
    from_world : (world) -> options that simulations derive from their world. Elsewhere users must give
        these options, whose default is None.
    holes : kernels or numbers that fill the holes in its own kernels, by name.
    merges : (state) -> whether `tell` may receive all pending pulls as one batch, whatever their arms; None
        if it never may. It suits policies that, after their start, need only the number of pending pulls.
    on_ratios : options that replace the defaults where arms are compared by ratios.
    reads_with_rule : statistics that its kernels read only if the selection rule in use declares them.
        `configure` receives the name of that rule.
    on_unequal : options that replace the defaults where the noise differs between arms.
    tide : name of the statistics that it reads as "fit" (`policies/statistics_models.py`). Keep the default.
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
        if self.name.startswith(PREFIX) and "inner_ask" not in self.holes:  # only `reduce_policy` fills it
            raise InputError(
                f"the policy name {self.name!r} must not begin with {PREFIX!r}: tideproof adds this prefix "
                f"to the name of a policy that it runs on rewards with the shifts subtracted"
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
        check_words(self.title, self.reads)
        check_words(self.title, self.reads_with_rule)
        for what in ("ask", "tell", "weigh", "active"):
            check_kernel(f"{what} of {self.title}", getattr(self, what))
        check_holes(self.title, self.holes)

    @property
    def title(self) -> str:
        """Name of the policy as error messages show it, such as "policy 'lucb'"."""
        return f"policy {self.name!r}"

    def selection(self, name: str | None) -> Selection:
        """Return the selection rule with the given name, or the default rule if the name is None."""
        for rule in self.selections:
            if name is None or rule.name == name:
                return rule
        raise UnknownName.with_suggestion(
            "selection", name, [s.name for s in self.selections], f"for {self.name}"
        )

    def options(self) -> dict[str, Any]:
        """Return the options of the policy by name, with their default values."""
        parameters = inspect.signature(self.configure).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
