"""Conversions with a lease: a reward that is told within the window counts when the window closes."""

import numpy as np
import pytest

import tideproof as tp
from experiments import replay, saved_numbers
from faults import interrupted_at
from naive_experiment import check_replay
from tideproof.experiment.events import event_records as e


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self):
        return self.now


def shop(clock, **options):
    return tp.Experiment(["A", "B"], **{"budget": 4000, "lease": 10.0, "clock": clock, "seed": 1, **options})


def rates(run):
    """Return the mean of the rewards that count, arm by arm."""
    rows = [row for row in run.history().to_dicts() if row["n"]]
    return [np.mean([row["reward"] for row in rows if row["arm"] == arm]) for arm in ("A", "B")]


def midway(**options):
    """Return a shop with 2,000 visitors, of whom every fifth buys at once, half of the windows open."""
    clock = Clock()
    run = shop(clock, **options)
    buys = np.random.default_rng(3).random(2000) < 0.2
    for step in range(20):
        pulls = run.ask(n=100, environment=1)
        sold = [pull.id for pull, bought in zip(pulls, buys[100 * step :], strict=False) if bought]
        run.tell_many(sold, [1.0] * len(sold))
        clock.now += 1.0
    run.shares()  # looks at the clock
    return run, clock


def test_successes_before_failures_would_inflate_rates():
    """Negative control: half of the failures are still pending, so that a rate of 1/5 looks like 1/3."""
    run, _ = midway(default=0.0)
    history = run.history()
    rewards = [reward or 0.0 for reward in history["reward"][:2000]]
    assert sum(rewards) / sum(history["n"]) == pytest.approx(1 / 3, abs=0.04)


def test_a_pull_counts_when_its_window_closes():
    """The standard error of a rate of 1,000 visitors is .013: the bound is five of them, 6e-7."""
    run, clock = midway(rewards="conversions")
    assert sum(run.history()["n"]) == 1000 + 100  # the first ten batches and the one whose time is just over
    closed = [r for r in run.history()["reward"] if r is not None]
    assert np.mean(closed) == pytest.approx(0.2, abs=5 * 0.012)
    clock.now += 10.0
    assert sum(run.history()["n"]) == 2000
    assert run.pending_pulls() == []
    assert sum(run.history()["reward"]) == (np.random.default_rng(3).random(2000) < 0.2).sum()


def test_rewards_in_an_open_window_can_be_repeated_corrected_and_cancelled():
    clock = Clock()
    run = shop(clock, rewards="conversions")
    first, second, third, fourth = run.ask(n=4, environment=1)
    run.tell_many([first, second, third], [1, 1, 1])
    run.tell(first, 1)
    with pytest.raises(tp.errors.ConflictingReward, match=r"already has the reward 1.0, not 0.0"):
        run.tell(first, 0)
    run.correct(second, 0)
    run.cancel(third)
    assert run.history()["n"] == [0, 0, 0, 0]
    assert run.pending_pulls() == [first, second, fourth]
    with pytest.raises(tp.errors.InputError, match="has no recorded reward to correct"):
        run.correct(fourth, 1)
    clock.now = 10.0
    assert run.history()["reward"] == [1.0, 0.0, None, 0.0]
    assert run.history()["status"] == ["told", "told", "cancelled", "defaulted"]
    again = replay(run)
    assert saved_numbers(again) == saved_numbers(run)


def test_a_reward_after_the_window_is_late_and_does_not_count(tmp_path):
    """Otherwise rates would depend on the waiting time, which is longer for arms that were played early."""
    clock = Clock()
    run = shop(clock, rewards="conversions")
    in_time, missed, _ = run.ask(n=3, environment=1)
    clock.now = 9.999
    run.tell(in_time, 1)
    clock.now = 10.0
    run.tell(missed, 1)
    numbers = saved_numbers(run)
    for _ in range(2):  # a repeat is harmless
        run.tell_many([missed, in_time], [1, 1])
    with pytest.raises(tp.errors.ConflictingReward):
        run.tell(in_time, 0)
    table = run.history()
    assert table["reward"] == [1.0, 0.0, 0.0]
    assert table["status"] == ["told", "late", "defaulted"]
    assert table["n"] == [1, 1, 1]
    assert table["told_at"] == [10.0] * 3
    assert sum(isinstance(event, e.Told) for event in run.events()) == 2
    remark = "rewards of 1 pull arrived after the lease (the time limit) and do not count"
    assert any(remark in text for text in run.diagnostics().remarks)
    path = tmp_path / "shop.json"
    run.save(path)
    for again in (tp.Experiment.load(path, clock=clock), replay(run)):
        assert saved_numbers(again) == numbers == saved_numbers(run)
        assert again.history() == table
        again.correct(missed, 1)  # it did happen in time
        assert again.history()["reward"] == [1.0, 1.0, 0.0]
        assert again.history()["status"][1] == "told"
        assert not any(remark in text for text in again.diagnostics().remarks)
        assert replay(again).history() == again.history()


