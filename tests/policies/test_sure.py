"""Runs that stop when they are sure: the names, the promise, and what is refused."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from tideproof.errors import InputError, UnknownName
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.policies.calibrated_bounds import find_bound, normal_quantile_of_bound, wrong_stop_probability
from tideproof.policies.policy_registry import find_address
from tideproof.policies.stopping_policy import with_stopping_rule

TIE = tp.World([0.0, 0.0, -1.0], lengths=(2, 20))
CLEAR = tp.World([0.0, 0.6, -1.0], lengths=(2, 20))


@pytest.mark.parametrize(("rule", "prefix"), [("calibrated", "sure:"), ("proven", "proven:")])
def test_a_confidence_names_a_policy_that_stops(rule, prefix):
    chosen = tp.policy("linlucb", confidence=0.9, rule=rule, n0=3)
    assert chosen.name == f"{prefix}linlucb+ols"
    assert chosen.policy is tp.policy(f"{prefix}linlucb").policy
    assert find_address(chosen.policy).name == f"{prefix}linlucb"
    assert chosen.policy.stops
    assert chosen.label == "linlucb(confidence=0.9, n0=3)" or prefix in chosen.label


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("contrast", "calibrated"),
        ("reduce:lucb", "calibrated"),
        ("contrast", "proven"),
        ("round-robin", "proven"),
    ],
)
def test_ties_stop_rarely_and_clear_winners_are_found(name, rule):
    """Of 1,000 runs more than 76 stop in one of a thousand cases if 5 % do; four such tests."""
    chosen = tp.policy(name, confidence=0.95, rule=rule, label="it")
    tie = tp.simulate(TIE, chosen, budgets=[300], replications=1000, seed=4)
    assert tie.stopped("it")[0] == tie.wrong_stops("it")[0] <= 0.076
    clear = tp.simulate(CLEAR, chosen, budgets=[3000], replications=200, seed=5)
    assert clear.stopped("it")[0] > 0.95
    assert clear.samples("it")[0] < 1500
    assert clear.wrong_stops("it")[0] <= 0.07  # as above, of 200


def test_a_proven_run_goes_on_longer_than_a_calibrated_one():
    rules = [
        tp.policy("contrast", confidence=0.95, rule=rule, label=rule) for rule in ("calibrated", "proven")
    ]
    study = tp.simulate(CLEAR, rules, budgets=[2000], replications=200, seed=1)
    assert study.samples("calibrated")[0] < study.samples("proven")[0]


def test_the_arm_of_a_stop_is_the_one_that_led():
    study = tp.simulate(CLEAR, tp.policy("contrast", confidence=0.99, label="it"), [1000], 300, seed=2)
    stops = study.tally.stops[0, 0]
    assert stops.sum() == study.tally.stopped[0, 0] > 250
    assert stops[1] >= 0.97 * stops.sum()
    assert "wrong_stops" in study.table().columns


def test_wrong_stops_are_saved(tmp_path):
    study = tp.simulate(CLEAR, tp.policy("contrast", confidence=0.95, label="it"), [500], 100, seed=2)
    study.save(tmp_path / "study.json")
    assert tp.Study.load(tmp_path / "study.json").wrong_stops("it") == study.wrong_stops("it")


def test_a_plan_travels_to_other_processes():
    plan = SimulationPlan(CLEAR, (tp.policy("contrast", confidence=0.9, rule="proven"),), (50,), 1)
    assert pickle.loads(pickle.dumps(plan)).policies[0].options == (("confidence", 0.9),)


@pytest.mark.parametrize("value", [0.5, 1.0, 95, 0.0, float("nan"), "high"])
def test_a_confidence_that_is_none(value):
    with pytest.raises(InputError, match=r"confidence (of the stopping rule )?must be"):
        tp.policy("contrast", confidence=value)


def test_what_cannot_be_watched():
    with pytest.raises(InputError, match=r"does not estimate shifts.*'reduce:lucb'"):
        tp.policy("lucb", confidence=0.95)
    with pytest.raises(UnknownName, match="unknown rule 'sure'"):
        tp.policy("contrast", confidence=0.95, rule="sure")
    with pytest.raises(InputError, match="stops by itself"):
        tp.policy("sure:proven:contrast")


def test_bounds_grow_with_looks_arms_and_confidence():
    assert find_bound(2, 100, 0.95) < find_bound(2, 1000, 0.95) < find_bound(2, 100_000, 0.95)
    assert find_bound(8, 1000, 0.95) < find_bound(30, 1000, 0.95) < find_bound(30, 1000, 0.99)
    assert wrong_stop_probability(find_bound(5, 700, 0.9), 5, 700) == pytest.approx(0.1)
    assert normal_quantile_of_bound(-np.log(0.025)) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "needs_horizon", "anytime"),
    [
        ("sure:contrast", True, True),
        ("sure:linlucb", True, True),
        ("proven:contrast", False, True),
        ("proven:linlucb", False, True),
    ],
)
def test_a_proven_bound_needs_no_horizon(name, needs_horizon, anytime):
    policy = tp.policy(name).policy
    assert (policy.needs_horizon, policy.anytime) == (needs_horizon, anytime)


def test_a_policy_that_needs_a_horizon_needs_it_with_a_proven_bound_too():
    base = tp.policy("linlucb").policy
    inner = replace(base, name="finite", needs_horizon=True, anytime=False)
    found = with_stopping_rule(inner, "proven:")
    assert (found.needs_horizon, found.anytime) == (True, False)
