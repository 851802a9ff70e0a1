"""Numbers of the stopping rule: shares of the error probability, maximum pulls, and when a check is due."""

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import tideproof as tp
from experiments import saved_state
from tideproof.analysis.fit_result import Fit
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.stopping import stop_rule as module
from tideproof.experiment.stopping.stop_progress import read_stop_progress
from tideproof.experiment.stopping.stop_rule import StopCheck, StopCheckSchedule, StopRule, rule_of
from tideproof.kernels.choose.leader_lead import leader_of, least_lead
from tideproof.policies.calibrated_bounds import DEFAULT_BUDGET, find_bound, normal_quantile_of_bound


def book(settled=0, summaries=0):
    return SimpleNamespace(settled=settled, summaries=[None] * summaries, sure=None)


def rule(**options):
    return rule_of(tp.Experiment(["A", "B"], **{"confidence": 0.95, **options}).events()[0])


def test_what_options_mean():
    assert rule(budget=50) == StopRule(0.95, "calibrated", 50, later=False, normal=True)
    assert rule() == StopRule(0.95, "calibrated", DEFAULT_BUDGET, later=True, normal=True)
    assert rule(rule="proven").name == "proven"
    assert rule(rewards="money") == StopRule(0.95, "calibrated", 10_000_000, later=False, normal=False)
    assert rule_of(tp.Experiment(["A", "B"]).events()[0]) is None


def test_the_proven_rule_applies_beyond_the_maximum_of_the_calibrated_one():
    found = StopRule(0.95, "calibrated", 30, later=True, normal=True)
    assert found.current(book(settled=30)) == found.current(book(summaries=30)) == "calibrated"
    assert found.current(book(settled=31)) == found.current(book(summaries=31)) == "proven"
    assert found._replace(later=False).current(book(settled=31)) == "calibrated"
    assert found._replace(name="proven").current(book()) == "proven"


def state(told, batches=None, surplus=0, warm=0, settled=None, arms=2):
    """Return what a rule reads of the state of an experiment with that many rewards."""
    numbers = SimpleNamespace(batches=told if batches is None else batches, active=list(range(arms)))
    settled = told if settled is None else settled
    return SimpleNamespace(
        policy_state=numbers,
        book=SimpleNamespace(settled=settled, surplus=surplus, warm=warm, summaries=[]),
    )


def test_the_open_ended_rule_leaves_a_fifth_of_the_error_to_the_proven_rule():
    found = StopRule(0.9, "calibrated", 30, later=True, normal=True)
    assert found.needed(state(30)) == pytest.approx(find_bound(2, 30, 1.0 - 0.1 * 0.8))
    assert found.needed(state(31)) == pytest.approx(-math.log(0.1 * 0.2))
    with_budget = found._replace(later=False)
    assert with_budget.needed(state(30)) == pytest.approx(find_bound(2, 30, 0.9))
    assert with_budget._replace(name="proven").needed(state(30)) == pytest.approx(-math.log(0.1))


@pytest.mark.parametrize(
    ("given", "checks"),
    [
        ({"told": 0}, 1000),
        ({"told": 10}, 1000),
        ({"told": 10, "batches": 5}, 500),
        ({"told": 10, "batches": 5, "warm": 10}, 250),
        ({"told": 10, "batches": 10, "surplus": 90}, 1000),
        ({"told": 0, "batches": 4, "surplus": 400}, 10),
        ({"told": 0, "batches": 4, "surplus": 4000}, 4),
    ],
)
def test_the_number_of_checks_up_to_the_maximum_follows_the_batch_size(given, checks):
    found = StopRule(0.95, "calibrated", 1000, later=False, normal=True)
    batches = max(given.get("batches", given["told"]), 1)
    assert found.needed(state(**{"batches": batches, **given})) == pytest.approx(
        find_bound(2, max(checks, 1), 0.95)
    )


