"""Stopping rules of live runs: the stops of simulations, their events, their text and refused options."""

import json
import math
import pickle
import re

import numpy as np
import pytest

import tideproof as tp
from experiments import saved_numbers, saved_state
from naive_experiment import check_replay, check_same
from tideproof.errors import BudgetTooSmall, Finished, InputError, UnknownName
from tideproof.experiment.events import event_records as e
from tideproof.experiment.snapshots.experiment_file import rebuild_state
from tideproof.experiment.state.recorded_rewards import RecordedRewards
from tideproof.experiment.stopping import e_process_checkpoints as checkpoints_module
from tideproof.experiment.stopping.stop_rule import StopCheck, StopCheckSchedule, rule_of
from tideproof.kernels.simulate.replication_loop import SAMPLES
from tideproof.lab.engines.cpu_engine import empty_trace, run_loop
from tideproof.policies.calibrated_bounds import find_bound

MEANS = {"A": 0.0, "B": 0.8, "C": 0.2}


def sure(**options):
    return tp.Experiment(["A", "B", "C"], **{"budget": 2000, "confidence": 0.95, "seed": 3, **options})


def play(run, most=2000, seed=1, means=MEANS):
    """Ask and tell until the run is done, and return the number of pulls."""
    random = np.random.default_rng(seed)
    for step in range(most):
        if run.done:
            return step
        pull = run.ask(environment=step // 7)
        run.tell(pull, means[pull.arm] + step // 7 % 5 + random.standard_normal())
    return most


def checkpoints(run):
    """Return the checkpoints at which the proof of the stopping rule may start."""
    return saved_state(run).policy_state.checkpoints.proof.view


def evidence_needed(run):
    """Return the evidence that the stopping rule of an experiment asks for."""
    return rule_of(run.events()[0]).needed(saved_state(run))


@pytest.mark.parametrize("rule", ["calibrated", "proven"])
@pytest.mark.parametrize("name", ["contrast", "linlucb", "round-robin+ols", "reduce:lucb"])
def test_live_runs_and_simulations_stop_at_the_same_pull(name, rule):
    world, budget = tp.World([0.0, 0.9, 0.2, 0.1], lengths=(2, 12), shifts=tp.worlds.Uniform(0.0, 20.0)), 1500
    spec = tp.policy(name, confidence=0.95, rule=rule)
    trace = empty_trace(budget, 4)
    score, _ = run_loop(spec.program().replicate, spec, world, [budget], 5, 0, 1, trace)
    steps = int(score.counts[0, SAMPLES])
    assert 20 < steps < budget
    run = tp.Experiment(list("0123"), budget=budget, policy=spec, seed=5)
    for step in range(steps):
        assert not run.done, f"the lab went on after {step} steps"
        pull = run.ask(environment=int(trace.environment[step]))
        assert pull.arm == str(trace.arm[step])
        run.tell(pull, float(trace.reward[step]))
    assert run.done
    assert isinstance(run.events()[-1], e.Sure)


def test_the_recommendation_describes_the_rule():
    run = sure(rule="proven", budget=None)
    assert str(run.recommend()) == "no rewards yet"
    play(run, 20)
    found = run.recommend()
    assert (found.confidence, found.rule, found.sure) == (0.95, "proven", False)
    assert str(found).startswith(
        "select B, not yet confirmed as the best on average over these environments at confidence level 95 %. Estimated lead"
    )
    play(run)
    found = run.recommend()
    assert found.sure
    assert found.arm == "B"
    assert found.to_dict()["sure"]
    confirmed = "B, confirmed as the best on average over these environments at confidence level 95 % (a theorem bounds the error rate, "
    assert str(found).startswith(f"select {confirmed}however often the rule is checked). Estimated lead")
    words = re.escape(f"no further pull is needed: the selected arm is {confirmed}")
    with pytest.raises(Finished, match=words):
        run.ask()
    with pytest.raises(Finished, match="no further pull is needed"):
        run.shares()
    with pytest.raises(Finished, match="no further pull is needed"):
        run.ask(unit="visitor 1")
    calibrated = sure()
    assert play(calibrated) < 2000
    assert "calibrated by simulation, with a check after every reward and up to 2,000 pulls)" in str(
        calibrated.recommend()
    )


def test_looks_give_no_warning_with_a_rule():
    for options, warned in (({}, False), ({"confidence": None}, True)):
        run = sure(**options)
        for _ in range(8):
            play(run, 4)
            run.recommend()
        found = run.recommend()
        assert any("inspected 8 times" in remark for remark in found.remarks) == warned
        assert any("confidence=0.95" in remark for remark in found.remarks) == warned


@pytest.mark.parametrize("rule", ["calibrated", "proven"])
@pytest.mark.parametrize("break_off", [3, 30, 60])
def test_copies_stop_at_the_same_pull(tmp_path, rule, break_off):
    whole = sure(rule=rule)
    steps = play(whole)
    assert steps < 2000
    run = sure(rule=rule)
    play(run, break_off)
    run.save(tmp_path / "run.json")
    for again in (
        tp.Experiment.load(tmp_path / "run.json"),
        pickle.loads(pickle.dumps(run)),
        check_replay(run),
    ):
        random = np.random.default_rng(1)
        random.standard_normal(break_off)
        for step in range(break_off, steps + 1):
            if again.done:
                break
            pull = again.ask(environment=step // 7)
            again.tell(pull, MEANS[pull.arm] + step // 7 % 5 + random.standard_normal())
        assert step == steps
        if rule == "proven":
            assert saved_numbers(again)[-1] == saved_numbers(whole)[-1]  # the checkpoints of the proof
    whole.save(tmp_path / "done.json")
    done = tp.Experiment.load(tmp_path / "done.json")
    assert done.done
    assert done.recommend() == whole.recommend()
    assert done.events() == whole.events()
    check_same(whole, done)


def test_snapshots_contain_the_checkpoints(tmp_path):
    run = sure(rule="proven", confidence=0.9999)
    play(run, 150)  # more than 200 events
    run.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["snapshot"] is not None
    again = tp.Experiment.load(tmp_path / "run.json")
    assert (
        saved_state(again).policy_state.checkpoints.arms
        == saved_state(run).policy_state.checkpoints.arms
        == (0, 1, 2)
    )
    assert saved_numbers(again) == saved_numbers(run)
    check_replay(again)


def test_an_experiment_without_a_rule_stores_no_options_of_it(tmp_path):
    run = sure(confidence=None, tide="labels")
    assert set(run.events()[0].options) == {"limits"}
    assert saved_state(run).policy_state.checkpoints is None


def test_queries_change_no_numbers():
    seen, unseen = sure(rule="proven"), sure(rule="proven")
    random = np.random.default_rng(0)
    for step in range(60):
        for run in (seen, unseen):
            run.ask(environment=step // 7)
        reward = random.standard_normal()
        for run in (seen, unseen):
            run.tell(run.pending_pulls()[0], reward)
        assert not seen.done
        seen.recommend()
    assert saved_numbers(seen) == saved_numbers(unseen)


def test_with_a_rule_the_budget_is_only_a_maximum():
    run, open_ended = sure(budget=40, confidence=0.9999), tp.Experiment(["A", "B", "C"], seed=3)
    play(run, 41)
    play(open_ended, 40)
    assert run.done
    assert not run.recommend().sure
    assert run.history()["arm"] == open_ended.history()["arm"]


@pytest.mark.parametrize("rule", ["calibrated", "proven"])
def test_corrections_and_new_arms_cancel_a_stop(rule):
    run = sure(rule=rule)
    play(run)
    run.retire_arm("A")
    assert run.done  # the best of three is the best of two
    first = run.events()[1]
    assert isinstance(first, e.Asked)
    run.correct(run.history()["pull"][0], 0.25)
    assert saved_state(run).book.sure is None
    run.add_arm("D")
    assert not run.done
    assert run.recommend().arm is None  # it met no other
    assert play(run, means=MEANS | {"D": 3.0}) < 2000
    assert run.recommend().arm == "D"
    run.retire_arm("B")
    assert run.recommend().arm == "D"
    check_replay(run)


def test_the_rule_is_checked_again_after_a_correction_that_changes_no_estimate(tmp_path):
    """A reward alone in its environment only fixes the shift there."""
    run = sure()
    lone = run.ask(environment="alone")
    run.tell(lone, 1.0)
    play(run)
    for count, reward in enumerate((2.0, 2.5), 2):
        run.correct(lone, reward)
        assert run.done
        assert sum(isinstance(event, e.Sure) for event in run.events()) == count
    run.save(tmp_path / "run.json")
    assert tp.Experiment.load(tmp_path / "run.json").done


def test_a_retired_arm_makes_a_check_due():
    run = sure()
    play(run, 20)
    assert not run.done
    looks, before = StopCheckSchedule(), saved_state(run)
    assert looks.is_due(before)
    looks.note(before, StopCheck(None, "calibrated"))
    assert not looks.is_due(before)
    run.retire_arm("A")
    assert looks.is_due(saved_state(run))


def test_a_retired_arm_stays_in_the_proof():
    """Earlier checkpoints still count, and no evidence against the retired arm is needed."""
    run = sure(rule="proven", confidence=0.999)
    play(run, 60)
    assert checkpoints(run).moments[0] > 1
    run.retire_arm("C")
    assert saved_state(run).policy_state.checkpoints.arms == (0, 1, 2)
    steps = play(run, seed=5)
    assert steps < 2000
    assert run.recommend().arm == "B"
    fresh = sure(rule="proven", confidence=0.999)
    fresh.retire_arm("C")  # nothing had passed
    assert saved_state(fresh).policy_state.checkpoints.arms == (0, 1)
    run.retire_arm("C")


def test_each_checkpoint_is_taken_once(monkeypatch):
    monkeypatch.setattr(checkpoints_module, "CHECKPOINTS", 3)
    run, made = sure(rule="proven", confidence=0.9999), []
    summed = RecordedRewards.laplacian_of
    monkeypatch.setattr(
        RecordedRewards, "laplacian_of", lambda self, arms: made.append(arms) or summed(self, arms)
    )
    play(run, 60, means=dict.fromkeys(MEANS, 0.0))
    assert len(made) == 3
    assert checkpoints(run).moments[0] == 3


def test_a_correction_begins_the_proof_anew():
    run = sure(rule="proven", confidence=0.999)
    play(run, 60)
    assert checkpoints(run).moments[0] > 1
    run.correct(run.history()["pull"][0], 0.5)
    assert checkpoints(run).moments[0] == 1
    assert checkpoints(run).next[0] == 120.0


def test_minimizing_selects_the_lowest_arm():
    run = sure(direction="minimize", rule="proven")
    play(run, means={"A": 0.0, "B": -0.8, "C": -0.2})
    assert run.recommend().arm == "B"
    assert run.recommend().sure


def test_without_a_budget_the_proven_rule_follows_the_calibrated_one(monkeypatch):
    from tideproof.experiment.stopping import stop_rule as module

    monkeypatch.setattr(module, "DEFAULT_BUDGET", 30)
    run = sure(budget=None, confidence=0.99)
    play(run, 30)
    assert run.recommend().rule == "calibrated"
    assert not run.done
    play(run)
    assert run.recommend().rule == "proven"
    assert run.recommend().sure
    extended = sure(budget=30, confidence=0.99)
    play(extended, 31)
    extended.extend(100)
    assert play(extended, 200) == 70  # calibrated for thirty pulls, and never sure beyond
    assert not extended.recommend().sure


def test_a_policy_may_set_the_rule():
    run = tp.Experiment(["A", "B"], policy=tp.policy("linlucb", confidence=0.9, rule="proven", n0=3))
    assert run.policy.label == "linlucb(n0=3)"
    assert run.events()[0].options["confidence"] == 0.9
    assert run.events()[0].options["rule"] == "proven"
    assert tp.Experiment(["A", "B"], policy=tp.policy("sure:contrast", label="mine")).policy.label == "mine"
    with pytest.raises(
        InputError, match=r"policy sure:contrast already has confidence=.*: omit confidence= and rule="
    ):
        tp.Experiment(["A", "B"], policy="sure:contrast", confidence=0.99)
    for option in ("confidence", "rule"):
        with pytest.raises(InputError, match=f"^(unknown )?{option} "):
            tp.Experiment(["A", "B"], policy="sure:contrast", **{option: np.array([1, 2])})
    with pytest.raises(InputError, match=r"bound= of .* works only in simulations"):
        tp.Experiment(["A", "B"], policy=tp.policy("sure:contrast", bound=7.0))


@pytest.mark.parametrize("rewards", ["conversions", "money"])
def test_daily_checks_of_equal_arms_rarely_stop(rewards):
    """If 5 % of runs stop, more than 12 of 60 do so once in 10,000 tests."""
    stopped = 0
    for seed in range(60):
        run = tp.Experiment(["A", "B"], budget=280_000, rewards=rewards, confidence=0.95, seed=seed)
        random = np.random.default_rng(seed)
        for day in range(14):
            for arm in run.arms:
                if rewards == "conversions":
                    told: dict[str, float] = {
                        "successes": int(random.binomial(10_000, 0.03 + 0.01 * (day % 3)))
                    }
                else:
                    paid = np.exp(1.3 * random.standard_normal(2_000)) * (1 + day % 3)
                    told = {"mean": float(paid.mean()), "variance": float(paid.var(ddof=1))}
                n = 10_000 if rewards == "conversions" else 2_000
                run.tell_summary(arm=arm, environment=day, n=n, **told)
            if run.done:
                break
        stopped += run.done
    assert stopped <= 12


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("scale", ["auto", "odds", "difference"])
def test_the_best_rate_is_found(direction, scale):
    run = tp.Experiment(
        ["A", "B", "C"], rewards="conversions", confidence=0.95, scale=scale, direction=direction, budget=600
    )
    random, step = np.random.default_rng(2), 0
    while not run.done:
        pull = run.ask(environment=step // 50)
        run.tell(pull, float(random.random() < {"A": 0.2, "B": 0.8, "C": 0.5}[pull.arm]))
        step += 1
    assert step < 600
    assert run.recommend().sure
    assert run.recommend().arm == ("B" if direction == "maximize" else "A")
    assert run.fit().lead(run.fit().best) > 2.8
    check_replay(run)


def test_a_few_events_do_not_stop_a_run():
    run = tp.Experiment(["A", "B"], rewards="conversions", confidence=0.95)
    for arm, successes in (("A", 0), ("B", 9)):
        run.tell_summary(arm=arm, environment="monday", n=9, successes=successes)
    assert run.fit().lead("B") == 0.0
    assert not run.done


def test_a_summary_is_one_check():
    daily, single = (tp.Experiment(["A", "B"], budget=20_000, confidence=0.95) for _ in range(2))
    for run, n in ((daily, 1_000), (single, 1)):
        for arm in run.arms:
            run.tell_summary(arm=arm, environment=1, n=n, mean=0.0, variance=1.0 if n > 1 else None)
    assert evidence_needed(daily) == pytest.approx(find_bound(2, 20, 0.95))
    assert evidence_needed(single) == pytest.approx(find_bound(2, 20_000, 0.95))
    pulls = single.ask(n=400, environment=2)
    assert evidence_needed(single) == pytest.approx(find_bound(2, 20_000, 0.95))
    for arm in single.arms:
        own = [pull for pull in pulls if pull.arm == arm]
        single.tell_summary(arm=arm, environment=2, n=100 * len(own), mean=0.0, variance=1.0)
    looks = 20_000 * (40_002 / 400) * 4 / 40_002  # a pull stands for a hundred rewards
    assert evidence_needed(single) == pytest.approx(find_bound(2, math.ceil(looks), 0.95), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"confidence": 0.5}, InputError, "confidence of the stopping rule must be above 0.5 and below 1"),
        ({"confidence": 95}, InputError, "confidence of the stopping rule must be above 0.5"),
        ({"confidence": 1.0}, InputError, "confidence of the stopping rule must be above 0.5"),
        ({"rule": "certain"}, UnknownName, "unknown rule 'certain'"),
        ({"rule": "proven", "confidence": None}, InputError, "rule='proven' requires confidence"),
        ({"policy": "lucb"}, InputError, "lucb does not estimate shifts"),
        ({"policy": "ser3"}, InputError, "ser3"),
        ({"policy": "round-robin+raw"}, UnknownName, "unknown selection"),
        (
            {"budget": 4},
            BudgetTooSmall,
            "a budget of 4 is too small for a stopping rule with 3 arms: give at least 6",
        ),
        (
            {"rule": "proven", "rewards": "conversions"},
            InputError,
            "rule='proven' is not available for rewards='conversions'",
        ),
    ],
)
def test_invalid_rules_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        sure(**options)


def test_a_file_with_impossible_stops_is_refused(tmp_path):
    run = sure()
    play(run)
    happened = run.events()
    for wrong in (
        [*happened, happened[-1]],
        [*happened[:-1], happened[-1]._replace(arm=7)],
        [*happened[:-1], happened[-1]._replace(confidence=0.99)],
        [*happened[:-1], happened[-1]._replace(rule="certain")],
        [happened[0]._replace(options={"limits": None}), *happened[1:]],
        [happened[0]._replace(options={"limits": None, "rule": "proven"}), *happened[1:]],
    ):
        with pytest.raises(InputError):
            rebuild_state(wrong, None)


def test_the_promise_for_conversions_is_approximate():
    run = sure(rewards="conversions")
    for day in range(3):
        for arm, successes in zip("ABC", (10, 60, 11), strict=True):
            run.tell_summary(arm=arm, environment=day, n=200, successes=successes)
    found = run.recommend()
    assert found.sure
    assert "up to 2,000 pulls; for this kind of reward it is approximate)" in str(found)
    assert found.anytime
