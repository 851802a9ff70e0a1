"""Experiments whose policy chooses the environment of each pull from a fixed set."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.errors import Finished, InputError, NotComparable
from tideproof.experiment.state.experiment_state import State
from tideproof.store.ask_verification import recompute_asks
from tideproof.store.store_urls import open_backend

ARMS = ["A", "B", "C"]
SCORES = (np.random.default_rng(4).random((40, 3)) < np.array([0.3, 0.5, 0.8])).astype(float)
LABELS = [f"item {i}" for i in range(len(SCORES))]


def score_of(pull):
    return SCORES[LABELS.index(pull.environment), ARMS.index(pull.arm)]


def play(run, most=10**9, n=1):
    """Ask and tell until the experiment is over; return the pulls."""
    pulls = []
    while not run.done and len(pulls) < most:
        try:
            asked = run.ask(n=n)
        except Finished:
            asked = run.pending_pulls() or [run.ask()]
        run.tell_many(asked, map(score_of, asked))
        pulls += asked
    return list(dict.fromkeys(pulls))


def pairs(pulls):
    return [(pull.arm, pull.environment) for pull in pulls]


@pytest.mark.parametrize(
    "options", [{"budget": 60}, {}, {"confidence": 0.95}, {"confidence": 0.9, "rule": "calibrated"}]
)
def test_each_pair_is_asked_once_also_while_pulls_are_pending(options):
    run = tp.Experiment(ARMS, environments=LABELS, seed=2, **options)
    before = [run.ask() for _ in range(5)]
    found = pairs(dict.fromkeys(before + play(run, n=4)))
    assert len(set(found)) == len(found)
    assert run.recommend().arm == "C"
    if options.get("budget"):
        assert len(found) == 60


def test_a_loaded_experiment_continues_with_the_same_pairs(tmp_path):
    for options in ({"budget": 90}, {"confidence": 0.99}):
        run = tp.Experiment(ARMS, environments=LABELS, seed=1, **options)
        play(run, most=50)
        out = run.ask(n=2)
        run.cancel(out[0])
        run.save(tmp_path / "run.json")
        loaded = tp.Experiment.load(tmp_path / "run.json")
        folded = State(run.events()[0], run.internals.state.spec)
        folded.append_events(run.events()[1:])
        assert loaded.internals.policy_state.buffers() == run.internals.policy_state.buffers()
        assert folded.policy_state.buffers() == run.internals.policy_state.buffers()
        assert pairs(loaded.ask(n=5)) == pairs(run.ask(n=5))
        assert loaded.recommend().arm == run.recommend().arm


def test_a_snapshot_of_a_long_experiment_is_equal_to_a_replay(tmp_path):
    run = tp.Experiment(ARMS, environments=range(200), seed=1, budget=400)
    for _ in range(220):
        pull = run.ask()
        run.tell(pull, float(SCORES[pull.environment % 40, ARMS.index(pull.arm)]))
    run.save(tmp_path / "run.json")
    loaded = tp.Experiment.load(tmp_path / "run.json")
    assert loaded.internals.policy_state.buffers() == run.internals.policy_state.buffers()
    assert pairs(loaded.ask(n=3)) == pairs(run.ask(n=3))


def test_cancelled_pairs_are_left_out_and_expired_pairs_come_back():
    now = [0.0]
    run = tp.Experiment(["A", "B"], environments=[1, 2, 3], lease=10.0, clock=lambda: now[0])
    first = run.ask()
    run.cancel(first)
    second = run.ask()
    now[0] = 11.0
    rest = []
    while not run.done:
        rest.append(run.ask())
        run.tell(rest[-1], 1.0)
    assert pairs([first])[0] not in pairs(rest)
    assert pairs(rest).count(pairs([second])[0]) == 1
    run.tell(second, 0.0)  # late: the pair has two scores, which are averaged
    assert run.history()["status"].count("told") == 6
    run.tell(second, 0.0)
    with pytest.raises(tp.errors.ConflictingReward):
        run.tell(second, 0.5)


def test_a_corrected_score_is_as_if_it_had_been_told_at_once():
    for options in ({"budget": 60}, {"confidence": 0.999}):
        right, wrong = (tp.Experiment(ARMS, environments=LABELS, seed=5, **options) for _ in range(2))
        asked = right.ask(n=30), wrong.ask(n=30)
        right.tell_many(asked[0], map(score_of, asked[0]))
        wrong.tell_many(asked[1], [1.0 - score_of(pull) for pull in asked[1]])
        for pull in asked[1]:
            wrong.correct(pull, score_of(pull))
        assert wrong.internals.policy_state.buffers() == right.internals.policy_state.buffers()
        assert pairs(wrong.ask(n=4)) == pairs(right.ask(n=4))


def test_low_scores_are_better_where_that_is_said():
    run = tp.Experiment(ARMS, environments=LABELS, direction="minimize", confidence=0.95)
    play(run)
    assert (run.recommend().arm, run.recommend().sure) == ("A", True)


def test_arms_can_be_retired_and_added():
    run = tp.Experiment(ARMS, environments=LABELS, budget=100)
    play(run, most=30)
    run.retire_arm("B")
    assert "B" not in {pull.arm for pull in play(run, most=20)}
    run.add_arm("D")
    arms = []
    for _ in range(30):
        pull = run.ask()
        arms.append(pull.arm)
        run.tell(pull, 1.0)
    assert "D" in arms
    assert "B" not in arms


def test_no_interval_is_shown_until_every_pair_has_a_score():
    run = tp.Experiment(ARMS, environments=LABELS)
    play(run, most=60)
    found = run.recommend()
    assert found.arm is not None
    assert found.margin > 0.0
    assert (found.low, found.high, found.p_best) == (None, None, None)
    with pytest.raises(NotComparable, match="no fit is shown"):
        run.fit()
    assert run.internals.read().fit is None
    play(run)
    assert len(run.history()) == 120
    means = {row["arm"]: row["mean"] for row in run.fit().arms}
    assert list(means.values()) == pytest.approx(
        [SCORES[:, ARMS.index(arm)].mean() for arm in means], abs=1e-15
    )


def test_a_race_ends_with_an_event_and_then_refuses_asks():
    run = tp.Experiment(ARMS, environments=LABELS, confidence=0.9)
    pulls = play(run)
    assert len(pulls) < SCORES.size
    found = run.recommend()
    assert (found.arm, found.sure, found.confidence, found.rule) == ("C", True, 0.9, "proven")
    assert [type(event).__name__ for event in run.events()].count("Sure") == 1
    with pytest.raises(Finished, match="no further pull is needed"):
        run.ask()


def test_pulls_that_must_be_answered_first_are_named():
    run = tp.Experiment(["A", "B"], environments=[1, 2], budget=10)
    run.ask(n=4)
    with pytest.raises(Finished, match=r"0 can be assigned now.*4 pulls are pending"):
        run.ask()
    assert not run.done


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"environments": []}, "at least one label"),
        ({"environments": "abc"}, "must be a list of labels"),
        ({"environments": [1, 2, 1]}, "more than once: 1"),
        ({"environments": [1.5]}, "must be a string, a whole number"),
        ({"environments": 3}, "environments must be several values"),
        ({"environments": [1], "tide": "hidden"}, "tide='hidden' is not possible"),
        ({"environments": [1], "policy": "linlucb"}, "policy='linlucb' is not possible"),
        ({"environments": [1], "rewards": "money"}, "rewards='money' is not possible"),
        ({"environments": [1], "maximum_shares": {"A": 0.5}}, "maximum_shares=.* is not possible"),
        ({"environments": [1], "rule": "proven"}, "rule='proven' requires confidence"),
        ({"environments": [1], "confidence": 0.9, "tolerance": 1.0}, "tolerance must be below 1"),
        ({"environments": [1], "confidence": 0.9, "tolerance": -0.1}, "tolerance must be a finite number"),
        ({"environments": [1], "confidence": 1.5}, "confidence"),
        ({"tolerance": 0.1}, "tolerance=0.1 requires environments="),
        ({"environments": range(30_000_000)}, "at most 50,000,000 are supported"),
    ],
)
def test_invalid_options_are_refused(options, message):
    if isinstance(options.get("environments"), range):
        from tideproof.experiment.options import environment_options

        options, message = {"environments": range(3)}, "3 environments are 6 pairs; at most 5"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(environment_options, "MOST_PAIRS", 5)
            with pytest.raises(InputError, match=message):
                tp.Experiment(["A", "B"], **options)
        return
    with pytest.raises(InputError, match=message):
        tp.Experiment(["A", "B"], **options)


def test_calls_that_name_an_environment_are_refused():
    run = tp.Experiment(["A", "B"], environments=[1, 2], confidence=0.9)
    calls = [
        lambda: run.ask(environment=1),
        lambda: run.ask(unit="x"),
        run.shares,
        lambda: run.tell_summary(arm="A", environment=1, n=1, mean=0.5),
        lambda: run.warm_start({"a": ["A"], "e": [1], "r": [1.0]}, arm="a", environment="e", reward="r"),
        lambda: run.tell(run.ask(), 1.5),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()
    assert run.remaining is None


@pytest.mark.parametrize("change", [("pair twice", 1), ("unknown environment", 2), ("retired arm", 3)])
def test_impossible_events_in_a_file_are_refused(change):
    from tideproof.experiment.events import event_records as e
    from tideproof.experiment.snapshots.experiment_file import rebuild_state

    created = tp.Experiment(["A", "B", "C"], environments=[1, 2]).events()[0]
    events = {
        1: [e.AskedPairs(1.0, None, (0,), (0,)), e.AskedPairs(2.0, None, (0,), (0,))],
        2: [e.AskedPairs(1.0, None, (0,), (2,))],
        3: [e.ArmRetired(1.0, None, 2), e.AskedPairs(1.0, None, (2,), (0,))],
    }[change[1]]
    with pytest.raises(InputError, match="impossible after the events before it"):
        rebuild_state([created, *events], None)


def test_two_programs_share_a_stored_experiment(tmp_path):
    url = f"sqlite:///{tmp_path}/evals.db"
    one = tp.Experiment.open(url, "run", ARMS, environments=LABELS, budget=50)
    two = tp.Experiment.open(url, "run", ARMS, environments=LABELS)
    pulls = []
    for run in (one, two) * 12:
        pulls += run.ask(n=2)
        run.tell_many(pulls[-2:], map(score_of, pulls[-2:]))
    assert len(set(pairs(pulls))) == 48
    assert one.recommend().arm == two.recommend().arm
    with pytest.raises(InputError, match="other environments"):
        tp.Experiment.open(url, "run", environments=LABELS[:3])
    one.close()
    two.close()
    log = open_backend(url).log("run")
    checked = recompute_asks(log)
    log.close()
    assert (checked.asked, checked.trusted, checked.other) == (24, 0, None)


def test_lists_count_the_rewards_of_experiments_without_a_fit():
    from tideproof.report.store_listing import experiment_details

    run = tp.Experiment(ARMS, environments=LABELS, budget=12)
    play(run)
    rows = experiment_details(run, "run", 5)["arms"]
    assert sum(row["rewards"] for row in rows) == 12
    assert {row["low"] for row in rows} == {None}
