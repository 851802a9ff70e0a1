"""What pictures show, against the tables beside them and against sums written out."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.draw.fit_charts import ArmInfo, GapInfo, ShiftInfo
from tideproof.report.html_report import (
    MOST,
    POINTS,
    arms_info,
    gaps_axis,
    gaps_info,
    means_axis,
    meetings_info,
    shifts_axis,
    tide_info,
)
from tideproof.stats.cells import Cells


def log(arms=4, days=6, seed=1, noise=1.0, numbered=False):
    """Unequal traffic; the last day has a single arm."""
    random = np.random.default_rng(seed)
    arm, day = [], []
    for j in range(days):
        shown = range(arms) if j < days - 1 else [0]
        for i in shown:
            n = int(random.integers(2, 6))
            arm += [i if numbered else f"arm {i}"] * n
            day += [f"day {j}"] * n
    level = 4.0 * random.normal(size=days)
    reward = [
        level[int(d[4:])] + 0.9 * int(str(a).split()[-1]) + noise * random.normal()
        for a, d in zip(arm, day, strict=True)
    ]
    return arm, day, reward


CASES = {
    "usual": {},
    "confidence": {"confidence": 0.8},
    "by-arm": {"confidence": 0.8, "variance": "by-arm"},
    "minimise": {"direction": "minimize"},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_arms_are_those_of_the_table_the_best_first(options):
    fit = Fit.from_arrays(*log(), **options)
    found = arms_info(describe_fit(fit))
    sign = -1.0 if options.get("direction") == "minimize" else 1.0
    rows = sorted(fit.arms, key=lambda row: -sign * row["mean"])
    assert found == [
        ArmInfo(
            row["arm"], row["mean"], (row["low"], row["high"]), row["raw_mean"], row["arm"] in fit.candidates
        )
        for row in rows
    ]
    assert found[0].candidate
    assert not all(arm.candidate for arm in found)
    for arm in found:
        row = next(row for row in fit.arms if row["arm"] == arm.name)
        if "variance" not in options:
            t = stats.t.ppf(0.5 + fit.confidence / 2, fit.degrees_of_freedom)
            assert arm.interval == pytest.approx((row["mean"] - t * row["se"], row["mean"] + t * row["se"]))


def test_no_more_arms_than_a_picture_holds():
    analysis = describe_fit(Fit.from_arrays(*log(arms=MOST + 5, numbered=True)))
    assert [arm.name for arm in arms_info(analysis)] == [str(arm) for arm in analysis.arms["arm"][:MOST]]
    assert meetings_info(analysis) is None


GROUPS = (list("AABBCCDD"), [1, 1, 1, 2, 3, 3, 3, 4], [1.0, 2.0, 4.0, 3.0, 1.5, 2.5, 0.5, 1.0])


def test_groups_have_no_candidates_and_no_gaps():
    fit = Fit.from_arrays(*GROUPS)
    analysis = describe_fit(fit)
    assert [arm.candidate for arm in arms_info(analysis)] == [False] * 4
    assert [arm.name for arm in arms_info(analysis)] == ["B", "A", "C", "D"]
    assert gaps_info(fit) is None
    assert list(meetings_info(analysis).candidates) == [False] * 4
    assert [each.environment for each in tide_info(fit).shifts] == ["1", "2", "3", "4"]


def test_what_nobody_saw_is_not_drawn():
    c = Fit.from_arrays(*log(arms=2, days=3)).cells
    fit = Fit(
        Cells([*c.arms, "unseen"], [*c.environments, "empty"], c.arm, c.environment, c.n, c.mean, c.squares)
    )
    assert sorted(arm.name for arm in arms_info(describe_fit(fit))) == c.arms
    assert [each.environment for each in tide_info(fit).shifts] == c.environments
    assert list(meetings_info(describe_fit(fit)).arms)[-1] == "unseen"


@pytest.mark.parametrize("options", CASES.values(), ids=CASES.keys())
def test_the_tide_has_the_limits_of_the_fit(options):
    fit = Fit.from_arrays(*log(), **options)
    pulls = int(fit.cells.n.sum())
    freedom = pulls - 4 - 6 + 1 if "variance" not in options else pulls - len(fit.cells.n)
    t = stats.t.ppf(0.5 + options.get("confidence", 0.95) / 2, freedom)
    found = tide_info(fit).shifts
    assert [each[:3] for each in found] == [
        (row["environment"], row["n"], row["shift"]) for row in fit.shifts
    ]
    for each, row in zip(found, fit.shifts, strict=True):
        assert each.interval == pytest.approx((row["shift"] - t * row["se"], row["shift"] + t * row["se"]))


def test_one_environment_has_no_tide():
    assert tide_info(Fit.from_arrays(list("AABB"), [1] * 4, [1.0, 2.0, 3.0, 5.0])) is None
    two = Fit.from_arrays(list("AABBCCDD"), [1] * 4 + [2] * 4, np.arange(8.0) ** 2)
    assert len(two.groups) == 2
    assert tide_info(two) is None
    bare = tide_info(Fit.from_arrays(list("ABBC"), [1, 1, 2, 2], [1.0, 2.0, 4.0, 7.0]))
    assert bare.each == 1
    assert bare.shifts == [
        ShiftInfo("1", 2, pytest.approx(-1.0), None),
        ShiftInfo("2", 2, pytest.approx(1.0), None),
    ]


@pytest.mark.parametrize("variance", ["common", "by-arm", "by-environment", "sandwich", "clustered"])
def test_gaps_are_the_best_arm_over_its_runner_up(variance):
    fit = Fit.from_arrays(*log(), confidence=0.8, variance=variance, direction="minimize")
    info, met = gaps_info(fit)
    assert (info.a, info.b) == ("arm 0", "arm 1")
    assert list(info.gaps) == [
        GapInfo(row["environment"], row["estimate"], (row["low"], row["high"]))
        for row in fit.gaps("arm 0", "arm 1")
    ]
    assert len(info.gaps) == met == 5
    overall = fit.lead_contrast
    assert (overall.a, overall.b) == ("arm 0", "arm 1")
    assert info.overall == ("all environments", overall.estimate, (overall.low, overall.high))
    assert info.overall.estimate < 0.0


def test_gaps_of_common_noise_by_hand():
    arm, day, reward = log()
    fit = Fit.from_arrays(arm, day, reward, confidence=0.8, variance="common")
    t = stats.t.ppf(0.9, fit.degrees_of_freedom)
    here = {
        (a, d): [r for x, y, r in zip(arm, day, reward, strict=True) if (x, y) == (a, d)]
        for a in set(arm)
        for d in set(day)
    }
    info = gaps_info(fit).info
    for gap in info.gaps:
        a, b = here[info.a, gap.environment], here[info.b, gap.environment]
        estimate, reach = np.mean(a) - np.mean(b), t * fit.sigma * np.sqrt(1 / len(a) + 1 / len(b))
        assert gap.estimate == pytest.approx(estimate)
        assert gap.interval == pytest.approx((estimate - reach, estimate + reach))


def test_no_gaps_without_an_interval():
    assert gaps_info(Fit.from_arrays(list("AB"), [1, 1], [1.0, 2.0])) is None
    chain = Fit.from_arrays(
        list("ABBCAB"), [1, 1, 2, 2, 1, 1], [1.0, 0.0, 0.0, 1.1, 1.2, 0.1]
    )  # A and C lead
    assert {chain.decision.best, chain.decision.runner_up} == {"A", "C"}
    assert gaps_info(chain) is None


def test_meetings_by_hand():
    arm, day, reward = log()
    assert (
        meetings_info(describe_fit(Fit.from_arrays(arm, day, reward))) is None
    )  # all met all: nothing to see
    kept = [(a, d, r) for a, d, r in zip(arm, day, reward, strict=True) if a != "arm 3" or d == "day 1"]
    kept = [(a, d, r) for a, d, r in kept if a != "arm 0" or d != "day 1"]  # arms 0 and 3 never meet
    arm, day, reward = map(list, zip(*kept, strict=True))
    analysis = describe_fit(Fit.from_arrays(arm, day, reward))
    found = meetings_info(analysis)
    count = {
        (a, d): sum(x == a and y == d for x, y in zip(arm, day, strict=True))
        for a in set(arm)
        for d in set(day)
    }
    expected = {
        (i, k): sum(count[a, d] * count[b, d] / day.count(d) for d in set(day))
        for (i, a), (k, b) in combinations(enumerate(found.arms), 2)
    }
    assert min(expected.values()) == 0.0
    expected = {pair: known for pair, known in expected.items() if known}
    assert found.evidence == pytest.approx(expected)
    assert list(found.candidates) == [arm.candidate for arm in arms_info(analysis)]
    apart = meetings_info(describe_fit(Fit.from_arrays(*GROUPS)))
    assert set(apart.evidence) == {(0, 1), (2, 3)}


def many(environments, seed=4):
    """Two arms in many environments, with more traffic in every other one."""
    random = np.random.default_rng(seed)
    n = np.tile([4, 12], environments)[:environments]
    day = np.repeat(np.arange(environments), n)
    arm = np.where(np.concatenate([np.arange(k) % 2 for k in n]) == 1, "A", "B")
    return Fit.from_arrays(arm, day, np.sin(day / 50) + random.normal(size=day.size))


def test_many_environments_are_drawn_as_neighbours():
    fit = many(3 * POINTS - 1)
    tide = tide_info(fit)
    assert (tide.each, len(tide.shifts)) == (3, POINTS)
    rows = fit.shifts.to_dicts()
    first, last = tide.shifts[0], tide.shifts[-1]
    assert first.environment == "0 to 2"
    assert first.n == 4 + 12 + 4
    assert first.shift == pytest.approx(
        np.average([r["shift"] for r in rows[:3]], weights=[r["n"] for r in rows[:3]])
    )
    assert first.interval == (min(r["shift"] for r in rows[:3]), max(r["shift"] for r in rows[:3]))
    assert last.environment == f"{3 * POINTS - 3} to {3 * POINTS - 2}"
    assert tide_info(many(POINTS)).each == 1


def test_of_many_gaps_those_that_say_most_are_drawn():
    fit = many(2 * POINTS)
    info, met = gaps_info(fit)
    assert met == 2 * POINTS
    assert [gap.environment for gap in info.gaps] == [
        str(j) for j in range(1, 2 * POINTS, 2)
    ]  # the large ones


def rates(scale):
    random = np.random.default_rng(0)
    arm, day = np.tile(np.repeat(list("AB"), 200), 6), np.repeat(np.arange(6), 400)
    clicks = random.random(arm.size) < np.where(day == 5, 0.0, 0.1 + 0.02 * day + 0.05 * (arm == "B"))
    return Fit.from_arrays(arm, day, clicks.astype(float), scale=scale)


def test_rates_have_ends_and_ratios_are_lifts():
    fit = rates("ratio")
    assert means_axis(fit)[2:4] == (0.0, 1.0)
    assert means_axis(fit).figures.factor == 100.0
    tide = tide_info(fit).shifts
    factors = {str(row["environment"]): row["shift"] for row in fit.shifts}
    assert [each.shift for each in tide] == pytest.approx([factors[each.environment] - 1.0 for each in tide])
    assert (shifts_axis(fit).lifts, shifts_axis(fit).name) == (
        True,
        "shift of all arms, relative to an average environment",
    )
    info = gaps_info(fit).info
    assert gaps_axis(fit, info).name == "lift of B over A"
    assert [gap.environment for gap in info.gaps] == list("01234")  # without an event there is no ratio
    apart = rates("difference")
    assert gaps_axis(apart, gaps_info(apart).info).name == "B minus A, percentage points"
    assert not shifts_axis(apart).lifts
