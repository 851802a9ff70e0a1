"""Logs that are looked at every day: what is counted as wrong, and that one look's limits are."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.research.trust import repeated_looks as module
from tideproof.research.trust.ledger_part import PartOptions, filter_by_name
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import draw
from tideproof.research.trust.repeated_looks import (
    DAILY,
    PART,
    LookErrors,
    growing_logs,
    look_daily,
    summary_lines,
)

EQUAL = Setting("normal", 0.0, 2, 200, 10, "even", "adds", 1.0, "equal", 0.0)
BETTER = EQUAL._replace(truth="last", lift=1.0, arms=3)


def test_every_look_has_all_days_so_far():
    log = draw(EQUAL, 0)
    parts = list(growing_logs(log))
    assert [part.cells.J for part in parts] == list(range(1, 11))
    assert parts[-1].cells.n.sum() == log.cells.n.sum()
    assert parts[3].gap("difference", 1, 0) == pytest.approx(0.0)


def test_looks_begin_when_all_arms_have_come():
    late = draw(EQUAL._replace(rewards="conversions", level=0.3, allocation="relay", arms=3, tide="none"), 0)
    assert [part.cells.J for part in growing_logs(late)] == list(range(6, 11))


def test_a_better_arm_is_found_and_nothing_is_wrong():
    found = look_daily(BETTER, True, 0)
    assert found[:3] == (False, False, False)
    assert 1 < found.found <= 10


def test_one_look_taken_ten_times_is_wrong_more_often():
    """The same 40 logs of equal arms: about a fifth of them have a winner at some look."""
    once, ever = ([look_daily(EQUAL, anytime, number) for number in range(40)] for anytime in (False, True))
    assert sum(run.announced for run in once) >= 4
    assert sum(run.announced for run in ever) <= 2
    assert all(run.missed for run in once if run.announced)


def test_an_interval_that_misses_is_seen():
    log = draw(BETTER, 1)
    fit = Fit(log.cells, anytime=True)
    assert not module.misses_truth(fit, log)
    for off in (-3.0, 3.0):
        assert module.misses_truth(fit, log._replace(means=log.means + off * np.array([0.0, 0.0, 1.0])))


def test_what_has_no_limit_is_not_missed():
    assert not module.is_outside(1.0, None, None)
    assert module.is_outside(1.0, 1.1, None)
    assert module.is_outside(1.0, None, 0.9)


def test_rows():
    seen = [
        LookErrors(True, True, False, 0),
        LookErrors(False, False, False, 3),
        LookErrors(False, True, False, 5),
    ]
    row = module.count_looks(BETTER, seen)
    assert (row["runs"], row["announced"], row["missed"], row["excluded"]) == (3, 1 / 3, 2 / 3, 0.0)
    assert (row["found"], row["day"]) == (2 / 3, 5.0)
    assert module.count_looks(BETTER, seen[:1])["day"] is None
    assert row["announced_low"] < 1 / 3 < row["announced_high"]


def test_a_setting_is_played_and_said():
    """Two runs of each; no share of two is excluded by 0 of 2 but those above 84.2 %."""
    (equal,), (better,) = PART.play([EQUAL, BETTER], PartOptions(2, workers=2))
    assert PART.table([equal, better])["runs"] == [2, 2]
    line, other = summary_lines([equal, better])
    assert line.startswith(
        f"{EQUAL.name}: a wrong arm was named in 0.0 % (0.0 to 84.2) of logs, an interval missed"
    )
    assert other.endswith(f"named in 100.0 % (median: day {better['day']:g})")
    assert [each.name for each in filter_by_name([EQUAL, BETTER], "*equal*")] == [EQUAL.name]


def test_settings_are_fourteen_days():
    assert {setting.environments for setting in DAILY} == {14}
    assert len({setting.name for setting in DAILY}) == len(DAILY)
    assert np.any([setting.arms > 2 for setting in DAILY])
