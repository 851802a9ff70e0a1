"""A plan: what to simulate, apart from how often and on what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from tideproof.checks import require_whole_number
from tideproof.errors import InputError
from tideproof.policies.policy_registry import Address, address, as_policies, found_at, policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.text import join_names
from tideproof.worlds import World, as_world


@dataclass(frozen=True)
class SimulationPlan:
    """What to run, already checked. Travels to other processes as plain words.

    Attributes
    ----------
    world : the world the policies meet.
    policies : the policies, each label once.
    budgets : the checkpoints, in ascending order.
    seed : 0 to 2**64 - 1.
    keep : the budgets at which the selection of every replication is kept.
    """

    world: World
    policies: tuple[PolicySpec, ...]
    budgets: tuple[int, ...]
    seed: int
    keep: tuple[int, ...] = ()

    def budgets_by_run(self, spec: PolicySpec) -> list[tuple[int, ...]]:
        """Return the checkpoints of each run that a policy needs.

        A policy that needs no horizon runs once for all budgets, one that does once for each.
        """
        return [(budget,) for budget in self.budgets] if spec.policy.needs_horizon else [self.budgets]

    @property
    def kept_rows(self) -> list[int]:
        """The places, among the budgets, of those at which selections are kept."""
        return [self.budgets.index(budget) for budget in self.keep]

    def __reduce__(self) -> tuple[Any, ...]:
        described = tuple(
            (address(spec.policy), spec.selection.name, dict(spec.options), spec.label)
            for spec in self.policies
        )
        return _unpickled, (self.world, described, self.budgets, self.seed, self.keep)


def _unpickled(
    world: World,
    described: tuple[tuple[Address, str, dict[str, Any], str], ...],
    budgets: tuple[int, ...],
    seed: int,
    keep: tuple[int, ...],
) -> SimulationPlan | _Lost:
    try:
        specs = tuple(
            policy(found_at(where), selection=selection, label=label, **options)
            for where, selection, options, label in described
        )
    except InputError as error:
        return _Lost(world, budgets, seed, error)
    return SimulationPlan(world, specs, budgets, seed, keep)


class _Lost(NamedTuple):
    """A plan with a policy that this process cannot find.

    Who asks for its policies is told so; an error while it is unpickled would break a pool of processes.
    """

    world: World
    budgets: tuple[int, ...]
    seed: int
    error: InputError

    @property
    def policies(self) -> tuple[PolicySpec, ...]:
        """The policies, which are not to be had."""
        raise self.error


def make_plan(world: Any, policies: Any, budgets: Any, seed: Any, keep: Any = ()) -> SimulationPlan:
    """Return the plan, or say what is wrong with it before anything runs."""
    arms = as_world(world).arms
    specs = as_policies(policies)
    if not specs:
        raise InputError("policies must not be empty")
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two policies are labelled {label!r}; give one tp.policy(..., label=...)")
    points = _checkpoints(budgets, "budgets")
    if not points:
        raise InputError("budgets must not be empty")
    for spec in specs:
        for budget in points if spec.policy.needs_horizon else points[:1]:
            spec.within(world).params(arms, budget)
    kept = _checkpoints(keep, "keep")
    for budget in kept:
        if budget not in points:
            raise InputError(
                f"keep must name budgets of the study, not {budget}; it has {join_names(points)}"
            )
    return SimulationPlan(world, specs, points, require_whole_number("seed", seed, 0, 2**64 - 1), kept)


def _checkpoints(budgets: Any, argument: str) -> tuple[int, ...]:
    several = isinstance(budgets, Iterable) and getattr(budgets, "ndim", 1) > 0  # an array may be one number
    given = tuple(budgets) if several else (budgets,)
    what = "a budget" if argument == "budgets" else f"a budget in {argument}"
    points = tuple(require_whole_number(what, budget, 1) for budget in given)
    for before, after in pairwise(points):
        if after <= before:
            raise InputError(
                f"{argument} must be in ascending order, each once; {after} comes after {before}"
            )
    return points
