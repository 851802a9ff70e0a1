"""Plans of simulations: the world, the policies and the budgets, with all arguments checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from tideproof.checks import require_whole_number
from tideproof.errors import InputError
from tideproof.policies.policy_registry import Address, as_policies, find_address, load_address, policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.text import join_names
from tideproof.worlds import World, as_world


@dataclass(frozen=True)
class SimulationPlan:
    """World, policies and budgets of a simulation, with all arguments checked.

    A pickled plan refers to policies by address, so that other processes can load it.

    Attributes
    ----------
    world : the world in which the policies run.
    policies : the policies; their labels are unique.
    budgets : the budgets at which selections are recorded, in ascending order.
    seed : the random seed, 0 to 2**64 - 1.
    keep : the budgets at which the selected arm of every replication is kept.
    """

    world: World
    policies: tuple[PolicySpec, ...]
    budgets: tuple[int, ...]
    seed: int
    keep: tuple[int, ...] = ()

    def budgets_by_run(self, spec: PolicySpec) -> list[tuple[int, ...]]:
        """Group a simulation's budgets so that one run of a policy gives results at all budgets of a group.

        A policy that does not need the budget in advance serves all budgets in one run. Other policies need
        one run for each budget.
        """
        return [(budget,) for budget in self.budgets] if spec.policy.needs_horizon else [self.budgets]

    @property
    def kept_rows(self) -> list[int]:
        """Indices of the budgets at which a study keeps the selected arm of every replication."""
        return [self.budgets.index(budget) for budget in self.keep]

    def __reduce__(self) -> tuple[Any, ...]:
        described = tuple(
            (find_address(spec.policy), spec.selection.name, dict(spec.options), spec.label)
            for spec in self.policies
        )
        return _restore_plan, (self.world, described, self.budgets, self.seed, self.keep)


def _restore_plan(
    world: World,
    described: tuple[tuple[Address, str, dict[str, Any], str], ...],
    budgets: tuple[int, ...],
    seed: int,
    keep: tuple[int, ...],
) -> SimulationPlan | _UnloadablePlan:
    """Rebuild a pickled simulation plan, or return a substitute if one of its policies cannot be found."""
    try:
        specs = tuple(
            policy(load_address(where), selection=selection, label=label, **options)
            for where, selection, options, label in described
        )
    except InputError as error:
        return _UnloadablePlan(world, budgets, seed, error)
    return SimulationPlan(world, specs, budgets, seed, keep)


class _UnloadablePlan(NamedTuple):
    """Substitute for a simulation plan with a policy that this process cannot find.

    Reading its policies raises the error. An error during unpickling would break a pool of processes.
    """

    world: World
    budgets: tuple[int, ...]
    seed: int
    error: InputError

    @property
    def policies(self) -> tuple[PolicySpec, ...]:
        """Raise the error that occurred when this process tried to find the policies of a simulation plan."""
        raise self.error


def make_plan(world: Any, policies: Any, budgets: Any, seed: Any, keep: Any = ()) -> SimulationPlan:
    """Return the plan of a simulation; raise an error if an argument is not allowed."""
    arms = as_world(world).arms
    specs = as_policies(policies)
    if not specs:
        raise InputError("policies must not be empty")
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(
                f"two policies have the label {label!r}: change one with tp.policy(..., label=...)"
            )
    points, kept = checked_budgets(budgets, keep)
    for spec in specs:
        for budget in points if spec.policy.needs_horizon else points[:1]:
            spec.within(world).params(arms, budget)
    return SimulationPlan(world, specs, points, require_whole_number("seed", seed, 0, 2**64 - 1), kept)


def checked_budgets(budgets: Any, keep: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the budgets of a simulation and those at which selections are kept, or raise an error."""
    points = _check_budgets(budgets, "budgets")
    if not points:
        raise InputError("budgets must not be empty")
    kept = _check_budgets(keep, "keep")
    for budget in kept:
        if budget not in points:
            raise InputError(
                f"keep must contain only budgets of the study ({join_names(points)}), not {budget}"
            )
    return points, kept


def _check_budgets(budgets: Any, argument: str) -> tuple[int, ...]:
    """Return one or more budgets as a tuple; raise an error unless they are whole and in ascending order."""
    # A NumPy array without dimensions is a single number.
    several = isinstance(budgets, Iterable) and getattr(budgets, "ndim", 1) > 0
    given = tuple(budgets) if several else (budgets,)
    what = "a budget" if argument == "budgets" else f"a budget in {argument}"
    points = tuple(require_whole_number(what, budget, 1) for budget in given)
    for before, after in pairwise(points):
        if after <= before:
            raise InputError(
                f"{argument} must be in ascending order without repetition, but {after} follows {before}"
            )
    return points
