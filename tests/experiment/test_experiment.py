"""Asks, rewards, summaries, threads and invalid input of an experiment."""

import datetime
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import tideproof as tp
from experiments import (
    ARMS,
    MEANS,
    contents,
    drive,
    experiment,
    next_arm,
    number,
    replace_kernels,
    replay,
    saved_numbers,
    saved_state,
    without_sessions,
)
from faults import count
from tideproof.experiment.state import recorded_rewards as module
from tideproof.kernels.fit.fixed_effects import together
from tideproof.kernels.simulate.threefry import TELL, Draw

# ------------------------------------------------------------------- asking and telling


def test_the_best_arm_is_found_under_a_tide():
    run = drive(experiment(), 200, tide=np.random.default_rng(1).uniform(0, 50, 40))
    recommendation = run.recommend()
    assert run.done
    assert recommendation.arm == "C"
    assert recommendation.runner_up == "B"
    assert recommendation.low < 1.0 < recommendation.high
    assert recommendation.p_best > 0.99
    assert "select C" in str(recommendation)
    assert recommendation.adaptive


def test_an_ask_without_a_label_stays_in_the_last_environment():
    run = experiment(tide="labels")
    assert run.ask().environment == 1
    assert run.ask(environment="tuesday").environment == "tuesday"
    assert run.ask().environment == "tuesday"


def test_a_repeated_label_is_the_same_environment():
    run = experiment(policy="round-robin+ols")
    for label in ["mon", "tue", "mon", "tue"]:
        pull = run.ask(environment=label)
        run.tell(pull, 1.0)
    assert run.fit().shifts["environment"] == ["mon", "tue"]
    assert run.fit().shifts["n"] == [2, 2]


def test_an_ask_may_return_several_pulls():
    run = experiment()
    pulls = run.ask(n=30, environment="mon")
    assert [number(p) for p in pulls] == list(range(30))
    assert sorted(p.arm for p in pulls) == sorted(ARMS * 10)
    run.tell_many(pulls, [MEANS[p.arm] for p in pulls])
    assert run.recommend().arm == "C"
    assert run.remaining == 170


def test_rewards_in_any_order_give_the_same_fit():
    first, second = experiment(), experiment()
    pulls = first.ask(n=60, environment="mon")
    others = second.ask(n=60, environment="mon")
    assert without_sessions(others) == without_sessions(pulls)
    rewards = [MEANS[p.arm] + 0.1 * (number(p) % 7) for p in pulls]
    first.tell_many(pulls, rewards)
    for i in np.random.default_rng(0).permutation(60):
        second.tell(others[i].id, rewards[i])
    assert first.fit().contrast("C", "A").estimate == pytest.approx(second.fit().contrast("C", "A").estimate)


def test_a_reward_belongs_to_the_environment_of_its_ask():
    run = experiment()
    monday = run.ask(environment="mon")
    run.ask(environment="tue")
    run.tell(monday, 5.0)
    assert run.fit().shifts["environment"] == ["mon"]


def test_telling_a_reward_twice_is_harmless():
    run = experiment()
    pull = run.ask()
    run.tell(pull, 1.5)
    before = contents(run)
    run.tell(pull, 1.5)
    run.tell(pull.id, 1.5)
    assert contents(run) == before


def test_asking_does_not_change_the_numbers_of_recorded_rewards():
    run = drive(experiment(), 40)
    before = saved_numbers(run)
    run.ask(n=20, environment="new")
    assert saved_numbers(run)[:2] == before[:2]  # the numbers of told rewards


