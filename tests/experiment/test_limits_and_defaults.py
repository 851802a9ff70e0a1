"""Largest and smallest allowed values of an experiment, default arguments, and counts at which behaviour changes."""

import json
from typing import get_args

import pytest

import tideproof as tp
from experiments import ARMS, drive, experiment, replace_kernels, saved_state
from tideproof.experiment.events import event_records as e
from tideproof.experiment.leases import Lease, checked_lease
from tideproof.experiment.lookahead import STEPS
from tideproof.experiment.options.share_bounds import checked_bounds
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards
from tideproof.experiment.settings import Rule
from tideproof.experiment.snapshots import snapshot
from tideproof.experiment.snapshots.experiment_file import rebuild_state
from tideproof.experiment.state import recorded_rewards
from tideproof.experiment.unit_assignments import batch_size, checked_unit
from tideproof.plans.stopping_time import default_runs
from tideproof.policies.stopping_policy import STOPPING_RULES


def test_every_kind_of_rewards_and_every_stopping_rule_has_its_record():
    assert set(REWARD_KINDS) == set(get_args(Rewards))
    assert set(STOPPING_RULES) == set(get_args(Rule))
    assert all(default_runs(rule, 3) > 0 for rule in STOPPING_RULES)


# ---------------------------------------------------------------------------------------------- leases


@pytest.fixture
def book():
    """Return the book of three pending pulls, asked for at 0, 10 and 20 seconds; units have the first two."""
    now = [0.0]
    run = tp.Experiment(["A", "B"], lease=100.0, reserve=50.0, clock=lambda: now[0])
    run.ask(unit="a", environment=1)
    now[0] = 10.0
    run.ask(unit="b", environment=1)
    now[0] = 20.0
    run.ask(environment=1)
    return saved_state(run).book


@pytest.mark.parametrize(
    ("now", "expired", "again"),
    [(99.9, (), 100.0), (100.0, (0,), 110.0), (110.0, (0, 1), 120.0), (120.0, (0, 1, 2), 220.0)],
)
def test_pulls_expire_when_their_lease_is_exactly_over(book, now, expired, again):
    assert Lease(100.0).expired_pulls(book, now) == (expired, again)


@pytest.mark.parametrize(
    ("now", "unseen", "again"), [(49.9, (), 50.0), (50.0, (0,), 60.0), (60.0, (0, 1), 110.0)]
)
def test_reserved_pulls_are_cancelled_when_the_time_of_their_unit_is_exactly_over(book, now, unseen, again):
    assert Lease(100.0, reserve=50.0).unseen_pulls(book, now) == (unseen, again)


def test_a_reserve_may_be_as_long_as_the_lease():
    assert checked_lease(5.0, None, 5.0) == {"lease": 5.0, "reserve": 5.0}
    with pytest.raises(tp.errors.InputError, match=r"at most lease \(5\), not 5.1"):
        checked_lease(5.0, None, 5.1)
    assert checked_lease(1e-9, 0.0) == {"lease": 1e-9, "default": 0.0}


def test_conversions_with_a_lease_are_0_by_default():
    options = {"rewards": "conversions", "lease": 10.0}
    assert experiment(**options).events()[0].options["default"] == 0.0
    assert experiment(**options, default=1).events()[0].options["default"] == 1.0
    assert "default" not in experiment(rewards="conversions").events()[0].options
    assert "default" not in experiment(rewards="counts", lease=10.0).events()[0].options


# ---------------------------------------------------------------------------------------------- shares


def test_minimum_and_maximum_shares_may_be_everything_or_nothing():
    assert checked_bounds({"A": 1.0}, {"B": 0.0}, ARMS) == ({0: 1.0}, {1: 0.0})
    with pytest.raises(tp.errors.InputError, match=r"'A'.* not 1.1"):
        checked_bounds({"A": 1.1}, None, ARMS)


@pytest.mark.parametrize(("excess", "allowed"), [(5e-10, True), (5e-9, False)])
def test_sums_of_shares_may_be_off_by_rounding(excess, allowed):
    for floors, caps in (
        ({"A": 0.5, "B": 0.5 + excess}, None),
        (None, {"A": 0.5, "B": 0.25, "C": 0.25 - excess}),
    ):
        if allowed:
            assert checked_bounds(floors, caps, ARMS)
        else:
            with pytest.raises(tp.errors.InputError, match=r"add up to at (most|least) 1"):
                checked_bounds(floors, caps, ARMS)


@pytest.mark.parametrize(("n", "decisions"), [(1, 1), (STEPS, STEPS), (STEPS + 1, STEPS), (1500, STEPS)])
def test_shares_take_200_decisions_at_most(n, decisions, monkeypatch):
    asks = []

    def counted(program):
        return program._replace(ask=lambda *args: asks.append(1) or program.ask(*args))

    replace_kernels(monkeypatch, counted)
    run = experiment(budget=5000)
    run.shares(environment=1, n=n)
    assert len(asks) == decisions
    assert STEPS == 200