def test_a_late_conversion_of_a_unit_does_not_count():
    clock = Clock()
    run = shop(clock, rewards="conversions")
    pulls = [run.ask(unit=name, environment=1) for name in ("ann", "bob", "eve")]
    run.tell(pulls[0], 1, key="order 1")
    run.tell(pulls[1], 0)
    clock.now = 10.0
    for pull in pulls:
        for _ in range(2):
            run.tell(pull, 1, key="order 2")
            run.tell(pull, 1)
    assert run.history()["reward"] == [1.0, 0.0, 0.0]
    assert run.history()["status"] == ["told", "told", "late"]
    again = replay(run)
    assert saved_numbers(again) == saved_numbers(run)
    assert again.history() == run.history()


def test_rates_do_not_grow_with_waiting():
    """Half of those who buy do so after the window: without the rule the rate would be .4, not .2.

    The standard error of a rate of 1,000 visitors is .013: the bound is five of them, 6e-7.
    """
    clock = Clock()
    run = shop(clock, rewards="conversions")
    draw = np.random.default_rng(4).random(1000)
    pulls = run.ask(n=1000, environment=1)
    for at, low in ((5.0, 0.0), (50.0, 0.2)):
        clock.now = at
        sold = [pull for pull, x in zip(pulls, draw, strict=True) if low <= x < low + 0.2]
        run.tell_many(sold, [1.0] * len(sold))
    rewards = run.history()["reward"]
    assert np.mean(rewards) == np.mean(draw < 0.2) == pytest.approx(0.2, abs=0.065)


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_tell_is_recorded_for_all_pulls_or_for_none(late):
    """Interrupt a tell of four conversions at every line, within their window or after it."""
    line, recorded = 0, set()
    while True:
        line += 1
        clock = Clock()
        run = shop(clock, rewards="conversions")
        pulls = run.ask(n=4, environment=1)
        clock.now = 10.0 if late else 0.0
        run.history()
        if not interrupted_at(line, lambda run=run, pulls=pulls: run.tell_many(pulls, [1, 1, 1, 1])):
            break
        check_replay(run)
        clock.now = 10.0
        table, told = run.history(), sum(isinstance(event, e.Told) for event in run.events())
        recorded.add(told)
        assert (
            table["status"]
            == [("late" if told else "defaulted") if late else ("told" if told else "defaulted")] * 4
        )
        assert table["reward"] == [0.0 if late else float(told)] * 4
    assert line > 20
    assert 0 in recorded <= {0, 1}


def test_files_keep_the_rewards_of_open_windows(tmp_path):
    clock = Clock()
    run = shop(clock, rewards="conversions")
    run.tell_many(run.ask(n=6, environment=1), [1, 0, 1, 0, 1, 1])
    run.save(tmp_path / "shop.json")
    again = tp.Experiment.load(tmp_path / "shop.json", clock=clock)
    assert again.history()["n"] == [0] * 6
    clock.now = 10.0
    assert again.history()["reward"] == run.history()["reward"] == [1, 0, 1, 0, 1, 1]


def test_several_conversions_of_a_unit_count_once():
    clock = Clock()
    run = shop(clock, rewards="conversions")
    pull = run.ask(unit="ann", environment=1)
    for key in ("one", "two", "two"):
        run.tell(pull, 1, key=key)
    clock.now = 10.0
    assert run.history()["reward"] == [1.0]
    plain = tp.Experiment(["A", "B"], budget=100, rewards="counts")
    pull = plain.ask(unit="ann", environment=1)
    for key in ("one", "two", "two"):
        plain.tell(pull, 1, key=key)
    assert plain.history()["reward"] == [2.0]


def test_without_a_lease_conversions_count_at_once():
    run = tp.Experiment(["A", "B"], budget=100, rewards="conversions")
    run.tell(run.ask(), 1)
    assert run.history()["reward"] == [1.0]
