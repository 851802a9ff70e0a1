"""Runs to the end of a budget, in worlds whose truth is known: how often limits of differences hold there.

Played are the panels of the paper and random worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.array_layout import Floats
from tideproof.core.cpu_target import cpu
from tideproof.core.kernel_linker import link
from tideproof.core.program_cache import keep
from tideproof.kernels.fit.final_estimates import FinalEstimates, play_to_ends
from tideproof.lab.executors import cores
from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation_plan import SimulationPlan, make_plan
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.selection_rules import Selection
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.wrong_stops import StopWorld, places
from tideproof.stats.best.adaptive_allowance import reach
from tideproof.stats.pairs.skewed_tails import normals_from_student, student_from_normal
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import mdm, slippage

LEVEL = 0.95
LEAST = 0.945  # a coverage that counts as 95 %
POLICIES = ("contrast", "linlucb", "top-two-thompson", "round-robin+ols")
BUDGETS = (20, 40, 100)  # pulls for each arm
PAIRS = ("selected, runner-up", "best, second", "best, any other")

_CHANCE = 0.001  # of calling a cell broken that covers in just 94.5 %
_linking = Lock()


class End(NamedTuple):
    """What was counted of one pair in one cell.

    Attributes
    ----------
    world, policy, budget : what was played, the budget in pulls.
    pair : "selected, runner-up"; "best, second", of equal ones the first; or "best, any other", of which the
        one that was missed most often counts.
    runs : how many.
    below, above : runs in which the truth was below the lower, above the upper limit.
    nominal : runs in which limits that allow for nothing hold.
    wider : how many times as wide as those, on average.
    """

    world: str
    policy: str
    budget: int
    pair: str
    runs: int
    below: int
    above: int
    nominal: int
    wider: float

    @property
    def cover(self) -> float:
        """The share of runs in which the limits hold."""
        return 1.0 - (self.below + self.above) / self.runs

    @property
    def limits(self) -> tuple[float, float]:
        """The exact 95 % interval of that share."""
        return self._limits(0.95)

    @property
    def kept(self) -> bool:
        """Whether chance explains a share below 94.5 %.

        >>> [End("", "", 0, "", 2000, missed, 0, 0, 1.0).kept for missed in (143, 144)]
        [True, False]
        """
        return self._limits(1.0 - 2.0 * _CHANCE)[1] >= LEAST

    def _limits(self, level: float) -> tuple[float, float]:
        held = binomial(np.array([self.runs - self.below - self.above]), self.runs, level)
        return float(held.low[0]), float(held.high[0])


def panels() -> list[StopWorld]:
    """Return the 16 panels of the paper."""
    scenarios = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
    return [
        StopWorld(f"{name}, {arms} arms, {scenario}", make(arms, scenario))
        for name, make in (("MDM", mdm), ("slippage", slippage))
        for arms in (5, 10)
        for scenario in scenarios
    ]


def played(
    worlds: Sequence[StopWorld],
    policies: Sequence[str] = POLICIES,
    budgets: Sequence[int] = BUDGETS,
    runs: int = 2000,
    seed: int = 0,
    workers: int | None = None,
) -> Iterator[list[End]]:
    """Play every policy in these worlds, to budgets of so many pulls for each arm; yield the rows of each."""
    require_whole_number("runs", runs, 1)
    count = cores() if workers is None else require_whole_number("workers", workers, 1)

    def counted(cell: tuple[StopWorld, str]) -> list[End]:
        return _counted(cell[0], cell[1], budgets, runs, seed)

    with ThreadPoolExecutor(count) as pool:  # kernels release the lock
        found = pool.map(counted, [(place, name) for place in worlds for name in policies])
        for _ in worlds:
            yield [row for _ in policies for row in next(found)]


def _counted(place: StopWorld, name: str, budgets: Sequence[int], runs: int, seed: int) -> list[End]:
    K = place.world.arms
    plan = make_plan(place.world, name, [K * each for each in budgets], seed)
    ends = ends_of(plan, runs, place.world.best[0])
    spec = plan.policies[0]
    return [row for b in range(len(budgets)) for row in _rows(place, spec, plan.budgets[b], ends, b)]


def ends_of(plan: SimulationPlan, runs: int, other: int, first: int = 0) -> FinalEstimates:
    """Play the first policy of a plan so many times; also keep differences to the arm `other`."""
    spec, K = plan.policies[0], plan.world.arms
    with _linking:
        loop = _compiled(spec.policy, spec.selection)
    parts = []
    for budgets in plan.budgets_by_run(spec):
        found, memory = _room(len(budgets), runs, K), spec.memory(K)
        params = spec.within(plan.world).params(K, budgets[-1])
        numbers, points = plan.world.numbers(), np.array(budgets, np.int64)
        seeds = np.uint64(plan.seed), np.uint64(first)
        loop(params, memory.view, memory.floats, memory.ints, numbers, *seeds, points, other, found)
        parts.append(found)
    return FinalEstimates(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@cache
def _compiled(policy: Policy, selection: Selection) -> Callable[..., Any]:
    fill = PolicySpec(policy, selection).fill()
    return keep(link(play_to_ends, cpu, fill), play_to_ends, cpu, fill)


def _room(budgets: int, runs: int, arms: int) -> FinalEstimates:
    each = budgets, runs, arms
    selected, freedom = (np.zeros(each[:2], np.int64) for _ in range(2))
    mu, to_selected, to_other = (np.zeros(each) for _ in range(3))
    return FinalEstimates(selected, freedom, np.zeros(each[:2]), mu, to_selected, to_other, np.zeros(arms))


def _rows(place: StopWorld, spec: PolicySpec, budget: int, ends: FinalEstimates, b: int) -> Iterator[End]:
    """Count what limits do at one budget. Runs whose arms cannot be compared have none, and do not count."""
    known = ends.freedom[b] > 0
    if not known.any():
        return
    mu, selected = ends.mu[b][known], ends.selected[b][known]
    freedom, rss = ends.freedom[b][known].astype(np.float64), ends.rss[b][known]
    truth, best = np.array(place.world.means), place.world.best[0]
    every = np.arange(selected.size)
    rest = mu.copy()
    rest[every, selected] = -np.inf
    rival = rest.argmax(axis=1)

    def deviates(own: Any, others: Any, variance: Floats) -> Floats:
        off = mu[every, own] - mu[every, others] - (truth[own] - truth[others])
        return normals_from_student(off / np.sqrt(rss / freedom * variance), freedom)

    from_best = {k: deviates(best, k, ends.to_other[b][known][:, k]) for k in range(truth.size) if k != best}
    second = max(from_best, key=lambda k: truth[k])
    unlucky = max(from_best, key=lambda k: np.count_nonzero(np.abs(from_best[k]) > _reach(spec, truth.size)))
    picked = deviates(selected, rival, ends.to_selected[b][known][every, rival])
    for pair, z in zip(PAIRS, (picked, from_best[second], from_best[unlucky]), strict=True):
        far, usual = _reach(spec, truth.size, pair == PAIRS[0]), reach(LEVEL, truth.size, adaptive=False)
        yield End(
            place.name,
            spec.label,
            budget,
            pair,
            selected.size,
            int(np.count_nonzero(z > far)),
            int(np.count_nonzero(z < -far)),
            int(np.count_nonzero(np.abs(z) <= usual)),
            _wider(far, usual, freedom),
        )


def _reach(spec: PolicySpec, arms: int, picked: bool = False) -> float:
    return reach(LEVEL, arms, adaptive=spec.policy.adaptive, picked=picked)


def _wider(far: float, usual: float, freedom: Floats) -> float:
    """Return how many times as wide limits are, on average over runs."""
    values, times = np.unique(freedom, return_counts=True)
    ratios = [student_from_normal(far, nu) / student_from_normal(usual, nu) for nu in values.tolist()]
    return float(np.average(ratios, weights=times))


def table(rows: Iterable[End]) -> Table:
    """Return the rows as a table, in percent."""
    shown = [
        {
            "world": row.world,
            "policy": row.policy,
            "budget": row.budget,
            "pair": row.pair,
            "runs": row.runs,
            "cover": round(100.0 * row.cover, 2),
            "low": round(100.0 * row.limits[0], 2),
            "high": round(100.0 * row.limits[1], 2),
            "below": row.below,
            "above": row.above,
            "nominal": round(100.0 * row.nominal / row.runs, 2),
            "wider": round(row.wider, 3),
            "kept": row.kept,
        }
        for row in rows
    ]
    return columns(shown)


def said(rows: Sequence[End]) -> list[str]:
    """Return a line for each pair: what was worst."""
    lines = []
    for pair in PAIRS:
        mine = [row for row in rows if row.pair == pair]
        if mine:
            least, widest = min(mine, key=lambda row: row.cover), max(row.wider for row in mine)
            failed, nominal = sum(not row.kept for row in mine), min(row.nominal / row.runs for row in mine)
            lines.append(
                f"{pair}: {format_count(len(mine), 'row')}, {failed} significantly below 94.5 %, least "
                f"{percent(least.cover, least.limits)} in {least.world}, {least.policy}, {least.budget} pulls"
                f"; at most {widest:.3f} times as wide as those that allow for nothing, which cover "
                f"{100 * nominal:.2f} % at least"
            )
    return lines


def _cells(asked: PartOptions) -> list[StopWorld]:
    return [*panels(), *places(40 if asked.worlds is None else asked.worlds)]


def _play_part(worlds: Sequence[StopWorld], asked: PartOptions) -> Iterator[list[End]]:
    return played(worlds, runs=asked.runs, seed=asked.seed or 0, workers=asked.workers)


PART = LedgerPart(
    "95 % limits at the end of a budget hold what they should",
    2_000,
    ("seed", "workers", "worlds"),
    _cells,
    _play_part,
    table,
    said,
)
