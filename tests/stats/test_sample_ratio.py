"""Shares of the traffic: totals and changes against scipy, enumeration, permutations; sizes by simulation."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2_contingency, chisquare, multinomial

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import ExtraParts, describe_fit
from tideproof.errors import InputError, UnknownName
from tideproof.research.trust.combinations.share_calibration import ShareSetting, play, run_test, settings
from tideproof.stats.cells import Cells, UnitRewards
from tideproof.stats.diagnostics.sample_ratio import binomial_p, sample_ratio
from tideproof.stats.diagnostics.share_drift import share_drift


def design(table):
    """Cells of a table of counts, environments by arms."""
    return Cells.design(np.array(table, float))


def counts_log(table):
    arm = np.concatenate([np.repeat(np.arange(len(row)), row) for row in table])
    environment = np.repeat(np.arange(len(table)), [sum(row) for row in table])
    return arm, environment, np.random.default_rng(0).normal(size=arm.size)


def test_totals_and_changes_against_scipy():
    table = np.array([[30, 22, 41], [25, 31, 28], [60, 44, 52], [12, 17, 9], [30, 20, 10], [31, 19, 10]])
    share = np.array([3, 2, 1]) / 6
    found = Fit.from_arrays(*counts_log(table)).sample_ratio(dict(enumerate([30, 20, 10])))  # weights
    size = table.sum(axis=1)
    wanted = chisquare(table.sum(axis=0), size.sum() * share)
    assert (found.chi2, found.df, found.p) == pytest.approx((wanted.statistic, 2, wanted.pvalue))
    assert found.counted == "rows"
    assert found.arms["n"] == table.sum(axis=0).tolist()
    assert found.arms["expected"] == pytest.approx(size.sum() * share)
    z = (table.sum(axis=0) - size.sum() * share) / np.sqrt(size.sum() * share * (1 - share))
    assert found.arms["z"] == pytest.approx(z)
    assert found.arms["left_out"] == [0, 0, 0]
    drift = chi2_contingency(table, correction=False)
    assert (found.drift_chi2, found.drift_df) == pytest.approx((drift.statistic, drift.dof))
    assert found.drift_p == pytest.approx(drift.pvalue, rel=0.2)  # cells are large
    each = [chisquare(row, row.sum() * share).statistic for row in table]
    order = np.argsort(each)[::-1][:5]
    assert found.worst["environment"] == order.tolist()
    assert found.worst["chi2"] == pytest.approx(np.array(each)[order])
    assert found.worst["n"] == size[order].tolist()


@pytest.mark.parametrize(("n", "share"), [(7, 0.5), (40, 0.05), (100, 0.37), (2016, 0.05)])
def test_two_arms_are_exact(n, share):
    x = np.arange(n + 1)
    distance, chance = np.abs(x - n * share), binom.pmf(x, n, share)
    for k in np.unique(binom.ppf([1e-6, 0.01, 0.3, 0.6, 0.99], n, share)).astype(int):
        further = np.sum(chance[distance > distance[k] + 1e-9])
        wanted = further + 0.5 * np.sum(chance[np.abs(distance - distance[k]) < 1e-9])
        wanted = 1.0 if distance[k] < 1e-9 else wanted
        assert binomial_p(k - n * share, n, share) == pytest.approx(wanted, rel=1e-6)
        assert sample_ratio(design([[k, n - k]]), {0: share, 1: 1 - share}, 1).p == pytest.approx(
            wanted, rel=1e-6
        )


@pytest.mark.parametrize("counts", [[3, 2, 8], [0, 1, 12], [1, 0, 12], [5, 4, 4]])
def test_few_rows_of_three_arms_against_all_outcomes(counts):
    """20,000 simulated logs: an error of 0.02 has a probability below 1e-7."""
    share = np.array([0.1, 0.2, 0.7])
    outcomes = [(i, j, 13 - i - j) for i, j in product(range(14), repeat=2) if i + j <= 13]
    chance = multinomial.pmf(outcomes, 13, share)
    statistic = np.sum((np.array(outcomes) - 13 * share) ** 2 / (13 * share), axis=1)
    seen = chisquare(counts, 13 * share).statistic
    equal = np.abs(statistic - seen) < 1e-9
    wanted = np.sum(chance[(statistic > seen) & ~equal]) + 0.5 * np.sum(chance[equal])
    found = sample_ratio(design([counts]), dict(enumerate(share)), 1)
    assert found.p == pytest.approx(wanted, abs=0.02)
    assert found.chi2 == pytest.approx(seen)


@pytest.mark.parametrize("shape", ["sparse", "uneven", "three arms"])
def test_changes_against_permutations(shape):
    """2,000 permutations: 5 standard errors around 5 %; above 0.6 % where 0.2 % are meant: 1e-3."""
    random = np.random.default_rng(5)
    share, size = {
        "sparse": ([0.95, 0.05], np.full(100, 6)),
        "uneven": ([0.5, 0.5], np.tile([1, 2, 3], 60)),
        "three arms": ([0.9, 0.05, 0.05], np.full(40, 12)),
    }[shape]
    K, J = len(share), size.size
    environment = np.repeat(np.arange(J), size)
    arm = random.choice(K, p=share, size=environment.size)
    tables = (np.bincount(environment * K + random.permutation(arm), minlength=J * K) for _ in range(2000))
    found = [share_drift(design(table.reshape(J, K))) for table in tables]
    p = np.array([each.p for each in found])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.025)
    assert np.mean(p < 0.001) <= 0.006
    assert np.median([each.df for each in found]) == (K - 1) * (J - 1)


def test_an_arm_with_one_row_cannot_change():
    table = np.full((30, 2), [20, 0])
    table[7] = [19, 1]
    assert share_drift(design(table)).p == share_drift(design([[1, 0], [0, 1], [1, 0], [0, 1]])).p == 1.0


def test_a_change_of_shares_is_no_alarm_of_the_totals():
    ramp = [[90, 10], [70, 30], [50, 50], [30, 70], [10, 90]]
    found = sample_ratio(design(ramp), None, 1)
    assert found.p == 1.0
    assert found.drift_p == share_drift(design(ramp)).p < 1e-6


def test_an_arm_that_was_added_late():
    """Totals are sums of independent multinomials, among A and B at first, among A, B and C later."""
    table = np.array([[30, 22, 0], [25, 31, 0], [41, 18, 25], [38, 19, 14]])
    found = sample_ratio(design(table), {0: 2, 1: 1, 2: 1}, 1)
    early, late = np.array([2, 1, 0]) / 3, np.array([2, 1, 1]) / 4
    excess = table.sum(axis=0) - 108 * early - 155 * late
    covariance = sum(n * (np.diag(p) - np.outer(p, p)) for n, p in ((108, early), (155, late)))
    assert found.chi2 == pytest.approx(excess @ np.linalg.pinv(covariance) @ excess)
    assert found.df == 2
    assert found.arms["expected"] == pytest.approx(108 * early + 155 * late)
    assert found.arms["left_out"] == [0, 0, 2]
    assert found.drift_df == 1 + 2
    parts = (table[:2, :2], table[2:])
    assert found.drift_chi2 == pytest.approx(
        sum(chi2_contingency(x, correction=False).statistic for x in parts)
    )
    two = sample_ratio(design([[200, 0], [52, 48], [47, 53]]), None, 1)
    assert two.p == pytest.approx(binomtest(99, 200).pvalue - 0.5 * 2 * binom.pmf(99, 200, 0.5))


def test_arms_that_never_met():
    found = sample_ratio(design([[30, 0], [0, 20], [0, 50]]), None, 1)
    assert (found.chi2, found.df, found.p) == (0.0, 0, 1.0)
    assert (found.drift_chi2, found.drift_df, found.drift_p) == (0.0, 0, 1.0)
    assert found.arms["z"] == [None, None]
    assert found.arms["left_out"] == [2, 1]


def test_each_environment_may_have_a_few_of_many_arms():
    """Ten of forty arms in each environment, with equal shares. Seed 3."""
    random = np.random.default_rng(3)
    table = np.zeros((200, 40))
    for row in table:
        row[random.choice(40, 10, replace=False)] = random.multinomial(300, np.full(10, 0.1))
    found = sample_ratio(design(table), None, 1)
    assert found.arms["left_out"] == np.sum(table == 0, axis=0).tolist()
    assert found.df == 39
    assert found.p > 1e-6


def test_rare_arms_may_miss_environments_by_chance():
    table = np.random.default_rng(1).multinomial(np.full(168, 12), [0.95, 0.05])
    assert np.mean(table[:, 1] == 0) > 0.4
    assert sample_ratio(design(table), {0: 95, 1: 5}, 1).arms["left_out"] == [0, 0]


def with_units(table, visits):
    """Every unit of a table of counts, with some rows in its first environment and in later ones."""
    log = [(j, i) for j, row in enumerate(table) for i, n in enumerate(row) for _ in range(n)]
    rows = [(u, min(j + k % 3, len(table) - 1), i) for u, (j, i) in enumerate(log) for k in range(visits(u))]
    unit, environment, arm = map(np.array, zip(*rows, strict=True))
    return unit_cells(unit, environment, arm)


def unit_cells(unit, environment, arm):
    K, J = arm.max() + 1, environment.max() + 1
    seen, cell = np.unique(environment * K + arm, return_inverse=True)
    n, zero = np.bincount(cell).astype(float), np.zeros(seen.size)
    part, rows = np.unique(unit * seen.size + cell, return_counts=True)
    units = UnitRewards(part // seen.size, part % seen.size, rows.astype(float), np.zeros(part.size))
    return Cells(list(range(K)), list(range(J)), seen % K, seen // K, n, zero, zero, units=units)


def test_each_unit_counts_once_in_its_first_environment():
    table = [[30, 22, 11], [25, 31, 18], [20, 24, 12], [32, 17, 19]]
    found = sample_ratio(with_units(table, lambda u: 1 + u % 7), {0: 2, 1: 2, 2: 1}, 4)
    wanted = sample_ratio(design(table), {0: 2, 1: 2, 2: 1}, 4)
    assert found.counted == "units"
    assert found.to_dict() | {"counted": "rows"} == wanted.to_dict()


def test_units_whose_rows_are_assigned_one_by_one():
    """4,000 rows of 1,000 units with random arms tell as much as without units; 1 % are off by one arm at most."""
    random = np.random.default_rng(8)
    unit, environment = np.repeat(np.arange(1000), 4), np.repeat(np.arange(1000) % 5, 4)
    arm = (random.random(4000) < 0.53).astype(int)
    rows = design(np.bincount(environment * 2 + arm).reshape(5, 2))
    found, wanted = (sample_ratio(c, None, 1) for c in (unit_cells(unit, environment, arm), rows))
    assert found.chi2 == pytest.approx(wanted.chi2, rel=0.1)  # 1 + 3 correlations of 0.01
    assert sum(found.arms["n"]) == pytest.approx(1000)
    balanced = sample_ratio(unit_cells(unit, environment, np.arange(4000) % 2), None, 1)
    assert (balanced.chi2, balanced.p) == pytest.approx((0.0, 1.0))


def test_an_arm_that_never_occurs():
    rare = sample_ratio(design([[300, 310]]), {0: 1000, 1: 1000, "C": 1}, 1)
    assert rare.arms["arm"] == [0, 1, "C"]
    assert rare.arms["n"] == [300, 310, 0]
    assert rare.p > 0.5
    lost = sample_ratio(design([[300, 310]]), {0: 1, 1: 1, "C": 1}, 1)
    assert lost.chi2 == pytest.approx(chisquare([300, 310, 0]).statistic)
    assert lost.p < 1e-6


def test_expected_shares_that_are_wrong():
    cells = design([[3, 4], [5, 6]])
    with pytest.raises(UnknownName, match="unknown arm 'C'"):
        sample_ratio(cells, {0: 1, "C": 1}, 1)
    with pytest.raises(InputError, match="there is none for 1"):
        sample_ratio(cells, {0: 1}, 1)
    with pytest.raises(InputError, match=r"must be positive, not -0\.5"):
        sample_ratio(cells, {0: 1.0, 1: -0.5}, 1)


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_correct_shares_alarm_in_5_percent(setting):
    """300 logs: more than 35 alarms, or fewer than 1, have a probability below 1e-6 at 5 %."""
    assert 1 <= sum(play(setting, number) for number in range(300)) <= 35


def test_wrong_shares_are_found_as_often_as_by_a_test_of_totals():
    setting = ShareSetting((0.5, 0.5), 168, 60)
    found = [run_test(setting, number, (52, 48)) for number in range(200)]
    wanted = np.mean([chisquare(each.arms["n"]).pvalue < 0.001 for each in found])
    assert wanted > 0.6
    assert np.mean([each.p < 0.001 for each in found]) >= wanted - 0.03


def test_the_report_says_what_is_wrong_with_totals_and_who_is_absent():
    fit = Fit.from_arrays(*counts_log([[130, 122, 0], [125, 131, 0], [90, 70, 12]]))
    report = describe_fit(fit, ExtraParts(sample_ratio=fit.sample_ratio()))
    wanted = "Arms did not receive their intended shares of the traffic (p < 1e-6): 0 345 instead of 311"
    assert any(said.startswith(wanted) for said in report.warnings)
    assert any(
        said.startswith("Arm 2 is absent from 2 environments, which chance does not explain.")
        for said in report.notes
    )
    units = sample_ratio(with_units([[90, 30]], lambda u: 3), None, 1)
    said = " ".join(describe_fit(fit, ExtraParts(sample_ratio=units)).warnings)
    assert (
        "shares of the units, each counted once (p < 1e-6): 0 90 instead of 60 and 1 30 instead of 60" in said
    )
