"""`plan`: how many pulls a test needs, and for how long."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.checks import whole
from tideproof.lab.intervals import binomial
from tideproof.lab.simulate import simulate
from tideproof.lab.study import Study
from tideproof.plans.even import even_budget
from tideproof.plans.question import Question, ask
from tideproof.plans.search import Count, least, search
from tideproof.plans.stopping import RUNS, Sure, stop_when_sure
from tideproof.policies.spec import PolicySpec
from tideproof.policies.registry import policy
from tideproof.progress import progress_bar
from tideproof.table import Table
from tideproof.worlds import World

if TYPE_CHECKING:
    from tideproof.draw.figure import Figure

CONTRAST, EVEN = "contrast", "even split"

_STEPS = 1500  # that an even split may take: more pulls are played in blocks
_PROOF_STEPS = 150  # the same for proofs, which take five times as long as an even split, each step dear
_MARGIN = 1.03  # blocks are a little optimistic: more pulls by this much
_WORK = 40e6  # steps of five arms, in all
_FEWEST, _MOST = 2_000, 20_000  # runs of a budget


@dataclass(frozen=True)
class Budget:
    """A budget that keeps the error, and how often it erred when it was played.

    Attributes
    ----------
    pulls : the budget.
    runs, wrong : how many were played with it in new worlds, and how many selected a wrong arm.
    low, high : exact 95 % limits of that share.
    """

    pulls: int
    runs: int
    wrong: int
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Plan:
    """What `tp.plan` returns.

    Attributes
    ----------
    question : what was asked, in units of the noise.
    contrast, even : the budgets that keep the error, with what was counted.
    sure, proven : runs that stop when they are sure.
    curve : error against budget, one row for each budget that was played.
    asked : the question in words.
    """

    question: Question
    contrast: Budget
    even: Budget
    sure: Sure
    proven: Sure
    curve: Table
    asked: str = field(default="", compare=False)

    @property
    def budget(self) -> int:
        """Pulls that `contrast` needs."""
        return self.contrast.pulls

    @property
    def even_split(self) -> int:
        """Pulls that an even split needs."""
        return self.even.pulls

    def environments(self, pulls: int) -> int:
        """Return how many environments so many pulls last."""
        return 1 if math.isinf(self.question.size) else math.ceil(pulls / self.question.size)

    @property
    def sentence(self) -> str:
        """The answer."""
        late = self.sure.ninety
        last = f"{late:,} in nine of ten" if late else f"more than {self.sure.cap:,} in one of ten"
        return (
            f"{self.asked}: {self.budget:,} pulls ({self._lasting(self.budget)}) let contrast select a wrong one "
            f"in at most {100.0 * self.question.error:g} % of runs; an even split needs {self.even_split:,}; a run "
            f"that stops when {100.0 * (1.0 - self.question.error):g} % sure takes {self.sure.mean:,} on average, "
            f"{last}."
        )

    def _lasting(self, pulls: int) -> str:
        number = self.environments(pulls)
        return f"{number:,} environment{'' if number == 1 else 's'}"

    @property
    def table(self) -> Table:
        """One row for each way to do it."""
        budgets = {CONTRAST: self.contrast, EVEN: self.even}
        stops = {"stops when sure": self.sure, "stops when proven": self.proven}
        shares = [(b.wrong, b.runs) for b in (*budgets.values(), *stops.values())]
        limits = [binomial(np.array([wrong]), runs, 0.95) for wrong, runs in shares]
        pulls = [b.pulls for b in budgets.values()] + [s.mean for s in stops.values()]
        return Table(
            {
                "way": [*budgets, *stops],
                "pulls": pulls,
                "nine_of_ten": [b.pulls for b in budgets.values()] + [s.ninety for s in stops.values()],
                "environments": [self.environments(n) for n in pulls],
                "wrong": [wrong / runs for wrong, runs in shares],
                "low": [float(limit.low[0]) for limit in limits],
                "high": [float(limit.high[0]) for limit in limits],
                "runs": [runs for _, runs in shares],
            }
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw error against budget; save it if a path is given, as png, svg or pdf by its suffix."""
        from tideproof.draw.plans import draw_plan

        lines = {}
        for way in (CONTRAST, EVEN):
            rows = [row for row in self.curve if row["way"] == way]
            lines[way] = {name: [row[name] for row in rows] for name in ("budget", "error", "low", "high")}
        found = {CONTRAST: self.budget, EVEN: self.even_split}
        return draw_plan(lines, found, self.question.error, self.asked, path)

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "sentence": self.sentence,
            "budget": self.budget,
            "even_split": self.even_split,
            "sure": vars(self.sure),
            "proven": vars(self.proven),
            "ways": self.table.to_dicts(),
            "curve": self.curve.to_dicts(),
        }

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.table!r}"