def test_shares_are_of_100_pulls_by_default():
    run = tp.Experiment(ARMS, policy="round-robin", budget=101)
    assert run.shares(environment=0) == run.shares(environment=0, n=100) != run.shares(environment=0, n=101)
    assert tp.Experiment(ARMS, policy="round-robin").shares(environment=0)["A"] == 0.34
    spent = tp.Experiment(ARMS, policy="round-robin", budget=3)
    spent.ask(environment=0, n=3)
    with pytest.raises(tp.errors.Finished, match="1 pull was requested, but 0 of 3"):
        spent.shares()


def test_shares_for_units_hold_for_a_tenth_of_the_pulls():
    assert [batch_size(3, asked, None) for asked in (69, 70, 999, 1000, 1010)] == [6, 7, 99, 100, 100]
    assert [batch_size(3, 0, remaining) for remaining in (7, 6, 5, 1, 0)] == [6, 6, 5, 1, 1]
    assert [checked_unit(unit) for unit in (-5, 0, "x")] == ["-5", "0", "x"]


# -------------------------------------------------------------------------------------- rewards and budgets


@pytest.mark.parametrize("reward", [1e50, -1e50])
def test_the_largest_reward_is_allowed(reward):
    run = experiment()
    pull = run.ask(environment=1)
    run.tell(pull, reward)
    run.tell_summary(arm="A", environment=1, n=2, mean=reward, variance=1e100)
    assert run.history()["reward"] == [reward, reward]
    for call in (lambda: run.tell(run.ask(), 1.5 * reward), lambda: run.correct(pull, 1.5 * reward)):
        with pytest.raises(tp.errors.InputError, match=r"1\.5\d*e\+50"):
            call()
    with pytest.raises(tp.errors.InputError, match=r"1\.5e\+100"):
        run.tell_summary(arm="A", environment=1, n=2, mean=0.0, variance=1.5e100)


def test_rewards_at_the_limits_are_allowed():
    run = experiment(limits=(-1.0, 2.0))
    run.tell_many(run.ask(n=2, environment=1), [-1.0, 2.0])
    assert run.history()["reward"] == [-1.0, 2.0]
    for limits in ((1.0, 1.0), (2.0, 1.0), (1.0,)):
        with pytest.raises(tp.errors.InputError, match="limits must be"):
            experiment(limits=limits)


@pytest.mark.parametrize(
    ("rewards", "allowed", "refused"),
    [
        ("conversions", (0, 1, True), (-1, 2, 0.5)),
        ("counts", (0, 7), (-1, 0.5)),
        ("money", (0, 0.5), (-0.5,)),
        ("normal", (0, -0.5), (None,)),
    ],
)
def test_values_of_each_kind_of_reward(rewards, allowed, refused):
    run = experiment(rewards=rewards)
    for value in allowed:
        run.tell(run.ask(environment=1), value)
    for value in refused:
        with pytest.raises(tp.errors.InputError, match=f"not {value}"):
            run.tell(run.ask(environment=1), value)
    assert run.recommend().recorded == len(allowed)


def test_a_summary_with_successes_is_refused_if_a_reward_of_0_or_1_is():
    run = experiment(limits=(1.0, 5.0))
    events = len(run.events())
    with pytest.raises(tp.errors.InputError, match=r"summary with successes must be between 1 and 5, not 0"):
        run.tell_summary(arm="A", environment=1, n=10, successes=3)
    assert len(run.events()) == events


def test_a_summary_may_have_no_success_or_only_successes():
    run = experiment(rewards="conversions")
    for successes, reward in ((0, 0.0), (4, 1.0)):
        run.tell_summary(arm="A", environment=1, n=4, successes=successes)
        assert run.history()["reward"][-1] == reward
        assert run.history()["variance"][-1] == 0.0


def test_a_budget_may_shrink_to_the_pulls_that_were_not_lost():
    with pytest.raises(tp.errors.InputError, match="at least 1, not 0"):
        experiment(budget=None).extend(0)
    run = experiment(budget=50)
    run.cancel_many(run.ask(n=20, environment=1)[:2])
    with pytest.raises(tp.errors.InputError, match="at least 18, not 17"):
        run.extend(17)
    run.extend(18)
    assert (run.remaining, run.done) == (0, True)
    assert tp.Experiment(ARMS, policy="round-robin", budget=3).budget == 3


def test_default_arguments():
    run = drive(experiment(), 40)
    assert run.fit().confidence == 0.95
    assert run.recommend().prior == "exchangeable"
    assert not run.fit().anytime
    assert [(event.by, event.why) for event in paused(run)] == [(None, ""), (None, "")]


