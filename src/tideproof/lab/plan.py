"""A plan: what to simulate, apart from how often and on what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tideproof.policies.registry import policy
from tideproof.policies.spec import PolicySpec
from tideproof.worlds import World


@dataclass(frozen=True)
class Plan:
    """What to run, apart from how often; already checked. Travels to other processes as plain names."""

    world: World
    policies: tuple[PolicySpec, ...]
    budgets: tuple[int, ...]
    seed: int

    def __reduce__(self) -> tuple[Any, ...]:
        named = tuple((spec.name, dict(spec.options), spec.label) for spec in self.policies)
        return _plan, (self.world, named, self.budgets, self.seed)


def _plan(
    world: World, named: tuple[tuple[str, dict[str, Any], str], ...], budgets: tuple[int, ...], seed: int
) -> Plan:
    specs = tuple(policy(name, label=label, **options) for name, options, label in named)
    return Plan(world, specs, budgets, seed)


def runs(plan: Plan, spec: PolicySpec) -> list[tuple[int, ...]]:
    """Run an anytime policy once for all budgets, one that needs the horizon once for each."""
    return [(budget,) for budget in plan.budgets] if spec.policy.needs_horizon else [plan.budgets]
