"""A row that decides: named where it does, on the scale that is shown, and not in every open race."""

from __future__ import annotations

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis.alarms import SingleRow, decisive_row
from tideproof.analysis.words.fit_warnings import decisive_row_warning


def log(seed=0, days=6, each=20, lead=0.0):
    """Rewards around 20 of A, B and C; C is ahead."""
    random = np.random.default_rng(seed)
    arm, day = np.tile(np.repeat(["A", "B", "C"], each), days), np.repeat(np.arange(days), 3 * each)
    reward = 20.0 + 3.0 * np.sin(day) + lead * (arm == "C") + random.normal(size=arm.size)
    return {"arm": arm, "day": day, "reward": reward}


def fitted(data, **options):
    return tp.fit(data, arm="arm", environment="day", reward="reward", **options)


def left_out(data, at):
    return {name: np.delete(values, at) for name, values in data.items()}


def huge(arm="A", reward=2000.0):
    data = log(lead=1.0)
    at = int(np.flatnonzero(data["arm"] == arm)[4])
    data["reward"][at] = reward
    return data, at


@pytest.mark.parametrize("scale", ["difference", "ratio", "log"])
def test_a_huge_row_is_named_with_who_would_lead_as_a_fit_without_it_says(scale):
    data, at = huge(reward=2e5 if scale == "log" else 2000.0)
    if scale == "log":  # one logarithm of a huge reward moves the mean of few
        data = {name: values[:60] for name, values in data.items()}
    fit = fitted(data, scale=scale)
    row = decisive_row(fit)
    rest = fitted(left_out(data, at), scale=scale)
    assert fit.best == "A"
    assert row is not None
    assert (row.arm, row.reward, row.rows) == ("A", data["reward"][at], data["arm"].size)
    assert row.leader == rest.best != "A"
    assert row.with_it == fit.contrast("A", fit.decision.runner_up).estimate
    assert row.without == pytest.approx(rest.contrast("A", fit.decision.runner_up).estimate, rel=1e-2)
    said = decisive_row_warning(row, fit)
    assert said.fact.endswith(f"{rest.best} would lead.")
    assert "winsorize=0.999 (--winsorize 99.9%) limits" in said.advice
    capped = tp.Fit(fit.cells, scale=scale, winsorized=True)
    assert decisive_row_warning(row, capped) == (said.fact, "")


def test_where_less_is_better_a_row_far_below_is_named_and_no_cap_helps():
    data, at = huge(reward=-2000.0)
    fit = fitted(data, direction="minimize")
    row = decisive_row(fit)
    assert row is not None
    assert row.with_it < 0.0
    assert row.leader == fitted(left_out(data, at), direction="minimize").best
    assert decisive_row_warning(row, fit).text.endswith(f"{row.leader} would lead.")


def test_a_row_that_makes_the_lead_smaller_is_not_the_matter():
    """C leads although one row of it is far too low: without it C would lead by more."""
    data, _ = huge("C", -30.0)
    assert fitted(data).best == "C"
    assert decisive_row(fitted(data)) is None


def test_small_changes_of_an_open_race_are_not_the_matter():
    """Equal arms, normal rewards: one row of 360 moves the leader in some logs, but decides in none."""
    moved = 0
    for seed in range(30):
        fit = fitted(log(seed, lead=0.0))
        assert decisive_row(fit) is None
        moved += abs(fit.contrast(fit.best, fit.decision.runner_up).estimate) < 0.02
    assert moved  # in which one row is enough to change who leads


def test_a_lead_that_shrinks_by_more_than_half_is_said_as_the_verdict_says_it():
    data = log(lead=1.0)
    fit = fitted(data)
    row = decisive_row(fit)
    assert row is None  # C is ahead by many rows
    one = SingleRow("C", 3, 99.0, 1.0, 0.25, "C", 360)
    second = fit.decision.runner_up
    said = decisive_row_warning(one, fit).fact
    assert said.startswith("One of 360 rows decides: without the reward 99 of arm C in environment 3, ")
    assert said.endswith(f"the lead of C over {second} is +0.25 instead of +1.")
    low = fitted({**data, "reward": -data["reward"]}, direction="minimize")
    below = decisive_row_warning(one._replace(with_it=-1.0, without=-0.25), low)
    assert below.text.endswith(f"in environment 3, C is 0.25 below {second} instead of 1.")


def test_a_row_without_which_nothing_can_be_said_is_passed_over():
    """Noise by arm: without 90 the rewards of B never vary inside a cell."""
    random = np.random.default_rng(0)
    data = {"arm": np.tile(np.repeat(["A", "B"], 8), 2), "day": np.repeat([1, 2], 16)}
    data["reward"] = np.where(data["arm"] == "A", random.normal(4.0, 0.1, 32), 5.0)
    data["reward"][8] = 90.0
    row = decisive_row(fitted(data, variance="by-arm"))
    assert row is None or row.reward != 90.0
