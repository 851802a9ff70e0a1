"""The check that plays what plans promise."""

import tideproof as tp
from tideproof.research.trust.ledger_part import PartOptions
from tideproof.research.trust.plan_promises import PART, SETTINGS, PlanSetting, play, summary_lines


def test_settings_of_means_and_rates():
    assert len(SETTINGS) == len(set(SETTINGS)) == 26
    assert sum(setting.rate is not None for setting in SETTINGS) == 6
    assert all(setting.world().arms == setting.arms for setting in SETTINGS)


EASY = PlanSetting(2, 10, 0.2, gap=1.5)


def test_a_promise_is_planned_played_and_counted():
    (rows,) = play([EASY], 1000, replications=1000)
    assert [row.way for row in rows] == ["contrast", "even split", "analyze names the best arm"]
    assert all(row.kept == (row.low <= 0.2) for row in rows)
    assert all(row.kept for row in rows)
    assert (
        PART.table(rows)["setting"][0] == "2 arms, gap 1.5, 10 pulls in each environment, allowed error 0.2"
    )
    assert summary_lines(rows)[0].startswith(
        "2 arms, gap 1.5, 10 pulls in each environment, allowed error 0.2: with contrast and "
    )


def test_rates_are_planned_too():
    (rows,) = PART.play([PlanSetting(2, 10, 0.2, rate=0.3, lift=0.9)], PartOptions(500, replications=500))
    assert [row.runs for row in rows] == [500, 500, 20]
    assert all(row.kept for row in rows)


def test_a_promise_that_is_broken_is_said(monkeypatch):
    monkeypatch.setattr(PlanSetting, "world", lambda self: tp.World([0.0, 0.01]))
    (rows,) = play([EASY], 1000, replications=1000)
    assert not any(row.kept for row in rows)
    assert all(line.endswith(" !") for line in summary_lines(rows))