def test_a_hundred_asks_in_a_row_are_spread_over_the_arms():
    run = experiment()
    random = np.random.default_rng(0)
    for step in range(40):  # three equal arms
        run.tell(run.ask(environment=step // 5), random.standard_normal())
    arms = [p.arm for p in run.ask(n=100, environment="busy")]
    assert arms.count(run.recommend().arm) == 50  # the leader every other time
    assert min(arms.count(arm) for arm in ARMS) >= 15


def test_pending_pulls_count_in_their_environment():
    """The first two pulls of a new environment differ, told or not."""
    run = drive(experiment(), 40)
    one = run.ask(environment="new")
    two = run.ask(environment="new")
    assert one.arm != two.arm


def test_a_cancelled_pull_returns_to_the_budget():
    run = drive(experiment(), 30)
    before = run.remaining, next_arm(run, 6)
    pull = run.ask(environment=6)
    run.cancel(pull)
    run.cancel(pull.id)
    assert (run.remaining, next_arm(run, 6)) == before
    with pytest.raises(tp.errors.InputError, match="cancelled"):
        run.tell(pull, 1.0)


def test_minimising_is_maximising_the_negative():
    up, down = experiment(), experiment(direction="minimize")
    random = np.random.default_rng(2)
    for step in range(100):
        a, b = up.ask(environment=step // 4), down.ask(environment=step // 4)
        assert without_sessions([a]) == without_sessions([b])
        reward = MEANS[a.arm] + random.standard_normal()
        up.tell(a, reward)
        down.tell(b, -reward)
    assert up.recommend().arm == down.recommend().arm == up.fit().best == down.fit().best
    assert up.recommend().margin == pytest.approx(down.recommend().margin)
    assert up.recommend().low == pytest.approx(down.recommend().low)


def test_without_a_budget():
    run = experiment(budget=None)
    drive(run, 50)
    assert run.remaining is None
    assert not run.done


def test_recommend_says_what_is_not_comparable():
    run = experiment()
    assert run.recommend().arm is None
    assert str(run.recommend()) == "no rewards yet"
    run.tell_summary(arm="A", environment="mon", n=1, mean=1.0)
    run.tell_summary(arm="B", environment="mon", n=1, mean=2.0)
    run.tell_summary(arm="C", environment="tue", n=1, mean=9.0)
    recommendation = run.recommend()
    assert recommendation.arm is recommendation.margin is None
    assert recommendation.recorded == 3
    assert sorted(map(sorted, recommendation.groups)) == [["A", "B"], ["C"]]
    assert "not comparable yet" in str(recommendation)
    with pytest.raises(tp.errors.NotComparable, match="C"):
        _ = run.fit().best


# ------------------------------------------------------------------ what it begins with


def test_default_options():
    plain = tp.Experiment(ARMS)
    assert (plain.budget, plain.seed, plain.direction) == (None, 0, "maximize")
    assert plain.policy.label == "contrast"
    assert plain.arms == tuple(ARMS)


def test_every_seed_of_64_bits_is_allowed():
    first = [tp.Experiment(ARMS, seed=seed).ask(n=12) for seed in (0, 2**63, 2**64 - 1)]
    arms = [[pull.arm for pull in pulls] for pulls in first]
    assert arms[0] != arms[1] != arms[2] != arms[0]
    with pytest.raises(tp.errors.InputError, match=f"from 0 to {2**64 - 1}, not {2**64}"):
        tp.Experiment(ARMS, seed=2**64)


def test_the_error_names_all_repeated_arms():
    with pytest.raises(tp.errors.InputError, match=r"more than once: A, C$"):
        tp.Experiment(["C", "A", "B", "C", "A"])


# -------------------------------------------------------------------- counting pulls


def test_remaining_and_pending_pulls_are_counted():
    run = experiment(budget=30, policy="round-robin")
    assert (run.remaining, run.done) == (30, False)
    assert repr(run) == "<Experiment: 3 arms, policy round-robin, budget 30, 0 pulls, 0 pending>"
    pulls = run.ask(n=5, environment="mon")
    run.tell(pulls[0], 1.0)
    run.cancel(pulls[1])
    run.cancel(pulls[2])
    assert (run.remaining, run.done) == (27, False)
    assert repr(run) == "<Experiment: 3 arms, policy round-robin, budget 30, 3 pulls, 2 pending>"
    run.ask(n=27)
    assert (run.remaining, run.done) == (0, True)
    with pytest.raises(tp.errors.Finished, match=r"1 pull was requested, but 0 of 30 are left"):
        run.ask()
    run.cancel(pulls[3])
    assert (run.remaining, run.done) == (1, False)
    assert number(run.ask()) == 32
    assert (
        repr(experiment(budget=None)) == "<Experiment: 3 arms, policy linlucb, no budget, 0 pulls, 0 pending>"
    )


def test_history_has_every_pull_and_every_summary():
    run = experiment(policy="round-robin")
    a, b, c = run.ask(n=3, environment="mon")
    run.tell(b, 2.5)
    run.cancel(c)
    run.tell_summary(arm="A", environment="tue", n=4, mean=0.5, variance=1.0)
    run.tell_summary(arm="B", environment="tue", n=1, mean=0.75, key="mine")
    run.tell_summary(arm="C", environment="tue", n=1, mean=0.25)
    table = run.history()
    assert table["pull"] == [a.id, b.id, c.id, "#1", "mine", "#3"]
    assert table["arm"] == [a.arm, b.arm, c.arm, "A", "B", "C"]
    assert table["environment"] == ["mon"] * 3 + ["tue"] * 3
    assert table["n"] == [0, 1, 0, 4, 1, 1]
    assert table["reward"] == [None, 2.5, None, 0.5, 0.75, 0.25]
    assert table["variance"] == [None, None, None, 1.0, None, None]
    assert table["status"] == ["pending", "told", "cancelled", "summary", "summary", "summary"]


def test_a_pull_is_known_by_its_id_only():
    run = experiment()
    pulls = run.ask(n=2)
    run.tell(pulls[1].id, 2.0)
    assert run.history()["reward"] == [None, 2.0]
    for other in (True, 1, np.int64(1), 1.0, None, "1", pulls[0].id + "0", pulls):
        with pytest.raises(tp.errors.UnknownName, match="unknown pull"):
            run.tell(other, 1.0)
    assert run.history()["reward"] == [None, 2.0]


def test_numbers_with_too_many_digits_are_refused(tmp_path):
    """Such numbers could be neither saved nor printed; numbers with one digit less can."""
    run, too_long = experiment(), 10**4300
    pull = run.ask(environment=too_long - 1)
    run.save(tmp_path / "run.json")
    assert tp.Experiment.load(tmp_path / "run.json").tell(pull, 1.0) is None
    before = run.events()
    calls = (
        lambda: run.ask(environment=too_long),
        lambda: run.ask(environment=-too_long),
        lambda: run.tell_summary(arm="A", environment=too_long, n=1, mean=1.0),
        lambda: run.ask(unit=too_long),
        lambda: run.ask(n=too_long),
        lambda: run.tell(too_long, 1.0),
        lambda: run.tell(pull, too_long),
        lambda: run.tell(pull, 1.0, key=too_long),
        lambda: run.retire_arm(too_long),
        lambda: run.add_arm(too_long),
        lambda: run.extend(too_long),
        lambda: run.pause(by=too_long),
    )
    for call in calls:
        with pytest.raises(tp.errors.InputError, match="a number of more than 4300 digits"):
            call()
    assert run.events() == before


def test_labels_may_be_empty_or_zero_or_of_numpy_or_dates():
    run = experiment(policy="round-robin")
    for label, kept in [
        (0, 0),
        ("", ""),
        (np.int64(7), 7),
        (np.str_("x"), "x"),
        (datetime.date(2026, 11, 16), "2026-11-16"),
        (np.datetime64("2026-11-16"), "2026-11-16"),
    ]:
        pull = run.ask(environment=label)
        assert pull.environment == kept
        assert type(pull.environment) is type(kept)
        assert run.ask().environment == kept


def test_a_reward_given_twice_in_one_call_counts_once():
    run = experiment()
    pull = run.ask(environment="mon")
    run.tell_many([pull, pull.id], [1.5, 1.5])
    assert run.fit().shifts["n"] == [1]


# ------------------------------------------------------------------------ pulls that are out


class Script:
    """Arms that every policy is made to choose, and the pending pulls that it is told of.

    Attributes
    ----------
    arms : numbers of the arms to choose, the next one first; -1 stops the policy; none leaves it its own choice.
    heard : arm, number of pulls and counts of the environment, for each message about pending pulls.
    """

    def __init__(self):
        self.arms, self.heard = [], []

    def program(self, program):
        """Return a policy's program that follows the script."""

        def ask(*given):
            return self.arms.pop(0) if self.arms else program.ask(*given)

        def ask_many(params, state, data, slot, seed, asked, noticed, places):
            if not self.arms:
                return program.ask_many(params, state, data, slot, seed, asked, noticed, places)
            for i in range(places.size):
                if i > 0:
                    draw = Draw(seed, np.uint64(0), TELL, noticed + np.uint64(i - 1))
                    expect(params, state, data, slot, places[i - 1], 1, draw)
                places[i] = self.arms.pop(0)
                if places[i] < 0:
                    return i
            return places.size

        def listening(kernel):
            def heard(params, state, data, slot, arm, n, draw):
                self.heard.append((arm, n, list(slot.counts[:])))
                return kernel(params, state, data, slot, arm, n, draw)

            return heard

        expect = listening(program.expect)
        return program._replace(ask=ask, ask_many=ask_many, expect=expect, notice=listening(program.notice))

    def pulls_heard(self):
        """Return arm and number of pulls of each message."""
        return [(arm, n) for arm, n, _ in self.heard]


@pytest.fixture
def script(monkeypatch):
    script = Script()
    replace_kernels(monkeypatch, script.program)
    return script


def played(script, run, told, pending):
    """Ask for these arms in these environments and tell the rewards of the first."""
    script.arms[:] = [ARMS.index(arm) for arm, _ in [*told, *pending]]
    for step, (arm, environment) in enumerate([*told, *pending]):
        pull = run.ask(environment=environment)
        assert pull.arm == arm
        if step < len(told):
            run.tell(pull, MEANS[arm] + (7 * step % 5) / 5)
    return run


TOLD = [(arm, day) for day in ("mon", "tue", "wed") for arm in ("A", "B", "C", "A", "C", "B", "B", "C")]


def test_a_pending_pull_counts_where_it_was_asked_and_not_elsewhere(script):
    """Pending pulls count in the design and in the counts of their own environment only."""
    out = [("A", "new"), ("B", "new"), ("A", "new"), ("C", "other"), ("B", "wed")]
    run = played(script, experiment(), TOLD, out)
    numbers = saved_state(run).policy_state
    numbers.look_ahead()
    state, places = numbers.memory_with_pending.view, numbers.environments
    counts = {day: places.pending_slot(places.find(day)).kernels.counts[:] for day in ("new", "other", "wed")}
    assert counts == {"new": [2.0, 1.0, 0.0], "other": [0.0, 0.0, 1.0], "wed": [2.0, 4.0, 3.0]}
    cells = [*TOLD, *out]
    arm = np.array([ARMS.index(a) for a, _ in cells])
    environment = np.unique([d for _, d in cells], return_inverse=True)[1]
    dense = oracles.dense(arm, environment, np.zeros(arm.size), 3, 5)
    for i, k in [(0, 1), (0, 2), (1, 2)]:
        c = np.zeros(8)
        c[i], c[k] = 1.0, -1.0
        P = state.data.fit.P
        assert P[i, i] + P[k, k] - 2 * P[i, k] == pytest.approx(dense.combination(c)[1], rel=1e-12)
    told = saved_state(played(script, experiment(), TOLD, [])).policy_state.memory.view.data.fit
    contrasts = np.subtract.outer(told.mu, told.mu)
    assert np.subtract.outer(state.data.fit.mu, state.data.fit.mu) == pytest.approx(contrasts)
    assert state.data.fit.rss[0] == told.rss[0]


def test_a_policy_hears_of_pending_pulls_in_the_order_of_asking(script):
    """The draws of top-two Thompson sampling depend on the order, so a saved run depends on it, too."""
    run = experiment(policy="top-two-thompson")
    played(script, run, [], [("A", 1), ("B", 1), ("A", 1), ("C", 2), ("A", 2)])
    run.ask(environment=2)
    assert script.pulls_heard() == [(0, 1), (1, 1), (0, 1), (2, 1), (0, 1)]


def test_after_a_reward_a_policy_hears_of_pending_pulls_arm_by_arm_the_latest_last(script):
    run = experiment(policy="top-two-thompson")
    played(script, run, [], [("B", 2), ("C", 2), ("A", 1), ("B", 1)])
    run.tell(run.pending_pulls()[1], 1.0)
    script.heard.clear()
    run.ask(environment=1)
    assert script.pulls_heard() == [(0, 1), (1, 2)]


@pytest.mark.parametrize("n", [1, 3])
def test_a_policy_hears_of_the_pending_pulls_of_an_arm_where_it_was_asked_last(script, n):
    """One by one or in batches, and when the events are read again."""
    run = experiment(policy="top-two-thompson")
    told = run.ask(environment="told")
    asks = [("A", "one"), ("A", "two"), ("B", "two"), ("C", "three"), ("B", "three")]
    script.arms[:] = [ARMS.index(arm) for arm, _ in asks for _ in range(n)]
    for _, environment in asks:
        run.ask(environment=environment, **({} if n == 1 else {"n": n}))
    run.tell(told, 1.0)
    for each in (run, replay(run)):
        script.heard.clear()
        each.ask(environment="next")
        assert script.heard[:3] == [(0, 2 * n, [n, n, 0]), (2, n, [0, n, n]), (1, 2 * n, [0, n, n])]


def test_asking_for_many_gives_the_arms_of_single_asks():
    many, single = experiment(), experiment()
    one_by_one = [single.ask(environment="mon") for _ in range(40)]
    assert without_sessions(many.ask(n=40, environment="mon")) == without_sessions(one_by_one)


# ---------------------------------------------------------------------------- policies that stop


def decided(**options):
    """Return an experiment that needs a dozen rounds to drop all arms but C."""
    policy = tp.policy("ser3", epsilon=1.0, log_inverse_delta=1.0)
    return experiment(budget=None, policy=policy, **options)


def test_an_experiment_is_done_when_its_policy_stops():
    run, asked = decided(), 0
    while not run.done:
        pull = run.ask(environment=asked // 4)
        run.tell(pull, MEANS[pull.arm])
        asked += 1
        assert asked < 1000
    assert run.remaining is None
    with pytest.raises(
        tp.errors.Finished, match=r"because the policy ser3\(.*\) has stopped; the selected arm is C"
    ):
        run.ask(environment="next")
    assert run.history()["environment"][-1] == (asked - 1) // 4


@pytest.mark.parametrize("options", [{}, {"minimum_shares": {"A": 0.1}}])
def test_several_pulls_are_asked_for_all_or_none(script, options):
    """A policy that stops in the middle of a batch leaves no pull of that batch, and nothing to compute again."""
    run = drive(experiment(policy="round-robin", **options), 10)
    script.arms[:] = [0, 1, -1, -1]
    before, numbers = contents(run), saved_numbers(run)
    with pytest.raises(tp.errors.Finished, match="round-robin has stopped; the selected arm is"):
        run.ask(n=5, environment="elsewhere")
    assert not run.internals.state.damaged
    assert contents(run) == before
    assert saved_numbers(run) == numbers
    assert run.pending_pulls() == []
    script.arms.clear()
    assert run.ask().environment == 1  # where it was


# ---------------------------------------------------------------------------- summaries


def test_a_summary_equals_its_rewards():
    single, summed = experiment(), experiment()
    random = np.random.default_rng(4)
    for day in range(6):
        for arm in ARMS:
            rewards = MEANS[arm] + 7.0 * day + random.standard_normal(10)
            summed.tell_summary(
                arm=arm, environment=day, n=10, mean=rewards.mean(), variance=rewards.var(ddof=1)
            )
            for reward in rewards:
                single.tell_summary(arm=arm, environment=day, n=1, mean=reward)
    one, two = single.fit(), summed.fit()
    assert one.sigma == pytest.approx(two.sigma, rel=1e-12)
    for a, b in [("B", "A"), ("C", "A")]:
        assert one.contrast(a, b).estimate == pytest.approx(two.contrast(a, b).estimate, abs=1e-12)
        assert one.contrast(a, b).se == pytest.approx(two.contrast(a, b).se, rel=1e-12)


def test_a_summary_settles_the_oldest_pending_pulls():
    run = experiment()
    pulls = [p for p in run.ask(n=30, environment="mon") if p.arm == "B"]
    run.tell_summary(arm="B", environment="mon", n=4, mean=1.0, variance=0.5)
    status = run.history()["status"]
    assert [status[number(p)] for p in pulls] == ["summarised"] * 4 + ["pending"] * 6
    with pytest.raises(tp.errors.InputError, match="part of a summary"):
        run.tell(pulls[0], 1.0)
    assert run.remaining == 170


def test_a_summary_settles_pulls_of_its_arm_and_environment_only():
    run = experiment(policy="round-robin")
    pulls = run.ask(n=6, environment="mon") + run.ask(n=6, environment="tue")
    run.tell_summary(arm="B", environment="tue", n=40, mean=1.0, variance=0.5)
    settled = [p for p in pulls if run.history()["status"][number(p)] == "summarised"]
    assert settled == [p for p in pulls if (p.arm, p.environment) == ("B", "tue")]
    assert len(settled) == 2
    assert "10 pending>" in repr(run)


def test_a_single_reward_needs_no_variance_and_two_do():
    run = experiment()
    run.tell_summary(arm="A", environment=1, n=1, mean=1.0)
    with pytest.raises(tp.errors.InputError, match="a summary of 2 rewards requires variance"):
        run.tell_summary(arm="A", environment=1, n=2, mean=1.0)
    run.tell_summary(arm="A", environment=1, n=2, mean=1.0, variance=0.0)
    assert run.fit().arms["n"][0] == 3


def test_the_variance_of_a_single_reward_is_ignored():
    run = experiment()
    run.tell_summary(arm="A", environment=1, n=1, mean=1.0, key="k")
    before = contents(run)
    run.tell_summary(arm="A", environment=1, n=1, mean=1.0, variance=0.0, key="k")
    assert contents(run) == before


def test_the_variance_of_a_summary_has_divisor_n_minus_1():
    run = experiment()
    run.tell_summary(arm="A", environment="mon", n=5, mean=1.0, variance=0.5)
    run.tell_summary(arm="B", environment="mon", n=3, mean=3.0, variance=2.0)
    assert run.fit().sigma == pytest.approx(((4 * 0.5 + 2 * 2.0) / 6) ** 0.5)


def test_surplus_rewards_use_no_budget():
    run = experiment()
    run.ask(n=3, environment="mon")
    run.tell_summary(arm="A", environment="mon", n=10_000, mean=1.0, variance=0.5)
    assert run.remaining == 197
    assert run.fit().arms["n"][0] == 10_000


def test_repeating_a_summary_with_its_key_is_harmless():
    run = experiment()
    told = {"arm": "A", "environment": "mon", "n": 5, "mean": 1.0, "variance": 0.5, "key": "mon-A"}
    run.tell_summary(**told)
    before = contents(run)
    run.tell_summary(**told)
    assert contents(run) == before
    with pytest.raises(
        tp.errors.ConflictingReward, match=r"mon-A. was recorded as arm=.A., .* mean=1.0, .* mean=2.0"
    ):
        run.tell_summary(**{**told, "mean": 2.0})
    assert contents(run) == before


# ------------------------------------------------------------------------- the invariant


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    tide=st.lists(st.floats(-1e3, 1e3), min_size=20, max_size=20),
    policy=st.sampled_from(["linlucb", "round-robin+ols"]),
)
def test_a_tide_changes_no_choice_and_no_selection(seed, tide, policy):
    """Continuous rewards keep decision margins far above rounding."""
    still = drive(experiment(policy=policy), 100, seed=seed)
    moved = drive(experiment(policy=policy), 100, seed=seed, tide=tide)
    assert still.history()["arm"] == moved.history()["arm"]
    assert still.recommend().arm == moved.recommend().arm
    for arm in ("B", "C"):
        gap = still.fit().contrast(arm, "A").estimate
        assert moved.fit().contrast(arm, "A").estimate == pytest.approx(gap, abs=1e-9)


# ------------------------------------------------------------------------------- threads


def test_threads_share_one_experiment():
    run = experiment(budget=400)
    seen, errors = [], []

    def work(worker):
        random = np.random.default_rng(worker)
        try:
            for step in range(50):
                pull = run.ask(environment=step // 10)
                run.tell(pull, MEANS[pull.arm] + random.standard_normal())
                run.recommend() if step % 10 == 0 else None
                seen.append(number(pull))
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(seen) == list(range(400))
    assert sum(run.fit().arms["n"]) == 400
    assert run.done


# ----------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"arms": ["A"]}, tp.errors.InputError, "at least two arms, not 1"),
        ({"arms": []}, tp.errors.InputError, "at least two arms, not 0"),
        ({"arms": "AB"}, tp.errors.InputError, "at least two arms"),
        ({"arms": ["A", "A"]}, tp.errors.InputError, "more than once: A"),
        ({"arms": ["A", 2]}, tp.errors.InputError, "must be a string, not 2"),
        ({"budget": 0}, tp.errors.InputError, "budget must be a whole number of at least 1, not 0"),
        ({"budget": 2.5}, tp.errors.InputError, "not 2.5"),
        (
            {"budget": 17},
            tp.errors.BudgetTooSmall,
            "17 is too small for linlucb with 3 arms; give at least 18",
        ),
        ({"seed": -1}, tp.errors.InputError, "seed must be a whole number from 0"),
        ({"seed": None}, tp.errors.InputError, "seed"),
        ({"direction": "up"}, tp.errors.InputError, "'maximize' or 'minimize', not 'up'"),
        ({"policy": "linlucp"}, tp.errors.UnknownName, "did you mean 'linlucb'"),
        ({"policy": "linlucb+mean"}, tp.errors.UnknownName, "known: 'ols'"),
        ({"policy": 3}, tp.errors.InputError, "not 3"),
    ],
)
def test_invalid_experiments_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        tp.Experiment(**{"arms": ARMS, "budget": 100, "policy": "linlucb", **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n0": 1}, "n0 must be a whole number of at least 2, not 1"),
        ({"n0": 2.5}, "not 2.5"),
        ({"exploration": -1.0}, "exploration must be a finite number of at least 0, not -1.0"),
        ({"covariance": "robust"}, "'ols', 'printed' or 'reduced', not 'robust'"),
        ({"n_0": 3}, "did you mean 'n0'"),
    ],
)
def test_invalid_policy_options_are_refused(options, words):
    with pytest.raises(tp.errors.InputError, match=words):
        tp.policy("linlucb", **options)


BAD_CALLS = {
    "nan reward": (
        lambda r, p: r.tell(p[0], float("nan")),
        tp.errors.InputError,
        "reward must be a finite number, not nan",
    ),
    "infinite reward": (lambda r, p: r.tell(p[0], float("inf")), tp.errors.InputError, "not inf"),
    "text reward": (lambda r, p: r.tell(p[0], "1.0"), tp.errors.InputError, "not '1.0'"),
    "no reward": (lambda r, p: r.tell(p[0], None), tp.errors.InputError, "not None"),
    "other reward": (
        lambda r, p: r.tell(p[1], 9.0),
        tp.errors.ConflictingReward,
        r"pull \w+-1 already has the reward 1.0, not 9.0",
    ),
    "unknown pull": (
        lambda r, p: r.tell(77, 1.0),
        tp.errors.UnknownName,
        "unknown pull 77; this experiment has 3",
    ),
    "negative pull": (lambda r, p: r.tell(-1, 1.0), tp.errors.UnknownName, "unknown pull -1"),
    "a stranger's pull": (
        lambda r, p: r.tell(tp.Pull(p[0].id, "C", "else"), 1.0),
        tp.errors.UnknownName,
        "unknown pull",
    ),
    "no pull": (lambda r, p: r.tell("first", 1.0), tp.errors.UnknownName, "unknown pull 'first'"),
    "too few rewards": (
        lambda r, p: r.tell_many([p[0], p[2]], [1.0]),
        tp.errors.InputError,
        "pulls and rewards must have the same length, not 2 and 1",
    ),
    "one bad of many": (
        lambda r, p: r.tell_many([p[0], p[2]], [1.0, float("nan")]),
        tp.errors.InputError,
        "nan",
    ),
    "one unknown of many": (
        lambda r, p: r.tell_many([p[0], 5], [1.0, 1.0]),
        tp.errors.UnknownName,
        "unknown pull 5",
    ),
    "twice in one": (
        lambda r, p: r.tell_many([p[0], p[0]], [1.0, 2.0]),
        tp.errors.ConflictingReward,
        r"pull \w+-0 already has the reward 1.0",
    ),
    "unknown arm": (
        lambda r, p: r.tell_summary(arm="D", environment="x", n=1, mean=0.0),
        tp.errors.UnknownName,
        "unknown arm 'D'; known: 'A', 'B', 'C'",
    ),
    "empty summary": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=0, mean=0.0),
        tp.errors.InputError,
        "n must",
    ),
    "no variance": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=3, mean=0.0),
        tp.errors.InputError,
        "a summary of 3 rewards requires variance",
    ),
    "negative variance": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=3, mean=0.0, variance=-1.0),
        tp.errors.InputError,
        "variance must be a finite number of at least 0, not -1.0",
    ),
    "nan mean": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=1, mean=float("nan")),
        tp.errors.InputError,
        "mean must be a finite number",
    ),
    "bad label": (
        lambda r, p: r.ask(environment=2.5),
        tp.errors.InputError,
        "string, a whole number or a date, not 2.5",
    ),
    "bad label in a summary": (
        lambda r, p: r.tell_summary(arm="A", environment=None, n=1, mean=0.0),
        tp.errors.InputError,
        "not None",
    ),
    "no pulls": (
        lambda r, p: r.ask(n=0),
        tp.errors.InputError,
        "n must be a whole number of at least 1, not 0",
    ),
    "beyond the budget": (
        lambda r, p: r.ask(n=198),
        tp.errors.Finished,
        r"^198 pulls were requested, but 197 of 200 are left; no arm is selected .not comparable yet",
    ),
    "cancel a told pull": (
        lambda r, p: r.cancel(p[1]),
        tp.errors.InputError,
        r"pull \w+-1 cannot be cancelled, because it is not pending: its reward is recorded",
    ),
    "cancel an unknown pull": (lambda r, p: r.cancel(9), tp.errors.UnknownName, "unknown pull 9"),
    "a number for a pull": (lambda r, p: r.tell(True, 1.0), tp.errors.UnknownName, "unknown pull True"),
    "a reward too large for limits": (
        lambda r, p: r.tell(p[0], 1e51),
        tp.errors.InputError,
        r"reward must be between -1e\+50 and 1e\+50, not 1e\+51",
    ),
    "a variance beyond": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=3, mean=0.0, variance=1e200),
        tp.errors.InputError,
        r"variance must be at most 1e\+100, not 1e\+200",
    ),
    "a key that is no string": (
        lambda r, p: r.tell_summary(arm="A", environment="x", n=1, mean=0.0, key=2),
        tp.errors.InputError,
        "a key must be a string, not 2",
    ),
    "cancel one that is told and one that is out": (
        lambda r, p: r.cancel_many([p[0], p[1]]),
        tp.errors.InputError,
        r"pull \w+-1 cannot be cancelled, because it is not pending: its reward is recorded",
    ),
    "correct a pull that is out": (
        lambda r, p: r.correct(p[0], 1.0),
        tp.errors.InputError,
        "has no recorded reward to correct: it is pending",
    ),
    "an arm twice": (lambda r, p: r.add_arm("B"), tp.errors.InputError, "more than once: B"),
    "an arm that is no string": (lambda r, p: r.add_arm(4), tp.errors.InputError, "must be a string, not 4"),
    "retire an unknown arm": (lambda r, p: r.retire_arm("D"), tp.errors.UnknownName, "unknown arm 'D'"),
    "a budget that is spent": (
        lambda r, p: r.extend(2),
        tp.errors.InputError,
        "budget must be a whole number of at least 3, not 2",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_leave_the_experiment_as_it_was(name):
    call, error, words = BAD_CALLS[name]
    run = experiment()
    pulls = run.ask(n=3, environment="mon")
    run.tell(pulls[1], 1.0)
    before = contents(run)
    with pytest.raises(error, match=words):
        call(run, pulls)
    assert contents(run) == before


def test_an_arm_too_many_for_the_budget_is_refused():
    run = experiment(budget=19)
    before = contents(run)
    with pytest.raises(
        tp.errors.BudgetTooSmall, match="19 is too small for linlucb with 4 arms; give at least 24"
    ):
        run.add_arm("D")
    assert contents(run) == before


def test_asking_beyond_the_budget_names_the_selection():
    run = drive(experiment(budget=18), 18)
    with pytest.raises(
        tp.errors.Finished, match=f"0 of 18 are left; the selected arm is {run.recommend().arm}"
    ):
        run.ask()


def test_a_fit_without_rewards_raises_an_error():
    with pytest.raises(tp.errors.NotComparable, match="no reward has been recorded"):
        experiment().fit()


# --------------------------------------------------------------------------------- drift


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_fresh_solve_changes_nothing_but_rounding(direction, monkeypatch):
    """Random summaries, also of arms that have not met yet."""
    solved, solve = [], module.RecordedRewards.solve
    monkeypatch.setattr(module.RecordedRewards, "solve", lambda numbers: solved.append(1) or solve(numbers))
    random = np.random.default_rng(8)
    arms = list("ABCDEF")
    for _ in range(20):
        runs = [tp.Experiment(arms, policy="round-robin+ols", direction=direction) for _ in range(2)]
        often = int(random.integers(1, 4))
        for step in range(1, 19):
            told = {"arm": arms[random.integers(6)], "environment": int(random.integers(7)), "n": 2}
            values = {"mean": float(random.normal()), "variance": float(random.uniform())}
            for run, every in zip(runs, (10**9, often), strict=True):
                monkeypatch.setattr(module, "BATCHES_PER_SOLVE", every)
                run.tell_summary(**told, **values)
            assert len(solved) == step // often
            if step % 6:
                continue
            plain, fresh = (saved_state(run).policy_state.memory.view.data.fit for run in runs)
            met = np.array([[together(plain, i, k) for k in range(6)] for i in range(6)])
            assert [[together(fresh, i, k) for k in range(6)] for i in range(6)] == met.tolist()
            gaps = [np.subtract.outer(f.mu, f.mu) for f in (plain, fresh)]
            spreads = [np.add.outer(f.P.diagonal(), f.P.diagonal()) - 2 * f.P for f in (plain, fresh)]
            assert np.abs(gaps[1] - gaps[0])[met].max() < 1e-9
            assert np.abs(spreads[1] - spreads[0])[met].max() < 1e-9
            assert abs(fresh.rss[0] - plain.rss[0]) < 1e-9
        solved.clear()
        assert without_sessions(runs[0].ask(n=6)) == without_sessions(runs[1].ask(n=6))


def test_a_policy_without_a_fit_needs_no_solve(monkeypatch):
    monkeypatch.setattr(module, "BATCHES_PER_SOLVE", 1)
    monkeypatch.setattr(module.RecordedRewards, "solve", None)
    assert drive(experiment(policy="ucb1-normal"), 40).history()["status"] == ["told"] * 40


@pytest.mark.no_cover
def test_updates_do_not_drift():
    """Estimates and variances stay within 1e-8 of a fresh solve; `make faults` tries a million rewards."""
    run = experiment(budget=None, policy="round-robin+ols")
    random = np.random.default_rng(6)
    total = 500 * count(300)
    arms = random.integers(3, size=total)
    labels = random.integers(200, size=total).tolist()
    tide = 1e3 * random.standard_normal(200)
    rewards = (
        np.array([MEANS[a] for a in ARMS])[arms] + tide[labels] + random.standard_normal(total)
    ).tolist()
    numbers = saved_state(run).policy_state
    for arm, label, reward in zip(arms.tolist(), labels, rewards, strict=True):
        numbers.take(label, arm, 1, reward, 0.0, 0)
    assert numbers.batches == total
    cells = numbers.environments.cells(ARMS, range(3))
    drifted, fresh = numbers.memory.view.data.fit, tp.Fit(cells, variance="common", scale="difference")
    assert total % module.BATCHES_PER_SOLVE != 0, "the last refactoring must lie some way back"
    for i, k in [(1, 0), (2, 0), (2, 1)]:
        contrast = fresh.contrast(ARMS[i], ARMS[k])
        assert abs(drifted.mu[i] - drifted.mu[k] - contrast.estimate) < 1e-8
        variance = drifted.P[i, i] + drifted.P[k, k] - 2 * drifted.P[i, k]
        assert variance == pytest.approx((contrast.se / fresh.sigma) ** 2, rel=1e-8)


BY = {
    "ask": lambda run, pull, by: run.ask(by=by),
    "unit": lambda run, pull, by: run.ask(unit="u", by=by),
    "tell": lambda run, pull, by: run.tell(pull, 1.0, by),
    "summary": lambda run, pull, by: run.tell_summary(arm="A", environment=1, n=1, mean=1.0, by=by),
    "cancel": lambda run, pull, by: run.cancel(pull, by),
    "arm": lambda run, pull, by: run.add_arm("C", by),
    "note": lambda run, pull, by: run.note("x", by),
    "pause": lambda run, pull, by: run.pause("x", by),
}


@pytest.mark.parametrize("call", BY)
@pytest.mark.parametrize("by", [5, float("nan"), {"name"}])
def test_the_author_of_a_call_must_be_a_string(call, by, tmp_path):
    run = tp.Experiment(["A", "B"], budget=20)
    pull = run.ask(environment=1)
    with pytest.raises(tp.errors.InputError, match="by must be a string"):
        BY[call](run, pull, by)
    run.save(tmp_path / "run.json")
    assert tp.Experiment.load(tmp_path / "run.json").pending_pulls() == run.pending_pulls() == [pull]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda run: tp.Experiment(5), "arms must be several values, such as a list, not 5"),
        (lambda run: tp.Experiment(["A", "B"], clock=5.0), "clock must be a function"),
        (
            lambda run: tp.Experiment(["A", "B"], limits=(1, 2, 3)),
            "limits must be the lowest and the highest",
        ),
        (
            lambda run: tp.Experiment(["A", "B"], limits=(0, 1e51)),
            r"limits must be between -1e\+50 and 1e\+50",
        ),
        (lambda run: tp.Experiment(["A", "B"], budget=10**400), "budget must be a whole number from 1 to"),
        (lambda run: tp.Experiment(["A", "B"], direction=np.array([1, 2])), "direction must be"),
        (lambda run: run.extend(10**400), "budget must be a whole number from 6 to"),
        (lambda run: run.tell_many(None, [1.0]), "pulls must be several values"),
        (lambda run: run.tell_many(run.pending_pulls(), 1.0), "rewards must be several values"),
        (lambda run: run.tell_many(run.pending_pulls(), [1.0], keys=3), "keys must be several values"),
        (lambda run: run.cancel_many(3), "pulls must be several values"),
        (lambda run: run.retire_arm(np.array(["A", "B"])), "unknown arm"),
        (
            lambda run: run.tell_summary(arm="A", environment=1, n=2**53 + 1, mean=1, variance=1),
            "n must be a whole number from 1 to",
        ),
        (lambda run: run.fit(variance=[]), "variance must be one of"),
    ],
)
def test_values_of_another_type_are_refused(call, words):
    run = tp.Experiment(["A", "B", "C"], budget=20)
    for pull in run.ask(environment=1, n=6)[:5]:
        run.tell(pull, 1.0)
    before = run.events()
    with pytest.raises(tp.errors.InputError, match=words):
        call(run)
    assert run.events() == before
