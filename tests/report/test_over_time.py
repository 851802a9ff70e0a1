"""Leads and shares as a log grew, against fits of the beginnings of the log."""

import random

import pytest

import tideproof as tp
from tideproof.draw.lead_over_time import draw_lead
from tideproof.draw.traffic_shares import draw_shares
from tideproof.report.lead_history import POINTS, best_raw_arm, lead_axis, lead_info, shares_info


def log(days=9, seed=0):
    """B is better; C comes late, when days are good."""
    noise, rows = random.Random(seed), {"arm": [], "day": [], "reward": []}
    for day in range(days):
        for arm, mean in (("A", 0.0), ("B", 1.0), ("C", 0.5)):
            for _ in range(0 if arm == "C" and day < 4 else 3 + (day % 3)):
                for name, value in (
                    ("arm", arm),
                    ("day", f"day {day:03d}"),
                    ("reward", mean + day + noise.gauss(0, 0.1)),
                ):
                    rows[name].append(value)
    return rows


def fitted(rows, **how):
    return tp.fit(rows, arm="arm", environment="day", reward="reward", scale="difference", **how)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_lead_is_that_of_the_fit_of_what_was_there(direction):
    rows = log()
    fit = fitted(rows, direction=direction)
    lead = lead_info(fit)
    assert best_raw_arm(fit) == ("C" if direction == "maximize" else "A")
    assert (lead.best, lead.rival) == (("B", "C") if direction == "maximize" else ("A", "C"))
    sign = 1.0 if direction == "maximize" else -1.0
    for number, each in enumerate(lead.leads):
        if number < 4:  # C is not there yet
            assert (each.raw, each.adjusted) == (None, None)
            continue
        last = each.environment
        known = {
            name: [x for x, day in zip(rows[name], rows["day"], strict=True) if day <= last] for name in rows
        }
        then = fitted(known)
        mean = {
            arm: row["raw_mean"]
            for arm, row in zip("ABC", sorted(then.arms, key=lambda row: row["arm"]), strict=True)
        }
        assert each.adjusted == pytest.approx(sign * then.contrast(lead.best, lead.rival).estimate, abs=1e-9)
        assert each.raw == pytest.approx(sign * (mean[lead.best] - mean[lead.rival]), abs=1e-9)
    assert draw_lead(lead.leads, lead_axis(fit, lead)).count("<circle") == 2 * 5


def test_shares_are_those_of_each_day():
    found = shares_info(fitted(log()).cells)
    assert (found.environments[0], found.arms) == ("day 000", ["A", "B", "C"])
    assert found.shares[0] == [0.5, 0.5, 0.0]
    assert found.shares[-1] == pytest.approx([1 / 3] * 3)
    picture = draw_shares(found.environments, found.arms, found.shares)
    assert picture.count("<rect") == 4 * 2 + 5 * 3 + 3


def test_many_days_are_taken_together():
    fit = fitted(log(days=3 * POINTS))
    assert len(lead_info(fit).leads) == POINTS
    assert len(shares_info(fit.cells).shares) == POINTS


def test_nothing_to_see_is_nothing():
    fit = fitted(log(days=1) | {})
    assert lead_info(fit) is None
    assert shares_info(fit.cells) is None
