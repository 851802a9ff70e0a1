"""Planned looks in the analysis of a log: intervals, decisions, past looks, the file, and invalid options."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis.look_record import LookRecord, read_record
from tideproof.errors import InputError
from tideproof.stats.looks.brownian_boundaries import spending_boundaries
from tideproof.stats.looks.past_information import past_information
from tideproof.stats.looks.spending_functions import spent_alpha

DAYS = 6


def normal_log(days=DAYS, lead=1.0, arms="AB", each=30, seed=3):
    """Return rewards of arms on several days; the last arm is better by `lead`."""
    random = np.random.default_rng(seed)
    shift, columns = 3.0 * random.standard_normal(DAYS), {"arm": [], "day": [], "reward": []}
    for day in range(DAYS):
        for arm in arms:
            rewards = shift[day] + lead * (arm == arms[-1]) + random.standard_normal(each)
            if day < days:
                columns["arm"] += [arm] * each
                columns["day"] += [day] * each
                columns["reward"] += rewards.tolist()
    return columns


def fit(log, looks=None, **options):
    """Fit a log with a common variance, so that intervals are known."""
    options = {"about": "these", "variance": "common"} | options
    return tp.fit(log, arm="arm", environment="day", reward="reward", looks=looks, **options)


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
def test_interval_reaches_to_the_boundary_of_the_look(spending):
    look = 4
    found = fit(normal_log(look), tp.Looks(14, look=look, spending=spending)).contrast("B", "A")
    share = np.arange(1, look + 1) / 14
    bound = spending_boundaries(spent_alpha(spending, np.array([[0.05]]), share), share)[0, -1]
    reach = (found.high - found.low) / 2.0 / found.se
    # 235 degrees of freedom widen the interval a little
    assert reach == pytest.approx(bound, rel=0.02 if spending == "pocock" else 0.05)
    assert reach > bound


def test_the_decision_agrees_with_the_intervals_and_the_p_values():
    named = []
    for lead in np.linspace(0.1, 1.0, 10):
        found = fit(normal_log(5, lead, "ABC", each=12), tp.Looks(7, look=5))
        won = found.decision.names_winner
        named.append(won)
        assert won == all(low > 0.0 for low in found.leads["low"])
        assert won == all(p < 0.05 for p in found.leads["p"])
        assert found.lead_contrast.p > fit(normal_log(5, lead, "ABC", each=12)).lead_contrast.p
    assert named[0] is False
    assert named[-1] is True


def test_planned_looks_cost_less_than_looks_at_any_time_and_more_than_one():
    width = [
        found.high - found.low
        for found in (
            fit(normal_log(), **options).contrast("A", "B")
            for options in ({}, {"looks": tp.Looks(6, look=6)}, {"anytime": True})
        )
    ]
    assert width[0] < width[1] < width[2]


def test_missed_looks_leave_error_for_later_ones():
    log = normal_log()
    every, some = (tp.Looks(14, look=6, past=past) for past in (None, [1.0, 4.0]))
    assert fit(log, some).contrast("A", "B").low > fit(log, every).contrast("A", "B").low
    np.testing.assert_allclose(every.made, [1, 2, 3, 4, 5, 6])
    np.testing.assert_allclose(some.error_spent(0.05)[-1], every.error_spent(0.05)[-1])


def test_visitors_are_a_plan_too():
    log = normal_log()
    days = fit(log, tp.Looks(14, look=6)).contrast("A", "B")
    visitors = fit(log, tp.Looks(14 * 60, look=360, past=[60.0 * day for day in range(1, 6)]))
    assert visitors.contrast("A", "B") == days
    late = tp.Looks(300, look=360, past=[60, 120, 180, 240])  # the first look beyond the plan is the last one
    assert late.error_spent(0.05)[-1] == pytest.approx(0.05)


def test_information_at_past_looks_is_that_of_the_first_days_but_at_most_as_planned():
    def share(found, plan):
        return past_information(plan, found._estimate, found.cells)[0, 1]  # noqa: SLF001  not public

    log, plan = normal_log(), tp.Looks(14, look=6)
    for busy in (range(3, 6), range(3)):
        kept = [n for n, day in enumerate(log["day"]) if day in busy or n % 3 == 0]
        found = fit({name: [column[n] for n in kept] for name, column in log.items()}, plan)
        n = np.where(np.isin(np.arange(6), busy), 30.0, 10.0)
        known = np.minimum(np.cumsum(n) / n.sum(), np.arange(1, 7) / 6)
        np.testing.assert_allclose(share(found, plan), known, rtol=1e-9)
        # six days are no multiple of four looks
        np.testing.assert_allclose(share(found, tp.Looks(14, look=4)), [0.25, 0.5, 0.75, 1.0])


def test_the_file_remembers_the_looks_and_what_they_knew(tmp_path):
    file = tmp_path / "plan.json"
    for day in (1, 2):
        fit(normal_log(day), tp.Looks(14, look=day, file=file))
    found = fit(normal_log(4), tp.Looks(14, look=4, file=file))
    assert found.looks.made.tolist() == [1.0, 2.0, 4.0]
    record = read_record(file)
    assert [each.look for each in record.made] == [1.0, 2.0, 4.0]
    assert record.made[-1].spent == pytest.approx(tp.Looks(14, look=4).error_spent(0.05)[-1])
    before = file.read_text()
    again = fit(normal_log(4), tp.Looks(14, file=file))  # the same log is the same look
    assert again.contrast("A", "B") == found.contrast("A", "B")
    assert file.read_text() == before
    following = fit(normal_log(6), tp.Looks(14, file=file))
    assert following.looks.text == "look 5 of 14"
    share = past_information(following.looks, following._estimate, following.cells)[0, 1]  # noqa: SLF001
    ratio = [following.contrast("A", "B").se ** 2 / x.variances["B", "A"] for x in record.made]
    np.testing.assert_allclose(share, [*np.minimum(ratio, 1.0), 1.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        ({"look": 1}, "already, or comes before look 2, with other data"),
        ({"look": 3, "spending": "obrien-fleming"}, "a plan is not changed after a look"),
    ],
)
def test_the_file_refuses_other_plans_and_looks_out_of_order(tmp_path, looks, message):
    file = tmp_path / "plan.json"
    fit(normal_log(2), tp.Looks(14, look=2, file=file))
    with pytest.raises(InputError, match=message):
        fit(normal_log(3), tp.Looks(14, file=file, **looks))
    with pytest.raises(InputError, match="10 looks"):
        fit(normal_log(3), tp.Looks(10, file=file))


def test_a_file_that_is_none_is_refused(tmp_path):
    file = tmp_path / "plan.json"
    for text in ("{}", "no JSON", '{"format": "another"}'):
        file.write_text(text)
        with pytest.raises(InputError, match="not a file of planned looks"):
            fit(normal_log(2), tp.Looks(14, look=2, file=file))


def test_a_record_survives_its_file(tmp_path):
    record = LookRecord(14.0, "pocock", 0.9).with_look(tp.Looks(14, look=2), {("b", "a"): 0.1})
    record.save(tmp_path / "plan.json")
    assert read_record(tmp_path / "plan.json") == record


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tp.Looks(0), "the planned number of looks, such as 14, not 0"),
        (lambda: tp.Looks(True, look=1), "not True"),
        (lambda: tp.Looks(14, look=-1), "from 1 to 14, not -1"),
        (lambda: tp.Looks(14, look=math.nan), "not nan"),
        (lambda: tp.Looks(14, look=15), "look 15 is beyond the plan of 14"),
        (lambda: tp.Looks(14, look=5, spending="linear"), "'pocock' or 'obrien-fleming'"),
        (lambda: tp.Looks(14, look=5, past=[1, 3, 2]), "out of order: 2 comes after 3"),
        (lambda: tp.Looks(14, look=5, past=[1, 5]), "out of order: 5 comes after 5"),
        (lambda: tp.Looks(280_000, look=100_000), "say at which points before 100000 you looked"),
        (lambda: fit(normal_log(2), tp.Looks(14)), "say which look this is"),
        (lambda: fit(normal_log(2), 14), "looks must be planned looks such as"),
        (lambda: fit(normal_log(2), tp.Looks(14, look=2), anytime=True), "not both"),
        (
            lambda: fit(normal_log(2), tp.Looks(14, look=2), adaptive=True),
            "traffic that does not follow rewards",
        ),
        (
            lambda: fit(normal_log(4), tp.Looks(14, look=2), variance="interaction", about="similar"),
            "looks= is not",
        ),
    ],
)
def test_invalid_plans_get_one_clear_message(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_results_say_for_which_looks_they_hold():
    found = fit(normal_log(5), tp.Looks(14, look=5), variance="auto")
    assert "valid at all planned looks" in found.verdict
    said = found.to_dict()["looks"]
    assert said["look"] == 5.0
    assert said["past"] == [1.0, 2.0, 3.0, 4.0]
    assert said["spent"][-1] == pytest.approx(0.05 * math.log1p((math.e - 1.0) * 5 / 14))
    assert json.dumps(found.to_dict())
    assert "looks" not in fit(normal_log(5)).to_dict()
    assert tp.against(found, "A")["low"][0] == pytest.approx(found.contrast("B", "A", confidence=0.95).low)


def test_segments_and_metrics_hold_at_all_planned_looks():
    log = normal_log(5)
    log["site"] = ["x" if n % 2 else "y" for n in range(len(log["arm"]))]
    log["other"] = [-x for x in log["reward"]]
    columns = {"arm": "arm", "environment": "day", "looks": tp.Looks(14, look=5)}
    parts = tp.segments(log, by="site", reward="reward", **columns)
    assert "valid at all planned looks" in parts.verdict
    both = tp.metrics(log, rewards=["reward", "other"], **columns)
    assert all(each.looks is not None for each in both.fits.values())