_answers: dict[tuple[Question, int | None, int], Plan] = {}  # of this process: only ratios to noise matter


def answer(
    question: Question, asked: str, replications: int | None = None, seed: int = 0, progress: bool = False
) -> Plan:
    """Play what is asked, or remember it."""
    from dataclasses import replace

    key = question, replications, seed
    if key not in _answers:
        watch = progress_bar("planning", 100.0, first="compiling") if progress else nullcontext(_silent)
        with watch as show:
            _answers[key] = _played(question, replications, seed, show)
    return replace(_answers[key], asked=asked)


def _played(question: Question, replications: int | None, seed: int, show: Callable[..., None]) -> Plan:
    guess = even_budget(question)
    block = max(1, round(guess / _STEPS))
    runs = _runs(question.arms, guess / block) if replications is None else replications
    lab = Lab(question, block, seed)
    contrast = question.contrast(0.7 * guess, block)
    show(5.0)
    ours = lab.counts(contrast, [0.35 * guess, 0.5 * guess, 0.7 * guess, guess], runs)
    show(50.0)
    theirs = lab.counts(policy("round-robin+ols"), [0.8 * guess, guess, 1.2 * guess], max(runs // 2, 1))
    show(70.0)
    ours_budget = lab.kept(contrast, ours, runs)
    show(80.0)
    even = lab.kept(policy("round-robin+ols"), theirs, runs)
    show(90.0)
    often = {rule: min(usual, replications or usual) for rule, usual in RUNS.items()}
    sure = stop_when_sure(question, "calibrated", guess, block, often["calibrated"], lab.simulated)
    show(95.0)
    coarse = max(block, round(guess / _PROOF_STEPS))
    proven = stop_when_sure(question, "proven", guess, coarse, often["proven"], lab.simulated)
    return Plan(question, ours_budget, even, sure, proven, _curve(block, {CONTRAST: ours, EVEN: theirs}))


def _runs(arms: int, steps: float) -> int:
    """Return how often to play each budget."""
    cost = 5.0 * 0.7 * steps * arms / 5.0  # five budgets, of about as much of an even split; a step costs O(arms)
    return int(min(max(_WORK / cost, _FEWEST), _MOST)) // 1000 * 1000


class Lab:
    """Plays one question, each time in new worlds."""

    def __init__(self, question: Question, block: int, seed: int) -> None:
        self.question, self.block = question, block
        self._seed = whole("seed", seed, 0) * 1000

    def simulated(self, world: World, spec: PolicySpec, budgets: Any, runs: int) -> Study:
        """Return a study; Ctrl-C ends the whole plan."""
        self._seed += 1
        study = simulate(world, spec, budgets, replications=runs, seed=self._seed)
        if study.interrupted:
            raise KeyboardInterrupt
        return study

    def wrong(self, spec: PolicySpec, steps: int, runs: int) -> int:
        """Return how many runs of so many steps select a wrong arm."""
        study = self.simulated(self.question.world(self.block), spec, steps, runs)
        return int(study.errors(spec.label)[0])

    def counts(self, spec: PolicySpec, pulls: list[float], runs: int) -> list[Count]:
        """Look for the least budget, beginning with these; return what was counted, in steps."""
        start = [each / self.block for each in pulls]
        return search(lambda steps, often: self.wrong(spec, steps, often), start, self.question.error, self._floor, runs)

    @property
    def _floor(self) -> int:
        return 2 * self.question.arms

    def kept(self, spec: PolicySpec, counts: list[Count], runs: int) -> Budget:
        """Return the budget that keeps the error, in pulls, once it has when it was played."""
        steps = float(least(counts[-8:], self.question.error, self._floor))
        for _ in range(8):
            pulls = _rounded_up(steps * self.block * (1.0 if self.block == 1 else _MARGIN))
            wrong = self.wrong(spec, math.ceil(pulls / self.block), runs)
            if wrong <= self.question.error * runs:
                break
            steps *= 1.02
        low, high = binomial(np.array([wrong]), runs, 0.95)
        return Budget(pulls, runs, wrong, float(low[0]), float(high[0]))


def _rounded_up(pulls: float) -> int:
    """Return a whole number of three digits or more, not below.

    >>> _rounded_up(423.2), _rounded_up(12_341.0)
    (424, 12400)
    """
    unit = 10 ** max(len(str(math.ceil(pulls))) - 3, 0)
    return math.ceil(pulls / unit) * unit


def _curve(block: int, counted: dict[str, list[Count]]) -> Table:
    """Return all that was counted, by way and budget."""
    columns: dict[str, list[Any]] = {name: [] for name in ("way", "budget", "runs", "error", "low", "high")}
    for way, counts in counted.items():
        for budget in sorted({count.budget for count in counts}):
            runs = sum(c.runs for c in counts if c.budget == budget)
            wrong = sum(c.wrong for c in counts if c.budget == budget)
            low, high = binomial(np.array([wrong]), runs, 0.95)
            row = (way, budget * block, runs, wrong / runs, float(low[0]), float(high[0]))
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return Table(columns)


def _silent(done: float) -> None:
    pass


def plan(
    *,
    arms: int | None = None,
    gap: float | None = None,
    sigma: float | None = None,
    rate: float | None = None,
    lift: float | None = None,
    per_environment: int | None = None,
    error: float = 0.05,
    log: Any = None,
    arm: str | None = None,
    environment: str | None = None,
    reward: str | None = None,
    replications: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Plan:
    """Say how many pulls a test needs, by playing it in the least favourable world: one arm ahead of equals.

    Parameters
    ----------
    arms
        Their number.
    gap, sigma
        For means: how much better the best arm is, and the standard deviation of a reward; 1 unless given.
    rate, lift
        For conversions: the usual rate, and by which share the best one is above it: 0.1 for 10 %.
    per_environment
        Pulls that share one environment, such as the visitors of a day.
    error
        How often a wrong arm may be selected.
    log
        A pilot, as `fit` takes it, from which arms, sigma (or rate) and the lengths of environments are
        taken, as far as they are not given.
    arm, environment, reward
        Columns of the log.
    replications
        How often to play each budget; as many as a few seconds allow unless given.
    seed
        The same seed gives the same plan.
    progress
        Show how far it is.

    Examples
    --------
    >>> import tideproof as tp
    >>> found = tp.plan(arms=3, gap=1.0, sigma=1.0, per_environment=20, error=0.1, replications=1000)
    >>> found.budget < found.even_split < found.sure.mean
    True
    """
    from tideproof.plans.pilot import pilot_of

    pilot = None if log is None else pilot_of(log, arm, environment, reward)
    return asked_plan(
        pilot, arms, gap, sigma, rate, lift, per_environment, error, replications, seed, progress
    )


def asked_plan(
    pilot: Any,
    arms: int | None,
    gap: float | None,
    sigma: float | None,
    rate: float | None,
    lift: float | None,
    per_environment: int | None,
    error: float,
    replications: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Plan:
    """Answer, with what a pilot says in place of what is not given."""
    lengths: Any = per_environment
    if pilot is not None:
        arms = pilot.arms if arms is None else arms
        lengths = pilot.lengths if per_environment is None else per_environment
        if lift is not None and rate is None:
            rate = pilot.checked_rate()
        elif gap is not None and sigma is None:
            sigma = pilot.checked_sigma()
    if replications is not None:
        whole("replications", replications, 100)
    whole("seed", seed, 0, 2**53)
    question = ask(arms=arms, gap=gap, sigma=sigma, rate=rate, lift=lift, lengths=lengths, error=error)
    if question.rates is None:
        ahead = f"{gap:g} (sigma {1.0 if sigma is None else sigma:.4g})"
    else:
        ahead = f"{100.0 * (lift or 0.0):g} % (rate {rate:.4g})"
    return answer(question, f"{question.arms} arms, one ahead by {ahead}", replications, seed, progress)
