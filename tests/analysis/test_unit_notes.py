"""Sentences on units whose rewards are all the same, so that the numbers in them are known by hand."""

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis.words.fit_text import unit_notes

NAMED = {"arm": "arm", "environment": "day", "reward": "reward", "unit": "unit", "about": "these"}


def visits(ones, units, each=2):
    """Return a log in which every unit comes `each` times; the first `ones` units of an arm always have 1."""
    rows = [
        (arm, f"{arm}{unit}", float(unit < ones[arm]), visit % 2)
        for arm in ones
        for unit in range(units[arm])
        for visit in range(each)
    ]
    return dict(zip(("arm", "unit", "reward", "day"), map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("each", [2, 4])
def test_rewards_that_are_repeated_have_as_many_times_the_variance(each):
    fit = tp.fit(visits({"A": 40, "B": 20}, {"A": 100, "B": 100}, each), **NAMED)
    assert fit.decision.standing == "winner_on_these"
    assert unit_notes(fit) == [
        "Rewards of the same unit may depend on each other (200 units): the variance of the difference between "
        f"A and B is {each} times that of independent rewards, which its interval allows for."
    ]


def test_events_of_one_unit_count_once():
    fit = tp.fit(visits({"A": 3, "B": 1}, {"A": 50, "B": 50}), **NAMED)
    assert fit.verdict == (
        "too few rewards equal to 1 to name a best arm: several rewards of one unit count less, so the "
        "effective number of A and B together is 4; at least 10 are needed"
    )
    fit = tp.fit(visits({"A": 98, "B": 100}, {"A": 100, "B": 100}), **NAMED)
    assert "too few rewards equal to 0" in fit.verdict
    assert "the effective number of B and A together is 2; at least 10" in fit.verdict


@pytest.mark.parametrize(("more", "doubt"), [(7, "too few events"), (8, None)])
def test_ten_events_are_enough(more, doubt):
    fit = tp.fit(visits({"A": more, "B": 2}, {"A": 60, "B": 60}), **NAMED)
    assert fit.decision.doubt == doubt


def test_a_unit_with_most_of_the_rewards_counts_little_more_than_one():
    """17 rewards of one unit and one of three others: 20^2/(17^2 + 3) = 1.37 equal units."""
    log = {
        "arm": ["A"] * 20 + ["B"] * 20,
        "unit": ["a"] * 17 + ["b", "c", "d"] + [f"u{number}" for number in range(20)],
        "reward": np.random.default_rng(1).normal(size=40).tolist(),
        "day": [0, 1] * 20,
    }
    assert tp.fit(log, **NAMED).verdict == (
        "too few units to name a best arm: the effective number of units of A is 1.4, because there are few or "
        "one has most of the rewards; at least 2 are needed"
    )


def test_few_units_that_decide_everything_name_no_winner():
    fit = tp.fit(visits({"A": 0, "B": 8}, {"A": 3, "B": 200}), **NAMED)
    assert fit.verdict.startswith(
        "too few units to name a best arm: a few units with large total rewards decide the difference between "
        "B and A; collect rewards of more units"
    )


def test_without_units_there_is_no_note():
    log = visits({"A": 40, "B": 20}, {"A": 100, "B": 100})
    del log["unit"]
    fit = tp.fit(log, arm="arm", environment="day", reward="reward", about="these")
    assert unit_notes(fit) == []


def test_two_equal_units_are_enough():
    log = {
        "arm": ["A"] * 20 + ["B"] * 20,
        "unit": ["a", "a", "b", "b"] * 5 + [f"u{number}" for number in range(20)],
        "reward": np.random.default_rng(1).normal(size=40).tolist(),
        "day": [0, 1] * 20,
    }
    fit = tp.fit(log, **NAMED)
    assert fit.unit_tests.units[0] == 2.0
    assert fit.decision.doubt == "several candidates"


def test_units_whose_rewards_are_all_equal_count_by_the_squares_of_their_visits():
    """1, 1 and 3 visits with equal rewards weigh 1, 1 and 9: (1 + 1 + 9)^2/(1 + 1 + 81) = 1.458 units."""
    rows = [("A", "a1", 1.0, 0), ("A", "a2", 0.0, 1), *(("A", "a3", 1.0, visit % 2) for visit in range(3))]
    rows += [("B", f"b{unit}", float(unit % 2), visit) for unit in range(12) for visit in range(2)]
    columns = map(list, zip(*rows, strict=True))
    log = dict(zip(("arm", "unit", "reward", "day"), columns, strict=True))
    units = tp.fit(log, scale="difference", **NAMED).unit_tests.units
    assert units == pytest.approx([121.0 / 83.0, 12.0], rel=1e-3)  # a correlation of at most 0.999