def test_beyond_the_maximum_nothing_is_calibrated():
    """The lead is large enough to stop at any pull."""
    run = tp.Experiment(["A", "B"], budget=60, confidence=0.95, policy="round-robin+ols")
    for step, pull in enumerate(run.ask(n=40, environment="x")):
        run.tell(pull, float(pull.arm == "B") * 50.0 + step // 2 % 2)
    kept, found = saved_state(run), rule_of(run.events()[0])
    assert isinstance(found, StopRule)
    assert found._replace(cap=40).check(kept, run.fit) == StopCheck(1, "calibrated")
    assert found._replace(cap=39).check(kept, run.fit) == StopCheck(None, "calibrated")


def seen(told, rss=1.0, environments=0, batches=1, rewards=None, arms=2, retired=0):
    """Return what a schedule reads of the state of an experiment."""
    numbers = SimpleNamespace(
        batches=batches,
        fit=SimpleNamespace(told=[told], rss=[rss]),
        environments=SimpleNamespace(with_rewards=[0] * environments),
    )
    return SimpleNamespace(
        policy_state=numbers,
        book=SimpleNamespace(arms=["x"] * arms, retired=[0] * retired),
        settings=ExperimentSettings(rewards=rewards or "normal"),
    )


@pytest.mark.parametrize(
    ("before", "costly", "next_told"),
    [
        ({"told": 250, "environments": 2999}, False, 250),
        ({"told": 250, "environments": 2999}, True, 252),
        ({"told": 250, "environments": 3000}, True, 253),
        ({"told": 250, "environments": 999}, True, 250),
        ({"told": 250, "rewards": "counts"}, True, 253),
        ({"told": 99, "rewards": "counts"}, True, 100),
        ({"told": 100, "rewards": "counts"}, True, 102),
    ],
)
def test_a_costly_check_waits_for_some_rewards(before, costly, next_told):
    schedule = StopCheckSchedule()
    assert schedule.is_due(seen(**before))
    schedule.note(seen(**before), StopCheck(None, "calibrated", costly=costly))
    for told in range(before["told"] - 1, next_told + 2):
        assert schedule.is_due(seen(**before | {"told": told, "batches": 2})) == (
            told >= (next_told if costly else 0)
        )


@pytest.mark.parametrize("change", [{"batches": 2}, {"rss": 2.0}, {"arms": 3}, {"retired": 1}])
def test_a_check_is_due_after_any_change(change):
    schedule = StopCheckSchedule()
    schedule.note(seen(10), StopCheck(None, "calibrated"))
    assert not schedule.is_due(seen(10))
    assert schedule.is_due(seen(10, **change))


def test_a_check_is_due_after_a_stop_was_undone():
    schedule = StopCheckSchedule()
    schedule.note(seen(10), StopCheck(1, "calibrated"))
    assert schedule.is_due(seen(10))


def conversions(scale="difference"):
    """Return an experiment with two environments in which arm B converts more often."""
    run = tp.Experiment(["A", "B"], rewards="conversions", scale=scale, confidence=0.95, budget=10_000)
    for day in range(2):
        run.tell_summary(arm="A", environment=day, n=200, successes=20)
        run.tell_summary(arm="B", environment=day, n=200, successes=29)
    return run


def rescaled_lead(numbers):
    """Return the lead of arm B on the scale of the experiment, in standard errors."""
    found = numbers.rescaled()
    (a, b), P = found.theta, found.P
    return (b - a) / math.sqrt(found.noise * (P[0, 0] + P[1, 1] - 2.0 * P[0, 1]))


@pytest.mark.parametrize(
    ("scale", "lead", "share"),
    [
        ("difference", lambda numbers: least_lead(numbers.fit, leader_of(numbers.fit), None), 0.5),
        ("ratio", rescaled_lead, 0.7),
        ("odds", rescaled_lead, 0.7),
    ],
)
@pytest.mark.parametrize(("factor", "worthwhile"), [(0.999, True), (1.001, False)])
def test_the_costly_check_is_made_if_a_cheap_lead_is_large_enough(
    scale, lead, share, factor, worthwhile, monkeypatch
):
    run, made = conversions(scale), []
    kept = saved_state(run)
    monkeypatch.setattr(
        module, "normal_quantile_of_bound", lambda bound: factor * lead(kept.policy_state) / share
    )
    found = rule_of(run.events()[0]).check(kept, lambda: made.append(1) or run.fit())
    assert (len(made), found.costly, found.arm) == (worthwhile, worthwhile, None)


@pytest.mark.parametrize(
    ("lead", "groups", "arm"), [(1.0, 1, 1), (1.0 - 1e-9, 1, None), (1.0, 2, None), (3.0, 1, 1)]
)
def test_the_lead_of_the_fit_must_reach_the_deviate(lead, groups, arm, monkeypatch):
    run = conversions()
    fit = SimpleNamespace(
        groups=[None] * groups, best="B", lead=lambda name: lead, cells=SimpleNamespace(arms=["A", "B"])
    )
    monkeypatch.setattr(module, "normal_quantile_of_bound", lambda bound: 1.0)
    assert rule_of(run.events()[0]).check(saved_state(run), lambda: cast(Fit, fit)) == StopCheck(
        arm, "calibrated", True
    )


@pytest.mark.parametrize(
    ("rule_name", "budget"), [("calibrated", 500), ("proven", 500), ("calibrated", None)]
)
def test_progress_is_the_squared_lead_over_what_is_needed(rule_name, budget):
    run = tp.Experiment(["A", "B"], confidence=0.99, rule=rule_name, budget=budget, policy="round-robin+ols")
    random = np.random.default_rng(3)
    for pull in run.ask(n=20, environment="x"):
        run.tell(pull, 0.5 * (pull.arm == "B") + random.standard_normal())
    kept, found = saved_state(run), rule_of(run.events()[0])
    fit = kept.policy_state.fit
    lead, bound = least_lead(fit, leader_of(fit), None), found.needed(kept)
    square = 2.0 * bound if rule_name == "proven" else normal_quantile_of_bound(bound) ** 2
    assert lead > 0.5
    assert read_stop_progress(found, kept).share(run.fit()) == pytest.approx(lead**2 / square)


def test_progress_of_conversions_uses_the_fit():
    run = conversions("ratio")
    kept, found = saved_state(run), rule_of(run.events()[0])
    expected = run.fit().lead("B") ** 2 / normal_quantile_of_bound(found.needed(kept)) ** 2
    assert 0.1 < expected < 0.99
    assert read_stop_progress(found, kept).share(run.fit()) == pytest.approx(expected)


def test_a_check_of_the_proven_rule_is_costly_once_a_proof_is_possible():
    run = tp.Experiment(["A", "B"], confidence=0.95, rule="proven", policy="round-robin+ols")
    found = rule_of(run.events()[0])
    assert found.check(saved_state(run), run.fit) == StopCheck(None, "proven", costly=False)
    for step, pull in enumerate(run.ask(n=200, environment="x")):
        run.tell(pull, 9.0 * (pull.arm == "B") + step // 2 % 3)
    assert found.check(saved_state(run), run.fit) == StopCheck(1, "proven", costly=True)
