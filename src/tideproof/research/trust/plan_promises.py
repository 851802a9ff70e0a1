"""Observed error rates of simulated tests with the budgets that `tideproof plan` recommends.

The worlds differ from those that `plan` simulates: shifts apply to all arms, conversions are 0 or 1 on days
that multiply rates, and arms are not assigned in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation import simulate
from tideproof.plans.even_split import POWER
from tideproof.plans.planner import plan
from tideproof.policies.policy_registry import policy
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.named_winners import DAYS, count_not_named
from tideproof.worlds import Uniform, World

_DAYS = Uniform(-DAYS, DAYS)  # logarithm of the factor by which a day multiplies rates
_HIGHEST = 0.8  # largest rate that days may lead to
_LOGS = 25  # one log is fitted for so many simulated runs, because a fit takes longer
NAMED = "analyze names the best arm"


class PlanSetting(NamedTuple):
    """Arguments of one call of `plan`, such as the number of arms and the allowed error rate.

    The best arm leads by a gap, or by a lift of a rate.
    """

    arms: int
    length: int
    error: float
    gap: float | None = None
    rate: float | None = None
    lift: float | None = None

    @property
    def name(self) -> str:
        """Description of the planned test in words."""
        ahead = f"gap {self.gap:g}" if self.rate is None else f"rate {self.rate:g}, lift {self.lift:g}"
        size = f"{self.length} pulls in each environment"
        return f"{self.arms} arms, {ahead}, {size}, allowed error {self.error:g}"

    def world(self) -> World:
        """Return the simulated world in which the planned number of pulls of a test is checked."""
        others, lengths = self.arms - 1, (self.length, self.length)
        if self.rate is None or self.lift is None:
            return World([0.0] * others + [self.gap or 0.0], lengths=lengths, shifts=Uniform(0.0, 20.0))
        best = self.rate * (1.0 + self.lift)
        days = _DAYS if best * np.exp(_DAYS.high) < _HIGHEST else Uniform(0.0, 0.0)
        return World(
            [self.rate] * others + [best],
            lengths=lengths,
            shifts=days,
            rewards="conversions",
            tide="multiplies",
        )


SETTINGS = (
    PlanSetting(2, 2, 0.05, gap=0.4),
    PlanSetting(2, 30, 0.01, gap=0.25),
    PlanSetting(2, 100, 0.1, gap=0.1),
    PlanSetting(3, 5, 0.2, gap=0.35),
    PlanSetting(3, 17, 0.02, gap=0.6),
    PlanSetting(4, 3, 0.05, gap=0.8),
    PlanSetting(4, 60, 0.03, gap=0.2),
    PlanSetting(5, 11, 0.1, gap=0.15),
    PlanSetting(6, 2, 0.08, gap=0.5),
    PlanSetting(6, 500, 0.05, gap=0.12),
    PlanSetting(7, 40, 0.005, gap=0.45),
    PlanSetting(8, 4, 0.05, gap=1.1),
    PlanSetting(10, 25, 0.15, gap=0.3),
    PlanSetting(12, 150, 0.05, gap=0.4),
    PlanSetting(20, 80, 0.1, gap=0.5),
    PlanSetting(2, 300, 0.05, rate=0.2, lift=0.2),
    PlanSetting(3, 1000, 0.1, rate=0.05, lift=0.3),
    PlanSetting(4, 50, 0.05, rate=0.4, lift=0.4),
    PlanSetting(5, 400, 0.05, rate=0.1, lift=0.5),
    PlanSetting(3, 2000, 0.05, rate=0.03, lift=0.25),
    PlanSetting(2, 4, 0.05, gap=2.2),  # the remaining settings are small tests
    PlanSetting(3, 12, 0.02, gap=2.0),
    PlanSetting(4, 7, 0.1, gap=1.7),
    PlanSetting(5, 3, 0.05, gap=2.5),
    PlanSetting(9, 2, 0.05, gap=3.5),
    PlanSetting(2, 10, 0.05, rate=0.45, lift=0.9),
)


class PromiseOutcome(NamedTuple):
    """A planned budget, and the error rate of simulated tests with this budget.

    Attributes
    ----------
    setting : description of the setting.
    way : "contrast", "even split", or "analyze names the best arm" after an even split.
    promised : the allowed error; for the last way, the allowed share of logs without a named best arm.
    budget : the planned pulls.
    runs, wrong : number of runs, and of those that selected a wrong arm or did not name the best one.
    error, low, high : the share of wrong runs with its exact 95 % confidence interval.
    kept : whether the allowed error is not below this interval.
    """

    setting: str
    way: str
    promised: float
    budget: int
    runs: int
    wrong: int
    error: float
    low: float
    high: float
    kept: bool


def play(
    settings: Sequence[PlanSetting] = SETTINGS,
    runs: int = 10_000,
    *,
    replications: int | None = None,
    seed: int = 20,
    engine: str = "auto",
) -> Iterator[list[PromiseOutcome]]:
    """Plan a budget for each kind of test, simulate tests with it, and yield the observed error rates.

    `replications` are those of the plan.
    """
    for setting in settings:
        number = SETTINGS.index(setting) if setting in SETTINGS else 0
        rows = []
        arms, length, error, gap, rate, lift = setting
        found = plan(
            arms=arms,
            gap=gap,
            rate=rate,
            lift=lift,
            per_environment=length,
            error=error,
            replications=replications,
        )
        ours: Any = policy("contrast", label="contrast")
        if rate is not None:
            ours = ours.on_ratios()
        for way, spec, budget in (
            ("contrast", ours, found.budget),
            ("even split", policy("round-robin+ols", label="even split"), found.even_split),
        ):
            # A large offset keeps these seeds apart from the small seeds that plans use.
            study = simulate(setting.world(), spec, budget, runs, 10**9 + seed + number, engine=engine)
            rows.append(_outcome(setting, way, error, budget, runs, int(study.errors(way)[0])))
        logs, means, level = max(1, runs // _LOGS), np.array(setting.world().means), 1.0 - error
        missed = count_not_named(
            means, rate is not None, length, found.pulls_for_power, level, logs, seed + number
        )
        rows.append(_outcome(setting, NAMED, 1.0 - POWER, found.pulls_for_power, logs, missed))
        yield rows


def _outcome(
    setting: PlanSetting, way: str, promised: float, budget: int, runs: int, wrong: int
) -> PromiseOutcome:
    low, high = (float(limit[0]) for limit in binomial(np.array([wrong]), runs, 0.95))
    return PromiseOutcome(
        setting.name, way, promised, budget, runs, wrong, wrong / runs, low, high, low <= promised
    )


def summary_lines(rows: Sequence[PromiseOutcome]) -> list[str]:
    """Return one line of text for each planned budget with its observed error rate."""
    return [
        f"{row.setting}: {_describe_error(row)} in {percent(row.error, (row.low, row.high))} of tests"
        f"{'' if row.kept else ' !'}"
        for row in rows
    ]


def _describe_error(row: PromiseOutcome) -> str:
    """Describe which kind of test was planned, and what counts as an error in it."""
    if row.way == NAMED:
        return f"with an even split of {row.budget:,} pulls, analyze does not name the best arm"
    how = "contrast and" if row.way == "contrast" else "an even split of"
    return f"with {how} {row.budget:,} pulls, a wrong arm is selected"


def _play_part(settings: Sequence[PlanSetting], asked: PartOptions) -> Iterator[list[PromiseOutcome]]:
    seed = 20 if asked.seed is None else asked.seed
    return play(settings, asked.runs, replications=asked.replications, seed=seed, engine=asked.engine)


PART = LedgerPart(
    "tests with the planned budget select a wrong arm at most as often as allowed, "
    "and analyze names the best arm as often as planned",
    10_000,
    ("seed", "replications", "engine"),
    lambda _: SETTINGS,
    _play_part,
    lambda rows: columns([row._asdict() for row in rows]),
    summary_lines,
)
