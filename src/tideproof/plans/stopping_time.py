"""Simulate tests that stop once the leader is the best arm with the wanted confidence; count their pulls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tideproof.lab.study import Study
from tideproof.plans.plan_question import Question
from tideproof.plans.plan_simulation import round_up
from tideproof.policies.calibrated_bounds import DEFAULT_BUDGET, find_bound
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec

MOST_PROVEN = 12  # most arms of the proven rule, whose time grows with the cube of their number
_RUNS = {"calibrated": 10_000, "proven": 2_000}  # runs times arms; the proven rule is slow
_FEWEST = {"calibrated": 500, "proven": 150}  # runs
_MOST = {"calibrated": 2_000, "proven": 400}  # runs
_POINTS = 120  # numbers of pulls at which the stopped runs are counted
# The budget of a simulated run is this multiple of that of an even split, or the default if it is larger.
_BUDGET_FACTOR = 10


@dataclass(frozen=True)
class StoppingTime:
    """Distribution of the number of pulls after which simulated tests stop.

    Attributes
    ----------
    rule : the stopping rule, "calibrated" or "proven".
    mean : mean number of pulls.
    percentile_90 : pulls after which nine of ten runs have stopped; None if fewer stop within the budget.
    budget : number of pulls after which a simulated run ends if its stopping rule has not ended it.
    runs, wrong : number of simulated runs, and how many of them stopped with a wrong arm.
    """

    rule: str
    mean: int
    percentile_90: int | None
    budget: int
    runs: int
    wrong: int

    def to_dict(self) -> dict[str, Any]:
        """Return the stopping time as plain Python values, which can be written as JSON."""
        return dict(vars(self))


def default_runs(rule: str, arms: int) -> int:
    """Return the default number of runs to simulate for a stopping rule.

    >>> default_runs("calibrated", 5), default_runs("proven", 10)
    (2000, 200)
    """
    return min(max(_RUNS[rule] // arms, _FEWEST[rule]), _MOST[rule])


def find_stopping_budget(even: int) -> int:
    """Return after how many pulls a simulated test ends if its stopping rule has not ended it before.

    `even` is the budget of an even split, which the maximum exceeds by far.

    >>> find_stopping_budget(560), find_stopping_budget(123_456)
    (10000, 1300000)
    """
    if _BUDGET_FACTOR * even <= DEFAULT_BUDGET:
        return DEFAULT_BUDGET
    unit: int = 10 ** (len(str(_BUDGET_FACTOR * even)) - 2)
    return -(-_BUDGET_FACTOR * even // unit) * unit


def simulate_stopping(
    question: Question, rule: str, even: int, block: int, runs: int, simulate: Callable[..., Study]
) -> StoppingTime:
    """Simulate the policy `contrast` with a stopping rule, and return after how many pulls it stops.

    The confidence level is 1 minus the allowed error. `simulate` runs a simulation and returns its study.
    """
    budget = find_stopping_budget(even)
    spec = _stopping_contrast(question, rule, budget, even, block)
    last = budget // block
    points = np.unique(np.geomspace(2 * question.arms, last, _POINTS).round().astype(int)).tolist()
    study = simulate(question.world(block), spec, points, runs)
    stopped = study.stopped(spec.label)
    late = int(np.searchsorted(stopped, 0.9))
    return StoppingTime(
        rule,
        round_up(block * float(study.samples(spec.label)[-1])),
        round_up(block * points[late]) if late < len(points) else None,
        budget,
        study.replications,
        round(float(study.wrong_stops(spec.label)[-1]) * study.replications),
    )


def _stopping_contrast(question: Question, rule: str, budget: int, even: int, block: int) -> PolicySpec:
    """Return the policy `contrast` with a stopping rule.

    The bound is that of the budget in pulls, because the policy itself counts steps, which may be blocks of
    pulls.
    """
    confidence = 1.0 - question.error
    found = policy("contrast", confidence=confidence, rule=rule).policy
    bound = {"bound": find_bound(question.arms, budget, confidence)} if rule == "calibrated" else {}
    options = {**question.options(even, block), **bound, "confidence": confidence}
    return policy(replace(found, needs_horizon=False), label=rule, **options)
