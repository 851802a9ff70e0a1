"""Changes of a running experiment (arms, budget, rewards, pauses), each recorded as an event that can be replayed."""

import numpy as np
import pytest

import oracles
import tideproof as tp
from experiments import live_book, next_arm, replay, same_contents, saved_numbers, saved_state
from tideproof.experiment.events import event_records as e
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0, "D": 3.0}
POLICIES = ["contrast", "linlucb", "top-two-thompson", "round-robin+ols", "reduce:ucb1-normal", "ocba"]


def experiment(**options):
    return tp.Experiment(ARMS, **{"budget": 300, "seed": 3, **options})


def drive(run, steps, seed=0, each=6, first=0):
    random = np.random.default_rng(seed)
    for step in range(steps):
        pull = run.ask(environment=first + step // each)
        run.tell(pull, MEANS[pull.arm] + step // each + random.standard_normal())
    return run


def folds_again(run, tmp_path):
    run.save(tmp_path / "run.json")
    for again in (replay(run), tp.Experiment.load(tmp_path / "run.json")):
        assert same_contents(run, again)


def dense(run):
    """Return each arm's difference to the first arm with rewards, by NumPy's least squares of the history."""
    rows = [row for row in run.history().to_dicts() if row["status"] in ("told", "defaulted")]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    labels = list(dict.fromkeys(row["environment"] for row in rows))
    found = oracles.dense(
        np.array([arms.index(row["arm"]) for row in rows]),
        np.array([labels.index(row["environment"]) for row in rows]),
        np.array([row["reward"] for row in rows]),
        len(arms),
        len(labels),
    )
    return {arm: found.beta[i] - found.beta[0] for i, arm in enumerate(arms)}


def goes_by(run):
    """Return the fit that the policy uses, or least squares if it uses none; high rewards are good."""
    numbers = saved_state(run).policy_state
    return numbers.memory.view.data.fit if "fit" in run.policy.reads else numbers.rewards.solve()


def check_estimates(run):
    """Check that the policy's estimates and the fit are least squares of the history."""
    expected = dense(run)
    first = next(iter(expected))
    found, retired = goes_by(run), any(isinstance(event, e.ArmRetired) for event in run.events())
    together = next(group for group in run.fit().groups if first in group)
    for arm, value in expected.items():
        if arm != first and arm in together:
            assert run.fit().contrast(arm, first).estimate == pytest.approx(value, abs=1e-9)
            if not retired:
                gap = found.mu[run.arms.index(arm)] - found.mu[run.arms.index(first)]
                assert gap == pytest.approx(value, abs=1e-8)


# ------------------------------------------------------------------- arms


@pytest.mark.parametrize("policy", POLICIES)
def test_arms_can_be_added(policy, tmp_path):
    run = drive(experiment(policy=policy), 60)
    out = run.ask(n=5, environment=9)
    run.add_arm("D", by="me")
    assert run.arms == (*ARMS, "D")
    assert [event.by for event in run.events() if isinstance(event, e.ArmAdded)] == ["me"]
    run.tell_many(out, [MEANS[pull.arm] for pull in out])
    drive(run, 120, seed=1, first=20)
    assert "D" in run.history()["arm"]
    check_estimates(run)
    if policy not in ("reduce:ucb1-normal", "ocba"):  # which take the tide for the arm
        assert run.recommend().arm == "D"  # by 1, with noise 1 and about thirty rewards of each
    folds_again(run, tmp_path)


@pytest.mark.parametrize("policy", POLICIES)
def test_arms_can_be_retired(policy, tmp_path):
    run = drive(experiment(policy=policy), 60)
    out = run.ask(n=6, environment=9)
    run.retire_arm("C")
    run.retire_arm("C")  # harmless
    assert len([event for event in run.events() if isinstance(event, e.ArmRetired)]) == 1
    run.tell_many(out, [MEANS[pull.arm] for pull in out])  # those of C may still come
    before = len(run.history()["arm"])
    drive(run, 60, seed=1, first=20)
    assert "C" not in run.history()["arm"][before:]
    assert run.recommend().arm == "B"
    check_estimates(run)
    folds_again(run, tmp_path)


def test_a_retired_arm_does_not_change_the_difference_of_the_others():
    """With two arms left, the policy uses least squares of these two alone."""
    run = drive(experiment(), 60)
    run.retire_arm("C")
    rows = [row for row in run.history().to_dicts() if row["arm"] != "C"]
    alone = tp.Fit.from_arrays(*([row[name] for row in rows] for name in ("arm", "environment", "reward")))
    found = goes_by(run)
    assert found.mu[1] - found.mu[0] == pytest.approx(alone.contrast("B", "A").estimate, abs=1e-9)
    assert float(found.rss[0]) == pytest.approx(alone.sigma**2 * alone.degrees_of_freedom, rel=1e-9)


def test_invalid_arms_cannot_be_added_or_retired():
    run = tp.Experiment(["A", "B"], budget=50)
    for arm, words in (("A", "more than once: A"), (3, "must be a string, not 3")):
        with pytest.raises(tp.errors.InputError, match=words):
            run.add_arm(arm)
    with pytest.raises(tp.errors.UnknownName, match="unknown arm 'Z'"):
        run.retire_arm("Z")
    with pytest.raises(tp.errors.InputError, match="at least two arms: 'A' cannot be retired"):
        run.retire_arm("A")
    assert len(run.events()) == 1


# ------------------------------------------------------------------- rewards


@pytest.mark.parametrize("policy", POLICIES)
def test_a_corrected_reward_counts_as_if_it_had_been_told_at_first(policy, tmp_path):
    run = drive(experiment(policy=policy), 60)
    before = run.history().to_dicts()
    for number, reward in ((0, 9.0), (17, -4.0), (17, 2.5), (59, 0.0)):
        run.correct(before[number]["pull"], reward)
    after = run.history().to_dicts()
    assert [after[i]["reward"] for i in (0, 17, 59)] == [9.0, 2.5, 0.0]
    changed = [i for i in range(60) if before[i]["reward"] != after[i]["reward"]]
    assert changed == [0, 17, 59]
    check_estimates(run)
    rows = run.fit()
    whole = tp.Fit.from_arrays(*([row[name] for row in after] for name in ("arm", "environment", "reward")))
    assert rows.sigma == pytest.approx(whole.sigma, rel=1e-9)  # squares inside cells, too
    assert saved_state(run).policy_state.rewards.solve().rss == pytest.approx(
        whole.sigma**2 * whole.degrees_of_freedom, rel=1e-9
    )
    folds_again(run, tmp_path)


def test_invalid_corrections_are_refused():
    run = drive(experiment(limits=(-100, 100)), 12)
    pull, told = run.ask(), run.history()["pull"][0]
    size = len(run.events())
    with pytest.raises(tp.errors.InputError, match="has no recorded reward to correct: it is pending"):
        run.correct(pull, 1.0)
    with pytest.raises(tp.errors.InputError, match="between -100 and 100, not 1e"):
        run.correct(told, 1e200)
    with pytest.raises(tp.errors.UnknownName, match="unknown pull 'x'"):
        run.correct("x", 1.0)
    run.correct(told, run.history()["reward"][0])  # as it is
    assert len(run.events()) == size


@pytest.mark.parametrize("reward", [1e200, -1e101, float("inf"), float("nan"), "1", None])
def test_an_enormous_reward_is_refused_and_changes_nothing(reward):
    run = drive(experiment(), 24)
    pull, before = run.ask(), saved_numbers(run)
    for tell in (
        lambda: run.tell(pull, reward),
        lambda: run.tell_summary(arm="A", environment=1, n=1, mean=reward),
        lambda: run.correct(run.history()["pull"][0], reward),
    ):
        with pytest.raises(tp.errors.InputError, match=r"(reward|mean) must be|a summary requires"):
            tell()
    assert saved_numbers(run) == before
    assert run.recommend().arm is not None


def test_several_pulls_are_cancelled_all_or_none():
    run = experiment()
    pulls = run.ask(n=9, environment=1)
    run.tell(pulls[4], 1.0)
    with pytest.raises(tp.errors.InputError, match="is not pending: its reward is recorded"):
        run.cancel_many(pulls[:5])
    assert run.pending_pulls() == [*pulls[:4], *pulls[5:]]
    run.cancel_many([pulls[8], pulls[0].id, pulls[8]])
    run.cancel_many([pulls[0]])  # harmless
    assert run.pending_pulls() == [*pulls[1:4], *pulls[5:8]]
    assert run.remaining == 300 - 7
    assert [event.pulls for event in run.events() if isinstance(event, e.Cancelled)] == [(8, 0)]
    with pytest.raises(tp.errors.InputError, match="are no longer accepted: it was cancelled"):
        run.tell(pulls[0], 1.0)


# ------------------------------------------------------------------- budget and pauses


def test_another_budget_gives_the_policy_another_horizon(tmp_path):
    run, long = experiment(budget=60), experiment(budget=200)
    run.extend(200, by="boss")
    assert (run.budget, run.remaining) == (200, 200)
    assert saved_state(run).policy_state.rewards.params == saved_state(long).policy_state.rewards.params
    drive(run, 200)
    drive(long, 200)
    assert run.history()["arm"] == long.history()["arm"]  # as if it had been so from the first
    assert run.done
    run.extend(None)
    assert (run.budget, run.remaining, run.done) == (None, None, False)
    with pytest.raises(tp.errors.InputError, match="budget must be a whole number of at least 200, not 199"):
        run.extend(199)
    folds_again(run, tmp_path)


def test_extending_to_the_present_budget_changes_nothing():
    run = experiment()
    run.extend(300)
    assert len(run.events()) == 1


def test_pause_resume_and_stop_are_recorded(tmp_path):
    run = experiment()
    pull = run.ask(environment=1)
    run.pause("a release", by="ops")
    run.pause()
    with pytest.raises(tp.errors.Finished, match="the experiment is paused"):
        run.ask()
    assert not run.done
    run.tell(pull, 1.0)  # rewards may come
    run.resume()
    run.resume()
    late = run.ask()
    run.stop("enough")
    run.stop()
    with pytest.raises(tp.errors.Finished, match="the experiment is stopped"):
        run.ask()
    run.resume()
    assert run.done
    run.tell(late, 2.0)
    run.note("the shop was closed on Monday", by="ann")
    kinds = [type(event).__name__ for event in run.events()]
    assert kinds == ["Created", "Asked", "Paused", "Told", "Resumed", "Asked", "Stopped", "Told", "Noted"]
    assert run.events()[2][1:] == ("ops", "a release")
    assert run.events()[-1][1:] == ("ann", "the shop was closed on Monday")
    folds_again(run, tmp_path)


@pytest.mark.parametrize("call", ["note", "pause", "stop"])
def test_numbers_with_too_many_digits_cannot_be_noted(call):
    run = tp.Experiment(["A", "B"])
    with pytest.raises(
        tp.errors.InputError, match="must be text that can be printed, not a number of more than 4300"
    ):
        getattr(run, call)(10**5000)
    assert [type(event).__name__ for event in run.events()] == ["Created"]
    run.note(12)
    assert run.events()[-1].text == "12"


# ------------------------------------------------------------------- who looks, and who is interrupted


@pytest.mark.parametrize("policy", POLICIES)
def test_queries_change_no_later_number(policy):
    """Compare the same asks, tells and cancels with and without queries after each."""
    looked, not_looked = experiment(policy=policy), experiment(policy=policy)
    for run in (looked, not_looked):
        random, out = np.random.default_rng(12), []
        for _ in range(120):
            match random.integers(0, 3):
                case 0:
                    label = int(random.integers(0, 5))
                    out += run.ask(n=int(random.integers(1, 4)), environment=label)
                case 1 if out:
                    run.tell(out.pop(int(random.integers(0, len(out)))), float(random.normal()))
                case 2 if out:
                    run.cancel(out.pop(int(random.integers(0, len(out)))))
            if run is looked and len(run.events()) > 5:
                run.shares(environment=1, n=3)
                next_arm(run, 7)
                run.recommend()
                saved_numbers(run)
    assert looked.history()["arm"] == not_looked.history()["arm"]
    assert saved_numbers(looked) == saved_numbers(not_looked)
    assert same_contents(looked, replay(looked))


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("policy", ["contrast", "linlucb", "round-robin+ols"])
def test_an_interrupted_ask_leaves_other_environments_alone(policy, told, monkeypatch):
    run = drive(experiment(policy=policy), 20)
    out = run.ask(n=3, environment=50)
    run.cancel(out[0])
    out = run.ask(n=3, environment=51)
    if told:
        run.tell(out[0], 3.0)
    ask = Book.ask

    def interrupted(*args):
        ask(*args)
        raise KeyboardInterrupt

    for _ in range(3):  # from the second time on, it interrupts the replay of the events
        monkeypatch.setattr(Book, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.ask(environment=52)
        monkeypatch.undo()
    assert same_contents(run, replay(run))
    run.ask(n=5, environment=51)
    assert same_contents(run, replay(run))


def test_an_interrupted_fresh_solve_is_rolled_back(monkeypatch):
    """The running sums over environments include a reward that is then rolled back."""
    monkeypatch.setattr("tideproof.experiment.state.recorded_rewards.BATCHES_PER_SOLVE", 8)
    run = drive(experiment(), 31)
    pulls = run.ask(n=20, environment=40)
    rewards = np.random.default_rng(7).normal(size=20)
    finish = PolicyState.finish

    def interrupted(*_):
        raise KeyboardInterrupt

    for count in (1, 20):  # one fresh solve, and two or three
        monkeypatch.setattr(PolicyState, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.tell_many(pulls[:count], rewards[:count])
        monkeypatch.setattr(PolicyState, "finish", finish)
        assert same_contents(run, replay(run))
    run.tell_many(pulls[1:], rewards[1:])
    assert same_contents(run, replay(run))
    check_estimates(run)


# ------------------------------------------------------------------- everything at once


@pytest.mark.parametrize("seed", range(6))
def test_random_courses_of_events_can_be_replayed(seed, tmp_path):
    """After random calls, the state is that of the events, the fit that of the history, and counts are right."""
    random, now = np.random.default_rng(seed), [0.0]
    policy = POLICIES[seed]
    options = {"lease": 6.0, "default": 0.5} if seed % 2 else {"lease": 9.0}
    run = experiment(policy=policy, budget=None if policy == "contrast" else 5000, minimum_shares={"A": 0.3},
                     maximum_shares={"B": 0.5}, clock=lambda: now[0], **options)  # fmt: skip
    units = 0
    for _ in range(250):
        now[0] += float(random.integers(0, 2))
        out, label = run.pending_pulls(), int(random.integers(0, 4))
        match random.integers(0, 12):
            case 0 | 1:
                run.ask(n=int(random.integers(1, 5)), environment=label)
            case 2 | 3 | 4:
                units += 1
                run.ask(unit=int(random.integers(0, units)), environment=label)
            case 5 | 6 | 7 if out:
                chosen = [out[i] for i in random.integers(0, len(out), 2)]
                new = dict.fromkeys(chosen)
                run.tell_many(new, random.normal(size=len(new)))
            case 8 if out:
                run.cancel(out[0])
            case 9:
                pulls, states = run.history()["pull"], run.history()["status"]
                known = [n for n in sorted(live_book(run)["of_units"]) if states[n] != "cancelled"]
                if known and known[-1] >= run.internals.state.book.salted_from:  # else its keys are forgotten
                    run.tell(pulls[known[-1]], float(random.normal()), key=str(random.random()))
            case 10:
                run.shares(environment=label, n=int(random.integers(1, 9)))
            case 11 if random.random() < 0.2:
                run.add_arm("D") if len(run.arms) == 3 else run.forget_units()
    book, rows = live_book(run), run.history().to_dicts()
    lost = [row["status"] in ("cancelled", "expired") for row in rows]
    assert book["lost"] == run.diagnostics().lost == sum(lost)
    kept = [row["arm"] for row, gone in zip(rows, lost, strict=True) if not gone]
    assert book["asked"] == [kept.count(arm) for arm in run.arms]
    assert book["pending"] == [i for i, row in enumerate(rows) if row["status"] == "pending"]
    check_estimates(run)
    run.save(tmp_path / "run.json")
    for again in (
        replay(run),
        tp.Experiment.load(tmp_path / "run.json", clock=lambda: now[0]),
    ):
        assert same_contents(run, again)


def variances(P):
    """Return the variance of each contrast, whatever the gauge of P."""
    return P.diagonal() + P.diagonal()[:, None] - 2.0 * P


def test_cancelled_pulls_leave_the_design():
    """The design counts recorded and pending pulls, by comparison with a dense pseudoinverse."""
    run = tp.Experiment(["A", "B", "C"], budget=200, seed=4)
    for i, pull in enumerate(run.ask(n=12, environment="told")):
        run.tell(pull, i % 5)
    for pull in run.ask(n=9, environment="out")[:4]:
        run.cancel(pull)
        numbers = saved_state(run).policy_state
        numbers.look_ahead()
        counts = (numbers.environments.rows.n + numbers.environments.rows.pending)[:2]
        laplacian = sum(np.diag(n) - np.outer(n, n) / n.sum() for n in counts)
        kept = variances(numbers.memory_with_pending.view.data.fit.P)
        assert kept == pytest.approx(variances(np.linalg.pinv(laplacian)), rel=1e-9, abs=1e-12)


def test_cancelled_pulls_count_for_no_budget():
    run = tp.Experiment(["A", "B"], budget=20, policy="round-robin")
    pulls = run.ask(environment=1, n=6)
    run.cancel_many(pulls[:2])
    with pytest.raises(tp.errors.InputError, match="budget must be a whole number"):
        run.extend(3)
    run.extend(4)
    assert run.remaining == 0