def paused(run):
    """Pause and resume an experiment, and return the two events."""
    run.pause()
    run.resume()
    return run.events()[-2:]


# ------------------------------------------------------------------------------ snapshots and fresh solves


@pytest.mark.parametrize(("events", "kept"), [(199, False), (200, True)])
def test_a_file_has_a_snapshot_from_200_events_on(events, kept, tmp_path):
    run = experiment()
    while len(run.events()) < events:
        run.note("x")
    run.save(tmp_path / "run.json")
    assert (json.loads((tmp_path / "run.json").read_text())["snapshot"] is not None) == kept
    assert snapshot.FEWEST_EVENTS == 200


def test_the_fit_is_solved_anew_after_4096_batches(monkeypatch):
    numbers, solved = saved_state(experiment(budget=None, policy="round-robin+ols")).policy_state, []
    solve = recorded_rewards.RecordedRewards.solve
    monkeypatch.setattr(
        recorded_rewards.RecordedRewards, "solve", lambda self: solved.append(1) or solve(self)
    )
    for batch in range(1, 4097):
        assert not solved, batch
        numbers.take("x", batch % 3, 1, float(batch % 5), 0.0, 0)
    assert len(solved) == 1


# ------------------------------------------------------------------------------------ events of a file

NOW = (0.0, None)


@pytest.fixture(scope="module")
def events():
    """Return the events of a run whose first pull is told and whose second is pending."""
    run = tp.Experiment(["A", "B"], budget=60, policy="round-robin")
    run.tell(run.ask(n=2, environment="x")[0], 1.0)
    return run.events()


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        (e.Shared(*NOW, "x", 1, (0.5, 0.5)), e.Shared(*NOW, "x", 0, (0.5, 0.5))),
        (e.Shared(*NOW, "x", 5, (1.0, 0.0)), e.Shared(*NOW, "x", 5, (1.0 + 1e-12, -1e-12))),
        (e.Shared(*NOW, "x", 5, (0.5, 0.5 + 9e-10)), e.Shared(*NOW, "x", 5, (0.5, 0.5 + 2e-9))),
        (e.Told(*NOW, (1,), (1e100,)), e.Told(*NOW, (1,), (1.1e100,))),
        (e.Told(*NOW, (1,), (-1e100,)), e.Told(*NOW, (1,), (-1.1e100,))),
        (e.Told(*NOW, (1,), (0.0,)), e.Told(*NOW, (2,), (0.0,))),
        (e.Corrected(*NOW, 0, 2.0), e.Corrected(*NOW, 1, 2.0)),
        (e.Cancelled(*NOW, (1,)), e.Cancelled(*NOW, ())),
        (e.Expired(*NOW, (1,), None), e.Expired(*NOW, (0, 1), None)),
        (e.Summarised(*NOW, 1, "x", 2**53, 0.0, 0.0, None), e.Summarised(*NOW, 2, "x", 1, 0.0, 0.0, None)),
        (e.Summarised(*NOW, 0, "x", 2, 0.0, 1e100, None), e.Summarised(*NOW, 0, "x", 2, 0.0, 1.1e100, None)),
        (e.Summarised(*NOW, 0, "x", 1, 0.0, 0.0, "k"), e.Summarised(*NOW, 0, "x", 0, 0.0, 0.0, "k")),
        (e.Extended(*NOW, 2), e.Extended(*NOW, 0)),
        (e.Extended(*NOW, None), e.Extended(*NOW, 2**53 + 1)),
        (e.Extended(*NOW, 2**53), e.Extended(*NOW, -1)),
        (e.Warmed(*NOW, ((1, "x", 1, 0.0, 0.0),)), e.Warmed(*NOW, ((2, "x", 1, 0.0, 0.0),))),
        (e.Warmed(*NOW, ((0, "x", 2**53, 0.0, 0.0),)), e.Warmed(*NOW, ((0, "x", 2**53 + 1, 0.0, 0.0),))),
        (e.Salted(*NOW, "00"), e.Salted(*NOW, "0")),
        (e.ArmAdded(*NOW, "C"), e.ArmRetired(*NOW, 0)),
        (e.Asked(*NOW, "y", (1,), "unit"), e.Asked(*NOW, "y", (2,), None)),
    ],
)
def test_events_at_and_beyond_a_limit(events, allowed, refused):
    assert rebuild_state([*events, allowed], None).events[-1] == allowed
    with pytest.raises(tp.errors.InputError):
        rebuild_state([*events, refused], None)


def test_two_arms_of_three_may_remain(events):
    added = [*events, e.ArmAdded(*NOW, "C"), e.ArmRetired(*NOW, 0)]
    assert rebuild_state(added, None).book.active == [1, 2]
    with pytest.raises(tp.errors.InputError):
        rebuild_state([*added, e.ArmRetired(*NOW, 1)], None)
