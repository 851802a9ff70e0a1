"""Coverage of the confidence intervals for differences of arms at the end of simulated runs.

The worlds are the panels of the paper and random worlds. Their true means are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import link
from tideproof.core.kernel_state_arrays import Floats
from tideproof.core.program_cache import attach_disk_cache
from tideproof.kernels.fit.final_estimates import FinalEstimates, play_to_final_estimates
from tideproof.lab.executors import cores
from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation_plan import SimulationPlan, make_plan
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.wrong_stops import StopWorld, random_stop_worlds
from tideproof.stats.best.multiple_comparisons import critical_deviate
from tideproof.stats.best.student_inference import normals_from_student, student_from_normal
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import mdm, slippage

CONFIDENCE_LEVEL = 0.95
LEAST_COVERAGE = 0.945  # a coverage that counts as 95 %
POLICIES = ("contrast", "linlucb", "top-two-thompson", "round-robin+ols")
BUDGETS = (20, 40, 100)  # pulls for each arm
PAIRS = ("selected, runner-up", "best, second", "best, any other")

_FALSE_ALARM = 0.001  # probability of calling a coverage of exactly 94.5 % too small
_linking_lock = Lock()


class EndCoverage(NamedTuple):
    """Counts of confidence intervals that cover or miss the true difference of two arms, over many runs.

    Attributes
    ----------
    world, policy, budget : the names of the world and the policy, and the budget in pulls.
    pair : "selected, runner-up"; "best, second", where the first of several best arms counts as the best; or
        "best, any other", which is the arm whose interval missed the truth most often.
    runs : number of runs.
    below, above : runs in which the truth was below the lower bound or above the upper bound.
    nominal : runs in which an interval without the allowance for adaptive runs covers the truth.
    relative_width : average width of the interval relative to one without that allowance.
    """

    world: str
    policy: str
    budget: int
    pair: str
    runs: int
    below: int
    above: int
    nominal: int
    relative_width: float

    @property
    def cover(self) -> float:
        """Share of runs in which the confidence interval covers the truth."""
        return 1.0 - (self.below + self.above) / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % confidence interval of the coverage, which is estimated from simulated runs."""
        return self._interval(0.95)

    @property
    def kept(self) -> bool:
        """Whether the observed coverage is compatible with a true coverage of at least 94.5 %.

        >>> [EndCoverage("", "", 0, "", 2000, missed, 0, 0, 1.0).kept for missed in (143, 144)]
        [True, False]
        """
        return self._interval(1.0 - 2.0 * _FALSE_ALARM)[1] >= LEAST_COVERAGE

    def _interval(self, confidence: float) -> tuple[float, float]:
        covered = binomial(np.array([self.runs - self.below - self.above]), self.runs, confidence)
        return float(covered.low[0]), float(covered.high[0])


def panels() -> list[StopWorld]:
    """Return 16 simulated worlds: 2 patterns of arm means, 2 numbers of arms, 4 kinds of environments.

    They are those of the reproduced paper, which calls the kinds of environments scenarios.
    """
    scenarios = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
    return [
        StopWorld(f"{name}, {arms} arms, {scenario}", make(arms, scenario))
        for name, make in (("MDM", mdm), ("slippage", slippage))
        for arms in (5, 10)
        for scenario in scenarios
    ]


def run_worlds(
    worlds: Sequence[StopWorld],
    policies: Sequence[str] = POLICIES,
    budgets: Sequence[int] = BUDGETS,
    runs: int = 2000,
    seed: int = 0,
    workers: int | None = None,
) -> Iterator[list[EndCoverage]]:
    """Simulate policies in worlds, and yield for each world how often confidence intervals cover the truth.

    `budgets` are pulls for each arm.
    """
    require_whole_number("runs", runs, 1)
    count = cores() if workers is None else require_whole_number("workers", workers, 1)

    def count_cell(cell: tuple[StopWorld, str]) -> list[EndCoverage]:
        return _count_world(cell[0], cell[1], budgets, runs, seed)

    with ThreadPoolExecutor(count) as pool:  # compiled kernels release the interpreter lock
        found = pool.map(count_cell, [(place, name) for place in worlds for name in policies])
        for _ in worlds:
            yield [row for _ in policies for row in next(found)]


def _count_world(
    place: StopWorld, name: str, budgets: Sequence[int], runs: int, seed: int
) -> list[EndCoverage]:
    K = place.world.arms
    plan = make_plan(place.world, name, [K * each for each in budgets], seed)
    ends = simulate_ends(plan, runs, place.world.best[0])
    spec = plan.policies[0]
    return [row for b in range(len(budgets)) for row in _coverage_rows(place, spec, plan.budgets[b], ends, b)]


def simulate_ends(plan: SimulationPlan, runs: int, other: int, first: int = 0) -> FinalEstimates:
    """Simulate the first policy of a simulation plan, and return its final estimates in every run.

    Variances of differences are kept for the selected arm and for the arm `other`.
    """
    spec, K = plan.policies[0], plan.world.arms
    with _linking_lock:
        loop = _compiled(spec.policy, spec.selection)
    parts = []
    for budgets in plan.budgets_by_run(spec):
        found, memory = _empty_estimates(len(budgets), runs, K), spec.memory(K)
        params = spec.within(plan.world).params(K, budgets[-1])
        numbers, points = plan.world.numbers(), np.array(budgets, np.int64)
        seeds = np.uint64(plan.seed), np.uint64(first)
        loop(params, memory.view, memory.floats, memory.ints, numbers, *seeds, points, other, found)
        parts.append(found)
    return FinalEstimates(*(np.concatenate(each) for each in zip(*parts, strict=True)))


