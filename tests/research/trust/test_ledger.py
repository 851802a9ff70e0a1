"""The ledger: exact limits, what counts as broken, and what is shown and written."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from tideproof.research.trust.log_runs import CalibrationCounts, calibrate
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, play
from tideproof.research.trust.promised_error_rates import Promise, detectable_rate, power_ratio, promises
from tideproof.research.trust.reference_tests import PairedTests
from tideproof.research.trust.trust_ledger import LEGEND, broken_promises, table, verdict, write_ledger

KIND = Setting("conversions", 0.1, 3, 100, 5, "even", "none", 0.0, "last", 0.5)


def tally(**counted):
    found = OutcomeCount.zero(3)
    found.logs, found.eventful = 1000, 500
    found.scales["ratio"] = 1000
    for name, value in counted.items():
        setattr(found, name, np.array(value) if isinstance(value, list) else value)
    return found


@pytest.mark.parametrize(("times", "cases"), [(0, 50), (7, 90), (50, 50)])
def test_limits_are_clopper_and_pearsons(times, cases):
    wanted = binomtest(times, cases).proportion_ci(0.95, "exact")
    assert Promise("", times, cases, 0.05).interval == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize("cases", [200, 2000])
def test_broken_is_what_chance_would_not_do(cases):
    kept = [Promise("", times, cases, 0.05).kept for times in range(cases)]
    assert kept == [bool(binom.sf(times - 1, cases, 0.05) >= 0.0007) for times in range(cases)]


def test_with_one_log_nothing_is_seen():
    one = tally(logs=1, eventful=1, false_winner=1)
    assert verdict(CalibrationCounts(1, {KIND: one}, {})) == (
        "Promises were broken in 0 of 1 setting. With 1 log, no observed error rate counts as above 5 %."
    )


def test_nothing_is_broken_that_could_not_happen():
    never = Promise("", 0, 0, 0.1)
    assert never.kept
    assert str(never) == "\N{EN DASH}"


def test_the_unluckiest_arm_counts():
    equal = KIND._replace(truth="equal", lift=0.0)
    found = tally(excluded=[10, 90, 20], below=[0, 30, 1], above=[0, 5, 2], too_few=60, false_winner=4)
    assert [promise.times for promise in promises(equal, found)] == [90, 4, 35, 60]
    assert [promise.times for promise in promises(KIND, found)] == [20, 4, 35, 60]
    assert [promise.kept for promise in promises(equal, found)] == [False, True, True, True]


def test_power_is_compared_log_by_log():
    ours = np.array([0.01, 0.2, 0.01, -0.01, 0.03])
    theirs = np.array([0.01, 0.01, 0.2, -0.01, 0.03])
    better = PairedTests(ours, theirs, np.array([1, 0, 1, -1, 1]))
    null = np.array([-0.01, *[0.5] * 40])
    found = power_ratio(better, PairedTests(null, null, np.zeros(41)))
    assert (found.ours, found.theirs) == (0.6, 0.6)
    assert found.ratio == 1.0
    assert found.low < 1.0 < found.high
    assert (found.our_size, found.their_size) == (0.0, 1 / 41)


def test_at_equal_size_a_test_that_says_more_p_is_as_good():
    p = np.array([0.02, 0.04, 0.2, 0.01])
    null = np.linspace(0.01, 1.0, 100)
    found = power_ratio(
        PairedTests(2.0 * p, p, np.array([1, 0, 0, 1])),
        PairedTests(np.minimum(1.0, 2.0 * null), null, np.zeros(100)),
    )
    assert found.ratio < 1.0
    assert found.at_equal_size == 1.0


def test_what_is_broken_is_said_and_written(tmp_path):
    equal = KIND._replace(truth="equal", lift=0.0)
    played = CalibrationCounts(1000, {KIND: tally(), equal: tally(false_winner=90)}, {})
    assert broken_promises(played) == [f"{equal.name}: false winner 9.0 (7.3\N{EN DASH}10.9) !"]
    least = f"{100 * detectable_rate(1000):.2f} %"
    seen = f"With 1,000 logs, only observed error rates of {least} or more count as above 5 %."
    assert verdict(played) == f"Promises were broken in 1 of 2 settings. {seen}"
    written = write_ledger(played, tmp_path)
    assert [path.name for path in written] == ["ledger.md", "logs.csv"]
    page = written[0].read_text()
    assert (
        "| conversions 0.1, 3 arms x 100 rewards, 5 environments, even traffic, no shifts, equal arms |"
        in page
    )
    assert page.split("\n\n")[1] == f"**{verdict(played)}**"  # the answer first
    assert "(logs.csv)" in page
    assert "(power.csv)" not in page  # not written
    with open(written[1], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["false_winner"] for row in rows] == ["0.0", "0.09"]
    assert [row["false_winner_kept"] for row in rows] == ["True", "False"]


def test_the_page_that_is_kept_is_as_it_would_be_written():
    page = Path(__file__).parents[3].joinpath("docs/trust/ledger.md").read_text()
    assert LEGEND in page
    for name in re.findall(r"^\| ([a-z0-9 ()%]+) \|.*\|$", LEGEND, re.MULTILINE)[1:]:
        assert re.search(rf"^\| log .*\| {re.escape(name)} \|", page, re.MULTILINE), name


def test_any_number_of_workers_counts_the_same():
    run_paired_tests = KIND._replace(arms=2)
    found = calibrate([KIND], [run_paired_tests], 60, workers=2)
    alone = play(KIND, 0, 60)
    assert found.tallies[KIND].logs == 60
    assert np.array_equal(found.tallies[KIND].below, alone.below)
    assert np.array_equal(found.tallies[KIND].excluded, alone.excluded)
    assert [part.named.size for part in found.power_tests[run_paired_tests]] == [60, 60]
    assert table(found)["found"] == [alone.winner / 60]
