"""How many runs a plan simulates when nobody says: about 30 million steps of an arm, between 2,000 and 15,000."""

import pytest

import tideproof as tp
from tideproof.plans import planner
from tideproof.plans.budget_search import ErrorCount
from tideproof.plans.plan_simulation import Budget
from tideproof.plans.stopping_time import StoppingTime


class CountedRuns:
    """Stand-in for the simulator that notes the number of runs it is asked for, and simulates nothing."""

    simulate = None

    def __init__(self, question, block, seed):
        pass

    def search(self, spec, pulls, runs):
        return [ErrorCount(round(n), runs, runs // 10) for n in (10.0, 20.0, 30.0)]

    def confirm(self, spec, counts, runs):
        return Budget(30, runs, runs // 20, 0.0, 0.1)


@pytest.mark.parametrize(
    ("arms", "gap", "runs"),
    [
        (3, 50.0, 15_000),  # few pulls: 30e6 / (0.7 * 6 * 3) would be millions
        (4, 0.02, 7_000),  # 1,500 steps: 30e6 / (0.7 * 1500 * 4) = 7,143
        (6, 0.02, 4_000),  # 4,762
        (12, 0.02, 2_000),  # 2,381
        (30, 0.02, 2_000),  # 952
    ],
)
def test_a_plan_takes_a_few_seconds_whatever_is_asked(monkeypatch, arms, gap, runs):
    def stopping(question, rule, even, block, runs, simulate):
        return StoppingTime(rule, 40, 60, 10_000, runs, runs // 20)

    monkeypatch.setattr(planner, "PlanSimulator", CountedRuns)
    monkeypatch.setattr(planner, "simulate_stopping", stopping)
    # no other test uses this seed, so no plan is remembered
    found = tp.plan(arms=arms, gap=gap, sigma=1.0, per_environment=5000, error=0.1, seed=10**6)
    assert found.contrast.runs == found.even.runs == runs
