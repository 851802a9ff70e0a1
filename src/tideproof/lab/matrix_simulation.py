"""Simulation of rules that choose pairs of an arm and an environment, in a response matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.cpu_target import compile_with_arrays
from tideproof.core.kernel_linker import Jit, Kernel, link
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.core.program_cache import attach_disk_cache
from tideproof.errors import InputError, UnknownName
from tideproof.kernels.simulate.pair_rules import ask_by_paired_halving, ask_by_ucb_e, ask_valuable_pairs
from tideproof.lab.chunk_runner import package_versions
from tideproof.lab.executors import threads
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import checked_budgets
from tideproof.lab.study import Recipe, Study
from tideproof.worlds.response_matrix import ResponseMatrix

PAIR_RULES: dict[str, Kernel] = {
    "valuable-pairs": ask_valuable_pairs,
    "paired-halving": ask_by_paired_halving,
    "ucb-e": ask_by_ucb_e,
}
_CHUNK = 10  # replications that a thread plays before it takes the next ones


class _Part:
    """Results of some replications: selected arms and pulls by rule, budget and replication."""

    def __init__(self, rules: int, budgets: int, count: int, arms: int) -> None:
        self.selected = np.zeros((rules, budgets, count), np.int16)
        self.pulls = np.zeros((rules, budgets, count, arms), np.int64)


def simulate_matrix(
    world: ResponseMatrix,
    rules: str | Iterable[str],
    budgets: int | Iterable[int],
    replications: int,
    seed: int,
    executor: Executor | None,
    engine: str,
    keep: int | Iterable[int],
    show: Callable[[int], None],
    jit: Jit = compile_with_arrays,
) -> Study:
    """Play rules that choose pairs in random orders of the environments and arms of a response matrix.

    The arguments are those of `simulate`; `jit` is a target of `link`.
    """
    if executor is not None or engine not in ("auto", "cpu"):
        raise InputError(
            "a response matrix is simulated in threads on the CPU: leave out executor and engine, "
            f"not executor={executor!r} and engine={engine!r}"
        )
    names = _checked_rules(rules)
    points, kept = checked_budgets(budgets, keep)
    every = world.arms * world.environments
    for budget in points:
        if not world.arms <= budget <= every:
            raise InputError(
                f"a budget must be at least the number of arms ({world.arms}) and at most the number of "
                f"pairs ({every:,}), not {budget}"
            )
    seed = require_whole_number("seed", seed, 0, 2**64 - 1)
    replications = require_whole_number("replications", replications, 1)
    start = time.perf_counter()
    play = [compile_rule(name, jit) for name in names]
    parts: list[_Part] = []
    _play_chunk(world, play, points, seed, 0, 1)  # compiles in this thread, so Ctrl-C takes effect at once
    with threads() as pool:
        firsts = range(0, replications, _CHUNK)
        futures = [
            pool.submit(_play_chunk, world, play, points, seed, first, min(_CHUNK, replications - first))
            for first in firsts
        ]
        try:
            for first, future in zip(firsts, futures, strict=True):
                parts.append(future.result())
                show(min(first + _CHUNK, replications))
        finally:
            for future in futures:
                future.cancel()
    selected = np.concatenate([part.selected for part in parts], axis=2)
    pulls = np.concatenate([part.pulls for part in parts], axis=2)
    return Study(
        world=world,
        recipes=tuple(Recipe(name, {}, name) for name in names),
        budgets=points,
        replications=replications,
        seed=seed,
        tally=_sums(selected, pulls, world.gaps, [points.index(budget) for budget in kept]),
        keep=kept,
        made=package_versions() | {"engine": "cpu", "seconds": round(time.perf_counter() - start, 3)},
    )


@cache
def compile_rule(name: str, jit: Jit = compile_with_arrays) -> Kernel:
    """Return the function that plays a rule: `play(scores, budget, pairs)` returns the selected arm."""
    rule = PAIR_RULES[name]
    return (
        attach_disk_cache(link(rule, jit), rule, jit, {}) if jit is compile_with_arrays else link(rule, jit)
    )


def _checked_rules(rules: Any) -> list[str]:
    names = [rules] if isinstance(rules, str) else list(rules)
    if not names:
        raise InputError("policies must not be empty")
    for name in names:
        if name not in PAIR_RULES:
            raise UnknownName.with_suggestion("rule", str(name), list(PAIR_RULES), "for a response matrix")
        if names.count(name) > 1:
            raise InputError(f"the rule {name!r} occurs twice")
    return names


def _play_chunk(
    world: ResponseMatrix, rules: Sequence[Kernel], budgets: Sequence[int], seed: int, first: int, count: int
) -> _Part:
    """Play some replications; all rules and budgets meet the same orders of environments and arms."""
    part = _Part(len(rules), len(budgets), count, world.arms)
    scores = np.asarray(world.scores)
    for r in range(count):
        random = np.random.default_rng([seed, first + r])
        rows, arms = random.permutation(world.environments), random.permutation(world.arms)
        shuffled = np.ascontiguousarray(scores[rows][:, arms])
        for p, rule in enumerate(rules):
            for b, budget in enumerate(budgets):
                pairs = np.full((budget, 2), -1, np.int64)
                part.selected[p, b, r] = arms[rule(shuffled, budget, pairs)]
                asked = arms[pairs[pairs[:, 1] >= 0, 1]]
                part.pulls[p, b, r] = np.bincount(asked, minlength=world.arms)
    return part


def _sums(selected: Any, pulls: Ints, gaps: Floats, kept: list[int]) -> ReplicationSums:
    """Return the sums over all replications, of which each rule, budget and replication is given."""
    rules, budgets, _ = selected.shape
    sums: dict[str, Any] = {
        name: np.zeros(shape, np.float64 if name == "cost_gap_squares" else np.int64)
        for name, shape in ReplicationSums.shapes(rules, budgets, len(gaps)).items()
    }
    samples = pulls.sum(axis=3)
    sums |= {"pulls": pulls.sum(axis=2), "samples": samples.sum(axis=2), "squares": (samples**2).sum(axis=2)}
    sums["chosen"] = (selected[..., None] == np.arange(len(gaps))).sum(axis=2)
    costs = gaps[selected]
    for pair, (a, b) in enumerate(combinations(range(rules), 2)):
        sums["both"][pair] = ((costs[a] > 0.0) & (costs[b] > 0.0)).sum(axis=1)
        sums["cost_gap_squares"][pair] = np.square(costs[a] - costs[b]).sum(axis=1)
    return ReplicationSums(**sums, selected=selected[:, kept])
