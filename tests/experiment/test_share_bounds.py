"""Minimum and maximum shares of arms hold at every pull, whatever the policy chooses."""

import math
import re

import numpy as np
import pytest

import tideproof as tp
from experiments import live_book, replay, saved_numbers
from tideproof.experiment.options.share_bounds import ShareBounds, checked_bounds

ARMS = ["A", "B", "C", "D"]


def experiment(**options):
    return tp.Experiment(ARMS, **{"budget": 400, "policy": "linlucb", "seed": 3, **options})


def refolded(run):
    return replay(run)


def counts(pulls):
    return [sum(pull.arm == arm for pull in pulls) for arm in ARMS]


def drive(run, steps, means=(0.0, 0.0, 0.0, 3.0), each=8):
    random = np.random.default_rng(4)
    pulls = []
    for step in range(steps):
        pulls.append(run.ask(environment=step // each))
        run.tell(pulls[-1], means[ARMS.index(pulls[-1].arm)] + random.standard_normal())
    return pulls


def test_bounds_choose_the_arms_that_were_worked_out_by_hand():
    """The first arm has at least 1/4, the third at most 1/2, and the policy always chooses the third."""
    play = ShareBounds({0: 0.25}, {2: 0.5}).rule([0, 0, 0], [0, 1, 2])
    # pull 1: arm 0 lacks 0.25. 2 and 3: the cap is 1 of 2, 2 of 3. 4: the cap of 4 pulls is 2: the
    # least-played other. 5: arm 0 lacks 0.25 of 1.25. Then the same again.
    assert [play(2) for _ in range(9)] == [0, 2, 2, 1, 0, 2, 2, 1, 0]


def test_the_arm_that_lacks_most_of_its_minimum_share_is_first():
    play = ShareBounds({0: 0.1, 1: 0.5, 2: 0.4}, {}).rule([0, 0, 0], [0, 1, 2])
    assert [play(0) for _ in range(5)] == [1, 2, 1, 2, 0]  # lacks: .5, .8 of 2, .5 of 3, .6 of 4, .5 (first)


def test_rounding_does_not_add_a_pull():
    play = ShareBounds({0: 0.1}, {}).rule([3, 26], [0, 1])  # 0.1 * 30 is 3.0000000000000004 in some orders
    assert play(1) == 1
    play = ShareBounds({}, {0: 0.07}).rule([7, 92], [0, 1])  # 0.07 * 100 is 7.000000000000001
    assert play(0) == 1


def test_a_minimum_share_holds_at_every_pull():
    plain = counts(drive(experiment(), 300))
    pulls = drive(experiment(minimum_shares={"A": 0.4}), 300)
    assert plain[0] < 100  # the policy alone would play it rarely
    for n in range(1, 301):
        assert sum(pull.arm == "A" for pull in pulls[:n]) >= 0.4 * n - 1e-9
    assert counts(pulls)[0] == 120  # and not more than it must


def test_a_maximum_share_holds_at_every_pull():
    plain = counts(drive(experiment(policy="ucb1-normal"), 200, each=200))
    pulls = drive(experiment(policy="ucb1-normal", maximum_shares={"D": 0.2}), 200, each=200)
    assert plain[3] > 60  # the policy alone would play it more often
    for n in range(1, 201):
        assert sum(pull.arm == "D" for pull in pulls[:n]) <= math.ceil(0.2 * n - 1e-9)
    assert counts(pulls)[3] == 40


def test_equal_minimum_and_maximum_shares_are_a_fixed_plan():
    shares = dict(zip(ARMS, (0.1, 0.2, 0.3, 0.4), strict=True))
    run = experiment(minimum_shares=shares, maximum_shares=shares)
    assert counts(run.ask(n=100, environment=0)) == [10, 20, 30, 40]


def test_cancelled_pulls_do_not_count():
    run = experiment(minimum_shares={"A": 0.5})
    pulls = run.ask(n=10, environment=0)
    run.cancel_many([pull for pull in pulls if pull.arm == "A"])
    assert [pull.arm for pull in run.ask(n=6, environment=0)] == ["A"] * 6  # 5 of others: A is behind
    run.ask(n=20, environment=0)
    kept = [row["arm"] for row in run.history().to_dicts() if row["status"] != "cancelled"]
    assert live_book(run)["asked"] == [kept.count(arm) for arm in ARMS]


def test_bounds_hold_while_arms_are_added_and_retired(tmp_path):
    run = experiment(minimum_shares={"A": 0.25, "B": 0.25}, maximum_shares={"D": 0.25})
    run.ask(n=40, environment=0)
    run.retire_arm("B")
    run.add_arm("E")
    pulls = run.ask(n=60, environment=1)
    everything = run.history()["arm"]
    assert "B" not in {pull.arm for pull in pulls}
    assert everything.count("A") >= 25
    assert everything.count("D") <= 25
    run.save(tmp_path / "run.json")
    for again in (tp.Experiment.load(tmp_path / "run.json"), refolded(run)):
        assert saved_numbers(again) == saved_numbers(run)
        assert again.history()["arm"] == run.history()["arm"]
        same = again.ask(n=30, environment=2)
        assert [p.arm for p in same] == [p.arm for p in refolded(run).ask(n=30, environment=2)]


def test_bounds_do_not_continue_a_policy_that_stops():
    run = tp.Experiment(["A", "B"], policy="reduce:successive-rejects", budget=20, minimum_shares={"A": 0.9})
    pulls = run.ask(n=20, environment=0)
    assert sum(pull.arm == "A" for pull in pulls) == 18
    with pytest.raises(tp.errors.Finished):
        run.ask()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"minimum_shares": {"Z": 0.1}}, "unknown arm 'Z'"),
        ({"maximum_shares": {"Z": 0.1}}, "unknown arm 'Z'"),
        ({"minimum_shares": {"A": -0.1}}, "minimum_shares['A'] must be from 0 to 1, not -0.1"),
        ({"minimum_shares": {"A": 20}}, "minimum_shares['A'] must be from 0 to 1, not 20"),
        ({"maximum_shares": {"A": float("nan")}}, "maximum_shares['A'] must be a finite number, not nan"),
        ({"minimum_shares": {"A": 0.6, "B": 0.6}}, "minimum_shares must add up to at most 1, not 1.2"),
        (
            {"minimum_shares": {"A": 0.6}, "maximum_shares": {"A": 0.5}},
            "the minimum share of 'A' must be at most its maximum share 0.5, not 0.6",
        ),
        (
            {"maximum_shares": dict.fromkeys(ARMS, 0.2)},
            "maximum_shares of the active arms must add up to at least 1, not 0.8",
        ),
        ({"minimum_shares": 0.2}, "minimum_shares must map arms to shares, such as {'A': 0.2}, not 0.2"),
    ],
)
def test_invalid_bounds_are_refused(options, words):
    with pytest.raises(tp.errors.TideproofError, match=re.escape(words)):
        experiment(**options)


def test_files_of_before_the_options_had_these_names_are_read(tmp_path):
    run = experiment(minimum_shares={"A": 0.25}, maximum_shares={"D": 0.5})
    assert run.events()[0].options["floors"] == {"A": 0.25}
    assert run.events()[0].options["caps"] == {"D": 0.5}
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert drive(again, 30)
    assert again.internals.state.bounds == ({0: 0.25}, {3: 0.5})
    url = f"sqlite:///{tmp_path}/shop.db"
    tp.Experiment.open(url, "prices", ARMS, minimum_shares={"A": 0.25}).close()
    tp.Experiment.open(url, "prices", minimum_shares={"A": 0.25}).close()
    with pytest.raises(tp.errors.InputError, match="minimum_shares="):
        tp.Experiment.open(url, "prices", minimum_shares={"A": 0.3})


def test_an_arm_is_not_retired_if_maximum_shares_forbid_the_others():
    run = experiment(maximum_shares={"A": 0.3, "B": 0.3, "C": 0.3})
    with pytest.raises(tp.errors.InputError, match="maximum_shares of the active arms must add up"):
        run.retire_arm("D")
    assert len(run.events()) == 1


def test_bounds_without_shares_are_false():
    assert not checked_bounds(None, {}, ARMS)
