"""Playing a question: policies in its least favourable world, and the budgets that keep the error there."""

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
from tideproof.plans.budget_search import Count, least, search
from tideproof.plans.plan_question import Question
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import World

_MARGIN = 1.03  # blocks are a little optimistic: more pulls by this much
_LAST = 8  # budgets, the last ones that were played, through which the curve goes in the end


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


class Lab:
    """Plays one question, each time in new worlds."""

    def __init__(self, question: Question, block: int, seed: int) -> None:
        self.question, self.block = question, block
        self._seed = require_whole_number("seed", seed, 0) * 1000

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
        play = partial(self.wrong, spec)
        return search(play, start, self.question.error, self._floor, runs)

    @property
    def _floor(self) -> int:
        return 2 * self.question.arms

    def kept(self, spec: PolicySpec, counts: list[Count], runs: int) -> Budget:
        """Return the budget that keeps the error, in pulls, once it has when it was played."""
        steps = float(least(counts[-_LAST:], self.question.error, self._floor))
        for _ in range(8):
            pulls = rounded_up(steps * self.block * (1.0 if self.block == 1 else _MARGIN))
            wrong = self.wrong(spec, math.ceil(pulls / self.block), runs)
            if wrong <= self.question.error * runs:
                break
            steps *= 1.02
        low, high = binomial(np.array([wrong]), runs, 0.95)
        return Budget(pulls, runs, wrong, float(low[0]), float(high[0]))


def rounded_up(pulls: float) -> int:
    """Return a whole number of three digits or more, not below.

    >>> rounded_up(423.2), rounded_up(12_341.0)
    (424, 12400)
    """
    unit: int = 10 ** max(len(str(math.ceil(pulls))) - 3, 0)
    return math.ceil(pulls / unit) * unit
