"""How often runs that stop early are simulated, and with which budget."""

import pytest

from tideproof.plans.plan_simulation import round_up
from tideproof.plans.stopping_time import default_runs, find_stopping_budget


@pytest.mark.parametrize(
    ("rule", "arms", "runs"),
    [
        ("calibrated", 2, 2000),
        ("calibrated", 5, 2000),
        ("calibrated", 6, 1666),
        ("calibrated", 20, 500),
        ("calibrated", 21, 500),
        ("proven", 2, 400),
        ("proven", 5, 400),
        ("proven", 6, 333),
        ("proven", 12, 166),
        ("proven", 14, 150),
    ],
)
def test_the_default_number_of_runs(rule, arms, runs):
    assert default_runs(rule, arms) == runs


@pytest.mark.parametrize(
    ("even", "cap"),
    [(1, 10_000), (1000, 10_000), (1001, 11_000), (1100, 11_000), (1101, 12_000), (9999, 100_000)],
)
def test_the_budget_of_runs_that_stop_is_ten_even_splits_rounded_up(even, cap):
    assert find_stopping_budget(even) == cap


@pytest.mark.parametrize(
    ("pulls", "rounded"),
    [(0.2, 1), (12.0, 12), (999.0, 999), (999.1, 1000), (1000.0, 1000), (1001.0, 1010), (10_001.0, 10_100)],
)
def test_pulls_are_rounded_up_to_three_digits(pulls, rounded):
    assert round_up(pulls) == rounded
