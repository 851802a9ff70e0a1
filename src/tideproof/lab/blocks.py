"""One block of replications: every policy of a plan meets the same worlds, and only sums come back.

A block is a pure function of the plan and its first replication. Blocks have one fixed size and are
added in one order, so the numbers do not depend on who computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from tideproof.kernels._arrays import Floats, Ints, Memory
from tideproof.kernels.replicate import ARMS, SAMPLES, SQUARES, STOPPED, UNIDENTIFIED, Score, Trace
from tideproof.policies._policy import PolicySpec
from tideproof.policies.registry import policy
from tideproof.worlds import World

BLOCK = 1000  # replications

_linking = Lock()


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


class Tally(NamedTuple):
    """Sums over replications, for P policies, B budgets, K arms and P(P-1)/2 pairs of policies.

    Attributes
    ----------
    chosen : (P, B, K) how often each arm was selected.
    unidentified : (P, B) how often the selection did not rest on comparable arms.
    pulls : (P, B, K) pulls of each arm.
    samples, squares : (P, B) pulls in all, and their squares.
    stopped : (P, B) how often the policy had stopped by itself.
    both : (pairs, B) how often both policies of a pair were wrong.
    apart : (pairs, B) squared difference of what the two selections of a pair cost.
    """

    chosen: Ints
    unidentified: Ints
    pulls: Ints
    samples: Ints
    squares: Ints
    stopped: Ints
    both: Ints
    apart: Floats

    def plus(self, other: Tally) -> Tally:
        """Return the sums over both sets of replications."""
        return Tally._make(mine + theirs for mine, theirs in zip(self, other, strict=True))


def run_block(plan: Plan, first: int, count: int) -> Tally:
    """Play replications first, ..., first + count - 1 of the plan. Needs numba."""
    scores = [play_all(plan, spec, first, count) for spec in plan.policies]
    costs = [plan.world.gaps[score.selected] for score in scores]
    shape = len(scores) * (len(scores) - 1) // 2, len(plan.budgets)
    both, apart = np.zeros(shape, np.int64), np.zeros(shape)
    for pair, (a, b) in enumerate(combinations(costs, 2)):
        both[pair] = np.count_nonzero((a > 0.0) & (b > 0.0), axis=1)
        apart[pair] = np.square(a - b).sum(axis=1)
    return tally(np.stack([score.counts for score in scores]), both, apart)


def tally(counts: Ints, both: Ints, apart: Floats) -> Tally:
    """Name the columns of (P, B, columns) counts."""
    chosen, pulls = np.split(counts[..., ARMS:], 2, axis=-1)
    return Tally(
        chosen=chosen,
        unidentified=counts[..., UNIDENTIFIED],
        pulls=pulls,
        samples=counts[..., SAMPLES],
        squares=counts[..., SQUARES],
        stopped=counts[..., STOPPED],
        both=both,
        apart=apart,
    )


def runs(plan: Plan, spec: PolicySpec) -> list[tuple[int, ...]]:
    """Run an anytime policy once for all budgets, one that needs the horizon once for each."""
    return [(budget,) for budget in plan.budgets] if spec.policy.needs_horizon else [plan.budgets]


def play_all(plan: Plan, spec: PolicySpec, first: int, count: int) -> Score:
    """Play replications first, ..., first + count - 1 of the plan's world with one policy, at all budgets."""
    with _linking:
        loop = spec.compiled()
    scores = [
        play(loop, spec, plan.world, budgets, plan.seed, first, count)[0] for budgets in runs(plan, spec)
    ]
    return Score(np.vstack([s.selected for s in scores]), np.concatenate([s.counts for s in scores]))


def play(
    loop: Callable[..., Any],
    spec: PolicySpec,
    world: World,
    budgets: Sequence[int],
    seed: int,
    first: int,
    count: int,
    trace: Trace | None = None,
) -> tuple[Score, Memory[Any]]:
    """Play replications through `loop`, a twin of the replication kernel linked for `spec`.

    Returns the score, and the memory as the last replication left it.
    """
    K, B = world.arms, len(budgets)
    score = Score(np.zeros((B, count), np.int16), np.zeros((B, ARMS + 2 * K), np.int64))
    memory = spec.memory(K)
    loop(
        spec.within(world).params(K, budgets[-1]),
        memory.view,
        memory.floats,
        memory.ints,
        world.numbers(),
        np.uint64(seed),
        np.uint64(first),
        np.array(budgets, np.int64),
        score,
        empty_trace(0, K) if trace is None else trace,
    )
    return score, memory


def empty_trace(steps: int, arms: int) -> Trace:
    """Allocate a trace of that many steps."""
    return Trace(
        arm=np.zeros(steps, np.int64),
        environment=np.zeros(steps, np.int64),
        shift=np.zeros(steps),
        reward=np.zeros(steps),
        estimates=np.zeros((steps, arms)),
    )
