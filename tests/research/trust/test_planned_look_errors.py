"""The part of the trust ledger about planned looks: which looks are made, and what counts as wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis.fit_result import Fit
from tideproof.research.trust.planned_look_errors import (
    PART,
    PLANNED,
    count_planned_looks,
    look_as_planned,
    planned_looks,
    quick_deviates,
    summary_lines,
)
from tideproof.research.trust.random_logs import draw


def setting(made, **log):
    """Return a kind of log with looks of the given kind."""
    return next(each for each in PLANNED if each.made == made)._replace(**log)


def looks(made):
    """Return the days, the amounts and the plan of the looks at one log."""
    chosen = setting(made)
    found = list(planned_looks(chosen, draw(chosen.log, 0)))
    return [day for day, _ in found], [plan.made[-1] for _, plan in found], [plan for _, plan in found]


def test_looks_are_daily_weekly_missed_early_or_by_visitors():
    assert looks("daily")[0] == list(range(1, 15))
    assert looks("daily")[2][4].past is None
    days, amounts, _ = looks("weekly")
    assert (days, amounts) == ([7, 14, 21, 28], [1.0, 2.0, 3.0, 4.0])
    days, amounts, plans = looks("missed")
    assert days == amounts == [1, 2, 4, 6, 7, 9, 11, 12, 14]
    assert plans[-1].made.tolist() == amounts
    days, amounts, _ = looks("early")
    assert days[:5] == [1, 1, 3, 3, 5]
    assert amounts[:5] == [1.0, 2.0, 3.0, 4.0, 5.0]
    shares = [plan.shares[-1] for plan in looks("visitors")[2]]
    assert shares[-1] == pytest.approx(setting("visitors").share, abs=1e-3)
    more = next(each for each in PLANNED if each.share > 1.0)
    shares = [plan.shares[-1] for _, plan in planned_looks(more, draw(more.log, 0))]
    assert shares[-1] >= 1.0 > shares[-2]


def test_there_are_24_kinds_of_logs_with_all_that_the_promise_is_about():
    assert len(PLANNED) == 24
    assert len({each.name for each in PLANNED}) == 24
    assert {each.made for each in PLANNED} == {"daily", "weekly", "missed", "early", "visitors"}
    assert {each.share for each in PLANNED} == {0.6, 1.0, 1.5}
    assert {each.log.arms for each in PLANNED} >= {2, 3, 5, 10}
    assert {each.spending for each in PLANNED} == {"pocock", "obrien-fleming"}


def test_quick_z_scores_are_those_of_a_fit():
    log = draw(setting("daily").log, 3)
    z, covariance = quick_deviates(log)
    found = Fit(log.cells, about="these", scale="difference").contrast(0, 1)
    variance = covariance[-1, 0, 0] + covariance[-1, 1, 1] - 2.0 * covariance[-1, 0, 1]
    assert np.sqrt(variance) == pytest.approx(found.se, rel=0.03)
    assert z[-1, 0, 1] == pytest.approx(found.estimate / found.se, rel=0.05)


def test_wrong_winners_are_counted():
    chosen = setting("daily")
    seen = [look_as_planned(chosen, number) for number in range(12)]
    row = count_planned_looks(chosen, seen)
    assert row["announced"] == sum(run.announced for run in seen) / 12
    assert row["announced"] <= 3 / 12  # binomial: by chance in 0.03 % of seeds
    assert "a wrong arm was named in" in summary_lines([row])[0]
    better = chosen._replace(log=chosen.log._replace(truth="last", lift=3.0, pulls=2000))
    assert not look_as_planned(better, 0).announced


def test_the_part_takes_a_number_of_workers():
    assert PART.runs == 2_000
    assert PART.options == ("workers",)
