"""Simulate a planned test in its least favourable world, and find the budgets with the allowed error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.lab.share_intervals import binomial
from tideproof.lab.simulation import simulate
from tideproof.lab.study import Study
from tideproof.plans.budget_search import ErrorCount, find_least_budget, search_budget
from tideproof.plans.plan_question import Question
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import World

_MARGIN = 1.03  # factor for budgets found with blocks, which are slightly too small
_LAST = 8  # number of last simulated budgets to which the final curve is fitted


@dataclass(frozen=True)
class Budget:
    """Budget with which a test keeps its allowed error rate, and the error rate observed with this budget.

    Attributes
    ----------
    pulls : the budget.
    runs, wrong : number of simulated runs with this budget in new worlds, and how many selected a wrong arm.
    low, high : exact 95 % confidence bounds of the probability of an error.
    """

    pulls: int
    runs: int
    wrong: int
    low: float
    high: float


class PlanSimulator:
    """Simulator of one planned test, which uses new random worlds in every call.

    `block` is the number of pulls that one simulated step stands for.
    """

    def __init__(self, question: Question, block: int, seed: int) -> None:
        self.question, self.block = question, block
        self._seed = require_whole_number("seed", seed, 0) * 1000

    def simulate(self, world: World, spec: PolicySpec, budgets: Any, runs: int) -> Study:
        """Run a simulation with a new random seed and return its results; Ctrl-C raises KeyboardInterrupt."""
        self._seed += 1
        study = simulate(world, spec, budgets, replications=runs, seed=self._seed)
        if study.interrupted:
            raise KeyboardInterrupt
        return study

    def count_errors(self, spec: PolicySpec, steps: int, runs: int) -> int:
        """Simulate `runs` runs of `steps` steps each, and return how many of them select a wrong arm."""
        study = self.simulate(self.question.world(self.block), spec, steps, runs)
        return int(study.errors(spec.label)[0])

    def search(self, spec: PolicySpec, pulls: list[float], runs: int) -> list[ErrorCount]:
        """Simulate a test with various budgets, to find the smallest budget with the allowed error rate.

        Return the number of errors at each simulated budget. The search begins with the budgets `pulls`.
        """
        start = [each / self.block for each in pulls]
        play = partial(self.count_errors, spec)
        return search_budget(play, start, self.question.error, self._floor, runs)

    @property
    def _floor(self) -> int:
        """Smallest budget to simulate, counted in steps of `block` pulls each."""
        return 2 * self.question.arms

    def confirm(self, spec: PolicySpec, counts: list[ErrorCount], runs: int) -> Budget:
        """Return the budget that keeps the allowed error rate, confirmed by a simulation with that budget."""
        steps = float(find_least_budget(counts[-_LAST:], self.question.error, self._floor))
        for _ in range(8):
            pulls = round_up(steps * self.block * (1.0 if self.block == 1 else _MARGIN))
            wrong = self.count_errors(spec, math.ceil(pulls / self.block), runs)
            if wrong <= self.question.error * runs:
                break
            steps *= 1.02
        low, high = binomial(np.array([wrong]), runs, 0.95)
        return Budget(pulls, runs, wrong, float(low[0]), float(high[0]))


def round_up(pulls: float) -> int:
    """Round a number of pulls up to a whole number with three significant digits.

    >>> round_up(423.2), round_up(12_341.0)
    (424, 12400)
    """
    unit: int = 10 ** max(len(str(math.ceil(pulls))) - 3, 0)
    return math.ceil(pulls / unit) * unit