@cache
def _compiled(policy: Policy, selection: Selection) -> Callable[..., Any]:
    fill = PolicySpec(policy, selection).fill()
    return attach_disk_cache(
        link(play_to_final_estimates, compile_for_cpu, fill), play_to_final_estimates, compile_for_cpu, fill
    )


def _empty_estimates(budgets: int, runs: int, arms: int) -> FinalEstimates:
    each = budgets, runs, arms
    selected, degrees_of_freedom = (np.zeros(each[:2], np.int64) for _ in range(2))
    mu, to_selected, to_other = (np.zeros(each) for _ in range(3))
    return FinalEstimates(
        selected, degrees_of_freedom, np.zeros(each[:2]), mu, to_selected, to_other, np.zeros(arms)
    )


def _coverage_rows(
    place: StopWorld, spec: PolicySpec, budget: int, ends: FinalEstimates, b: int
) -> Iterator[EndCoverage]:
    """Count, for three pairs of arms, how often the confidence interval covers the true difference.

    The counts are for one budget, over the runs whose environments connect all arms.
    """
    known = ends.freedom[b] > 0
    if not known.any():
        return
    mu, selected = ends.mu[b][known], ends.selected[b][known]
    degrees_of_freedom, rss = ends.freedom[b][known].astype(np.float64), ends.rss[b][known]
    truth, best = np.array(place.world.means), place.world.best[0]
    every = np.arange(selected.size)
    rest = mu.copy()
    rest[every, selected] = -np.inf
    rival = rest.argmax(axis=1)

    def deviates(own: Any, others: Any, variance: Floats) -> Floats:
        off = mu[every, own] - mu[every, others] - (truth[own] - truth[others])
        return normals_from_student(off / np.sqrt(rss / degrees_of_freedom * variance), degrees_of_freedom)

    from_best = {k: deviates(best, k, ends.to_other[b][known][:, k]) for k in range(truth.size) if k != best}
    second = max(from_best, key=lambda k: truth[k])
    unlucky = max(
        from_best, key=lambda k: np.count_nonzero(np.abs(from_best[k]) > _critical_value(spec, truth.size))
    )
    picked = deviates(selected, rival, ends.to_selected[b][known][every, rival])
    for pair, z in zip(PAIRS, (picked, from_best[second], from_best[unlucky]), strict=True):
        far, usual = (
            _critical_value(spec, truth.size, pair == PAIRS[0]),
            critical_deviate(CONFIDENCE_LEVEL, truth.size, adaptive=False),
        )
        yield EndCoverage(
            place.name,
            spec.label,
            budget,
            pair,
            selected.size,
            int(np.count_nonzero(z > far)),
            int(np.count_nonzero(z < -far)),
            int(np.count_nonzero(np.abs(z) <= usual)),
            _relative_width(far, usual, degrees_of_freedom),
        )


def _critical_value(spec: PolicySpec, arms: int, picked: bool = False) -> float:
    return critical_deviate(CONFIDENCE_LEVEL, arms, adaptive=spec.policy.adaptive, picked=picked)


def _relative_width(far: float, usual: float, degrees_of_freedom: Floats) -> float:
    """Return how wide intervals with one critical value are on average, relative to those with another.

    It is the average ratio of the widths with `far` and with `usual`.
    """
    values, times = np.unique(degrees_of_freedom, return_counts=True)
    ratios = [student_from_normal(far, nu) / student_from_normal(usual, nu) for nu in values.tolist()]
    return float(np.average(ratios, weights=times))


def table(rows: Iterable[EndCoverage]) -> Table:
    """Return a table with the counts and the shares of confidence intervals that cover the truth."""
    shown = [
        {
            "world": row.world,
            "policy": row.policy,
            "budget": row.budget,
            "pair": row.pair,
            "runs": row.runs,
            "cover": round(100.0 * row.cover, 2),
            "low": round(100.0 * row.interval[0], 2),
            "high": round(100.0 * row.interval[1], 2),
            "below": row.below,
            "above": row.above,
            "nominal": round(100.0 * row.nominal / row.runs, 2),
            "wider": round(row.relative_width, 3),
            "kept": row.kept,
        }
        for row in rows
    ]
    return columns(shown)


def summary_lines(rows: Sequence[EndCoverage]) -> list[str]:
    """Return lines of text with the smallest coverage of confidence intervals for each pair of arms."""
    lines = []
    for pair in PAIRS:
        mine = [row for row in rows if row.pair == pair]
        if mine:
            least, widest = min(mine, key=lambda row: row.cover), max(row.relative_width for row in mine)
            failed, nominal = sum(not row.kept for row in mine), min(row.nominal / row.runs for row in mine)
            lines.append(
                f"{pair}: of {format_count(len(mine), 'row')}, {failed} have a coverage significantly below "
                f"94.5 %. The smallest coverage is {percent(least.cover, least.interval)} ({least.world}, "
                f"{least.policy}, {least.budget} pulls). The allowance for adaptive assignment makes "
                f"intervals at most {widest:.3f} times as wide; without it, the smallest coverage is "
                f"{100 * nominal:.2f} %."
            )
    return lines


def _cells(asked: PartOptions) -> list[StopWorld]:
    return [*panels(), *random_stop_worlds(40 if asked.worlds is None else asked.worlds)]


def _play_part(worlds: Sequence[StopWorld], asked: PartOptions) -> Iterator[list[EndCoverage]]:
    return run_worlds(worlds, runs=asked.runs, seed=asked.seed or 0, workers=asked.workers)


PART = LedgerPart(
    "95 % confidence intervals at the end of a budget cover the truth in at least 94.5 % of runs",
    2_000,
    ("seed", "workers", "worlds"),
    _cells,
    _play_part,
    table,
    summary_lines,
)
